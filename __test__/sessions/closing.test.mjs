// close() of an agent whose sandbox or store never answers: bounded, and whatever else there is to let go is let go. Knows the
// public face only, and how long an agent is patient.
import { after, test } from "node:test";
import assert from "node:assert/strict";
import timers from "node:timers";
import { syncBuiltinESMExports } from "node:module";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { ClosedError, createLiteAgent, resolveProjectPaths } from "../../index.js";
import { deferred, scriptedModel, temporaryFolder, within } from "../support/model.mjs";
import { holdOnce, testStore } from "./storing.mjs";

const PATIENCE_MS = 5_000;
const SHORT_MS = 60;
const never = new Promise(() => {});

// Nobody here waits for so long: the agent's patience, and no other time, is short.
const { setTimeout: real } = timers;
timers.setTimeout = (callback, ms, ...rest) => real(callback, ms === PATIENCE_MS ? SHORT_MS : ms, ...rest);
syncBuiltinESMExports();
after(() => {
  timers.setTimeout = real;
  syncBuiltinESMExports();
});

async function agentWith(t, config) {
  const { workdir, home } = await temporaryFolder(t);
  const agent = createLiteAgent({ workdir, home, model: scriptedModel([{ text: "ok" }]), ...config });
  const warnings = [];
  agent.subscribe(({ event }) => event.type === "diagnostic" && warnings.push(event));
  return { agent, warnings, sessionsDir: resolveProjectPaths({ workdir, home }).sessionsDir };
}

const sandbox = (dispose) => ({ id: "odd", wrap: (command) => command, dispose });

for (const [name, dispose] of Object.entries({
  "a promise that never settles": () => never,
  "a thenable that never answers": () => ({ then() {} }),
})) {
  test(`a dispose() of ${name}: close() goes on without it and says so, and the store is let go`, async (t) => {
    const { agent, warnings, sessionsDir } = await agentWith(t, { sandbox: sandbox(dispose) });
    await agent.send("hi", { sessionId: "s" });
    assert.ok(existsSync(join(sessionsDir, "s.lock")));
    await within(Promise.all([agent.close(), agent.close()]), "close()", 2_000);
    assert.ok(!existsSync(join(sessionsDir, "s.lock")), "the session is no longer in use");
    assert.deepEqual(
      warnings.map(({ level, code }) => [level, code]),
      [["warning", "close_timeout"]],
    );
    assert.match(warnings[0].message, /sandbox.*5000 ms/);
    await within(agent.close(), "another close()", 50);
    await assert.rejects(agent.send("more"), ClosedError);
  });
}

test("a dispose() that rejects after all is nobody's rejection", async (t) => {
  const late = deferred();
  const { agent } = await agentWith(t, { sandbox: sandbox(() => late.promise) });
  await within(agent.close(), "close()", 2_000);
  late.reject(new Error("too late"));
  await new Promise(setImmediate);
});

test("a dispose() that takes its time, but not that long, is waited for, and nothing is said", async (t) => {
  let disposed = false;
  const { agent, warnings } = await agentWith(t, {
    sandbox: sandbox(async () => {
      for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
      disposed = true;
    }),
  });
  await agent.close();
  assert.deepEqual([disposed, warnings], [true, []]);
});

for (const [name, dispose] of Object.entries({
  throws() {
    throw new Error("cannot dispose");
  },
  rejects: () => Promise.reject(new Error("cannot dispose")),
})) {
  test(`a dispose() that ${name}: close() rejects with that, and the store is let go all the same`, async (t) => {
    const { agent, sessionsDir } = await agentWith(t, { sandbox: sandbox(dispose) });
    await agent.send("hi", { sessionId: "s" });
    await assert.rejects(agent.close(), { message: "cannot dispose" });
    assert.ok(!existsSync(join(sessionsDir, "s.lock")));
  });
}

