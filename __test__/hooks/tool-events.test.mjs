// When tool:start and tool:end fire, and exactly what they carry.
import { test } from "node:test";
import assert from "node:assert/strict";
import { tool } from "../../index.js";
import {
  aborted, agentFor, collect, deferred, hookFailures, pause, plainTool, recordHooks, scriptedModel, within,
} from "../support/model.mjs";

const call = (id = "call-1", name = "work", input = {}) => ({ id, name, input });
const keys = (object) => Object.keys(object).sort();
const ofTools = (fired) => fired.filter(({ event }) => event.startsWith("tool:"));

/** Runs one turn with these calls, then "done"; gives the tool events of the run and the request that held the results. */
async function runCalls(t, { calls = [call()], tools = [plainTool("work", () => "worked")], ...config } = {}, options) {
  const model = scriptedModel([{ calls }, { text: "done" }]);
  const agent = agentFor(t, { model, tools, ...config });
  const fired = recordHooks(agent);
  const { events, result } = await within(collect(agent.run("go", options)), "the run");
  const results = model.requests[1]?.messages.at(-1).content;
  return { agent, model, fired, tools: ofTools(fired), events, result, results };
}

test("tool:start carries its identity and the call, and no other key", async (t) => {
  const { tools: [start], agent } = await runCalls(t, { calls: [call("call-7", "work", { path: "a", deep: { list: [1, { b: null }] } })] });
  assert.deepEqual(keys(start), ["call", "event", "runId", "sessionId", "source"]);
  assert.equal(start.event, "tool:start");
  assert.equal(start.sessionId, agent.sessionId);
  assert.equal(start.source, "user");
  assert.deepEqual(start.call, { id: "call-7", name: "work", input: { path: "a", deep: { list: [1, { b: null }] } } });
});

test("tool:end of a call that worked carries call, status, result and duration, and no other key", async (t) => {
  const { tools: [, end] } = await runCalls(t, { calls: [call("call-7", "work", { a: 1 })] });
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
  const { tools: [, end] } = await runCalls(t, { tools: [plainTool("work", async () => { await pause(40); return "ok"; })] });
  assert.ok(end.durationMs >= 38, `${end.durationMs}`);
  assert.ok(Number.isFinite(end.durationMs));
});

test("tool:end carries text and images as the tool gave them", async (t) => {
  const content = [{ type: "text", text: "a shot" }, { type: "image", mediaType: "image/png", data: "iVBORw0KGgo=" }];
  const { tools: [, end] } = await runCalls(t, { tools: [plainTool("work", () => content)] });
  assert.deepEqual(end.result.content, content);
});

test("a tool result with isError is failed, with a result and no error", async (t) => {
  const { tools: [, end], results } = await runCalls(t, { tools: [plainTool("work", () => ({ content: "no such file", isError: true }))] });
  assert.equal(end.status, "failed");
  assert.equal("error" in end, false);
  assert.equal(end.result.isError, true);
  assert.equal(end.result.content, "no such file");
  assert.equal(results[0].isError, true);
});

test("a tool that throws is failed, with the error's name and message", async (t) => {
  const { tools: [, end], results, result } = await runCalls(t, { tools: [plainTool("work", () => { throw new TypeError("no such thing"); })] });
  assert.equal(end.status, "failed");
  assert.deepEqual(end.error, { name: "TypeError", message: "no such thing" });
  assert.equal(results[0].isError, true);
  assert.equal(results[0].content, "Error: no such thing");
  assert.equal(result.stopReason, "stop");
});

const oddities = {
  "undefined": undefined, "null": null, "a string": "oops", "a number": 0, "a symbol": Symbol("oops"), "a bigint": 5n,
  "a frozen object": Object.freeze({ message: "oops" }), "an object without prototype": Object.create(null),
  "a function": () => {}, "a proxy that throws on everything": hostileProxy(),
  "an error whose message throws": Object.defineProperty(new Error("x"), "message", { get() { throw new Error("trap"); } }),
  "an error whose name is a symbol": Object.assign(new Error("oops"), { name: Symbol("name") }),
};
for (const [what, thrown] of Object.entries(oddities)) {
  test(`a tool that throws ${what} has one tool:end, failed, with an error of two strings`, async (t) => {
    const { tools, result } = await runCalls(t, { tools: [plainTool("work", () => { throw thrown; })] });
    assert.deepEqual(tools.map(({ event }) => event), ["tool:start", "tool:end"]);
    assert.equal(tools[1].status, "failed");
    assert.deepEqual(keys(tools[1].error), ["message", "name"]);
    assert.equal(typeof tools[1].error.name, "string");
    assert.equal(typeof tools[1].error.message, "string");
    assert.equal(result.stopReason, "stop");
  });
}

