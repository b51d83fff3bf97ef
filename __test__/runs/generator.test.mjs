// run() as an async generator: return(), break, throw(), concurrent next(), disposal. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import {
  agentFor,
  aborted,
  collect,
  deferred,
  pause,
  plainTool,
  recordHooks,
  scriptedModel,
  until,
  within,
} from "../support/model.mjs";
import { assertConversation, call, eventsOf, resultFor, typesOf } from "./reading.mjs";

const finished = { value: undefined, done: true };

/** A tool that waits for its signal, and what it saw. */
function waitingTool() {
  const seen = { started: deferred(), aborts: 0 };
  const tool = plainTool("wait", async (_, { signal }) => {
    seen.started.resolve();
    await aborted(signal);
    seen.aborts += 1;
    throw signal.reason;
  });
  return { tool, seen };
}

test("the generator is its own async iterator", (t) => {
  const generator = agentFor(t).run("hi");
  assert.equal(generator[Symbol.asyncIterator](), generator);
});

test("break ends the run: one run:end, cancelled, awaited by the break", async (t) => {
  const { tool, seen } = waitingTool();
  const agent = agentFor(t, { model: [{ calls: [call("a", "wait")] }, { text: "end" }], tools: [tool] });
  let ended = 0;
  const statuses = [];
  agent.hook("run:end", async ({ status }) => {
    statuses.push(status);
    await pause(30);
    ended += 1;
  });
  for await (const event of agent.run("hi")) {
    if (event.type === "tool_call_start") break;
  }
  assert.equal(ended, 1);
  assert.deepEqual(statuses, ["cancelled"]);
  await pause(20);
  assert.equal(ended, 1);
  assert.ok(seen.aborts <= 1);
});

test("break in the middle of a tool aborts the tool's signal", async (t) => {
  const { tool, seen } = waitingTool();
  const agent = agentFor(t, { model: [{ calls: [call("a", "wait")] }, { text: "end" }], tools: [tool] });
  const generator = agent.run("hi");
  const pulling = (async () => {
    for (;;) if ((await generator.next()).done) return;
  })();
  await seen.started.promise;
  await within(generator.return(), "return() while a tool runs");
  await within(pulling, "the pulls that were pending");
  await until(() => seen.aborts === 1, "the tool saw its abort");
});

test("break between deltas aborts the model's signal and leaves the session usable", async (t) => {
  const model = scriptedModel([{ deltas: ["a", "b", "c"] }, { text: "after" }]);
  const agent = agentFor(t, { model });
  for await (const event of agent.run("hi")) if (event.type === "text_delta") break;
  const result = await agent.send("again");
  assert.equal(result.text, "after");
  assertConversation(result.messages);
});

test("after break in the middle of parallel calls the conversation is well formed", async (t) => {
  const { tool } = waitingTool();
  const model = scriptedModel([{ calls: [call("a", "quick"), call("b", "wait")] }, { text: "after" }]);
  const agent = agentFor(t, { model, tools: [tool, plainTool("quick", () => "done")] });
  for await (const event of agent.run("hi")) if (event.type === "tool_result") break;
  const { messages } = await agent.send("again");
  assertConversation(messages);
  assert.equal(resultFor(messages, "a").content, "done");
  assert.equal(resultFor(messages, "b").isError, true);
  assert.match(resultFor(messages, "b").content, /interrupted/);
});

test("return(value) resolves with that value, and every next() after it is done", async (t) => {
  const generator = agentFor(t).run("hi");
  await generator.next();
  assert.deepEqual(await generator.return("mine"), { value: "mine", done: true });
  assert.deepEqual(await generator.next(), finished);
  assert.deepEqual(await generator.return("again"), { value: "again", done: true });
});

