// A host that mocks its clock does not stop a run. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { agentFor, collect, plainTool, scriptedModel } from "../support/model.mjs";
import { call, contentText, resultFor } from "../runs/reading.mjs";

test("with every timer mocked, runs, tools and close() go on", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout", "setInterval", "setImmediate", "Date"] });
  const model = scriptedModel([{ calls: [call("a", "echo"), call("b", "echo")] }, { text: "end" }]);
  const agent = agentFor(t, { model, tools: [plainTool("echo", async () => "x", { timeoutMs: 1_000 })] });
  agent.hook("tool:start", async () => {});
  const { result } = await collect(agent.run("hi"));
  assert.equal(result.text, "end");
  await agent.close();
  t.mock.timers.reset();
});

test("with every timer mocked, a tool's deadline still is one in real time", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout", "setInterval", "setImmediate", "Date"] });
  const agent = agentFor(t, {
    model: [{ calls: [call("a", "deaf")] }, { text: "end" }],
    tools: [plainTool("deaf", () => new Promise(() => {}), { timeoutMs: 30 })],
  });
  const { messages } = await agent.send("hi");
  t.mock.timers.reset();
  assert.match(contentText(resultFor(messages, "a")), /timed out after 30 ms/);
});

test("with the date mocked, durations stay durations", async (t) => {
  t.mock.timers.enable({ apis: ["Date"], now: 0 });
  const agent = agentFor(t, {
    model: [{ calls: [call("a", "echo")] }, { text: "end" }],
    tools: [
      plainTool("echo", () => {
        t.mock.timers.setTime(1e9);
        return "x";
      }),
    ],
  });
  const { events } = await collect(agent.run("hi"));
  t.mock.timers.reset();
  for (const event of events)
    if ("durationMs" in event)
      assert.ok(event.durationMs >= 0 && event.durationMs < 60_000, `${event.type}: ${event.durationMs}`);
});

test("a long run with mocked timers does not wait for a turn of the mocked event loop", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout", "setInterval", "setImmediate"] });
  let count = 0;
  const model = scriptedModel([() => ({ calls: [call(`c${(count += 1)}`, "echo")] })]);
  const result = await agentFor(t, { model, maxTurns: 500, tools: [plainTool("echo", () => "x")] }).send("hi");
  t.mock.timers.reset();
  assert.equal(result.stopReason, "max_turns");
});
