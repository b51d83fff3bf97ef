// When a run begins: the queue of its session, other sessions beside it, the lazy start of run().
// Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { agentFor, collect, deferred, pause, scriptedModel, until, within } from "../support/model.mjs";
import { textOf } from "./reading.mjs";

/** A model that answers a request when its last message's text is released. */
function gatedModel() {
  const started = [];
  const gates = new Map();
  const gate = (name) => gates.get(name) ?? gates.set(name, deferred()).get(name);
  const model = scriptedModel([
    (request) => {
      const name = textOf(request.messages.at(-1));
      started.push(name);
      return { text: `answer ${name}`, wait: gate(name).promise };
    },
  ]);
  return { model, started, release: (name) => gate(name).resolve() };
}

test("runs of one session are one after another, first come first served", async (t) => {
  const { model, started, release } = gatedModel();
  const agent = agentFor(t, { model });
  const settled = [];
  const names = ["a", "b", "c", "d"];
  const sends = names.map((name) => agent.send(name).then(() => settled.push(name)));
  for (let index = 0; index < names.length; index += 1) {
    await until(() => started.length === index + 1, `run ${index} began`);
    await pause(10);
    assert.deepEqual(started, names.slice(0, index + 1));
    assert.deepEqual(settled, names.slice(0, index));
    release(names[index]);
  }
  await Promise.all(sends);
  assert.deepEqual(settled, names);
  assert.equal(model.requests[3].messages.length, 7);
});

test("runs of different sessions go on at the same time", async (t) => {
  const { model, started, release } = gatedModel();
  const agent = agentFor(t, { model });
  const sends = ["a", "b", "c"].map((name) => agent.send(name, { sessionId: `session-${name}` }));
  await until(() => started.length === 3, "all three began");
  release("c");
  assert.equal((await sends[2]).text, "answer c");
  release("a");
  release("b");
  await Promise.all(sends);
  assert.ok(model.requests.every((request) => request.messages.length === 1));
});

test("run() does nothing until the first next()", async (t) => {
  const { model, started } = gatedModel();
  const agent = agentFor(t, { model });
  const events = [];
  agent.subscribe(({ event }) => events.push(event));
  agent.run("a");
  await pause(20);
  assert.deepEqual(started, []);
  assert.deepEqual(events, []);
});

test("run() takes its place in the queue at its first next(), not when it is made", async (t) => {
  const { model, started, release } = gatedModel();
  const agent = agentFor(t, { model });
  const generator = agent.run("made first");
  const sent = agent.send("sent first");
  const ran = collect(generator);
  release("sent first");
  release("made first");
  await Promise.all([sent, ran]);
  assert.deepEqual(started, ["sent first", "made first"]);
});

test("a run that was made and never pulled holds nobody up", async (t) => {
  const agent = agentFor(t);
  agent.run("never");
  assert.equal((await within(agent.send("hi"), "send beside a run that nobody pulls")).text, "ok");
});

test("send() starts at once, without being awaited", async (t) => {
  const { model, started, release } = gatedModel();
  const agent = agentFor(t, { model });
  const sent = agent.send("a");
  await until(() => started.length === 1, "the model was asked");
  release("a");
  await sent;
});

test("a run that was pulled once and then forgotten goes on to its end and frees its session", async (t) => {
  const model = scriptedModel([{ deltas: ["a", "b"] }, { text: "next" }]);
  const agent = agentFor(t, { model });
  await agent.run("forgotten").next();
  const result = await within(agent.send("hi"), "send() behind a forgotten run");
  assert.deepEqual(result.messages.map(textOf), ["forgotten", "ab", "hi", "next"]);
});

test("the events of a run that ended before anybody pulled them are all still there, then its result", async (t) => {
  const agent = agentFor(t, { model: [{ deltas: ["a", "b"] }] });
  const generator = agent.run("hi");
  const events = [(await generator.next()).value.type];
  await agent.awaitIdle();
  let last;
  for (last = await generator.next(); !last.done; last = await generator.next()) events.push(last.value.type);
  assert.deepEqual(events, [
    "turn_start",
    "model_call_start",
    "text_delta",
    "text_delta",
    "model_call_end",
    "message",
    "turn_end",
    "done",
  ]);
  assert.equal(last.value.text, "ab");
});

test("the error of a run that failed before anybody pulled it is thrown when somebody does", async (t) => {
  const failure = new Error("down");
  const agent = agentFor(t, { model: [{ error: failure }] });
  const generator = agent.run("hi");
  await generator.next();
  await agent.awaitIdle();
  await assert.rejects(collect(generator), (error) => error === failure);
});

test("a failed run lets the next one of its session begin", async (t) => {
  const failure = new Error("down");
  const agent = agentFor(t, { model: [{ error: failure }, { text: "up" }] });
  const first = agent.send("a");
  const second = agent.send("b");
  await assert.rejects(first, (error) => error === failure);
  assert.equal((await second).text, "up");
});

test("send() on a named session leaves the agent's own session alone", async (t) => {
  const model = scriptedModel([{ text: "ok" }]);
  const agent = agentFor(t, { model });
  const own = agent.sessionId;
  await agent.send("there", { sessionId: "elsewhere" });
  assert.equal(agent.sessionId, own);
  await agent.send("here");
  assert.deepEqual(model.requests[1].messages.map(textOf), ["here"]);
  await agent.send("there again", { sessionId: "elsewhere" });
  assert.deepEqual(model.requests[2].messages.map(textOf), ["there", "ok", "there again"]);
});

test("a run keeps the session that it began with when the agent moves on", async (t) => {
  const { model, release } = gatedModel();
  const agent = agentFor(t, { model });
  const old = agent.sessionId;
  const sent = agent.send("a");
  const fresh = agent.clear();
  release("a");
  await sent;
  assert.notEqual(fresh, old);
  release("b");
  const result = await agent.send("b");
  assert.deepEqual(result.messages.map(textOf), ["b", "answer b"]);
});

test("a session is open for the next run as soon as send() has settled", async (t) => {
  const agent = agentFor(t);
  for (let count = 1; count <= 20; count += 1) {
    const result = await agent.send(`${count}`);
    assert.equal(result.messages.length, count * 2);
  }
});

test("40 runs queued on one session and 40 sessions at once all settle", async (t) => {
  const agent = agentFor(t);
  const queued = Array.from({ length: 40 }, (_, index) => agent.send(`q${index}`));
  const apart = Array.from({ length: 40 }, (_, index) => agent.send(`s${index}`, { sessionId: `s${index}` }));
  const results = await within(Promise.all([...queued, ...apart]), "80 runs");
  assert.deepEqual(
    results.slice(0, 40).map((result) => result.messages.length),
    queued.map((_, index) => (index + 1) * 2),
  );
  assert.ok(results.slice(40).every((result) => result.messages.length === 2));
});
