// compact(): now, on the current session, without an answer. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { AgentError, ClosedError, ReentrancyError } from "../../index.js";
import {
  assertEventsLike,
  call,
  collect,
  collectUntilError,
  compactingAgent,
  compactingModel,
  deferred,
  eventsOf,
  json,
  pairsOf,
  plainTool,
  recordHooks,
  rejectionOf,
  runOf,
  textOf,
  typesOf,
  until,
  within,
  words,
} from "./compacting.mjs";
import { outcome } from "../support/operations.mjs";
import { testStore } from "../sessions/storing.mjs";

/** Three answers in a session. */
async function conversed(t, { modelOptions, turns = [], ...config } = {}) {
  const answers = [1, 2, 3].map((n) => ({ text: words(200, `a${n}`) }));
  const model = compactingModel([...answers, ...turns, { text: "end" }], modelOptions);
  const made = compactingAgent(t, { model, ...config });
  for (const n of [1, 2, 3]) await runOf(made.agent, `question ${n}`);
  return { model, ...made };
}

const compacted = (agent, ...given) => within(collect(agent.compact(...given)), "compact()", 20_000);

test("compact() summarises without an answer; the next request starts with the summary", async (t) => {
  const { agent, model, fired } = await conversed(t);
  const all = recordHooks(agent);
  const { events, result } = await compacted(agent);
  assert.deepEqual(Object.keys(result).sort(), ["after", "before"]);
  assert.ok(result.after < result.before);
  const [end] = pairsOf(fired);
  assert.deepEqual(
    [end.kind, end.status, end.source, end.before, end.after],
    ["manual", "completed", "manual", result.before, result.after],
  );
  assert.equal(end.sessionId, agent.sessionId);
  assert.match(end.runId, /^[0-9a-f-]{36}$/);
  assertEventsLike(events, fired);
  assert.deepEqual(
    typesOf(events).filter((type) => type !== "compaction"),
    [],
  );
  assert.deepEqual(
    all.map(({ event }) => event),
    ["compact:start", "compact:end"],
    "no run:* hooks",
  );
  assert.equal(model.summaries.length, 1);
  assert.equal(model.summaries[0].tools, undefined);
  assert.equal(model.turns.length, 3);
  const { result: next } = await runOf(agent, "question 4");
  const { messages } = model.turns.at(-1);
  assert.ok(textOf(messages[0]).includes("SUMMARY"));
  assert.ok(!json(messages).includes("<a1>") && !json(messages).includes("<a2>"));
  assert.ok(json(next.messages).includes("SUMMARY"));
});

test("instructions steer the summary, and compact:start carries them", async (t) => {
  const { agent, model, fired } = await conversed(t);
  await compacted(agent, "KEEP THE FILE NAMES");
  assert.ok(json(model.summaries[0]).includes("KEEP THE FILE NAMES"));
  assert.equal(fired[0].instructions, "KEEP THE FILE NAMES");
  assert.ok(!("instructions" in fired[1]));
});

test("without instructions neither the summary's request nor the hook has any", async (t) => {
  const { agent, model, fired } = await conversed(t);
  await compacted(agent);
  assert.ok(!("instructions" in fired[0]));
  assert.ok(
    !/\b(null|undefined)\b/.test(json(model.summaries[0].messages)),
    textOf(model.summaries[0].messages[0]).slice(-120),
  );
  assert.ok(!/\b(null|undefined)\b/.test(json((await runOf(agent, "x")).result.messages)));
});

test("instructions that are no text are a TypeError", async (t) => {
  const { agent, fired } = compactingAgent(t, { model: compactingModel([{ text: "x" }]) });
  for (const value of [5, null, {}, ["a"]]) {
    const { error } = await rejectionOf((async () => agent.compact(value).next())());
    assert.ok(error instanceof TypeError, `${json(value)}: ${error}`);
  }
  for (const options of [5, "a", { signal: 5 }, { signals: undefined }]) {
    const { error } = await rejectionOf((async () => agent.compact("x", options).next())());
    assert.ok(error instanceof TypeError || error instanceof AgentError, json(options));
  }
  assert.deepEqual(fired, []);
});

