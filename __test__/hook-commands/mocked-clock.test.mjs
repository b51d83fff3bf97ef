// A host whose tests mock every clock there is: hooks of both kinds keep their deadlines in real time. Knows the public
// face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { hookAgent } from "./hooked.mjs";
import { hookFailures, within } from "../support/model.mjs";

/** `performance.now()` as fake timers leave it: what `read` says. Gives the real one. */
function mockPerformance(t, read) {
  const { now } = performance;
  t.after(() => {
    performance.now = now;
  });
  performance.now = read;
  return () => now.call(performance);
}

/** @param {() => number} realNow */
function block(realNow, ms) {
  const began = realNow();
  while (realNow() - began < ms);
}

test("with performance.now() standing still, a handler that blocks past its deadline is late, and so is a command", async (t) => {
  const realNow = mockPerformance(t, () => 0);
  const made = await hookAgent(t, { project: { "run:start": [{ command: "sleep 60", timeoutMs: 100 }] } });
  made.agent.hook("run:end", () => block(realNow, 80), { timeoutMs: 20 });
  await within(made.agent.send("go"), "the run");
  assert.deepEqual(
    hookFailures(made.heard).map(({ hook }) => [hook.event, hook.reason]),
    [
      ["run:start", "timeout"],
      ["run:end", "timeout"],
    ],
  );
});

test("a handler that mocks performance.now(), or advances it by hours, is not late", async (t) => {
  let mocked = 0;
  const made = await hookAgent(t, { project: { "run:end": [{ command: "cat > event" }] } });
  made.agent.hook("run:end", async () => {
    mockPerformance(t, () => mocked);
    await null;
    mocked = 1e9;
  });
  made.agent.hook(
    "run:end",
    async () => {
      mocked += 1e9;
      await new Promise(setImmediate);
      mocked += 1e9;
    },
    { timeoutMs: 60_000 },
  );
  await within(made.agent.send("go"), "the run");
  assert.deepEqual(hookFailures(made.heard), []);
  assert.equal(made.events("event").length, 1);
});
