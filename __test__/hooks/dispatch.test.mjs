// The order of handlers, what is awaited, the snapshot of registrations, and the frozen copy that handlers get.
import { test } from "node:test";
import assert from "node:assert/strict";
import vm from "node:vm";
import { agentFor, collect, deferred, hookFailures, pause, plainTool, scriptedModel, until, within } from "../support/model.mjs";

const call = (id = "call-1", name = "work", input = {}) => ({ id, name, input });
const working = (calls = [call()], config = {}) => ({
  model: scriptedModel([{ calls }, { text: "done" }]),
  tools: [plainTool("work", () => "worked")],
  ...config,
});

test("handlers run in the order of their registration, each awaited before the next", async (t) => {
  const agent = agentFor(t);
  const order = [];
  for (const [name, durationMs] of [["a", 20], ["b", 0], ["c", 10], ["d", 1]]) {
    agent.hook("run:start", async () => {
      order.push(`${name} in`);
      await pause(durationMs);
      order.push(`${name} out`);
    });
  }
  agent.hook("run:start", () => void order.push("sync"));
  await agent.send("go");
  assert.deepEqual(order, ["a in", "a out", "b in", "b out", "c in", "c out", "d in", "d out", "sync"]);
});

test("a slow first handler cannot let a fast second one overtake it, nor show it a change of the event", async (t) => {
  const agent = agentFor(t, working([call("1", "work", { path: "a" })]));
  const order = [];
  agent.hook("tool:start", async ({ call: { input } }) => {
    await pause(20);
    try { input.path = "changed"; } catch { order.push("refused"); }
    order.push("slow");
  });
  agent.hook("tool:start", ({ call: { input } }) => void order.push(`fast ${input.path}`));
  await agent.send("go");
  assert.deepEqual(order, ["refused", "slow", "fast a"]);
});

test("tool:start handlers of the calls of one turn are awaited at the same time", async (t) => {
  const agent = agentFor(t, working([call("1"), call("2"), call("3")]));
  const met = deferred();
  const arrived = [];
  agent.hook("tool:start", ({ call: { id } }) => {
    arrived.push(id);
    if (arrived.length === 3) met.resolve();
    return met.promise;
  });
  await within(agent.send("go"), "three dispatches that wait for one another");
  assert.deepEqual(arrived.sort(), ["1", "2", "3"]);
});

test("tool:end handlers of the calls of one turn are awaited at the same time", async (t) => {
  const agent = agentFor(t, working([call("1"), call("2"), call("3")]));
  const met = deferred();
  let arrived = 0;
  agent.hook("tool:end", () => {
    arrived += 1;
    if (arrived === 3) met.resolve();
    return met.promise;
  });
  await within(agent.send("go"), "three dispatches that wait for one another");
});

test("within each of several dispatches at once the order is kept", async (t) => {
  const calls = Array.from({ length: 8 }, (_, position) => call(`c${position}`));
  const agent = agentFor(t, working(calls));
  const orders = new Map(calls.map(({ id }) => [id, []]));
  for (const name of ["a", "b", "c"]) {
    agent.hook("tool:start", async ({ call: { id } }) => {
      orders.get(id).push(`${name} in`);
      await pause((Number(id.slice(1)) * 7) % 5);
      orders.get(id).push(`${name} out`);
    });
  }
  await agent.send("go");
  for (const order of orders.values()) assert.deepEqual(order, ["a in", "a out", "b in", "b out", "c in", "c out"]);
});

test("a tool does not run while its tool:start handler is pending, and another call of the turn does", async (t) => {
  const gate = deferred();
  const executed = [];
  const agent = agentFor(t, working([call("held"), call("free")], {
    tools: [plainTool("work", (_, context) => { executed.push(context.call.id); return "ok"; })],
  }));
  agent.hook("tool:start", ({ call: { id } }) => (id === "held" ? gate.promise : undefined));
  const sending = agent.send("go");
  await until(() => executed.length > 0);
  assert.deepEqual(executed, ["free"]);
  gate.resolve();
  await sending;
  assert.deepEqual(executed, ["free", "held"]);
});