test("an unknown tool has one tool:start and one tool:end, failed, with a result and no error", async (t) => {
  const { tools, results } = await runCalls(t, { calls: [call("1", "wrok", { a: 1 })] });
  assert.deepEqual(tools.map(({ event }) => event), ["tool:start", "tool:end"]);
  assert.deepEqual(tools[1].call, call("1", "wrok", { a: 1 }));
  assert.equal(tools[1].status, "failed");
  assert.equal("error" in tools[1], false);
  assert.equal(tools[1].result.isError, true);
  assert.match(results[0].content, /^Error: unknown tool 'wrok'/);
});

test("an input that the schema refuses has one tool:start and one tool:end, failed, with a result and no error", async (t) => {
  let executed = false;
  const strict = tool("work", "", { type: "object", properties: { path: { type: "string" } }, required: ["path"] }, () => {
    executed = true;
    return "ok";
  });
  const { tools, results } = await runCalls(t, { calls: [call("1", "work", { path: 5 })], tools: [strict] });
  assert.deepEqual(tools.map(({ event }) => event), ["tool:start", "tool:end"]);
  assert.equal(tools[1].status, "failed");
  assert.equal("error" in tools[1], false);
  assert.equal(tools[1].result.isError, true);
  assert.match(JSON.stringify(results[0].content), /path/);
  assert.equal(executed, false);
});

test("a tool that overruns its timeoutMs has one tool:end, failed, even when it finishes later", async (t) => {
  const gate = deferred();
  const { tools, results, fired } = await runCalls(t, { tools: [plainTool("work", () => gate.promise, { timeoutMs: 20 })] });
  assert.deepEqual(tools.map(({ event }) => event), ["tool:start", "tool:end"]);
  assert.equal(tools[1].status, "failed");
  assert.equal("error" in tools[1], false, "nothing was thrown");
  assert.equal(tools[1].result.isError, true);
  assert.match(JSON.stringify(results[0].content), /timed out after 20 ms/);
  const before = fired.length;
  gate.resolve("late");
  await pause(10);
  assert.equal(fired.length, before);
});

test("an aborted call has one tool:end, cancelled, whether the tool heeds its signal, throws on it or ignores it", async (t) => {
  for (const reaction of [
    (signal) => aborted(signal).then(() => "stopped"),
    (signal) => aborted(signal).then((reason) => { throw reason; }),
    () => new Promise(() => {}),
  ]) {
    const controller = new AbortController();
    const { tools, result } = await runCalls(t, {
      tools: [plainTool("work", (_, { signal }) => {
        queueMicrotask(() => controller.abort());
        return reaction(signal);
      })],
    }, { signal: controller.signal });
    assert.equal(result.stopReason, "aborted");
    assert.deepEqual(tools.map(({ event, status }) => [event, status]), [["tool:start", undefined], ["tool:end", "cancelled"]]);
  }
});

test("tool:end of a call that was cut off has a failed result and no error, as nothing was thrown", async (t) => {
  const controller = new AbortController();
  const { tools: [, end] } = await runCalls(t, {
    tools: [plainTool("work", () => { controller.abort(); return new Promise(() => {}); })],
  }, { signal: controller.signal });
  assert.equal(end.status, "cancelled");
  assert.equal("error" in end, false);
  assert.equal(end.result.isError, true);
  assert.match(JSON.stringify(end.result.content), /interrupted/);
});

test("a call that was cancelled before it began has neither tool:start nor tool:end", async (t) => {
  const controller = new AbortController();
  const { tools, result } = await runCalls(t, {
    calls: [call("1"), call("2"), call("3")],
    maxParallelTools: 1,
    tools: [plainTool("work", (_, { signal }) => {
      controller.abort();
      return aborted(signal);
    })],
  }, { signal: controller.signal });
  assert.equal(result.stopReason, "aborted");
  assert.deepEqual(tools.map(({ event, call: { id } }) => [event, id]), [["tool:start", "1"], ["tool:end", "1"]]);
});