test("a dispose() that closes its own agent does not wait for itself for ever", async (t) => {
  let agent;
  const made = await agentWith(t, { sandbox: sandbox(() => agent.close()) });
  ({ agent } = made);
  await within(agent.close(), "close()", 2_000);
});

const OPERATIONS = {
  deleteSession: (agent) => agent.deleteSession("s"),
  restore: (agent) => agent.restore("s", 0),
  listSessions: (agent) => agent.listSessions(),
  listCheckpoints: (agent) => agent.listCheckpoints("s"),
};
for (const [operation, method] of [
  ["deleteSession", "delete"],
  ["deleteSession", "list"],
  ["restore", "truncate"],
  ["restore", "head"],
  ["restore", "read"],
  ["listSessions", "list"],
  ["listCheckpoints", "read"],
]) {
  test(`${operation}() of a store whose ${method}() never answers: close() is bounded and says so, and ${operation}() rejects`, async (t) => {
    const store = testStore();
    store.checkpointer.truncate = async (id) => void (await store.before("truncate", id));
    let disposed = false;
    const { agent, warnings } = await agentWith(t, {
      checkpointer: store.checkpointer,
      sandbox: sandbox(() => void (disposed = true)),
    });
    await agent.send("hi", { sessionId: "s" });
    const hold = holdOnce(store, (asked) => asked === method);
    const going = OPERATIONS[operation](agent);
    const ofSession = operation === "listSessions" ? "" : "of session s ";
    const rejected = assert.rejects(going, {
      code: "close_timeout",
      message: new RegExp(`^${operation}: .* the store ${ofSession}did not answer`),
    });
    await hold.entered;
    await within(agent.close(), "close()", 2_000);
    await within(rejected, operation, 500);
    assert.ok(disposed);
    assert.deepEqual(
      warnings.map(({ level, code }) => [level, code]),
      [["warning", "close_timeout"]],
    );
    assert.match(warnings[0].message, new RegExp(`^close\\(\\) went on without ${operation}\\(\\)`));
    hold.fail(new Error("too late"));
    await new Promise(setImmediate);
  });

  test(`${operation}() of a store whose ${method}() takes its time: close() waits for it, and nothing is said`, async (t) => {
    const store = testStore();
    store.checkpointer.truncate = async (id) => void (await store.before("truncate", id));
    const { agent, warnings } = await agentWith(t, { checkpointer: store.checkpointer });
    await agent.send("hi", { sessionId: "s" });
    const hold = holdOnce(store, (asked) => asked === method);
    let isDone = false;
    const going = OPERATIONS[operation](agent).then(() => (isDone = true));
    await hold.entered;
    const closed = agent.close().then(() => assert.ok(isDone));
    for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
    hold.release();
    await within(Promise.all([going, closed]), "close()", 2_000);
    assert.deepEqual(warnings, []);
  });
}

for (const [name, config] of Object.entries({
  "its own": {},
  "the host's": { checkpointer: testStore().checkpointer },
  none: { sessions: false },
})) {
  test(`after close() what asks the store (${name}) rejects with ClosedError`, async (t) => {
    const { agent } = await agentWith(t, config);
    await agent.send("hi", { sessionId: "s" });
    const closing = agent.close();
    for (const [operation, ask] of Object.entries(OPERATIONS)) await assert.rejects(ask(agent), ClosedError, operation);
    await closing;
    for (const [operation, ask] of Object.entries(OPERATIONS)) await assert.rejects(ask(agent), ClosedError, operation);
  });
}

test("an append that never answers holds up nobody either", async (t) => {
  const store = testStore();
  const { agent } = await agentWith(t, { checkpointer: store.checkpointer });
  const hold = holdOnce(store, (asked) => asked === "append");
  const sent = agent.send("hi", { sessionId: "s" });
  await hold.entered;
  await within(agent.close(), "close()", 3_000);
  assert.equal((await sent).stopReason, "aborted");
  assert.equal(store.closed, 0, "the host's store is the host's");
});
