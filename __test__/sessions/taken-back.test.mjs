// Two agents on one session, of which one takes it back: the other never goes on from what is no longer there. Knows the
// public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { CheckpointConflictError, fileCheckpointer, memoryCheckpointer, sqliteCheckpointer } from "../../index.js";
import { agentFor, deferred, plainTool, scriptedModel, temporaryFolder } from "../support/model.mjs";
import { assertConversation, call, textOf } from "../runs/reading.mjs";
import { calling, resultOf, said, testStore, user } from "./storing.mjs";

const at = { sessionId: "s" };

/** A function that makes checkpointers of the same sessions, as another process would. */
const STORES = {
  file: (root, made) => () => made(fileCheckpointer({ dir: `${root}/sessions` })),
  sqlite: (root, made) => () => made(sqliteCheckpointer({ file: `${root}/sessions.db` })),
  memory: (_root, made) => {
    const store = made(memoryCheckpointer());
    return () => store;
  },
};
const TAKINGS_BACK = {
  "restore()": (agent) => agent.restore("s", 0),
  "deleteSession()": (agent) => agent.deleteSession("s"),
};

async function storesOf(t, kind) {
  const { root } = await temporaryFolder(t);
  return STORES[kind](root, (store) => {
    t.after(() => store.close());
    return store;
  });
}

async function eventsOf(store) {
  const events = [];
  for await (const { event } of store.read("s")) events.push(event);
  return events;
}

for (const kind of Object.keys(STORES)) {
  for (const [name, takeBack] of Object.entries(TAKINGS_BACK)) {
    test(`${kind}, ${name}: an agent that had the same head is told, and then goes on from what is there`, async (t) => {
      const open = await storesOf(t, kind);
      const model = scriptedModel([{ text: "of the other" }]);
      const other = agentFor(t, { checkpointer: open(), model });
      await other.send("old", at);
      const agent = agentFor(t, { checkpointer: open(), model: [{ text: "new answer" }] });
      await takeBack(agent);
      await agent.send("new", at);
      await assert.rejects(other.send("next", at), (error) => {
        assert.ok(error instanceof CheckpointConflictError);
        assert.deepEqual([error.sessionId, error.expected, error.actual], ["s", 2, 2]);
        assert.match(error.message, /session s was taken back by another/);
        return true;
      });
      assert.deepEqual(
        (await eventsOf(open())).map(({ message }) => textOf(message)),
        ["new", "new answer"],
      );
      const { messages } = await other.send("next", at);
      assert.deepEqual(messages.map(textOf), ["new", "new answer", "next", "of the other"]);
      assert.deepEqual(model.requests.at(-1).messages.map(textOf), ["new", "new answer", "next"]);
    });

    test(`${kind}, ${name} in the middle of another's turn: no result without its call gets into the log`, async (t) => {
      const open = await storesOf(t, kind);
      const [entered, gate] = [deferred(), deferred()];
      const slow = plainTool("slow", async () => {
        entered.resolve();
        await gate.promise;
        return "late";
      });
      const other = agentFor(t, {
        checkpointer: open(),
        tools: [slow],
        model: [{ calls: [call("a", "slow")] }, { text: "x" }],
      });
      const running = other.send("old", at);
      await entered.promise;
      const agent = agentFor(t, { checkpointer: open() });
      await takeBack(agent);
      await agent.send("new", at);
      // As many events as the other has written.
      await open().append("s", [user("third")], 2);
      gate.resolve();
      await assert.rejects(running, CheckpointConflictError);
      assert.deepEqual(
        (await eventsOf(open())).map(({ message }) => textOf(message)),
        ["new", "ok", "third"],
      );
      assertConversation((await other.send("next", at)).messages);
    });
  }

  test(`${kind}: a restoration does not take away what somebody appended since it looked`, async (t) => {
    const open = await storesOf(t, kind);
    const store = open();
    const agent = agentFor(t, { checkpointer: store });
    await agent.send("old", at);
    const beside = open();
    let appended;
    agent.subscribe(({ event }) => {
      // The log has been read by then.
      if (event.type === "checkpoint_restore" && event.phase === "start")
        appended = beside.append("s", [user("more")], 2);
    });
    const outcome = await agent.restore("s", 0).catch((error) => error);
    await appended.catch(() => {});
    const head = await store.head("s");
    // Whoever came first: either it was told, or there is nothing that it took away unseen.
    if (outcome instanceof CheckpointConflictError) assert.equal(head, 3);
    else assert.ok(head === 0, `${head}`);
  });
}

test("results that wait in no call, of a store that let two write at once, are left out, and it is told", async (t) => {
  const store = testStore();
  const odd = resultOf("gone", "whose?");
  store.put("s", [
    user("go"),
    odd,
    calling(call("a", "work")),
    resultOf("a", "yes"),
    resultOf("a", "twice"),
    said("end"),
    odd,
  ]);
  const model = scriptedModel([{ text: "ok" }]);
  const agent = agentFor(t, { checkpointer: store.checkpointer, model });
  const told = [];
  agent.subscribe(({ event }) => event.type === "diagnostic" && told.push(event));
  const { messages } = await agent.send("more", at);
  assertConversation(messages);
  assert.deepEqual(
    messages
      .flatMap(({ content }) => (Array.isArray(content) ? content : []))
      .filter(({ type }) => type === "tool_result")
      .map(({ content }) => content),
    ["yes"],
  );
  assert.deepEqual(
    told.map(({ level, code, message }) => [
      level,
      code,
      message
        .match(/event (\d) .* the call (\w+),/)
        .slice(1)
        .join(),
    ]),
    [2, 5, 7].map((seq) => ["warning", "session_repaired", `${seq},${seq === 5 ? "a" : "gone"}`]),
  );
});
