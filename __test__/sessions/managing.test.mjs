// Sessions by name: listing, deleting, checkpoints, clear() and resume(). Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { ConfigError, memoryCheckpointer } from "../../index.js";
import { aborted, agentFor, deferred, plainTool, scriptedModel, until, within } from "../support/model.mjs";
import { call, textOf } from "../runs/reading.mjs";
import { holdOnce, said, testStore, user } from "./storing.mjs";

const SOON = 2_000;
const never = new Promise(() => {});
const REFUSED_IDS = ["a/b", "../a", "..", ".", "", "a b", "a.b", "é", "a\n", "a\0", "x".repeat(129), 5, null, {}];

// -- listing --------------------------------------------------------------------------------------------------------------

test("listSessions() gives what the store lists, the last written first", async (t) => {
  const store = testStore();
  const agent = agentFor(t, { checkpointer: store.checkpointer });
  assert.deepEqual(await agent.listSessions(), []);
  for (const sessionId of ["a", "b", "c", "a"]) await agent.send("hi", { sessionId });
  const listed = await agent.listSessions();
  assert.deepEqual(
    listed.map(({ id }) => id),
    ["a", "c", "b"],
  );
  for (const { mtime } of listed) assert.ok(Number.isFinite(mtime));
});

test("listSessions() knows the sessions of other agents on the same store", async (t) => {
  const checkpointer = memoryCheckpointer();
  await agentFor(t, { checkpointer }).send("hi", { sessionId: "theirs" });
  const agent = agentFor(t, { checkpointer });
  assert.deepEqual(
    (await agent.listSessions()).map(({ id }) => id),
    ["theirs"],
  );
});

test("without a store: no sessions are listed, and deleteSession() forgets the conversation", async (t) => {
  const agent = agentFor(t, { sessions: false });
  await agent.send("old", { sessionId: "s" });
  assert.deepEqual(await agent.listSessions(), []);
  await agent.deleteSession("s");
  assert.deepEqual((await agent.send("new", { sessionId: "s" })).messages.map(textOf), ["new", "ok"]);
});

test("a session that nothing was sent to is not listed", async (t) => {
  const store = testStore();
  const agent = agentFor(t, { checkpointer: store.checkpointer });
  agent.clear();
  agent.resume("unused");
  await agent.awaitIdle("unused");
  assert.deepEqual(await agent.listSessions(), []);
});

// -- deleting -------------------------------------------------------------------------------------------------------------

test("deleteSession() deletes the log, and a new run of the session begins at 1 with nothing of the old", async (t) => {
  const store = testStore();
  const model = scriptedModel([{ text: "ok" }]);
  const agent = agentFor(t, { checkpointer: store.checkpointer, model });
  await agent.send("old", { sessionId: "s" });
  assert.equal(await agent.deleteSession("s"), undefined);
  assert.ok(!store.sessions.has("s"));
  assert.deepEqual(await agent.listSessions(), []);
  const { messages } = await agent.send("new", { sessionId: "s" });
  assert.deepEqual(messages.map(textOf), ["new", "ok"]);
  assert.deepEqual(model.requests[1].messages.map(textOf), ["new"]);
  assert.deepEqual(
    store.stored("s").map(({ seq }) => seq),
    [1, 2],
  );
});

test("deleteSession() of the current session leaves the agent usable", async (t) => {
  const store = testStore();
  const agent = agentFor(t, { checkpointer: store.checkpointer });
  await agent.send("old");
  const old = agent.sessionId;
  await agent.deleteSession(old);
  const { messages } = await agent.send("new");
  assert.deepEqual(messages.map(textOf), ["new", "ok"]);
  const log = store.stored(agent.sessionId);
  assert.deepEqual(
    log.map(({ seq, parentSeq }) => [seq, parentSeq]),
    [
      [1, null],
      [2, 1],
    ],
  );
  assert.ok(!JSON.stringify([...store.sessions]).includes("old"));
});

test("deleteSession() of one session leaves the others alone, though their names are alike", async (t) => {
  const store = testStore();
  const agent = agentFor(t, { checkpointer: store.checkpointer });
  for (const sessionId of ["a", "a_b", "a-b"]) await agent.send("hi", { sessionId });
  await agent.deleteSession("a_b");
  assert.deepEqual([...store.sessions.keys()].sort(), ["a", "a-b"]);
  assert.equal((await agent.send("hi", { sessionId: "a" })).messages.length, 4);
});

