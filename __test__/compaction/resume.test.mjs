// A compacted session taken up by a new agent: as if the old one had gone on. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { fileCheckpointer, foldEvents, sqliteCheckpointer } from "../../index.js";
import { join } from "node:path";
import {
  call,
  collect,
  compactingAgent,
  compactingModel,
  contentText,
  json,
  kindsOf,
  plain,
  plainTool,
  resultFor,
  runOf,
  temporaryFolder,
  within,
  words,
  working,
  workTool,
} from "./compacting.mjs";
import { testStore } from "../sessions/storing.mjs";

const windowed = (windowTokens) => ({ context: { windowTokens } });
const at = { sessionId: "s" };

/** Runs the inputs in one agent, and then asks one more of it and of a new one: both must send the same. */
async function assertResumed(t, { turns, inputs, checkpointer, again, ...config }) {
  const model = compactingModel([...turns, { text: "end" }]);
  const { agent, fired } = compactingAgent(t, { model, ...config, checkpointer });
  let result;
  for (const input of inputs) ({ result } = await runOf(agent, input, at));
  assert.ok(fired.length > 0, "there was a compaction");
  await agent.close();
  const next = compactingModel([{ text: "end" }]);
  const other = compactingAgent(t, { model: next, ...config, ...(again ?? { checkpointer }), context: false });
  const resumed = await runOf(other.agent, "MORE", at);
  const whole = [...plain(result.messages), { role: "user", content: "MORE" }];
  assert.deepEqual(plain(resumed.result.messages.slice(0, -1)), whole);
  const fold = next.turns[0].messages;
  assert.ok(json(fold).endsWith('"content":"MORE"}]'), json(fold).slice(-80));
  return { fired, model: next };
}

const SUMMARISED = {
  turns: [{ text: words(500, "a1") }, { text: words(500, "a2") }, { text: words(50, "a3") }],
  inputs: ["first", "second", words(150, "third")],
  ...windowed(1_500),
};

test("after a summary", async (t) => {
  const { fired, model } = await assertResumed(t, { ...SUMMARISED, checkpointer: testStore().checkpointer });
  assert.ok(kindsOf(fired).includes("auto"));
  assert.ok(json(model.turns[0].messages).includes("SUMMARY"));
});

test("after results became references", async (t) => {
  const { fired } = await assertResumed(t, {
    turns: working(8),
    inputs: ["do it"],
    tools: [workTool(400)],
    checkpointer: testStore().checkpointer,
    ...windowed(3_000),
  });
  assert.ok(kindsOf(fired).includes("micro"));
});

test("after both, within one long run", async (t) => {
  await assertResumed(t, {
    turns: working(30),
    inputs: ["do it"],
    tools: [workTool(300)],
    checkpointer: testStore().checkpointer,
    ...windowed(1_500),
  });
});

test("on files and on SQLite", async (t) => {
  const { root } = await temporaryFolder(t);
  const stores = {
    file: () => fileCheckpointer({ dir: join(root, "logs") }),
    sqlite: () => sqliteCheckpointer({ file: join(root, "log.db") }),
  };
  for (const make of Object.values(stores)) {
    const [one, two] = [make(), make()];
    t.after(() => one.close());
    t.after(() => two.close());
    await assertResumed(t, { ...SUMMARISED, checkpointer: one, again: { checkpointer: two } });
  }
});

test("the log's summary says what it replaced, and foldEvents folds it to what is sent", async (t) => {
  const store = testStore();
  const { model } = await assertResumed(t, { ...SUMMARISED, checkpointer: store.checkpointer });
  const stored = store.stored("s");
  const { seq, event } = stored.find(({ event: { type } }) => type === "summary");
  assert.equal(event.throughSeq, seq - 1);
  assert.ok(event.after < event.before);
  const folded = foldEvents(store.events("s").slice(0, -1));
  assert.deepEqual(plain(folded).at(-1), plain(model.turns[0].messages).at(-1));
  assert.ok(json(folded).includes("SUMMARY"));
});

