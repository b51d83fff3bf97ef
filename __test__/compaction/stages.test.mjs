// What an automatic compaction does: old results become references, then old turns a summary. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import {
  assertEventsLike,
  assertWholeCharacters,
  blocksOf,
  call,
  compactingAgent,
  compactingModel,
  contentText,
  isSummaryRequest,
  json,
  kindsOf,
  pairsOf,
  plain,
  plainTool,
  requestTokens,
  resultFor,
  runOf,
  textOf,
  typesOf,
  within,
  words,
  working,
  workTool,
} from "./compacting.mjs";
import { appending, holdOnce, testStore } from "../sessions/storing.mjs";

const windowed = (windowTokens) => ({ context: { windowTokens } });

/** Eight turns of results of 400 tokens in a window of 3000. */
async function manyResults(t, { then = [{ text: "end" }], ...config } = {}) {
  const model = compactingModel([...working(8).slice(0, -1), ...then], config.modelOptions);
  delete config.modelOptions;
  const made = compactingAgent(t, { model, tools: [workTool(400)], ...windowed(3_000), ...config });
  return { model, ...made, ...(await runOf(made.agent, "do it")) };
}

test("micro first: old results become references, the newest stay whole, no model is asked", async (t) => {
  const { model, fired, events, result } = await manyResults(t);
  assert.equal(result.text, "end");
  assert.deepEqual([...new Set(kindsOf(fired))], ["micro"]);
  assertEventsLike(events, fired);
  assert.equal(model.summaries.length, 0);
  const last = model.turns.at(-1).messages;
  assert.equal(blocksOf(last, "tool_result").length, 8);
  assert.ok(contentText(resultFor(last, "c0")).length < 200);
  for (const id of ["c6", "c7"]) assert.ok(contentText(resultFor(last, id)).includes(words(400, `r${id.slice(1)}`)));
  assert.ok(pairsOf(fired)[0].after < pairsOf(fired)[0].before);
});

test("a reference is read through `context`, whole", async (t) => {
  let whole;
  const { result } = await manyResults(t, {
    then: [
      ({ messages }) => {
        const [ref] = contentText(resultFor(messages, "c0")).match(/r\d+/);
        return { calls: [call("read", "context", { ref })] };
      },
      ({ messages }) => {
        whole = contentText(resultFor(messages, "read"));
        return { text: "read" };
      },
    ],
  });
  assert.equal(result.text, "read");
  assert.equal(whole, words(400, "r0"));
});

test("a failed result stays a failed one as a reference", async (t) => {
  let n = 0;
  const { model } = await manyResults(t, {
    tools: [plainTool("work", () => ({ content: words(400, `r${n++}`), isError: true }))],
  });
  for (const block of blocksOf(model.turns.at(-1).messages, "tool_result")) assert.equal(block.isError, true);
});

test("the compaction comes after turn_start and before the model call, and is told", async (t) => {
  const { events } = await manyResults(t);
  const types = typesOf(events).filter((type) => /turn_start|compaction|model_call_start/.test(type));
  const at = types.indexOf("compaction");
  assert.deepEqual(types.slice(at - 1, at + 3), ["turn_start", "compaction", "compaction", "model_call_start"]);
});

test("still over: the turns before the newest are summarised by one model call", async (t) => {
  const model = compactingModel([{ text: words(500, "a1") }, { text: words(500, "a2") }, { text: "end" }], {
    summary: { text: "THE SUMMARY" },
  });
  const { agent, fired } = compactingAgent(t, { model, modelName: "my-model", ...windowed(1_500) });
  await runOf(agent, "first question");
  await runOf(agent, "second question");
  const { result, events } = await runOf(agent, words(150, "third"));
  assert.equal(result.text, "end");
  assert.deepEqual(kindsOf(fired), ["auto"]);
  assertEventsLike(events, fired);
  assert.equal(model.summaries.length, 1);
  const [asked] = model.summaries;
  assert.equal(asked.tools, undefined);
  assert.equal(asked.toolChoice, undefined);
  assert.equal(asked.model, "my-model");
  assert.ok(json(asked.messages).includes("first question") && json(asked.messages).includes("<a1>"));
  const [request] = model.turns.slice(-1);
  assert.ok(json(request.messages).includes("THE SUMMARY"));
  assert.ok(!json(request.messages).includes("<a1>"));
  assert.ok(textOf(request.messages.at(-1)).includes(words(150, "third")));
  assert.ok(requestTokens(request) <= 1_200);
  assert.ok(json(result.messages).includes("THE SUMMARY") && !json(result.messages).includes("<a1>"));
});

