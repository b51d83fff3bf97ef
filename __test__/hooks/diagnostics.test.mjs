// Where and when the diagnostic of a failed handler is heard: its place in the stream, and subscribers.
import { test } from "node:test";
import assert from "node:assert/strict";
import {
  agentFor,
  collect,
  collectUntilError,
  deferred,
  hookFailures,
  pause,
  plainTool,
  scriptedModel,
  until,
} from "../support/model.mjs";

const call = (id = "call-1", name = "work", input = {}) => ({ id, name, input });
const working = (calls = [call()], config = {}) => ({
  model: scriptedModel([{ calls }, { text: "done" }]),
  tools: [plainTool("work", () => "worked")],
  ...config,
});
const NAMES = ["run:start", "tool:start", "tool:end", "run:end"];

const position = (events, type) => events.findIndex((event) => event.type === type);
const positionOfFailure = (events, name) =>
  events.findIndex((event) => event.type === "diagnostic" && event.hook?.event === name);

test("each diagnostic is in the stream before the event that follows its dispatch", async (t) => {
  const agent = agentFor(
    t,
    working([call()], {
      tools: [
        plainTool("work", (_, { emit, call: { id, name } }) => {
          emit({ type: "tool_progress", id, name, progress: 1 });
          return "ok";
        }),
      ],
    }),
  );
  for (const name of NAMES)
    agent.hook(name, () => {
      throw new Error("broken");
    });
  const { events } = await collect(agent.run("go"));
  const between = (before, name, after) => {
    const at = positionOfFailure(events, name);
    assert.ok(at >= 0, name);
    if (before) assert.ok(position(events, before) < at, `${before} < ${name}`);
    assert.ok(at < position(events, after), `${name} < ${after}`);
  };
  between(undefined, "run:start", "turn_start");
  between("tool_call_start", "tool:start", "tool_progress");
  between("tool_progress", "tool:end", "tool_call_end");
  between("turn_end", "run:end", "done");
  assert.equal(events.at(-1).type, "done");
  assert.equal(events.at(-2).hook.event, "run:end");
  assert.equal(events[0].hook.event, "run:start");
});

test("the run:end diagnostic of a failed run is in the stream before it throws", async (t) => {
  const agent = agentFor(t, { model: [{ error: new Error("provider broke") }] });
  agent.hook("run:end", () => {
    throw new Error("hook broke");
  });
  const { events, error } = await collectUntilError(agent.run("go"));
  assert.equal(error.message, "provider broke");
  assert.equal(events.at(-1).hook?.event, "run:end");
});

test("subscribers hear each diagnostic once, in the same order as the stream", async (t) => {
  const agent = agentFor(t, working());
  for (const name of NAMES)
    agent.hook(name, () => {
      throw new Error(`${name} broke`);
    });
  const heard = [];
  agent.subscribe((entry) => heard.push(entry));
  const { events } = await collect(agent.run("go"));
  assert.deepEqual(hookFailures(heard), hookFailures(events));
  assert.deepEqual(
    heard.map(({ event }) => event.type),
    events.map(({ type }) => type),
  );
  for (const { sessionId, source } of heard) assert.deepEqual([sessionId, source], [agent.sessionId, "user"]);
});

test("subscribers hear the diagnostics of send()", async (t) => {
  const agent = agentFor(t);
  agent.hook("run:end", () => {
    throw new Error("broken");
  });
  const heard = [];
  agent.subscribe((entry) => heard.push(entry));
  await agent.send("go", { sessionId: "other" });
  assert.deepEqual(
    hookFailures(heard).map(({ hook }) => hook.event),
    ["run:end"],
  );
  assert.equal(heard.find(({ event }) => event.code === "hook_failed").sessionId, "other");
});

test("after break the diagnostics go to subscribers alone", async (t) => {
  const agent = agentFor(t, working());
  const heard = [];
  agent.subscribe((entry) => heard.push(entry));
  agent.hook("run:end", async () => {
    await pause(1);
    throw new Error("broken");
  });
  agent.hook("run:end", () => new Promise(() => {}), { timeoutMs: 10 });
  const pulled = [];
  for await (const event of agent.run("go")) {
    pulled.push(event);
    break;
  }
  assert.deepEqual(hookFailures(pulled), []);
  assert.deepEqual(
    hookFailures(heard).map(({ hook: { event, index, reason } }) => [event, index, reason]),
    [
      ["run:end", 0, "error"],
      ["run:end", 1, "timeout"],
    ],
  );
});

test("after close() of a running agent the diagnostics of its end handlers still go to subscribers", async (t) => {
  const agent = agentFor(t, { model: [{ wait: new Promise(() => {}) }] });
  const heard = [];
  agent.subscribe((entry) => heard.push(entry));
  const started = deferred();
  agent.hook("run:start", () => void started.resolve());
  agent.hook("run:end", () => {
    throw new Error("broken");
  });
  const sending = agent.send("go");
  await started.promise;
  await agent.close();
  await sending;
  assert.deepEqual(
    hookFailures(heard).map(({ hook }) => hook.event),
    ["run:end"],
  );
});

test("a diagnostic is there as soon as its handler has failed, not when the dispatch is over", async (t) => {
  const agent = agentFor(t);
  const heard = [];
  agent.subscribe((entry) => heard.push(entry));
  const gate = deferred();
  agent.hook("run:start", () => new Promise(() => {}), { timeoutMs: 10 });
  agent.hook("run:start", () => gate.promise);
  const sending = agent.send("go");
  await until(() => hookFailures(heard).length === 1, "the first handler's diagnostic while the second is pending");
  gate.resolve();
  await sending;
});