/** A session whose log has a summary; its newest results are whole in it. Taken up by a new agent, they get old. */
async function resumedAndOld(t, first) {
  const store = testStore();
  const one = await first(store);
  await one.close();
  const model = compactingModel(working(8, 100));
  const { agent, fired } = compactingAgent(t, {
    model,
    tools: [workTool(400)],
    checkpointer: store.checkpointer,
    ...windowed(3_000),
  });
  await runOf(agent, "go on", at);
  assert.ok(kindsOf(fired).length > 0);
  return { store, model };
}

/** Reads through `context` what stands in the place of each result that is no longer whole. */
function assertReferences({ model }, id) {
  let seen = 0;
  for (const { messages } of model.turns) {
    if (!json(messages).includes(`"${id}"`)) continue;
    const shown = contentText(resultFor(messages, id));
    if (shown.length > 500) continue;
    seen += 1;
    assert.match(shown, /r\d+/, `${id}: ${shown}`);
  }
  assert.ok(seen > 0, `${id} became a reference`);
}

test("results that were whole at a summary, taken up by a new agent, can still be read once they are references", async (t) => {
  const made = await resumedAndOld(t, async (store) => {
    const model = compactingModel(working(5));
    const { agent } = compactingAgent(t, {
      model,
      tools: [workTool(400)],
      checkpointer: store.checkpointer,
      ...windowed(2_200),
    });
    await runOf(agent, "do it", at);
    assert.ok(store.types("s").includes("summary"));
    return agent;
  });
  assertReferences(made, "c4");
});

test("results that a new agent takes up without a summary before can be read once they are references", async (t) => {
  const made = await resumedAndOld(t, async (store) => {
    const { agent } = compactingAgent(t, {
      model: compactingModel(working(3)),
      tools: [workTool(400)],
      checkpointer: store.checkpointer,
    });
    await runOf(agent, "do it", at);
    return agent;
  });
  assertReferences(made, "c2");
});

test("a result that happens to begin like a reference is archived like any other", async (t) => {
  const model = compactingModel(working(8));
  const tools = [plainTool("work", ({ n }) => `[the result of ${words(400, `r${n}`)}`)];
  const { agent } = compactingAgent(t, { model, tools, ...windowed(3_000) });
  await runOf(agent, "do it", at);
  assertReferences({ model }, "c0");
});

test("references of results under the same call id are each their own", async (t) => {
  const turns = Array.from({ length: 8 }, (_, n) => ({ calls: [call("same", "work", { n })] }));
  const model = compactingModel([...turns, { text: "end" }]);
  const { agent, fired } = compactingAgent(t, { model, tools: [workTool(400)], ...windowed(3_000) });
  const { result } = await runOf(agent, "do it", at);
  assert.equal(result.text, "end");
  assert.ok(fired.length > 0);
  const refs = json(result.messages).match(/ref \\"r\d+/g);
  assert.ok(refs.length > 1 && new Set(refs).size === refs.length, String(refs));
});

test("restore() to before the summary brings back what it replaced", async (t) => {
  const { root } = await temporaryFolder(t);
  const checkpointer = fileCheckpointer({ dir: join(root, "logs") });
  t.after(() => checkpointer.close());
  const model = compactingModel([...SUMMARISED.turns, { text: "end" }]);
  const { agent } = compactingAgent(t, { model, checkpointer });
  for (const input of SUMMARISED.inputs) await runOf(agent, input, at);
  agent.resume("s");
  await within(collect(agent.compact()), "compact()");
  const points = await agent.listCheckpoints("s");
  assert.equal(points.length, 3, "prompts before a summary are still checkpoints");
  await agent.restore("s", points[2].seq);
  await runOf(agent, "other third", at);
  const sent = json(model.turns.at(-1).messages);
  assert.ok(sent.includes("<a1>") && !sent.includes("SUMMARY") && !sent.includes("<third>"));
});