test("the model is not asked again while a tool:end handler is pending", async (t) => {
  const gate = deferred();
  const invoked = deferred();
  const config = working();
  const agent = agentFor(t, config);
  agent.hook("tool:end", () => { invoked.resolve(); return gate.promise; });
  const sending = agent.send("go");
  await invoked.promise;
  await pause(5);
  assert.equal(config.model.requests.length, 1);
  gate.resolve();
  await sending;
  assert.equal(config.model.requests.length, 2);
});

test("returned values are ignored", async (t) => {
  const values = [false, null, 0, "deny", { decision: "deny" }, { input: { path: "b" } }, new Error("returned"), { content: "changed", isError: true },
    Symbol("x"), () => assert.fail("must not be called"), [1], new Map(), hostileProxy(), revokedProxy()];
  let executedWith;
  const agent = agentFor(t, working([call("1", "work", { path: "a" })], {
    tools: [plainTool("work", (input) => { executedWith = { ...input }; return "worked"; })],
  }));
  let calls = 0;
  for (const name of ["run:start", "tool:start", "tool:end", "run:end"]) {
    for (const value of values) agent.hook(name, () => { calls += 1; return value; });
  }
  const result = await agent.send("go");
  assert.equal(calls, values.length * 4);
  assert.deepEqual(executedWith, { path: "a" });
  assert.equal(result.text, "done");
  const results = result.messages.flatMap(({ content }) => content).filter(({ type }) => type === "tool_result");
  assert.equal(results[0].content, "worked");
  assert.notEqual(results[0].isError, true);
});

test("a plain returned value is no failure, whatever it is", async (t) => {
  const agent = agentFor(t);
  for (const value of [false, new Error("returned"), {}, { then: 5 }, { then: null }, function* () {}, Symbol("x"), 5n]) {
    agent.hook("run:start", () => value);
    agent.hook("run:start", async () => value);
  }
  const { events } = await collect(agent.run("go"));
  assert.deepEqual(hookFailures(events), []);
});

test("a thenable of any make is awaited", async (t) => {
  const agent = agentFor(t);
  const order = [];
  class Later extends Promise {}
  const makers = {
    "a promise": (done) => new Promise((resolve) => setTimeout(() => { done(); resolve(); }, 5)),
    "a subclass": (done) => new Later((resolve) => setTimeout(() => { done(); resolve(); }, 5)),
    "a promise of another realm": (done) => vm.runInNewContext("new Promise((resolve) => later(resolve))", { later: (resolve) => setTimeout(() => { done(); resolve(); }, 5) }),
    "an object with then": (done) => ({ then(resolve) { setTimeout(() => { done(); resolve(); }, 5); } }),
    "a function with then": (done) => Object.assign(() => {}, { then(resolve) { setTimeout(() => { done(); resolve(); }, 5); } }),
    "a thenable of a thenable": (done) => ({ then(resolve) { resolve({ then(inner) { setTimeout(() => { done(); inner(); }, 5); } }); } }),
    "an inherited then": (done) => Object.create({ then(resolve) { setTimeout(() => { done(); resolve(); }, 5); } }),
  };
  for (const [name, make] of Object.entries(makers)) {
    agent.hook("run:start", () => { order.push(`${name} in`); return make(() => order.push(`${name} out`)); });
  }
  const { events } = await within(collect(agent.run("go")), "the run");
  assert.deepEqual(order, Object.keys(makers).flatMap((name) => [`${name} in`, `${name} out`]));
  assert.deepEqual(hookFailures(events), []);
});

test("a generator that a handler returns is not run", async (t) => {
  const agent = agentFor(t);
  let ran = false;
  agent.hook("run:start", function* () { ran = true; });
  agent.hook("run:start", async function* () { ran = true; });
  const { events } = await collect(agent.run("go"));
  assert.equal(ran, false);
  assert.deepEqual(hookFailures(events), []);
});