test("compact() on an empty session changes nothing, asks no model, and pairs", async (t) => {
  const model = compactingModel([{ text: "end" }]);
  const { agent, fired } = compactingAgent(t, { model });
  const { result, events } = await compacted(agent);
  assert.equal(result.after, result.before);
  assert.equal(model.requests.length, 0);
  assert.equal(pairsOf(fired)[0].status, "completed");
  assertEventsLike(events, fired);
  assert.equal((await runOf(agent, "hi")).result.messages.length, 2);
});

test("compact() twice: the second has nothing to do, or does it as well; both pair and nothing is lost", async (t) => {
  const { agent, fired } = await conversed(t);
  await compacted(agent);
  const second = await compacted(agent);
  assert.ok(second.result.after <= second.result.before);
  assert.equal(pairsOf(fired).length, 2);
  const { result } = await runOf(agent, "question 4");
  assert.ok(json(result.messages).includes("SUMMARY") && json(result.messages).includes("question 3"));
});

for (const config of [{ context: false }, { compactor: false }]) {
  test(`${json(config)} does not turn compact() off`, async (t) => {
    const { agent, model } = await conversed(t, config);
    const { result } = await compacted(agent);
    assert.ok(result.after < result.before);
    assert.equal(model.summaries.length, 1);
  });
}

test("before is what the provider counts", async (t) => {
  const countTokens = async () => 12_345;
  for (const context of [{ countTokens }, { countTokens, contextWindow: 100_000 }]) {
    const { agent } = await conversed(t, { modelOptions: { context } });
    assert.equal((await compacted(agent)).result.before, 12_345, `contextWindow ${context.contextWindow}`);
  }
});

test("compact() works on a session that was resumed and not yet run", async (t) => {
  const store = testStore();
  const first = await conversed(t, { checkpointer: store.checkpointer });
  const { sessionId } = first.agent;
  await first.agent.close();
  const model = compactingModel([{ text: "end" }]);
  const { agent } = compactingAgent(t, { model, checkpointer: store.checkpointer });
  agent.resume(sessionId);
  const { result } = await compacted(agent);
  assert.ok(result.after < result.before);
  assert.equal(store.types(sessionId).at(-1), "summary");
  await runOf(agent, "on");
  assert.ok(json(model.turns[0].messages).includes("SUMMARY"));
});

test("a failing provider: compact() throws the very error, the pair is failed, nothing is lost", async (t) => {
  const error = new Error("summary failed");
  const { agent, model, fired } = await conversed(t, { modelOptions: { summary: () => ({ error }) } });
  const thrown = await within(collectUntilError(agent.compact()), "compact()");
  assert.equal(thrown.error, error);
  const [end] = pairsOf(fired);
  assert.deepEqual([end.kind, end.status, end.error.message], ["manual", "failed", "summary failed"]);
  assertEventsLike(thrown.events, fired);
  const told = eventsOf(thrown.events, "compaction").at(-1);
  assert.match(told.message, /summary failed/);
  await runOf(agent, "question 4");
  for (const n of [1, 2, 3]) assert.ok(json(model.turns.at(-1).messages).includes(`<a${n}>`));
});

test("a model that answers with no summary: compact() throws an AgentError with a code, nothing is lost", async (t) => {
  const { agent, model } = await conversed(t, { modelOptions: { summary: () => ({ text: " " }) } });
  const { error } = await within(collectUntilError(agent.compact()), "compact()");
  assert.ok(error instanceof AgentError, error?.stack);
  assert.deepEqual([error.code, error.message], ["no_summary", "the model answered with no summary"]);
  await runOf(agent, "question 4");
  for (const n of [1, 2, 3]) assert.ok(json(model.turns.at(-1).messages).includes(`<a${n}>`));
});

