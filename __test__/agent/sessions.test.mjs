// Sessions of one agent while it lives: clear(), resume(), awaitIdle(). Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { agentFor, deferred, pause, scriptedModel, until, within } from "../support/model.mjs";
import { textOf } from "../runs/reading.mjs";

test("clear() rotates to a new, empty session and returns its id", async (t) => {
  const model = scriptedModel([{ text: "ok" }]);
  const agent = agentFor(t, { model });
  const old = agent.sessionId;
  await agent.send("first");
  const fresh = agent.clear();
  assert.notEqual(fresh, old);
  assert.match(fresh, /^[A-Za-z0-9_-]{1,128}$/);
  assert.equal(agent.sessionId, fresh);
  const result = await agent.send("second");
  assert.deepEqual(model.requests[1].messages.map(textOf), ["second"]);
  assert.equal(result.messages.length, 2);
});

test("each clear() gives another id", (t) => {
  const agent = agentFor(t);
  const ids = new Set([agent.sessionId, ...Array.from({ length: 20 }, () => agent.clear())]);
  assert.equal(ids.size, 21);
});

test("resume() goes back to a session, whose conversation continues", async (t) => {
  const model = scriptedModel([{ text: "ok" }]);
  const agent = agentFor(t, { model });
  const old = agent.sessionId;
  await agent.send("first");
  agent.clear();
  await agent.send("aside");
  assert.equal(agent.resume(old), undefined);
  assert.equal(agent.sessionId, old);
  await agent.send("second");
  assert.deepEqual(model.requests[2].messages.map(textOf), ["first", "ok", "second"]);
});

test("resume() finds a session that runs were sent to by id", async (t) => {
  const model = scriptedModel([{ text: "ok" }]);
  const agent = agentFor(t, { model });
  await agent.send("first", { sessionId: "named" });
  agent.resume("named");
  await agent.send("second");
  assert.deepEqual(model.requests[1].messages.map(textOf), ["first", "ok", "second"]);
});

test("another agent's sessions are not this one's", async (t) => {
  const model = scriptedModel([{ text: "ok" }]);
  await agentFor(t, { model }).send("first", { sessionId: "shared" });
  await agentFor(t, { model }).send("second", { sessionId: "shared" });
  assert.deepEqual(model.requests[1].messages.map(textOf), ["second"]);
});

test("a queued run stays with the session that it was sent to", async (t) => {
  const gate = deferred();
  const model = scriptedModel([{ text: "one", wait: gate.promise }, { text: "two" }]);
  const agent = agentFor(t, { model });
  const first = agent.send("a");
  const second = agent.send("b");
  agent.clear();
  gate.resolve();
  await first;
  assert.deepEqual((await second).messages.map(textOf), ["a", "one", "b", "two"]);
});

test("run() belongs to the session that was current when it was made or first pulled, never to both", async (t) => {
  const agent = agentFor(t);
  const old = agent.sessionId;
  const generator = agent.run("lazy");
  const heard = new Set();
  agent.subscribe(({ sessionId }) => heard.add(sessionId));
  const fresh = agent.clear();
  for await (const _ of generator);
  assert.equal(heard.size, 1);
  assert.ok(heard.has(old) || heard.has(fresh));
});

test("awaitIdle() resolves at once when nothing runs", async (t) => {
  const agent = agentFor(t);
  assert.equal(await within(agent.awaitIdle(), "awaitIdle()", 1_000), undefined);
  await within(agent.awaitIdle("never-used"), "awaitIdle() of an unknown session", 1_000);
  agent.run("never pulled");
  await within(agent.awaitIdle(), "awaitIdle() beside a run that nobody pulls", 1_000);
});

test("awaitIdle() waits for the running and the queued runs of the session", async (t) => {
  const gates = [deferred(), deferred()];
  const model = scriptedModel(gates.map((gate, index) => ({ text: `${index}`, wait: gate.promise })));
  const agent = agentFor(t, { model });
  const sends = [agent.send("a"), agent.send("b")];
  let idle = false;
  const waiting = agent.awaitIdle().then(() => {
    idle = true;
  });
  gates[0].resolve();
  await sends[0];
  await until(() => model.requests.length === 2, "the second run");
  await pause(10);
  assert.equal(idle, false);
  gates[1].resolve();
  await within(waiting, "awaitIdle()");
  await sends[1];
});

test("awaitIdle() of one session does not wait for another", async (t) => {
  const gate = deferred();
  const agent = agentFor(t, { model: [{ text: "x", wait: gate.promise }] });
  const sent = agent.send("hi", { sessionId: "busy" });
  await within(agent.awaitIdle(), "awaitIdle() of the agent's own session", 1_000);
  let idle = false;
  const waiting = agent.awaitIdle("busy").then(() => {
    idle = true;
  });
  await pause(10);
  assert.equal(idle, false);
  gate.resolve();
  await waiting;
  await sent;
});

test("awaitIdle() resolves, and does not reject, when the run fails", async (t) => {
  const agent = agentFor(t, { model: [{ delayMs: 10, error: new Error("down") }] });
  const sent = agent.send("hi");
  await within(agent.awaitIdle(), "awaitIdle()");
  await assert.rejects(sent, /down/);
});

test("many awaitIdle() at once all resolve", async (t) => {
  const gate = deferred();
  const agent = agentFor(t, { model: [{ text: "x", wait: gate.promise }] });
  const sent = agent.send("hi");
  const waits = Promise.all(Array.from({ length: 50 }, () => agent.awaitIdle()));
  gate.resolve();
  await within(waits, "50 awaitIdle()");
  await sent;
});
