// The limits of a command: time, output, memory. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { agentFor, scriptedModel } from "../support/model.mjs";
import { ConfigError } from "../../index.js";
import { bash, ending } from "./bashing.mjs";
import { gone, marker } from "./processes.mjs";

for (const [name, input, config] of [
  ["of the call", { timeoutMs: 300 }, {}],
  ["of the options", {}, { bash: { timeoutMs: 300 } }],
  ["of the call, below that of the options", { timeoutMs: 300 }, { bash: { timeoutMs: 60_000 } }],
]) {
  test(`the deadline ${name} ends the command with all that it started, and keeps what was written`, async (t) => {
    const mark = marker();
    const command = `echo begun; (setsid sleep ${mark} &) ; trap '' TERM; sleep ${mark}; sleep ${mark}`;
    const { content, isError, status, result, end } = await bash(t, { command, ...input }, config);
    assert.equal(isError, true);
    assert.equal(status, "failed");
    assert.match(content, /^begun\n/);
    assert.match(content, /timed out after 300 ms/);
    assert.equal(result.stopReason, "stop", "the run goes on");
    assert.ok(end.durationMs >= 299 && end.durationMs < 10_000, `${end.durationMs}`);
    await gone(mark);
  });
}

test("a call may take longer than the options say, where it says so itself", async (t) => {
  const { content } = await bash(
    t,
    { command: "sleep 0.6; echo late", timeoutMs: 60_000 },
    { bash: { timeoutMs: 200 } },
  );
  assert.match(content, /^late\n/);
});

test("a deadline of 1 ms is a timeout", async (t) => {
  const mark = marker();
  const { content } = await bash(t, { command: `sleep ${mark}`, timeoutMs: 1 });
  assert.match(content, /timed out after 1 ms/);
  await gone(mark);
});

test("exactly maxOutputBytes is fine, one more ends the command", async (t) => {
  const bytes = (count) => `head -c ${count} /dev/zero | tr '\\0' x`;
  const config = { bash: { maxOutputBytes: 10_000 } };
  const exact = await bash(t, bytes(10_000), config);
  assert.equal(exact.status, "completed");
  assert.equal(exact.content.split("\n")[0], "x".repeat(10_000));
  const over = await bash(t, bytes(10_001), config);
  assert.equal(over.status, "failed");
  assert.equal(over.isError, true);
  assert.match(ending(over.content), /10000 bytes/);
  assert.ok(over.content.startsWith("x".repeat(10_000)));
});

test("both streams together count against maxOutputBytes", async (t) => {
  const command = "head -c 6000 /dev/zero | tr '\\0' x; head -c 6000 /dev/zero | tr '\\0' y >&2; echo end";
  const { status, content } = await bash(t, command, { bash: { maxOutputBytes: 10_000 } });
  assert.equal(status, "failed");
  assert.doesNotMatch(content, /end/);
});

test("a flood on both streams is ended at once, and the host's memory stays where it was", async (t) => {
  const mark = marker();
  const before = process.memoryUsage().rss;
  const command = `(yes ${mark} >&2) & yes ${mark}; sleep ${mark}`;
  const { content, status } = await bash(t, command, { bash: { maxOutputBytes: 20_000_000 } });
  assert.equal(status, "failed");
  assert.match(ending(content), /20000000 bytes/);
  assert.ok(content.length < 1_000_000, `${content.length} characters for the model`);
  await gone(mark);
  const grown = (process.memoryUsage().rss - before) / 2 ** 20;
  assert.ok(grown < 80, `${grown} MiB more`);
});

test("of output that is too long for a model its beginning and its end are kept, with a word on what is missing", async (t) => {
  const { content, status } = await bash(t, "seq 1 300000");
  assert.equal(status, "completed");
  assert.ok(content.startsWith("1\n2\n3\n"));
  assert.ok(content.includes("\n299999\n300000\n"));
  assert.match(content, /\d+ bytes/);
});

test("no character is torn where output is cut at its limit", async (t) => {
  const { content } = await bash(t, "for i in $(seq 100); do printf '—'; done", { bash: { maxOutputBytes: 100 } });
  assert.ok(content.startsWith("—".repeat(33)));
  assert.doesNotMatch(content, /\uFFFD/);
});

test("more memory than memoryBytes ends the command, whichever process of the tree took it", async (t) => {
  const mark = marker();
  const hog = `${process.execPath} -e 'const a = []; for (;;) a.push(Buffer.alloc(1e6, 1))' ${mark}`;
  const { content, status, result } = await bash(t, `(${hog}); sleep ${mark}`, { bash: { memoryBytes: 150_000_000 } });
  assert.equal(status, "failed");
  assert.match(content, /memory/);
  assert.equal(result.stopReason, "stop");
  await gone(mark);
});

test("a command within memoryBytes is left alone, Node included", async (t) => {
  const { content } = await bash(t, `${process.execPath} -p 6*7`, { bash: { memoryBytes: 300_000_000 } });
  assert.match(content, /^42\n/);
});

for (const [name, bashOptions] of [
  ["timeoutMs", { timeoutMs: 0 }],
  ["timeoutMs", { timeoutMs: 2.5 }],
  ["maxOutputBytes", { maxOutputBytes: 0 }],
  ["maxOutputBytes", { maxOutputBytes: "1" }],
  ["memoryBytes", { memoryBytes: -1 }],
  ["memoryBytes", { memoryBytes: Infinity }],
  ["env", { env: ["A=1"] }],
  ["env.A", { env: { A: 1 } }],
  ["env", { env: { "A=B": "1" } }],
  ["env.A", { env: { A: "x\0y" } }],
  ["timeoutMS", { timeoutMS: 5 }],
]) {
  test(`the option bash ${JSON.stringify(bashOptions)} is refused by name`, (t) => {
    assert.throws(
      () => agentFor(t, { model: scriptedModel([{ text: "ok" }]), bash: bashOptions }),
      (error) => error instanceof ConfigError && error.message.includes(`bash.${name}`),
    );
  });
}