test("the summary's usage is in the run's usage, cache included", async (t) => {
  const usage = { inputTokens: 1_000, outputTokens: 100, cacheReadTokens: 30, cacheCreationTokens: 7 };
  const usual = { inputTokens: 900, outputTokens: 500 };
  const model = compactingModel(
    [
      { text: words(500), usage: usual },
      { text: words(500), usage: usual },
      { text: "end", usage: { inputTokens: 3, outputTokens: 4 } },
    ],
    { summary: { text: "S", usage } },
  );
  const { agent } = compactingAgent(t, { model, ...windowed(1_500) });
  await runOf(agent, "one");
  const before = await runOf(agent, "two");
  const seen = [before, await runOf(agent, "three")].map(({ result }) => result.usage);
  assert.ok(model.summaries.length > 0);
  const sum = (key) => seen.reduce((all, one) => all + (one[key] ?? 0), 0);
  const summaries = model.summaries.length;
  assert.equal(sum("inputTokens"), 903 + 1_000 * summaries);
  assert.equal(sum("outputTokens"), 504 + 100 * summaries);
  assert.equal(sum("cacheReadTokens"), 30 * summaries);
  assert.equal(sum("cacheCreationTokens"), 7 * summaries);
});

/** Three runs whose third has to summarise. */
async function summarising(t, summary, config = {}) {
  const model = compactingModel([{ text: words(500, "a1") }, { text: words(500, "a2") }, { text: "end" }], { summary });
  const made = compactingAgent(t, { model, ...windowed(1_500), ...config });
  await runOf(made.agent, "first question");
  await runOf(made.agent, "second question");
  return { model, ...made, ...(await runOf(made.agent, words(150, "third"))) };
}

for (const [name, summary] of [
  ["throws", { error: new Error("no summary") }],
  ["is empty", { text: "" }],
  ["is blank", { text: " \n " }],
  ["makes a call instead", { calls: [call("x", "context")] }],
]) {
  test(`a summary that ${name} twice: the oldest turns are dropped behind a marker`, async (t) => {
    const { model, fired, failures, result } = await summarising(t, summary);
    assert.equal(result.text, "end");
    assert.equal(model.summaries.length, 2);
    const [end] = pairsOf(fired);
    assert.equal(end.kind, "auto");
    assert.equal(end.status, "completed");
    assert.ok(end.after < end.before);
    const { messages } = model.turns.at(-1);
    assert.ok(!json(messages).includes("<a1>") && json(messages).includes("<third>"));
    assert.match(textOf(messages[0]), /dropped|left out|removed/);
    assert.deepEqual(failures, []);
  });
}

const done = (message, rest) => ({
  type: "message_done",
  message,
  usage: { inputTokens: 1, outputTokens: 1 },
  ...rest,
});
const STREAMS = {
  "is no stream": () => 5,
  "throws at once": () => {
    throw new Error("at once");
  },
  "ends without a message": async function* () {},
  "yields null": async function* () {
    yield null;
  },
  "has no message in it": async function* () {
    yield done(undefined);
  },
  "has blocks of null": async function* () {
    yield done({ role: "assistant", content: [null] });
  },
  "has text that is none": async function* () {
    yield done({ role: "assistant", content: [{ type: "text", text: { not: "a text" } }] });
  },
};
for (const [name, stream] of Object.entries(STREAMS)) {
  test(`a summary whose stream ${name} is a failed one, and the run goes on`, async (t) => {
    const scripted = compactingModel([{ text: words(500, "a1") }, { text: words(500, "a2") }, { text: "end" }]);
    const model = {
      id: "odd",
      stream: (request, signal) => (isSummaryRequest(request) ? stream() : scripted.stream(request, signal)),
    };
    const { agent, fired } = compactingAgent(t, { model, ...windowed(1_500) });
    await runOf(agent, "first");
    await runOf(agent, "second");
    assert.equal((await runOf(agent, words(150, "third"))).result.text, "end");
    assert.equal(pairsOf(fired)[0].status, "completed");
    const sent = json(scripted.turns.at(-1).messages);
    assert.ok(!sent.includes("<a1>") && sent.includes("<third>"));
    assert.ok(!/\[object Object\]|undefined/.test(sent), "no rubbish for a summary");
  });
}

test("a summary that fails once is asked for again", async (t) => {
  let asked = 0;
  const { model, fired } = await summarising(t, () =>
    (asked += 1) === 1 ? { error: new Error("busy") } : { text: "SECOND TRY" },
  );
  assert.equal(model.summaries.length, 2);
  assert.equal(pairsOf(fired)[0].status, "completed");
  assert.ok(json(model.turns.at(-1).messages).includes("SECOND TRY"));
});

