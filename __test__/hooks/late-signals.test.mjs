// The signals of handlers that settle after their deadline. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { agentFor, block, collect, hookFailures, pause } from "../support/model.mjs";

for (const [name, handler] of [
  ["returned", () => block(60)],
  [
    "threw",
    () => {
      block(60);
      throw new Error("late");
    },
  ],
  ["resolved", async () => block(60)],
  ["resolved later", () => pause(1).then(() => block(60))],
  [
    "rejected",
    async () => {
      block(60);
      throw new Error("late");
    },
  ],
]) {
  test(`a handler that blocked past its deadline and then ${name} has its signal aborted, as the diagnostic says`, async (t) => {
    const agent = agentFor(t);
    let signal;
    const order = [];
    agent.hook(
      "run:start",
      (_, context) => {
        signal = context.signal;
        signal.addEventListener("abort", () => order.push("abort"));
        return handler();
      },
      { timeoutMs: 20 },
    );
    agent.hook("run:start", () => void order.push("next"));
    const { events } = await collect(agent.run("go"));
    assert.match(hookFailures(events)[0].message, /its signal was aborted/);
    assert.equal(signal.aborted, true);
    assert.equal(signal.reason.name, "TimeoutError");
    assert.deepEqual(order, ["abort", "next"]);
  });
}

test("a signal that a late handler left to be looked at is aborted", async (t) => {
  const agent = agentFor(t);
  let context;
  agent.hook(
    "run:start",
    (_, given) => {
      context = given;
      block(60);
    },
    { timeoutMs: 20 },
  );
  await agent.send("go");
  assert.equal(context.signal.aborted, true);
  assert.equal(context.signal.reason.name, "TimeoutError");
});