test("deleteSession() of a session that there is not resolves", async (t) => {
  const store = testStore();
  const agent = agentFor(t, { checkpointer: store.checkpointer });
  await agent.deleteSession("none");
  await agent.deleteSession("none");
});

test("deleteSession() of a stored session that this agent has not seen", async (t) => {
  const store = testStore();
  store.put("theirs", [user("a"), said("b")]);
  const agent = agentFor(t, { checkpointer: store.checkpointer });
  await agent.deleteSession("theirs");
  assert.ok(!store.sessions.has("theirs"));
});

for (const [moment, slow] of Object.entries({
  "a model call": { model: (entered) => [() => (entered.resolve(), { wait: never })], tools: () => [] },
  "a tool": {
    model: () => [{ calls: [call("a", "slow")] }, { text: "end" }],
    tools: (entered) => [
      plainTool("slow", async (_, { signal }) => {
        entered.resolve();
        await aborted(signal);
        return "left";
      }),
    ],
  },
})) {
  test(`deleteSession() during ${moment} takes the run along, and nothing of it comes back`, async (t) => {
    const store = testStore();
    const entered = deferred();
    const agent = agentFor(t, {
      checkpointer: store.checkpointer,
      model: scriptedModel([...slow.model(entered), { text: "ok" }]),
      tools: slow.tools(entered),
    });
    const ends = [];
    agent.hook("run:end", ({ status }) => void ends.push(status));
    const sent = agent.send("old", { sessionId: "s" });
    await entered.promise;
    await within(agent.deleteSession("s"), "deleteSession()", SOON);
    const { stopReason } = await within(sent, "the run", SOON);
    assert.equal(stopReason, "aborted");
    assert.deepEqual(ends, ["cancelled"]);
    for (let round = 0; round < 20; round += 1) await new Promise(setImmediate);
    assert.ok(!store.sessions.has("s"), store.trace.join(", "));
    const { messages } = await agent.send("new", { sessionId: "s" });
    assert.equal(textOf(messages[0]), "new");
    assert.equal(store.stored("s")[0].seq, 1);
    assert.equal(textOf(store.events("s")[0].message), "new");
  });
}

test("deleteSession() while an append hangs resolves soon once the store answers, and the session is gone", async (t) => {
  const store = testStore();
  const hold = holdOnce(store, (operation) => operation === "append");
  const agent = agentFor(t, { checkpointer: store.checkpointer });
  const sent = agent.send("old", { sessionId: "s" });
  await hold.entered;
  const deleted = agent.deleteSession("s");
  hold.release();
  await within(deleted, "deleteSession()", 5_000);
  await within(sent, "the run", SOON);
  assert.ok(!store.sessions.has("s"), store.trace.join(", "));
});

test("deleteSession() while an append never answers resolves soon, and the session is usable", async (t) => {
  const store = testStore();
  const agent = agentFor(t, { checkpointer: store.checkpointer });
  await agent.send("old", { sessionId: "s" });
  const hold = holdOnce(store, (operation) => operation === "append");
  const sent = agent.send("stuck", { sessionId: "s" });
  await hold.entered;
  await within(agent.deleteSession("s"), "deleteSession()", 5_000);
  await within(sent, "the run", SOON);
  const { messages } = await within(agent.send("new", { sessionId: "s" }), "the next run", 5_000);
  assert.deepEqual(messages.map(textOf), ["new", "ok"]);
});

test("a run that is sent while its session is being deleted begins anew after it", async (t) => {
  const store = testStore();
  const agent = agentFor(t, { checkpointer: store.checkpointer });
  await agent.send("old", { sessionId: "s" });
  const hold = holdOnce(store, (operation) => operation === "delete");
  const deleted = agent.deleteSession("s");
  await hold.entered;
  const sent = agent.send("new", { sessionId: "s" });
  for (let round = 0; round < 20; round += 1) await new Promise(setImmediate);
  assert.equal(store.stored("s").length, 2);
  hold.release();
  await deleted;
  const { messages } = await within(sent, "the run behind it");
  assert.deepEqual(messages.map(textOf), ["new", "ok"]);
  assert.equal(store.stored("s").length, 2);
});