test("a signal ends it: the summary's call is aborted, the pair cancelled, nothing lost", async (t) => {
  const controller = new AbortController();
  const reason = new Error("enough");
  let seen;
  const onSummary = (_request, signal) => {
    seen = signal;
    controller.abort(reason);
  };
  const { agent, model, fired } = await conversed(t, {
    modelOptions: { onSummary, summary: () => ({ wait: new Promise(() => {}) }) },
  });
  const ended = await within(collectUntilError(agent.compact(undefined, { signal: controller.signal })), "compact()");
  assert.ok(seen.aborted);
  assert.equal(pairsOf(fired)[0].status, "cancelled");
  assertEventsLike(ended.events, fired);
  await runOf(agent, "question 4");
  for (const n of [1, 2, 3]) assert.ok(json(model.turns.at(-1).messages).includes(`<a${n}>`));
});

test("a signal ends it though the provider does not listen, and what that says later changes nothing", async (t) => {
  const controller = new AbortController();
  const gate = deferred();
  const { agent, model, fired } = await conversed(t, {
    modelOptions: {
      honoursAbort: false,
      onSummary: () => controller.abort(),
      summary: () => ({ wait: gate.promise, text: "TOO LATE" }),
    },
  });
  await within(collectUntilError(agent.compact(undefined, { signal: controller.signal })), "compact()");
  assert.equal(pairsOf(fired)[0].status, "cancelled");
  gate.resolve();
  await new Promise(setImmediate);
  await runOf(agent, "question 4");
  assert.ok(!json(model.turns.at(-1).messages).includes("TOO LATE"));
});

test("a signal that is aborted while it waits for its turn: nothing is asked, the run before goes on", async (t) => {
  const gate = deferred();
  const controller = new AbortController();
  const { agent, model, fired } = await conversed(t, { turns: [{ wait: gate.promise, text: "slow" }] });
  const sending = agent.send("question 4");
  await until(() => model.turns.length === 4, "the model call");
  const compaction = collectUntilError(agent.compact(undefined, { signal: controller.signal }));
  controller.abort();
  await within(compaction, "compact()");
  gate.resolve();
  assert.equal((await within(sending, "send()")).text, "slow");
  assert.equal(model.summaries.length, 0);
  pairsOf(fired);
});

test("a signal that is aborted already: nothing is asked, and the session works", async (t) => {
  const { agent, model, fired } = await conversed(t);
  await within(collectUntilError(agent.compact(undefined, { signal: AbortSignal.abort() })), "compact()");
  assert.equal(model.summaries.length, 0);
  pairsOf(fired);
  assert.equal((await runOf(agent, "on")).result.text, "end");
});

test("break cancels it, and resolves when its compact:end hooks have", async (t) => {
  const gate = deferred();
  const { agent, model, fired } = await conversed(t, {
    modelOptions: { summary: () => ({ wait: gate.promise, text: "late" }) },
  });
  let ended = false;
  agent.hook("compact:end", async () => {
    await new Promise(setImmediate);
    ended = true;
  });
  const breaking = (async () => {
    for await (const event of agent.compact()) if (event.type === "compaction") break;
  })();
  await within(breaking, "break");
  assert.ok(ended);
  gate.resolve();
  assert.equal(pairsOf(fired)[0].status, "cancelled");
  await runOf(agent, "question 4");
  assert.ok(json(model.turns.at(-1).messages).includes("<a1>"));
});

test("close() cancels it", async (t) => {
  const { agent, fired } = await conversed(t, { modelOptions: { summary: () => ({ wait: new Promise(() => {}) }) } });
  const compaction = collectUntilError(agent.compact());
  await until(() => fired.length === 1, "compact:start");
  await within(agent.close(), "close()");
  await within(compaction, "compact()");
  assert.equal(pairsOf(fired)[0].status, "cancelled");
  const { error } = await rejectionOf((async () => agent.compact().next())());
  assert.ok(error instanceof ClosedError);
});

test("while send() runs on the same session it waits, and compacts what that said", async (t) => {
  const gate = deferred();
  const { agent, model, fired } = await conversed(t, { turns: [{ wait: gate.promise, text: words(100, "slow") }] });
  const sending = agent.send("question 4");
  await until(() => model.turns.length === 4, "the model call");
  const compaction = compacted(agent);
  await new Promise(setImmediate);
  assert.deepEqual(fired, []);
  assert.equal(model.summaries.length, 0);
  gate.resolve();
  assert.ok((await sending).text.includes("<slow>"));
  const { result } = await compaction;
  assert.ok(result.after < result.before);
  assert.ok(json(model.summaries[0].messages).includes("question 3"));
});