test("a call whose tool:start handler was in flight when the run was cancelled has one tool:end, cancelled, and does not run", async (t) => {
  const controller = new AbortController();
  let executed = false;
  const agent = agentFor(t, { model: [{ calls: [call()] }], tools: [plainTool("work", () => { executed = true; return "ok"; })] });
  const fired = recordHooks(agent);
  agent.hook("tool:start", () => {
    controller.abort();
    return new Promise(() => {});
  });
  const result = await within(agent.send("go", { signal: controller.signal }), "the aborted run", 1_000);
  assert.equal(result.stopReason, "aborted");
  assert.deepEqual(fired.map(({ event }) => event), ["run:start", "tool:start", "tool:end", "run:end"]);
  assert.equal(fired[2].status, "cancelled");
  assert.equal(executed, false);
});

test("a middleware that denies makes a failed tool:end with its result and without an error", async (t) => {
  const { tools, results } = await runCalls(t, {
    use: [{ name: "deny", wrapToolCall: async ({ call: { id, name } }) => ({ id, name, content: "denied", isError: true }) }],
    tools: [plainTool("work", () => assert.fail("it must not run"))],
  });
  assert.deepEqual(tools.map(({ event }) => event), ["tool:start", "tool:end"]);
  assert.equal(tools[1].status, "failed");
  assert.equal("error" in tools[1], false);
  assert.equal(tools[1].result.content, "denied");
  assert.equal(results[0].content, "denied");
});

for (const later of [false, true]) {
  test(`a middleware that throws ${later ? "after" : "before"} the tool ran has one tool:start, one tool:end and one run:end`, async (t) => {
    const model = scriptedModel([{ calls: [call()] }, { text: "done" }]);
    const agent = agentFor(t, {
      model,
      tools: [plainTool("work", () => "worked")],
      use: [{ name: "broken", async wrapToolCall(_, next) { if (later) await next(); throw new RangeError("broken onion"); } }],
    });
    const fired = recordHooks(agent);
    await agent.send("go").catch(() => {});
    assert.deepEqual(fired.map(({ event }) => event), ["run:start", "tool:start", "tool:end", "run:end"]);
    assert.equal(fired[2].status, "failed");
    assert.deepEqual(fired[2].error, { name: "RangeError", message: "broken onion" });
  });
}

test("tool:start handlers are awaited before validation, middleware and the tool, and tool:end handlers after them", async (t) => {
  const order = [];
  const watched = tool("work", "", {
    "~standard": {
      version: 1, vendor: "test",
      validate: (value) => { order.push("validate"); return { value }; },
      jsonSchema: { input: () => ({ type: "object" }) },
    },
  }, () => { order.push("tool"); return "ok"; });
  const agent = agentFor(t, {
    model: scriptedModel([{ calls: [call()] }, { text: "done" }], { onRequest: () => order.push("model") }),
    tools: [watched],
    use: [{ name: "m", async wrapToolCall(_, next) { order.push("middleware in"); const result = await next(); order.push("middleware out"); return result; } }],
  });
  agent.hook("tool:start", async () => { await pause(5); order.push("tool:start"); });
  agent.hook("tool:end", async () => { await pause(5); order.push("tool:end"); });
  await agent.send("go");
  assert.deepEqual(order, ["model", "tool:start", "validate", "middleware in", "tool", "middleware out", "tool:end", "model"]);
});