test("return() before the first next() starts nothing", async (t) => {
  const model = scriptedModel([{ text: "ok" }]);
  const agent = agentFor(t, { model });
  const fired = recordHooks(agent);
  const generator = agent.run("hi");
  assert.deepEqual(await generator.return(), finished);
  assert.deepEqual(await generator.next(), finished);
  await pause(10);
  assert.equal(model.requests.length, 0);
  assert.deepEqual(fired, []);
});

test("throw() before the first next() rejects with that error and starts nothing", async (t) => {
  const model = scriptedModel([{ text: "ok" }]);
  const generator = agentFor(t, { model }).run("hi");
  const reason = new Error("mine");
  await assert.rejects(generator.throw(reason), (error) => error === reason);
  assert.deepEqual(await generator.next(), finished);
  assert.equal(model.requests.length, 0);
});

test("throw() in the middle cancels the run, then rejects with that error", async (t) => {
  const agent = agentFor(t, { model: [{ deltas: ["a", "b"] }] });
  const fired = recordHooks(agent, ["run:end"]);
  const generator = agent.run("hi");
  while ((await generator.next()).value.type !== "text_delta");
  const reason = new Error("mine");
  await assert.rejects(within(generator.throw(reason), "throw()"), (error) => error === reason);
  assert.deepEqual(
    fired.map((event) => event.status),
    ["cancelled"],
  );
  assert.deepEqual(await generator.next(), finished);
});

test("next() after the end is done, without a value, for ever", async (t) => {
  const generator = agentFor(t).run("hi");
  let last;
  do last = await generator.next();
  while (!last.done);
  assert.equal(last.value.text, "ok");
  assert.deepEqual(await generator.next(), finished);
  assert.deepEqual(await generator.next(), finished);
  assert.deepEqual(await generator.return("x"), { value: "x", done: true });
  const reason = new Error("late");
  await assert.rejects(generator.throw(reason), (error) => error === reason);
});

test("next() after the run threw is done", async (t) => {
  const generator = agentFor(t, { model: [{ error: new Error("down") }] }).run("hi");
  await assert.rejects(async () => {
    while (!(await generator.next()).done);
  }, /down/);
  assert.deepEqual(await generator.next(), finished);
});

test("next() called many times without waiting gives successive events in order", async (t) => {
  const agent = agentFor(t, { model: [{ deltas: ["1", "2", "3", "4"] }] });
  const generator = agent.run("hi");
  const pulls = Array.from({ length: 14 }, () => generator.next());
  const order = [];
  pulls.forEach((pull, index) => pull.then(() => order.push(index)));
  const results = await within(Promise.all(pulls), "14 concurrent next()");
  assert.deepEqual(
    order,
    [...order].sort((a, b) => a - b),
  );
  const { events, result } = await collect(agentFor(t, { model: [{ deltas: ["1", "2", "3", "4"] }] }).run("hi"));
  assert.deepEqual(
    results.filter(({ done }) => !done).map(({ value }) => value.type),
    typesOf(events),
  );
  assert.equal(results[events.length].done, true);
  assert.equal(results[events.length].value.text, result.text);
  assert.ok(results.slice(events.length + 1).every(({ done, value }) => done && value === undefined));
});

test("when the run throws, the first waiting next() rejects and the others are done", async (t) => {
  const failure = new Error("down");
  const generator = agentFor(t, { model: [{ error: failure }] }).run("hi");
  const settled = await within(
    Promise.allSettled(Array.from({ length: 12 }, () => generator.next())),
    "12 concurrent next()",
  );
  const rejected = settled.filter(({ status }) => status === "rejected");
  assert.equal(rejected.length, 1);
  assert.equal(rejected[0].reason, failure);
  const position = settled.indexOf(rejected[0]);
  assert.equal(settled[position - 1].value.value.type, "error");
  assert.ok(settled.slice(position + 1).every(({ value }) => value.done));
});

test("return() while next() is pending settles both", async (t) => {
  const agent = agentFor(t, { model: [{ wait: new Promise(() => {}), text: "never" }] });
  const generator = agent.run("hi");
  await generator.next();
  await generator.next();
  const pending = generator.next();
  await within(generator.return(), "return()");
  const { done, value } = await within(pending, "the pending next()");
  assert.ok(done || typeof value.type === "string");
});