test("a delete that fails leaves the session as it was", async (t) => {
  const store = testStore();
  const failure = new Error("read-only");
  const agent = agentFor(t, { checkpointer: store.checkpointer });
  await agent.send("old", { sessionId: "s" });
  store.before = (operation) => {
    if (operation === "delete") throw failure;
  };
  await assert.rejects(agent.deleteSession("s"), (error) => error === failure);
  const { messages } = await within(agent.send("new", { sessionId: "s" }), "send() after the failure");
  assert.deepEqual(messages.map(textOf), ["old", "ok", "new", "ok"]);
});

test("deleteSession() does not hold up another session", async (t) => {
  const store = testStore();
  const hold = holdOnce(store, (operation) => operation === "delete");
  const agent = agentFor(t, { checkpointer: store.checkpointer });
  await agent.send("hi", { sessionId: "s" });
  const deleted = agent.deleteSession("s");
  await hold.entered;
  assert.equal((await within(agent.send("hi", { sessionId: "other" }), "the other session")).text, "ok");
  hold.release();
  await deleted;
});

test("many deletes and runs of one session at once settle, and what is left is one whole log", async (t) => {
  const store = testStore();
  const agent = agentFor(t, { checkpointer: store.checkpointer });
  const all = [];
  for (let round = 0; round < 10; round += 1) {
    all.push(agent.send(`${round}`, { sessionId: "s" }));
    if (round % 2 === 1) all.push(agent.deleteSession("s"));
  }
  await within(Promise.all(all), "everything");
  const { messages } = await agent.send("last", { sessionId: "s" });
  const log = store.stored("s");
  assert.deepEqual(
    log.map(({ seq }) => seq),
    log.map((_, index) => index + 1),
  );
  assert.equal(log.length, messages.length);
});

// -- names ----------------------------------------------------------------------------------------------------------------

test("an id that is none is refused by every operation, never rewritten, and the store is not asked", async (t) => {
  const store = testStore();
  let asked = 0;
  store.before = () => {
    asked += 1;
  };
  const agent = agentFor(t, { checkpointer: store.checkpointer });
  const refused = (error) =>
    (error instanceof ConfigError || error instanceof TypeError) && /session/i.test(error.message);
  for (const id of REFUSED_IDS) {
    const name = JSON.stringify(id);
    await assert.rejects(async () => agent.send("hi", { sessionId: id }), refused, `send ${name}`);
    await assert.rejects(async () => agent.run("hi", { sessionId: id }).next(), refused, `run ${name}`);
    await assert.rejects(async () => agent.deleteSession(id), refused, `deleteSession ${name}`);
    await assert.rejects(async () => agent.listCheckpoints(id), refused, `listCheckpoints ${name}`);
    assert.throws(() => agent.resume(id), refused, `resume ${name}`);
  }
  await assert.rejects(async () => agent.deleteSession(), refused);
  await assert.rejects(async () => agent.listCheckpoints(), refused);
  assert.equal(asked, 0);
});

test("a/b is refused, and a_b has a log of its own", async (t) => {
  const store = testStore();
  const agent = agentFor(t, { checkpointer: store.checkpointer });
  await agent.send("hi", { sessionId: "a_b" });
  await assert.rejects(async () => agent.send("hi", { sessionId: "a/b" }));
  assert.deepEqual([...store.sessions.keys()], ["a_b"]);
  assert.equal(store.stored("a_b").length, 2);
});

test("__proto__, constructor and 128 characters are names like any other", async (t) => {
  const store = testStore();
  const agent = agentFor(t, { checkpointer: store.checkpointer });
  for (const sessionId of ["__proto__", "constructor", "-", "_", "0", "x".repeat(128)]) {
    await agent.send("one", { sessionId });
    assert.equal((await agent.send("two", { sessionId })).messages.length, 4);
    assert.equal(store.stored(sessionId).length, 4);
    await agent.deleteSession(sessionId);
    assert.equal((await agent.send("new", { sessionId })).messages.length, 2);
  }
});

// -- checkpoints ----------------------------------------------------------------------------------------------------------