test("tool:end has the result as the outermost middleware returned it, and the model gets the same", async (t) => {
  const { tools: [, end], results } = await runCalls(t, {
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
  agent.hook("tool:end", async () => { await pause(2); order.push("tool:end"); });
  await agent.send("go");
  const part = order.filter((name) => name.startsWith("tool"));
  assert.deepEqual(part, ["tool_use", "tool_call_start", "tool:start", "tool:end", "tool_call_end", "tool_result"]);
});

test("hooks see the model's input, the tool the validated one", async (t) => {
  let executedWith;
  const coercing = tool("work", "", {
    "~standard": {
      version: 1, vendor: "test",
      validate: (value) => ({ value: { count: Number(value.count), added: true } }),
      jsonSchema: { input: () => ({ type: "object" }) },
    },
  }, (input) => { executedWith = structuredClone(input); return "ok"; });
  const { tools: [start, end] } = await runCalls(t, { calls: [call("1", "work", { count: "3" })], tools: [coercing] });
  assert.deepEqual(start.call.input, { count: "3" });
  assert.deepEqual(end.call.input, { count: "3" });
  assert.deepEqual(executedWith, { count: 3, added: true });
});

test("a tool that writes to its input changes neither tool:end's call nor what the model sees next", async (t) => {
  const { tools: [, end], model } = await runCalls(t, {
    calls: [call("1", "work", { list: ["a"], nested: { b: 1 } })],
    tools: [plainTool("work", (input) => {
      try {
        input.list.push("b");
        input.nested.b = 2;
        input.extra = true;
      } catch {
        // Refusing the write is as good.
      }
      return "ok";
    })],
  });
  assert.deepEqual(end.call.input, { list: ["a"], nested: { b: 1 } });
  const made = model.requests[1].messages.flatMap(({ content }) => content).find(({ type }) => type === "tool_call");
  assert.deepEqual(made.input, { list: ["a"], nested: { b: 1 } });
});

test("each of many calls of a turn has exactly one tool:start and one tool:end, whatever became of it", async (t) => {
  const calls = Array.from({ length: 40 }, (_, position) => call(`c${position}`, ["work", "throws", "missing", "fails", "strict", "slow"][position % 6]));
  const { tools, results } = await runCalls(t, {
    calls,
    tools: [
      plainTool("work", async () => { await pause(1); return "ok"; }),
      plainTool("throws", () => { throw new Error("broken"); }),
      plainTool("fails", () => ({ content: "no", isError: true })),
      tool("strict", "", { type: "object", required: ["x"] }, () => "ok"),
      plainTool("slow", () => new Promise(() => {}), { timeoutMs: 15 }),
    ],
  });
  for (const phase of ["tool:start", "tool:end"]) {
    const ids = tools.filter(({ event }) => event === phase).map(({ call: { id } }) => id).sort();
    assert.deepEqual(ids, calls.map(({ id }) => id).sort(), phase);
  }
  for (const { call: { name }, status } of tools.filter(({ event }) => event === "tool:end")) {
    assert.equal(status, name === "work" ? "completed" : "failed", name);
  }
  assert.deepEqual(results.map(({ id }) => id), calls.map(({ id }) => id));
});

test("two calls with the same id in different runs have their own pairs", async (t) => {
  const agent = agentFor(t, { model: [{ calls: [call()] }, { text: "done" }, { calls: [call()] }, { text: "done" }], tools: [plainTool("work", () => "ok")] });
  const fired = recordHooks(agent);
  await agent.send("go");
  agent.clear();
  await agent.send("go");
  const tools = ofTools(fired);
  assert.deepEqual(tools.map(({ event }) => event), ["tool:start", "tool:end", "tool:start", "tool:end"]);
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
    tools: [plainTool("work", () => { executed = true; return "ok"; })],
  });
  assert.deepEqual(tools.map(({ event }) => event), ["tool:start", "tool:end"]);
  assert.equal(tools[0].call.input, "[nested too deeply]");
  assert.equal(tools[1].status, "failed");
  assert.equal(results[0].isError, true);
  assert.equal(executed, false);
  assert.equal(result.stopReason, "stop");
  assert.deepEqual(hookFailures(events), []);
});

test("an input with a member named __proto__ reaches the hooks as it is and pollutes nothing", async (t) => {
  const { tools: [start] } = await runCalls(t, { calls: [call("1", "work", JSON.parse('{"__proto__":{"polluted":true},"a":1}'))] });
  assert.equal(JSON.stringify(start.call.input), '{"__proto__":{"polluted":true},"a":1}');
  assert.equal({}.polluted, undefined);
  assert.equal(Object.getPrototypeOf(start.call.input), Object.prototype);
});

test("inputs of every JSON kind reach the hooks as they are", async (t) => {
  for (const input of [{}, { a: null }, { unicode: "é漢😀\u2028", lone: "\ud800" }, { number: 1e300, tiny: -0.5 }, { empty: "", list: [[], {}] }, { "": 1 }]) {
    const { tools: [start] } = await runCalls(t, { calls: [call("1", "work", input)] });
    assert.deepEqual(start.call.input, input);
  }
});

function hostileProxy() {
  const trap = () => { throw new Error("trap"); };
  return new Proxy({}, { get: trap, has: trap, ownKeys: trap, getPrototypeOf: trap, getOwnPropertyDescriptor: trap, set: trap });
}