test("two return() at once both resolve, and run:end fires once", async (t) => {
  const agent = agentFor(t, { model: [{ wait: new Promise(() => {}), text: "never" }] });
  const fired = recordHooks(agent, ["run:end"]);
  const generator = agent.run("hi");
  await generator.next();
  await within(Promise.all([generator.return(), generator.return()]), "two return()");
  assert.equal(fired.length, 1);
});

test("break lets the queued run of the same session begin", async (t) => {
  const model = scriptedModel([{ wait: new Promise(() => {}) }, { text: "second" }]);
  const agent = agentFor(t, { model });
  const generator = agent.run("hi");
  await generator.next();
  await until(() => model.requests.length === 1, "the first run's model call");
  const queued = agent.send("queued");
  await generator.return();
  assert.equal((await within(queued, "the queued send()")).text, "second");
});

test("return() of a queued run settles it and its pending next() at once, and it never begins", async (t) => {
  const gate = deferred();
  const model = scriptedModel([{ wait: gate.promise, text: "first" }, { text: "third" }]);
  const agent = agentFor(t, { model });
  const fired = recordHooks(agent, ["run:start"]);
  const first = agent.send("a");
  const generator = agent.run("b");
  const pending = generator.next();
  await within(generator.return(), "return()", 1_000);
  await within(pending, "the pending next()", 1_000);
  gate.resolve();
  await first;
  assert.equal((await agent.send("c")).messages.length, 4);
  assert.equal(fired.length, 2);
});

test("Symbol.asyncDispose of a run cancels it and waits for run:end", async (t) => {
  const agent = agentFor(t, { model: [{ wait: new Promise(() => {}), text: "never" }] });
  const fired = recordHooks(agent, ["run:end"]);
  const generator = agent.run("hi");
  await generator.next();
  assert.equal(typeof generator[Symbol.asyncDispose], "function");
  await within(generator[Symbol.asyncDispose](), "disposal");
  assert.deepEqual(
    fired.map((event) => event.status),
    ["cancelled"],
  );
});

test("done is the last event of a stream, and comes once", async (t) => {
  const { events } = await collect(agentFor(t).run("hi"));
  assert.equal(eventsOf(events, "done").length, 1);
  assert.equal(events.at(-1).type, "done");
});

test("an event object that a consumer changes leaves the conversation as it was", async (t) => {
  const agent = agentFor(t, {
    model: [{ text: "true", calls: [call("a", "echo", { x: 1 })] }, { text: "end" }],
    tools: [plainTool("echo", ({ x }) => `x is ${x}`)],
  });
  const generator = agent.run("hi");
  let result;
  for (;;) {
    const { value, done } = await generator.next();
    if (done) {
      result = value;
      break;
    }
    try {
      if (value.type === "message") value.message.content[0].text = "forged";
      if (value.type === "tool_use") value.call.input.x = 2;
      if (value.type === "tool_result") value.result.content = "forged";
    } catch {
      /* frozen is as good as copied */
    }
  }
  assert.doesNotMatch(JSON.stringify(result.messages), /forged/);
  assert.equal(resultFor(result.messages, "a").content, "x is 1");
});

test("return(), throw() and disposal of a run that never began, or could not, end it as any other time", async (t) => {
  const agent = agentFor(t, { model: [{ text: "never" }] });
  const failed = agent.run(5);
  await assert.rejects(failed.next(), TypeError);
  assert.deepEqual(await failed.return(7), { value: 7, done: true });
  const left = agent.run("hi");
  for (let round = 0; round < 2; round += 1) assert.deepEqual(await left.return(round), { value: round, done: true });
  await left[Symbol.asyncDispose]();
  await assert.rejects(left.throw(new Error("mine")), /mine/);
});