test("a thenable that calls back twice counts once", async (t) => {
  const agent = agentFor(t);
  const order = [];
  agent.hook("run:start", () => ({ then(resolve, reject) { resolve(); reject(new Error("second")); resolve(); } }));
  agent.hook("run:start", () => ({ then(resolve, reject) { reject(new Error("first")); reject(new Error("second")); resolve(); throw new Error("third"); } }));
  agent.hook("run:start", () => void order.push("last"));
  const { events } = await collect(agent.run("go"));
  const failures = hookFailures(events);
  assert.deepEqual(failures.map(({ hook }) => [hook.index, hook.reason]), [[1, "error"]]);
  assert.match(failures[0].message, /first/);
  assert.deepEqual(order, ["last"]);
});

test("a handler registered by a handler is not called in the same dispatch, and is in the next", async (t) => {
  const agent = agentFor(t);
  const order = [];
  let registered = false;
  agent.hook("run:start", () => {
    order.push("first");
    if (registered) return;
    registered = true;
    agent.hook("run:start", () => void order.push("added"));
  });
  agent.hook("run:start", () => void order.push("second"));
  await agent.send("go");
  assert.deepEqual(order, ["first", "second"]);
  await agent.send("go");
  assert.deepEqual(order, ["first", "second", "first", "second", "added"]);
});

test("a handler removed by a handler before it is still called in the same dispatch, and not in the next", async (t) => {
  const agent = agentFor(t);
  const order = [];
  let remove = () => {};
  agent.hook("run:start", async () => {
    await pause(1);
    order.push("remover");
    remove();
  });
  remove = agent.hook("run:start", () => void order.push("removed"));
  await agent.send("go");
  await agent.send("go");
  assert.deepEqual(order, ["remover", "removed", "remover"]);
});

test("a handler may remove itself", async (t) => {
  const agent = agentFor(t);
  let calls = 0;
  const remove = agent.hook("run:start", () => { calls += 1; remove(); });
  const order = [];
  agent.hook("run:start", () => void order.push("next"));
  await agent.send("go");
  await agent.send("go");
  assert.equal(calls, 1);
  assert.deepEqual(order, ["next", "next"]);
});

test("what a tool:start handler registers for tool:end is called for the same call", async (t) => {
  const agent = agentFor(t, working());
  const order = [];
  const remove = agent.hook("tool:start", () => {
    remove();
    agent.hook("tool:end", () => void order.push("tool:end"));
    agent.hook("run:end", () => void order.push("run:end"));
  });
  await agent.send("go");
  assert.deepEqual(order, ["tool:end", "run:end"]);
});

test("each dispatch has its own snapshot, also when dispatches overlap", async (t) => {
  const agent = agentFor(t, working([call("1"), call("2")], { maxParallelTools: 2 }));
  const order = [];
  const gate = deferred();
  agent.hook("tool:start", async ({ call: { id } }) => {
    if (id === "1") await gate.promise;
  });
  const release = agent.hook("tool:end", ({ call: { id } }) => {
    if (id !== "2") return;
    agent.hook("tool:start", ({ call: { id: later } }) => void order.push(`added ${later}`));
    agent.hook("tool:end", ({ call: { id: later } }) => void order.push(`end ${later}`));
    release();
    gate.resolve();
  });
  await within(agent.send("go"), "the run");
  assert.deepEqual(order, ["end 1"]);
});

test("a dispatch of 1,000 handlers that all settle at once runs them in order", async (t) => {
  const agent = agentFor(t);
  const order = [];
  for (let position = 0; position < 1_000; position += 1) {
    agent.hook("run:start", position % 2 ? () => void order.push(position) : async () => void order.push(position));
  }
  await agent.send("go");
  assert.deepEqual(order, Array.from({ length: 1_000 }, (_, position) => position));
});

// -- the frozen copy ------------------------------------------------------------------------------------------------

