// When tool:start and tool:end fire, and exactly what they carry.
import { test } from "node:test";
import assert from "node:assert/strict";
import { tool } from "../../index.js";
import { ofTools, runCalls } from "../support/calls.mjs";
import { agentFor, hookFailures, pause, plainTool, recordHooks, scriptedModel } from "../support/model.mjs";

const call = (id = "call-1", name = "work", input = {}) => ({ id, name, input });
const keys = (object) => Object.keys(object).sort();

test("tool:start carries its identity and the call, and no other key", async (t) => {
  const {
    tools: [start],
    agent,
  } = await runCalls(t, { calls: [call("call-7", "work", { path: "a", deep: { list: [1, { b: null }] } })] });
  assert.deepEqual(keys(start), ["call", "event", "runId", "sessionId", "source"]);
  assert.equal(start.event, "tool:start");
  assert.equal(start.sessionId, agent.sessionId);
  assert.equal(start.source, "user");
  assert.deepEqual(start.call, { id: "call-7", name: "work", input: { path: "a", deep: { list: [1, { b: null }] } } });
});

test("tool:end of a call that worked carries call, status, result and duration, and no other key", async (t) => {
  const {
    tools: [, end],
  } = await runCalls(t, { calls: [call("call-7", "work", { a: 1 })] });
  assert.deepEqual(keys(end), ["call", "durationMs", "event", "result", "runId", "sessionId", "source", "status"]);
  assert.equal(end.status, "completed");
  assert.deepEqual(end.call, { id: "call-7", name: "work", input: { a: 1 } });
  assert.equal(end.result.id, "call-7");
  assert.equal(end.result.name, "work");
  assert.equal(end.result.content, "worked");
  assert.notEqual(end.result.isError, true);
  assert.equal(typeof end.durationMs, "number");
});

test("durationMs covers the time that the tool took", async (t) => {
  const {
    tools: [, end],
  } = await runCalls(t, {
    tools: [
      plainTool("work", async () => {
        await pause(40);
        return "ok";
      }),
    ],
  });
  assert.ok(end.durationMs >= 38, `${end.durationMs}`);
  assert.ok(Number.isFinite(end.durationMs));
});

test("tool:end carries text and images as the tool gave them", async (t) => {
  const content = [
    { type: "text", text: "a shot" },
    { type: "image", mediaType: "image/png", data: "iVBORw0KGgo=" },
  ];
  const {
    tools: [, end],
  } = await runCalls(t, { tools: [plainTool("work", () => content)] });
  assert.deepEqual(end.result.content, content);
});

test("tool:start handlers are awaited before validation, middleware and the tool, and tool:end handlers after them", async (t) => {
  const order = [];
  const watched = tool(
    "work",
    "",
    {
      "~standard": {
        version: 1,
        vendor: "test",
        validate: (value) => {
          order.push("validate");
          return { value };
        },
        jsonSchema: { input: () => ({ type: "object" }) },
      },
    },
    () => {
      order.push("tool");
      return "ok";
    },
  );
  const agent = agentFor(t, {
    model: scriptedModel([{ calls: [call()] }, { text: "done" }], { onRequest: () => order.push("model") }),
    tools: [watched],
    use: [
      {
        name: "m",
        async wrapToolCall(_, next) {
          order.push("middleware in");
          const result = await next();
          order.push("middleware out");
          return result;
        },
      },
    ],
  });
  agent.hook("tool:start", async () => {
    await pause(5);
    order.push("tool:start");
  });
  agent.hook("tool:end", async () => {
    await pause(5);
    order.push("tool:end");
  });
  await agent.send("go");
  assert.deepEqual(order, [
    "model",
    "tool:start",
    "validate",
    "middleware in",
    "tool",
    "middleware out",
    "tool:end",
    "model",
  ]);
});

test("tool:end has the result as the outermost middleware returned it, and the model gets the same", async (t) => {
  const {
    tools: [, end],
    results,
  } = await runCalls(t, {
    use: [
      { name: "outer", wrapToolCall: async (_, next) => ({ ...(await next()), content: "outer" }) },
      { name: "inner", wrapToolCall: async (_, next) => ({ ...(await next()), content: "inner" }) },
    ],
  });
  assert.equal(end.result.content, "outer");
  assert.equal(results[0].content, "outer");
});