test("a send() that comes during it waits for it, and sends the summary", async (t) => {
  const gate = deferred();
  const { agent, model, fired } = await conversed(t, {
    modelOptions: { summary: () => ({ wait: gate.promise, text: "SUMMARY" }) },
  });
  const compaction = compacted(agent);
  await until(() => fired.length === 1, "compact:start");
  const sending = agent.send("question 4");
  await new Promise(setImmediate);
  assert.equal(model.turns.length, 3);
  gate.resolve();
  await compaction;
  assert.equal((await within(sending, "send()")).text, "end");
  assert.ok(json(model.turns.at(-1).messages).includes("SUMMARY"));
});

test("compact() on one session while send() runs on another: both work", async (t) => {
  const gate = deferred();
  const { agent, model, fired } = await conversed(t, { turns: [{ wait: gate.promise, text: "there" }] });
  const sending = agent.send("elsewhere", { sessionId: "other" });
  await until(() => model.turns.length === 4, "the model call");
  const { result } = await compacted(agent);
  assert.ok(result.after < result.before);
  assert.equal(pairsOf(fired)[0].sessionId, agent.sessionId);
  gate.resolve();
  const other = await within(sending, "send()");
  assert.equal(other.text, "there");
  assert.ok(!json(other.messages).includes("SUMMARY"));
});

test("a subscriber hears it, with the source manual", async (t) => {
  const { agent } = await conversed(t);
  const heard = [];
  agent.subscribe((entry) => entry.event.type === "compaction" && heard.push(entry));
  await compacted(agent);
  assert.deepEqual(
    heard.map(({ source, sessionId, event }) => [source, sessionId, event.kind, event.phase]),
    ["start", "done"].map((phase) => ["manual", agent.sessionId, "manual", phase]),
  );
});

test("compact() in its own hooks is refused, and in a model that summarises", async (t) => {
  const seen = {};
  let agent;
  const attempt = async (name) => {
    seen[name] = await outcome((async () => agent.compact().next())());
  };
  const made = await conversed(t, { modelOptions: { onSummary: () => void (seen.pending = attempt("provider")) } });
  ({ agent } = made);
  agent.hook("compact:start", () => attempt("start"));
  agent.hook("compact:end", () => attempt("end"));
  await compacted(agent);
  await seen.pending;
  delete seen.pending;
  assert.deepEqual(seen, { start: "refused", provider: "refused", end: "refused" });
});

test("send() on its session from a summarising model is a ReentrancyError; on another session it works", async (t) => {
  const seen = [];
  let agent;
  const summary = async () => {
    seen.push(
      (await rejectionOf(agent.send("inner"))).error,
      (await agent.send("beside", { sessionId: "other" })).text,
    );
    return { text: "SUMMARY" };
  };
  ({ agent } = await conversed(t, { modelOptions: { summary } }));
  const { result } = await compacted(agent);
  assert.ok(seen[0] instanceof ReentrancyError, String(seen[0]));
  assert.equal(seen[1], "end");
  assert.ok(result.after < result.before);
});

test("compact() keeps calls and results together", async (t) => {
  const turns = [{ calls: [call("x", "work"), call("y", "work")] }, { text: "done" }, { text: "end" }];
  const { agent, model } = await conversed(t, { turns, tools: [plainTool("work", () => words(50))] });
  await runOf(agent, "use tools", { maxTurns: 1 });
  await compacted(agent);
  // The model checks each request.
  assert.equal((await runOf(agent, "on")).result.stopReason, "stop");
  assert.ok(json(model.turns.at(-1).messages).includes("use tools"));
});

test("events that nobody pulls hold nothing up: compact() starts at the first next()", async (t) => {
  const { agent, fired, model } = await conversed(t);
  const compaction = agent.compact();
  await new Promise(setImmediate);
  assert.deepEqual(fired, []);
  await compaction.next();
  await within(agent.awaitIdle(), "awaitIdle()");
  assert.equal(model.summaries.length, 1);
  pairsOf(fired);
  await compaction.return();
});
