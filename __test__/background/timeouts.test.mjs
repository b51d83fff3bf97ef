// How long a background command may take: what the call says, what the options say, and what nobody goes over. Knows the
// public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { gone, marker } from "../commands/processes.mjs";
import { drivenAgent, stubbornTree } from "./driving.mjs";

for (const [name, input, config] of [
  ["timeoutMs of the call", { timeoutMs: 300 }, {}],
  ["bash.backgroundTimeoutMs", {}, { bash: { backgroundTimeoutMs: 300 } }],
  ["backgroundLimits.maxTaskMs", {}, { backgroundLimits: { maxTaskMs: 300 } }],
  [
    "timeoutMs of the call, below bash.backgroundTimeoutMs,",
    { timeoutMs: 300 },
    { bash: { backgroundTimeoutMs: 60_000 } },
  ],
  [
    "maxTaskMs, below timeoutMs of the call,",
    { timeoutMs: 60_000 },
    { bash: { backgroundTimeoutMs: 60_000 }, backgroundLimits: { maxTaskMs: 300 } },
  ],
  [
    "bash.backgroundTimeoutMs, below maxTaskMs,",
    {},
    { bash: { backgroundTimeoutMs: 300 }, backgroundLimits: { maxTaskMs: 60_000 } },
  ],
]) {
  test(`${name} ends the command with all that it started, and keeps what was written`, async (t) => {
    const driven = drivenAgent(t, config);
    const mark = marker();
    const id = await driven.start(`echo begun; ${stubbornTree(mark)}`, input);
    const { text, ending } = await driven.readToEnd(id);
    assert.match(text, /^begun\n/);
    assert.equal(ending, "[timed out after 300 ms]");
    await gone(mark);
  });
}

for (const [name, input, config] of [
  [
    "timeoutMs of the call is over bash.backgroundTimeoutMs",
    { timeoutMs: 60_000 },
    { bash: { backgroundTimeoutMs: 200 } },
  ],
  ["bash.timeoutMs is for commands that are waited for", {}, { bash: { timeoutMs: 200 } }],
]) {
  test(`${name}: the command goes on to its end`, async (t) => {
    const driven = drivenAgent(t, config);
    const id = await driven.start("sleep 0.6; echo late", input);
    const { text, ending } = await driven.readToEnd(id);
    assert.deepEqual([text, ending], ["late\n", "[exit code: 0]"]);
  });
}

test("a command that ends in time has an exit code", async (t) => {
  const driven = drivenAgent(t);
  const id = await driven.start("echo quick", { timeoutMs: 30_000 });
  assert.equal((await driven.readToEnd(id)).ending, "[exit code: 0]");
});

test("a deadline of 1 ms is a timeout", async (t) => {
  const driven = drivenAgent(t);
  const mark = marker();
  const id = await driven.start(`sleep ${mark}`, { timeoutMs: 1 });
  assert.equal((await driven.readToEnd(id)).ending, "[timed out after 1 ms]");
  await gone(mark);
});

test("a command that timed out is no error to KillBackground", async (t) => {
  const driven = drivenAgent(t);
  const mark = marker();
  const id = await driven.start(`sleep ${mark}`, { timeoutMs: 50 });
  await driven.completionOf(id);
  assert.equal((await driven.kill(id)).isError, false);
  assert.equal((await driven.read(id)).ending, "[timed out after 50 ms]");
});

for (const [name, config] of [
  ["bash.backgroundTimeoutMs", (value) => ({ bash: { backgroundTimeoutMs: value } })],
  ["backgroundLimits.maxTaskMs", (value) => ({ backgroundLimits: { maxTaskMs: value } })],
]) {
  for (const value of [0, -1, 1.5, "5", NaN, Infinity]) {
    test(`${name} ${value} is refused by name`, (t) => {
      assert.throws(
        () => drivenAgent(t, config(value)),
        (error) => /Config|Type|Range/.test(error.name) && error.message.includes(name),
      );
    });
  }
}