function assertDeepFrozen(value, path = "event") {
  if (typeof value !== "object" || value === null) return;
  assert.ok(Object.isFrozen(value), `${path} is not frozen`);
  for (const key of Reflect.ownKeys(value)) assertDeepFrozen(value[key], `${path}.${String(key)}`);
}

test("every event is frozen to its depths", async (t) => {
  const agent = agentFor(t, {
    model: scriptedModel([{ calls: [call("1", "work", { a: { b: [{ c: [1] }] } })] }, { text: "done" }]),
    tools: [plainTool("work", () => [{ type: "text", text: "worked" }])],
  });
  const seen = [];
  for (const name of ["run:start", "tool:start", "tool:end", "run:end"]) {
    agent.hook(name, (event) => { assertDeepFrozen(event); seen.push(name); });
  }
  const { events } = await collect(agent.run([{ role: "user", content: [{ type: "text", text: "go" }] }]));
  assert.deepEqual(hookFailures(events).map(({ message }) => message), []);
  assert.deepEqual(seen, ["run:start", "tool:start", "tool:end", "run:end"]);
});

test("the event of a failed run is frozen to its depths", async (t) => {
  const agent = agentFor(t, { model: [{ error: new Error("broken") }] });
  let end;
  agent.hook("run:end", (event) => { end = event; });
  await assert.rejects(agent.send("go"), /broken/);
  assertDeepFrozen(end);
});

test("the handlers of one dispatch get the same copy", async (t) => {
  const agent = agentFor(t, working());
  const seen = [];
  agent.hook("tool:end", (event) => void seen.push(event));
  agent.hook("tool:end", (event) => void seen.push(event));
  await agent.send("go");
  assert.equal(seen[0], seen[1]);
});

const writes = {
  "sets a member": (event) => { event.call = {}; },
  "adds a member": (event) => { event.extra = 1; },
  "deletes a member": (event) => { delete event.call; },
  "sets a nested member": (event) => { event.call.input.path = "b"; },
  "pushes on a nested array": (event) => { event.call.input.list.push(2); },
  "sorts a nested array": (event) => { event.call.input.list.sort(); },
  "sets a prototype": (event) => { Object.setPrototypeOf(event.call.input, null); },
  "defines a property": (event) => { Object.defineProperty(event.call, "name", { value: "other" }); },
};
for (const [what, write] of Object.entries(writes)) {
  test(`a handler that ${what} fails, and neither the tool, the next handler nor the model sees it`, async (t) => {
    const model = scriptedModel([{ calls: [call("1", "work", { path: "a", list: [3, 1] })] }, { text: "done" }]);
    let executedWith;
    const agent = agentFor(t, { model, tools: [plainTool("work", (input) => { executedWith = structuredClone(input); return "ok"; })] });
    const seen = [];
    agent.hook("tool:start", write);
    agent.hook("tool:start", (event) => void seen.push(event.call));
    agent.hook("tool:end", (event) => void seen.push(event.call));
    const { events } = await collect(agent.run("go"));
    assert.deepEqual(hookFailures(events).map(({ hook: { event, index, reason } }) => [event, index, reason]), [["tool:start", 0, "error"]]);
    const original = call("1", "work", { path: "a", list: [3, 1] });
    assert.deepEqual(seen, [original, original]);
    assert.deepEqual(executedWith, original.input);
    const sent = model.requests[1].messages.flatMap(({ content }) => content).find(({ type }) => type === "tool_call");
    assert.deepEqual(sent.input, original.input);
  });
}

test("a handler that writes to the result of tool:end fails, and the model gets the result as it was", async (t) => {
  const model = scriptedModel([{ calls: [call()] }, { text: "done" }]);
  const agent = agentFor(t, { model, tools: [plainTool("work", () => [{ type: "text", text: "worked" }])] });
  agent.hook("tool:end", (event) => { event.result.isError = true; });
  agent.hook("tool:end", (event) => { event.result.content[0].text = "changed"; });
  agent.hook("tool:end", (event) => { event.status = "failed"; });
  const { events } = await collect(agent.run("go"));
  assert.equal(hookFailures(events).length, 3);
  const [result] = model.requests[1].messages.at(-1).content;
  assert.deepEqual(result.content, [{ type: "text", text: "worked" }]);
  assert.notEqual(result.isError, true);
});