test("listCheckpoints() has one entry a prompt, oldest first; seq is the head just before it", async (t) => {
  const store = testStore();
  const agent = agentFor(t, {
    checkpointer: store.checkpointer,
    model: [{ calls: [call("a", "work")] }, { text: "one" }, { text: "two" }],
    tools: [plainTool("work", () => "worked")],
  });
  await agent.send("first", { sessionId: "s" });
  await agent.send([{ role: "user", content: [{ type: "text", text: "second" }] }], { sessionId: "s" });
  const log = store.stored("s");
  const prompts = log.filter(({ event }) => event.type === "user");
  assert.equal(prompts.length, 2);
  assert.deepEqual(await agent.listCheckpoints("s"), [
    { seq: 0, prompt: "first", ts: prompts[0].ts },
    { seq: prompts[1].seq - 1, prompt: "second", ts: prompts[1].ts },
  ]);
  assert.equal(prompts[1].seq - 1, 5);
});

test("listCheckpoints() of a session that there is not is empty, and makes none", async (t) => {
  const store = testStore();
  const agent = agentFor(t, { checkpointer: store.checkpointer });
  assert.deepEqual(await agent.listCheckpoints("none"), []);
  assert.deepEqual(await agent.listSessions(), []);
});

test("listCheckpoints() shows a run that is under way, and does not wait for it", async (t) => {
  const store = testStore();
  const gate = deferred();
  const model = scriptedModel([{ text: "x", wait: gate.promise }]);
  const agent = agentFor(t, { checkpointer: store.checkpointer, model });
  const sent = agent.send("now", { sessionId: "s" });
  await until(() => model.requests.length === 1, "the model call");
  const listed = await within(agent.listCheckpoints("s"), "listCheckpoints()", SOON);
  assert.deepEqual(
    listed.map(({ seq, prompt }) => [seq, prompt]),
    [[0, "now"]],
  );
  gate.resolve();
  await sent;
});

test("a picture alone is a prompt too; results that a host gave are none", async (t) => {
  const store = testStore();
  store.put("s", [
    { type: "user", message: { role: "user", content: [{ type: "image", mediaType: "image/png", data: "AA==" }] } },
    said("nice"),
    {
      type: "user",
      message: { role: "user", content: [{ type: "tool_result", id: "a", content: "given" }] },
    },
  ]);
  const listed = await agentFor(t, { checkpointer: store.checkpointer }).listCheckpoints("s");
  assert.deepEqual(
    listed.map(({ seq, prompt }) => [seq, typeof prompt]),
    [[0, "string"]],
  );
});

// -- clear and resume -----------------------------------------------------------------------------------------------------

test("clear() begins a new log; the old one stays stored, and resume() continues it", async (t) => {
  const store = testStore();
  const model = scriptedModel([{ text: "ok" }]);
  const agent = agentFor(t, { checkpointer: store.checkpointer, model });
  const old = agent.sessionId;
  await agent.send("first");
  const fresh = agent.clear();
  await agent.send("second");
  assert.deepEqual([...store.sessions.keys()], [old, fresh]);
  assert.equal(store.stored(old).length, 2);
  agent.resume(old);
  const { messages } = await agent.send("third");
  assert.deepEqual(messages.map(textOf), ["first", "ok", "third", "ok"]);
  assert.deepEqual(store.types(old), ["user", "assistant", "user", "assistant"]);
});

test("the id of clear() is one that a new agent can resume", async (t) => {
  const store = testStore();
  const agent = agentFor(t, { checkpointer: store.checkpointer });
  agent.clear();
  await agent.send("first");
  const id = agent.sessionId;
  const other = agentFor(t, { checkpointer: store.checkpointer });
  other.resume(id);
  assert.equal((await other.send("second")).messages.length, 4);
});

test("listing, checkpoints and deleting after close() are refused, or answer; they do not hang", async (t) => {
  const store = testStore();
  const agent = agentFor(t, { checkpointer: store.checkpointer });
  await agent.send("hi", { sessionId: "s" });
  await agent.close();
  await assert.rejects(within(agent.deleteSession("s"), "deleteSession()", SOON), { name: "ClosedError" });
  assert.ok(store.sessions.has("s"));
  for (const attempt of [() => agent.listSessions(), () => agent.listCheckpoints("s")]) {
    await within(
      attempt().catch((error) => assert.equal(error.name, "ClosedError")),
      String(attempt),
      SOON,
    );
  }
});
