// Work for each turn does not grow with the conversation. Counted, not timed. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { agentFor, plainTool, scriptedModel } from "../support/model.mjs";
import { call } from "./reading.mjs";

/** `value` behind proxies, all the way down, that count every look at it. */
function counted(value, counter) {
  if (typeof value !== "object" || value === null) return value;
  return new Proxy(value, {
    get(target, key, receiver) {
      counter.looks += 1;
      return counted(Reflect.get(target, key, receiver), counter);
    },
    ownKeys(target) {
      counter.looks += 1;
      return Reflect.ownKeys(target);
    },
    getOwnPropertyDescriptor(target, key) {
      counter.looks += 1;
      const descriptor = Reflect.getOwnPropertyDescriptor(target, key);
      return descriptor;
    },
  });
}

test("a stored message is not looked at again by later turns", async (t) => {
  const counter = { looks: 0 };
  const atEachTurn = [];
  let turn = 0;
  const model = {
    id: "counted",
    async *stream() {
      turn += 1;
      atEachTurn.push(counter.looks);
      const message = {
        role: "assistant",
        content: [
          { type: "text", text: "t" },
          { type: "tool_call", id: `c${turn}`, name: "echo", input: { turn } },
        ],
      };
      yield {
        type: "message_done",
        message: turn === 1 ? counted(message, counter) : message,
        usage: { inputTokens: 1, outputTokens: 1 },
      };
    },
  };
  await agentFor(t, { model, maxTurns: 60, tools: [plainTool("echo", () => "x")] }).send("hi");
  assert.equal(atEachTurn.length, 60);
  assert.equal(atEachTurn[59], atEachTurn[2], "looks at the first turn's message after the second turn");
});

test("requests share the messages of the conversation and copy none of them", async (t) => {
  let count = 0;
  const model = scriptedModel([() => ({ text: "t", calls: [call(`c${(count += 1)}`, "echo")] })]);
  await agentFor(t, { model, maxTurns: 30, tools: [plainTool("echo", () => "x")] }).send("hi");
  const [early, late] = [model.requests[10].messages, model.requests[29].messages];
  assert.equal(early.length, 21);
  assert.equal(late.length, 59);
  assert.notEqual(early, late);
  early.forEach((message, index) => assert.equal(message, late[index], `message ${index} is the same object`));
});

test("tools are described once, not for each request", async (t) => {
  let count = 0;
  const schema = { reads: 0 };
  const echo = plainTool("echo", () => "x");
  const parameters = echo.schema;
  Object.defineProperty(echo, "schema", {
    get() {
      schema.reads += 1;
      return parameters;
    },
    enumerable: true,
  });
  const model = scriptedModel([() => ({ calls: [call(`c${(count += 1)}`, "echo")] })]);
  const agent = agentFor(t, { model, maxTurns: 30, tools: [echo] });
  const atCreation = schema.reads;
  await agent.send("hi");
  assert.equal(schema.reads, atCreation);
});

test("a signal that serves 100 runs holds no listener of theirs afterwards", async (t) => {
  const agent = agentFor(t, {
    model: [{ calls: [call("a", "echo")] }, { text: "end" }, { text: "end" }],
    tools: [plainTool("echo", (_, { signal }) => String(signal.aborted))],
  });
  const { signal } = new AbortController();
  const warnings = [];
  const listen = (warning) => warnings.push(warning.name);
  process.on("warning", listen);
  for (let count = 0; count < 100; count += 1) await agent.send("hi", { signal });
  await new Promise(setImmediate);
  process.off("warning", listen);
  assert.equal(getEventListeners(signal, "abort").length, 0);
  assert.deepEqual(warnings, []);
});

test("20 runs at once with one signal give no listener warning", async (t) => {
  const agent = agentFor(t);
  const { signal } = new AbortController();
  const warnings = [];
  const listen = (warning) => warnings.push(warning.name);
  process.on("warning", listen);
  await Promise.all(Array.from({ length: 20 }, (_, index) => agent.send("hi", { signal, sessionId: `s${index}` })));
  await new Promise(setImmediate);
  process.off("warning", listen);
  assert.deepEqual(warnings, []);
});

test("a model's own signal holds at most the listeners that the model added, in a long run", async (t) => {
  let count = 0;
  const model = scriptedModel([() => ({ calls: [call(`c${(count += 1)}`, "echo")] })]);
  await agentFor(t, { model, maxTurns: 100, tools: [plainTool("echo", () => "x")] }).send("hi");
  for (const signal of new Set(model.signals)) assert.equal(getEventListeners(signal, "abort").length, 0);
});

test("one long run of 2,000 turns leaves the event loop free to do other work", async (t) => {
  let count = 0;
  let ticks = 0;
  const model = {
    id: "fast",
    async *stream() {
      count += 1;
      yield {
        type: "message_done",
        message: { role: "assistant", content: [{ type: "tool_call", id: `c${count}`, name: "echo", input: {} }] },
        usage: { inputTokens: 1, outputTokens: 1 },
      };
    },
  };
  const agent = agentFor(t, { model, maxTurns: 2_000, tools: [plainTool("echo", () => "x")] });
  const timer = setInterval(() => {
    ticks += 1;
  }, 1);
  await agent.send("hi");
  clearInterval(timer);
  assert.equal(count, 2_000);
  assert.ok(ticks > 0, "a timer fired while the run went on");
});
