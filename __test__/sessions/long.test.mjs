// Long sessions: they are read, taken up and compacted in slices of the event loop, and a run that is aborted between two
// slices leaves nothing of it to the next. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { fileCheckpointer, memoryCheckpointer, sqliteCheckpointer } from "../../index.js";
import { agentFor, scriptedModel, temporaryFolder, within } from "../support/model.mjs";
import { assertConversation, textOf } from "../runs/reading.mjs";
import { said, user } from "./storing.mjs";

const PAIRS = 3_000;
const at = { sessionId: "s" };

const conversation = () =>
  Array.from({ length: PAIRS }, (_, index) => [user(`question ${index}`), said(`answer ${index}`)]).flat();

const STORES = {
  memory: () => memoryCheckpointer(),
  file: (root) => fileCheckpointer({ dir: `${root}/sessions` }),
  sqlite: (root) => sqliteCheckpointer({ file: `${root}/sessions.db` }),
};

async function longSession(t, kind) {
  const { root } = await temporaryFolder(t);
  const store = STORES[kind](root);
  t.after(() => store.close?.());
  await store.append("s", conversation(), 0);
  return store;
}

/** So many turns of the event loop later. */
async function turnsLater(count) {
  for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

for (const kind of Object.keys(STORES)) {
  test(`${kind}: a run that is aborted while a long session is read leaves it whole to the next`, async (t) => {
    const store = await longSession(t, kind);
    for (const turns of [0, 1, 2, 3, 5, 8, 13, 21, 34]) {
      const head = await store.head("s");
      const agent = agentFor(t, { checkpointer: store, model: scriptedModel([{ text: "seen" }, { text: "seen" }]) });
      const controller = new AbortController();
      const first = agent.send("given up", { ...at, signal: controller.signal });
      await turnsLater(turns);
      controller.abort();
      const second = agent.send("and now", at);
      const { stopReason } = await within(first, "the aborted run", 10_000);
      // A quick store may have read it all by then.
      assert.ok(stopReason === "aborted" || turns > 8, `${stopReason} after ${turns} turns`);
      const { messages } = await within(second, "the next run", 20_000);
      assertConversation(messages);
      assert.deepEqual(
        messages.slice(0, 2 * PAIRS).map(textOf),
        conversation().map(({ message }) => textOf(message)),
      );
      assert.equal(textOf(messages.at(-1)), "seen");
      const added = (await store.head("s")) - head;
      assert.equal(messages.length - head, added, "what the agent has is what is stored");
      await agent.close();
      await store.truncate("s", 2 * PAIRS);
    }
  });

  test(`${kind}: a compaction that is aborted changes the session whole or not at all`, async (t) => {
    const store = await longSession(t, kind);
    for (const turns of [0, 1, 2, 3, 5, 8, 13, 21]) {
      const agent = agentFor(t, {
        checkpointer: store,
        model: scriptedModel([{ text: "ok" }, { text: "what was said" }, { text: "after" }, { text: "and after" }]),
      });
      await agent.send("go", at);
      agent.resume("s");
      const controller = new AbortController();
      const compacting = (async () => {
        for await (const _event of agent.compact(undefined, { signal: controller.signal }));
      })();
      await turnsLater(turns);
      controller.abort();
      const settled = within(compacting, "the compaction", 10_000).catch((error) => error);
      const { messages } = await within(agent.send("go on", at), "the next run", 20_000);
      await settled;
      assertConversation(messages);
      const next = agentFor(t, { checkpointer: store, model: scriptedModel([{ text: "seen" }]) });
      const read = await next.send("and", at);
      assert.deepEqual(read.messages.slice(0, messages.length).map(textOf), messages.map(textOf));
      await next.close();
      await agent.close();
      await store.truncate("s", 2 * PAIRS);
    }
  });
}

for (const kind of ["file", "sqlite"]) {
  test(`${kind}: a reading that stops early leaves no descriptor open, and the store can be closed in the middle`, async (t) => {
    const store = await longSession(t, kind);
    const open = () => readdirSync("/proc/self/fd").length;
    for await (const _stored of store.read("s"));
    const before = open();
    for (let round = 0; round < 50; round += 1) {
      for await (const { seq } of store.read("s", { sinceSeq: round })) {
        assert.equal(seq, round + 1);
        break;
      }
    }
    assert.equal(open(), before);
    const reading = store.read("s");
    await reading.next();
    await store.close();
    await assert.rejects(
      (async () => {
        for await (const _stored of reading);
      })(),
      { code: "store_closed" },
    );
    assert.ok(open() <= before);
  });
}