test("in the stream tool:end fires before tool_call_end and tool_result, and tool:start after tool_call_start", async (t) => {
  const order = [];
  const agent = agentFor(t, { model: [{ calls: [call()] }, { text: "done" }], tools: [plainTool("work", () => "ok")] });
  agent.subscribe(({ event }) => order.push(event.type));
  agent.hook("tool:start", () => void order.push("tool:start"));
  agent.hook("tool:end", async () => {
    await pause(2);
    order.push("tool:end");
  });
  await agent.send("go");
  const part = order.filter((name) => name.startsWith("tool"));
  assert.deepEqual(part, ["tool_use", "tool_call_start", "tool:start", "tool:end", "tool_call_end", "tool_result"]);
});

test("hooks see the model's input, the tool the validated one", async (t) => {
  let executedWith;
  const coercing = tool(
    "work",
    "",
    {
      "~standard": {
        version: 1,
        vendor: "test",
        validate: (value) => ({ value: { count: Number(value.count), added: true } }),
        jsonSchema: { input: () => ({ type: "object" }) },
      },
    },
    (input) => {
      executedWith = structuredClone(input);
      return "ok";
    },
  );
  const {
    tools: [start, end],
  } = await runCalls(t, { calls: [call("1", "work", { count: "3" })], tools: [coercing] });
  assert.deepEqual(start.call.input, { count: "3" });
  assert.deepEqual(end.call.input, { count: "3" });
  assert.deepEqual(executedWith, { count: 3, added: true });
});

test("a tool that writes to its input changes neither tool:end's call nor what the model sees next", async (t) => {
  const {
    tools: [, end],
    model,
  } = await runCalls(t, {
    calls: [call("1", "work", { list: ["a"], nested: { b: 1 } })],
    tools: [
      plainTool("work", (input) => {
        try {
          input.list.push("b");
          input.nested.b = 2;
          input.extra = true;
        } catch {
          // Refusing the write is as good.
        }
        return "ok";
      }),
    ],
  });
  assert.deepEqual(end.call.input, { list: ["a"], nested: { b: 1 } });
  const made = model.requests[1].messages.flatMap(({ content }) => content).find(({ type }) => type === "tool_call");
  assert.deepEqual(made.input, { list: ["a"], nested: { b: 1 } });
});

test("two calls with the same id in different runs have their own pairs", async (t) => {
  const agent = agentFor(t, {
    model: [{ calls: [call()] }, { text: "done" }, { calls: [call()] }, { text: "done" }],
    tools: [plainTool("work", () => "ok")],
  });
  const fired = recordHooks(agent);
  await agent.send("go");
  agent.clear();
  await agent.send("go");
  const tools = ofTools(fired);
  assert.deepEqual(
    tools.map(({ event }) => event),
    ["tool:start", "tool:end", "tool:start", "tool:end"],
  );
  assert.equal(tools[0].runId, tools[1].runId);
  assert.equal(tools[2].runId, tools[3].runId);
  assert.notEqual(tools[0].runId, tools[2].runId);
});

test("an input nested 5,000 objects deep is refused, both hooks fire, and the run goes on", async (t) => {
  let deep = {};
  for (let level = 0; level < 5_000; level += 1) deep = { deep };
  let executed = false;
  const { tools, results, result, events } = await runCalls(t, {
    calls: [call("1", "work", deep)],
    tools: [
      plainTool("work", () => {
        executed = true;
        return "ok";
      }),
    ],
  });
  assert.deepEqual(
    tools.map(({ event }) => event),
    ["tool:start", "tool:end"],
  );
  assert.equal(tools[0].call.input, "[nested too deeply]");
  assert.equal(tools[1].status, "failed");
  assert.equal(results[0].isError, true);
  assert.equal(executed, false);
  assert.equal(result.stopReason, "stop");
  assert.deepEqual(hookFailures(events), []);
});

test("an input with a member named __proto__ reaches the hooks as it is and pollutes nothing", async (t) => {
  const {
    tools: [start],
  } = await runCalls(t, { calls: [call("1", "work", JSON.parse('{"__proto__":{"polluted":true},"a":1}'))] });
  assert.equal(JSON.stringify(start.call.input), '{"__proto__":{"polluted":true},"a":1}');
  assert.equal({}.polluted, undefined);
  assert.equal(Object.getPrototypeOf(start.call.input), Object.prototype);
});

test("inputs of every JSON kind reach the hooks as they are", async (t) => {
  for (const input of [
    {},
    { a: null },
    { unicode: "é漢😀\u2028", lone: "\ud800" },
    { number: 1e300, tiny: -0.5 },
    { empty: "", list: [[], {}] },
    { "": 1 },
  ]) {
    const {
      tools: [start],
    } = await runCalls(t, { calls: [call("1", "work", input)] });
    assert.deepEqual(start.call.input, input);
  }
});