test("a summary of odd usage is no failed summary", async (t) => {
  for (const usage of [
    undefined,
    null,
    {},
    { inputTokens: "5", outputTokens: NaN },
    { inputTokens: -1, outputTokens: 1.5 },
  ]) {
    const { model, fired, result } = await summarising(t, { text: "ODD USAGE", usage });
    assert.equal(result.text, "end");
    assert.equal(pairsOf(fired)[0].status, "completed", json(usage));
    assert.ok(json(model.turns.at(-1).messages).includes("ODD USAGE"), json(usage));
  }
});

for (const shift of ["", "a"]) {
  test(`a summary, and what is shown for it, has whole characters, ${shift.length} letters in`, async (t) => {
    const foxes = shift + "🦊".repeat(2_500);
    const model = compactingModel([{ text: foxes }, { text: foxes }, { text: "end" }], { summary: { text: foxes } });
    const { agent } = compactingAgent(t, { model, ...windowed(6_000) });
    await runOf(agent, "first");
    await runOf(agent, foxes);
    await runOf(agent, "third");
    assert.ok(model.summaries.length > 0);
    assertWholeCharacters(model.turns);
    assertWholeCharacters(model.summaries);
  });
}

test("a later compaction summarises the earlier summary too", async (t) => {
  let count = 0;
  const model = compactingModel([{ text: words(500) }], { summary: () => ({ text: `SUMMARY-${(count += 1)}` }) });
  const { agent, fired } = compactingAgent(t, { model, ...windowed(1_500) });
  for (let index = 0; index < 8; index += 1) await runOf(agent, `question ${index}`);
  assert.ok(count >= 2);
  assert.ok(json(model.summaries[1].messages).includes("SUMMARY-1"));
  pairsOf(fired);
  assert.ok(!json(model.turns.at(-1).messages).includes("SUMMARY-1"));
});

test("the task of a long run stays, however many turns go", async (t) => {
  const model = compactingModel(working(30));
  const { agent, fired } = compactingAgent(t, { model, tools: [workTool(300)], ...windowed(1_500) });
  const { result } = await runOf(agent, "THE TASK OF THE RUN");
  assert.equal(result.text, "end");
  assert.ok(kindsOf(fired).includes("auto"));
  for (const { messages } of model.turns) assert.ok(json(messages).includes("THE TASK OF THE RUN"));
  for (const request of model.turns) assert.ok(requestTokens(request) <= 1_500 * 0.9, `${requestTokens(request)}`);
});

test("no storms: after a compaction that frees nothing, none until the conversation has grown by 10 %", async (t) => {
  let tokens = 900;
  const context = { contextWindow: 1_000, countTokens: async () => tokens };
  const turns = Array.from({ length: 6 }, (_, index) => ({ calls: [call(`c${index}`, "work")] }));
  const model = compactingModel([...turns, { text: "end" }], { context });
  const seen = [];
  const tool = plainTool("work", () => {
    seen.push(fired.length / 2);
    return "x";
  });
  const { agent, fired } = compactingAgent(t, { model, tools: [tool] });
  await runOf(agent, "hi");
  assert.deepEqual(new Set(seen), new Set([seen[0]]), "one compaction, before the first call");
  const once = fired.length;
  assert.ok(once > 0);
  tokens = 989;
  await runOf(agent, "again");
  assert.equal(fired.length, once);
  tokens = 991;
  await runOf(agent, "again");
  assert.ok(fired.length > once);
});

test("the guard of one session does not hold up another", async (t) => {
  const context = { contextWindow: 1_000, countTokens: async () => 900 };
  const { agent, fired } = compactingAgent(t, { model: compactingModel([{ text: "end" }], { context }) });
  await runOf(agent, "hi", { sessionId: "one" });
  await runOf(agent, "hi", { sessionId: "two" });
  assert.deepEqual([...new Set(fired.map(({ sessionId }) => sessionId))], ["one", "two"]);
});

test("an abort while the model summarises: a cancelled pair, the run aborted, nothing lost", async (t) => {
  const controller = new AbortController();
  let summarySignal;
  const model = compactingModel([{ text: words(500, "a1") }, { text: words(500, "a2") }, { text: "end" }], {
    onSummary: (_request, signal) => {
      summarySignal = signal;
      controller.abort();
    },
    summary: { wait: new Promise(() => {}) },
  });
  const { agent, fired } = compactingAgent(t, { model, ...windowed(1_500) });
  await runOf(agent, "first");
  await runOf(agent, "second");
  const { result, events } = await runOf(agent, words(150, "third"), { signal: controller.signal });
  assert.equal(result.stopReason, "aborted");
  assert.ok(summarySignal.aborted);
  assert.deepEqual(
    pairsOf(fired).map(({ kind, status }) => [kind, status]),
    [["auto", "cancelled"]],
  );
  assertEventsLike(events, fired);
  for (const name of ["<a1>", "<a2>", "<third>"]) assert.ok(json(result.messages).includes(name), name);
});