test("a handler that writes to run:end's result does not change what send() resolves with", async (t) => {
  const agent = agentFor(t, { model: [{ text: "ok", usage: { inputTokens: 1, outputTokens: 2 } }] });
  agent.hook("run:end", (event) => { event.result.text = "changed"; });
  agent.hook("run:end", (event) => { event.result.usage.inputTokens = 99; });
  agent.hook("run:end", (event) => { event.status = "failed"; });
  const result = await agent.send("go");
  assert.equal(result.text, "ok");
  assert.equal(result.usage.inputTokens, 1);
  assert.equal(result.stopReason, "stop");
});

test("the host's own input is copied, not frozen, and later changes to it are not seen", async (t) => {
  const model = scriptedModel([{ text: "ok" }]);
  const agent = agentFor(t, { model });
  const input = [{ role: "user", content: [{ type: "text", text: "original" }] }];
  let seen;
  agent.hook("run:start", async (event) => {
    input[0].content[0].text = "changed";
    input.push({ role: "user", content: "more" });
    await pause(1);
    seen = event.input;
  });
  await agent.send(input);
  assert.deepEqual(seen, [{ role: "user", content: [{ type: "text", text: "original" }] }]);
  for (const value of [input, input[0], input[0].content, input[0].content[0]]) assert.equal(Object.isFrozen(value), false);
  assert.equal(JSON.stringify(model.requests[0].messages).includes("original"), true);
  assert.equal(JSON.stringify(model.requests[0].messages).includes("changed"), false);
});

test("what a tool returned is copied, not frozen, and later changes to it are not seen", async (t) => {
  const content = [{ type: "text", text: "original" }];
  const model = scriptedModel([{ calls: [call()] }, { text: "done" }]);
  const agent = agentFor(t, { model, tools: [plainTool("work", () => content)] });
  let seen;
  agent.hook("tool:end", (event) => {
    content[0].text = "changed";
    content.push({ type: "text", text: "more" });
    seen = event.result.content;
  });
  await agent.send("go");
  assert.deepEqual(seen, [{ type: "text", text: "original" }]);
  assert.equal(Object.isFrozen(content), false);
  assert.deepEqual(model.requests[1].messages.at(-1).content[0].content, [{ type: "text", text: "original" }]);
});

test("events stay as they were after the run has gone on", async (t) => {
  const agent = agentFor(t, { model: [{ calls: [call("1", "work", { n: 1 })] }, { calls: [call("2", "work", { n: 2 })] }, { text: "done" }], tools: [plainTool("work", () => "ok")] });
  const kept = [];
  for (const name of ["run:start", "tool:start", "tool:end", "run:end"]) agent.hook(name, (event) => void kept.push([event, JSON.stringify(event)]));
  await agent.send("go");
  assert.equal(kept.length, 6);
  for (const [event, then] of kept) assert.equal(JSON.stringify(event), then);
});

test("an event can be cloned, stringified and sent to another thread", async (t) => {
  const agent = agentFor(t, working([call("1", "work", { a: [1, { b: "c" }] })]));
  const seen = [];
  for (const name of ["run:start", "tool:start", "tool:end", "run:end"]) {
    agent.hook(name, (event) => {
      assert.deepEqual(structuredClone(event), event);
      assert.deepEqual(JSON.parse(JSON.stringify(event)), event);
      seen.push(name);
    });
  }
  const { events } = await collect(agent.run("go"));
  assert.deepEqual(hookFailures(events).map(({ message }) => message), []);
  assert.equal(seen.length, 4);
});

function hostileProxy() {
  const trap = () => { throw new Error("trap"); };
  return new Proxy({}, { get: trap, has: trap, ownKeys: trap, getPrototypeOf: trap });
}

function revokedProxy() {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}
