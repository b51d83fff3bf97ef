// What a compactor of the host says of its work, kind, before and after, is what hooks, events and the log say. Knows the
// public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { call, collect, compactingAgent, compactingModel, eventsOf, plainTool, runOf, within } from "./compacting.mjs";
import { testStore } from "../sessions/storing.mjs";

const user = (text) => ({ role: "user", content: text });

/** One run whose compactor answers with this beside its messages; `changes`: whether it changes those. */
async function told(t, answer, { changes = true, manual = false } = {}) {
  const store = testStore();
  const compactor = {
    maybeCompact: async (messages) => ({ messages: changes ? [user("SHORT")] : messages, ...answer }),
  };
  const model = compactingModel([{ text: "end" }]);
  const { agent, fired } = compactingAgent(t, { model, compactor, checkpointer: store.checkpointer });
  const { events, result } = await (manual
    ? within(collect(agent.compact()), "compact()")
    : runOf(agent, "a question of some length"));
  const [start, end] = fired;
  const [began, done] = eventsOf(events, "compaction");
  const summary = store.events(agent.sessionId).find(({ type }) => type === "summary");
  return { start, end, began, done, summary, result };
}

const measured = async (t, options) => (await told(t, {}, options)).end;

test("kind, before and after are those of the end's hook and event, and of the log", async (t) => {
  for (const kind of ["micro", "auto"]) {
    const { start, end, began, done, summary } = await told(t, { kind, before: 5_000, after: 70 });
    assert.deepEqual([end.kind, end.before, end.after, end.status], [kind, 5_000, 70, "completed"]);
    assert.deepEqual([done.kind, done.before, done.after, done.phase], [kind, 5_000, 70, "done"]);
    assert.deepEqual([summary.before, summary.after], [5_000, 70]);
    // When it began, nobody had said anything.
    assert.deepEqual([start.kind, began.kind, start.before], ["auto", "auto", began.before]);
    assert.equal(start.compactionId, end.compactionId);
  }
});

test("each is used alone, and the others are what was measured", async (t) => {
  const usual = await measured(t);
  for (const answer of [{ kind: "micro" }, { before: 5_000 }, { after: 0 }, { after: 7.5 }]) {
    const { end } = await told(t, answer);
    const expected = { kind: "auto", before: usual.before, after: usual.after, ...answer };
    assert.deepEqual({ kind: end.kind, before: end.before, after: end.after }, expected);
  }
});

test("what is no kind and no count is left aside", async (t) => {
  const usual = await measured(t);
  for (const kind of ["manual", "MICRO", "", 5, null, {}]) {
    for (const count of [-1, NaN, Infinity, "100", null, {}, 5n]) {
      const { end } = await told(t, { kind, before: count, after: count });
      assert.deepEqual([end.kind, end.before, end.after], ["auto", usual.before, usual.after]);
      assert.equal(end.status, "completed");
    }
  }
});

test("compact() stays manual; its numbers are the compactor's", async (t) => {
  const { end, done, result } = await told(t, { kind: "micro", before: 5_000, after: 70 }, { manual: true });
  assert.deepEqual([end.kind, done.kind], ["manual", "manual"]);
  assert.deepEqual(result, { before: 5_000, after: 70 });
  assert.deepEqual([end.before, end.after, done.before, done.after], [5_000, 70, 5_000, 70]);
});

test("what it says of messages that it left as they are is told as well", async (t) => {
  const { end, summary } = await told(t, { kind: "micro", before: 300, after: 200 }, { changes: false });
  assert.deepEqual([end.kind, end.before, end.after], ["micro", 300, 200]);
  assert.equal(summary, undefined);
});

test("no storms: what it says that it freed does not have it asked again before each call", async (t) => {
  const context = { contextWindow: 1_000, countTokens: async () => 900 };
  const turns = [...Array.from({ length: 5 }, (_, n) => ({ calls: [call(`c${n}`, "work")] })), { text: "end" }];
  const model = compactingModel(turns, { context });
  let asked = 0;
  const compactor = { maybeCompact: async (messages) => ((asked += 1), { messages, before: 900, after: 100 }) };
  const { agent } = compactingAgent(t, { model, compactor, tools: [plainTool("work", () => "x")] });
  await runOf(agent, "hi");
  assert.equal(asked, 1);
});

test("a compaction that fails has the numbers that were measured", async (t) => {
  const { end } = await told(t, { messages: [null], kind: "micro", before: 5_000, after: 70 });
  const usual = await measured(t);
  assert.deepEqual([end.status, end.kind, end.before, end.after], ["failed", "auto", usual.before, usual.before]);
});