test("a store that cannot take the summary: a failed pair, and what was said is kept", async (t) => {
  const store = testStore();
  let broken = true;
  store.before = (operation, _id, events) => {
    if (broken && operation === "append" && events.some(({ type }) => type === "summary")) throw new Error("disk full");
  };
  const model = compactingModel([{ text: words(500, "a1") }, { text: words(500, "a2") }, { text: "end" }]);
  const { agent, fired } = compactingAgent(t, { model, checkpointer: store.checkpointer, ...windowed(1_500) });
  await runOf(agent, "first");
  await runOf(agent, "second");
  await runOf(agent, words(150, "third")).catch(({ message }) => assert.match(message, /disk full/));
  assert.deepEqual(
    pairsOf(fired).map(({ status }) => status),
    ["failed"],
  );
  broken = false;
  // The guard against storms holds for a compaction that failed too: the conversation has to grow first.
  const { result } = await runOf(agent, words(400, "fourth"));
  assert.equal(result.text, "end");
  const { messages } = model.turns.at(-1);
  assert.ok(json(messages).includes("SUMMARY") && json(messages).includes("fourth"));
});

test("an abort while the summary is being stored: log and conversation agree afterwards", async (t) => {
  const store = testStore();
  const controller = new AbortController();
  const hold = holdOnce(store, appending("summary"));
  const model = compactingModel([{ text: words(500, "a1") }, { text: words(500, "a2") }, { text: "end" }]);
  const { agent, fired } = compactingAgent(t, { model, checkpointer: store.checkpointer, ...windowed(1_500) });
  const { sessionId } = agent;
  await runOf(agent, "first");
  await runOf(agent, "second");
  const running = runOf(agent, words(150, "third"), { signal: controller.signal });
  await within(hold.entered, "the summary is being stored");
  controller.abort();
  hold.release();
  const { result } = await running;
  assert.equal(result.stopReason, "aborted");
  pairsOf(fired);
  await runOf(agent, "fourth");
  const again = compactingModel([{ text: "end" }]);
  const other = compactingAgent(t, { model: again, checkpointer: store.checkpointer, context: false });
  const { messages } = (await runOf(agent, "fifth")).result;
  await agent.close();
  await runOf(other.agent, "sixth", { sessionId });
  assert.deepEqual(plain(again.turns[0].messages.slice(0, -1)), joined(messages));
});

/** Messages as a request has them. */
function joined(messages) {
  const out = [];
  const blocks = ({ content }) => (typeof content === "string" ? [{ type: "text", text: content }] : content);
  for (const message of plain(messages)) {
    const last = out.at(-1);
    if (last?.role === message.role) last.content = [...blocks(last), ...blocks(message)];
    else out.push(message);
  }
  return out;
}

test("middleware that only looks at context.messages does not keep the compacted request from being sent", async (t) => {
  let looked = 0;
  const use = [
    {
      name: "looks",
      beforeModel(context) {
        looked += context.messages.length;
      },
    },
  ];
  const { model, fired } = await summarising(t, { text: "THE SUMMARY" }, { use });
  assert.ok(looked > 0 && fired.length > 0);
  assert.ok(json(model.turns.at(-1).messages).includes("THE SUMMARY"), "the request after the compaction");
  assert.ok(!json(model.turns.at(-1).messages).includes("<a1>"));
});

test("without sessions a compaction works as well, and no result is lost without a trace that says so", async (t) => {
  const { model, fired, result } = await manyResults(t, { sessions: false });
  assert.equal(result.text, "end");
  assert.ok(kindsOf(fired).length > 0);
  const shown = contentText(resultFor(model.turns.at(-1).messages, "c0"));
  assert.ok(!/ref "/.test(shown), "nothing could read it");
});

test("hooks of a compaction carry the run's identity, and a handler that throws changes nothing", async (t) => {
  const model = compactingModel([{ text: words(500) }, { text: words(500) }, { text: "end" }]);
  const { agent, fired } = compactingAgent(t, { model, ...windowed(1_500) });
  for (const name of ["compact:start", "compact:end"]) {
    agent.hook(name, () => {
      throw new Error("handler");
    });
  }
  await runOf(agent, "one");
  await runOf(agent, "two");
  const starts = [];
  agent.hook("run:start", ({ runId, sessionId }) => starts.push([runId, sessionId]));
  const { result } = await runOf(agent, words(150));
  assert.equal(result.text, "end");
  const [end] = pairsOf(fired);
  assert.deepEqual([[end.runId, end.sessionId]], starts);
  assert.equal(end.source, "user");
  assert.equal(end.status, "completed");
  assert.ok(!("instructions" in fired[0]));
});
