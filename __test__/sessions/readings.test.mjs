// Readings of a host's store that nobody waits for any more: they end at the next event, and let the store clean up.
// Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { agentFor, deferred, scriptedModel, within } from "../support/model.mjs";
import { call, rejectionOf, textOf } from "../runs/reading.mjs";
import { said, testStore, user } from "./storing.mjs";

const at = { sessionId: "s" };
const COUNT = 50;

/**
 * A store with a session "s" of so many events, whose reading `held` waits after two of them until it is released.
 * `left` resolves, to how many were taken, when that reading has ended.
 */
function slowStore(held = 1) {
  const store = testStore();
  store.put("s", Array.from({ length: COUNT / 2 }, (_, index) => [user(`${index}`), said("ok")]).flat());
  const entered = deferred();
  const released = deferred();
  const left = deferred();
  let readings = 0;
  const checkpointer = {
    ...store.checkpointer,
    truncate: async () => {},
    async *read(id, options) {
      readings += 1;
      if (readings !== held) {
        yield* store.checkpointer.read(id, options);
        return;
      }
      let taken = 0;
      try {
        for await (const stored of store.checkpointer.read(id, options)) {
          if (taken === 2) {
            entered.resolve();
            await released.promise;
          }
          taken += 1;
          yield stored;
        }
      } finally {
        left.resolve(taken);
      }
    },
  };
  return { store, checkpointer, entered: entered.promise, release: released.resolve, left: left.promise };
}

for (const [how, giveUp] of [
  ["aborted", (_agent, controller) => controller.abort()],
  ["closed", (agent) => agent.close()],
]) {
  test(`a log is read no further once the run is ${how}`, async (t) => {
    const slow = slowStore();
    const model = scriptedModel([{ text: "no" }]);
    const agent = agentFor(t, { checkpointer: slow.checkpointer, model });
    const controller = new AbortController();
    const sent = agent.send("hi", { ...at, signal: controller.signal });
    await within(slow.entered, "the reading");
    await within(giveUp(agent, controller), how);
    assert.equal((await within(sent, "send()")).stopReason, "aborted");
    slow.release();
    assert.equal(await within(slow.left, "the end of the reading"), 3);
    assert.equal(model.requests.length, 0);
  });
}

test("a reading that was given up, and goes on later, changes nothing of what the next run read and wrote", async (t) => {
  const slow = slowStore();
  const agent = agentFor(t, { checkpointer: slow.checkpointer });
  const controller = new AbortController();
  const sent = agent.send("lost", { ...at, signal: controller.signal });
  await within(slow.entered, "the reading");
  // It waits for the session already, and has the very log.
  const next = agent.send("one", at);
  controller.abort();
  await within(sent, "send()");
  await within(next, "the next run");
  slow.release();
  await within(slow.left, "the end of the reading");
  await new Promise(setImmediate);
  const { messages } = await agent.send("two", at);
  assert.deepEqual(messages.slice(COUNT).map(textOf), ["one", "ok", "two", "ok"]);
});

test("restore() whose signal is aborted while it reads rejects at once, and reads no further", async (t) => {
  const slow = slowStore();
  const agent = agentFor(t, { checkpointer: slow.checkpointer });
  const controller = new AbortController();
  const rejected = rejectionOf(agent.restore("s", 0, { signal: controller.signal }));
  await within(slow.entered, "the reading");
  const reason = new Error("enough");
  controller.abort(reason);
  assert.equal((await within(rejected, "restore()")).error, reason);
  slow.release();
  assert.equal(await within(slow.left, "the end of the reading"), 3);
  assert.equal(slow.store.events("s").length, COUNT);
});

for (const input of [{}, { query: "ok" }]) {
  test(`a search of archived results is given up with its run: ${JSON.stringify(input)}`, async (t) => {
    const slow = slowStore(2);
    const model = scriptedModel([{ calls: [call("a", "context", input)] }]);
    const agent = agentFor(t, { checkpointer: slow.checkpointer, model, allowedTools: ["context"] });
    const controller = new AbortController();
    const sent = agent.send("hi", { ...at, signal: controller.signal });
    await within(slow.entered, "the reading");
    controller.abort();
    assert.equal((await within(sent, "send()")).stopReason, "aborted");
    slow.release();
    assert.equal(await within(slow.left, "the end of the reading"), 3);
  });
}
