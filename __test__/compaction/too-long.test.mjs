// A newest user message that alone fills the window: what can go goes, it stays, and a diagnostic says that it does not fit.
// Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import {
  assertEventsLike,
  compactingAgent,
  compactingModel,
  eventsOf,
  isSummaryRequest,
  json,
  kindsOf,
  requestTokens,
  runOf,
  words,
  workTool,
  working,
} from "./compacting.mjs";

const WINDOW = 2_000;
const fullOf = (events) => eventsOf(events, "diagnostic").filter(({ code }) => code === "context_full");

function agentWith(t, turns, options = {}) {
  const model = compactingModel(turns, { summary: { text: "THE SUMMARY" }, ...options });
  const tools = [workTool(20)];
  return { model, ...compactingAgent(t, { model, tools, context: { windowTokens: WINDOW } }) };
}

test("earlier turns go, the message stays whole, and the diagnostic says that it does not fit", async (t) => {
  const { agent, model, fired } = agentWith(t, [
    { text: words(300, "a1") },
    { text: words(300, "a2") },
    { text: "end" },
  ]);
  await runOf(agent, "first");
  const before = await runOf(agent, "second");
  assert.deepEqual(fullOf(before.events), []);
  const long = words(1_750, "long");
  const { events, result } = await runOf(agent, long);
  assert.equal(result.text, "end");
  assert.deepEqual(kindsOf(fired), ["auto"]);
  assertEventsLike(events, fired);
  const sent = json(model.turns.at(-1).messages);
  assert.ok(sent.includes(long) && sent.includes("THE SUMMARY"));
  assert.ok(!sent.includes("<a1>") && !sent.includes("<a2>"));
  assert.ok(requestTokens(model.turns.at(-1)) < WINDOW, "it fits the window itself");
  const [diagnostic, ...more] = fullOf(events);
  assert.deepEqual(more, []);
  assert.equal(diagnostic.level, "warning");
  assert.match(diagnostic.message, /does not fit.*1600.*2000.*newest user message/);
  const [event] = eventsOf(events, "compaction").slice(-1);
  assert.ok(diagnostic.message.includes(String(event.after)), diagnostic.message);
});

test("a first message that is too long alone: nothing can go, and the diagnostic says so once", async (t) => {
  const { agent, model, fired } = agentWith(t, working(3));
  const { events, result } = await runOf(agent, words(1_650, "long"));
  assert.equal(result.text, "end");
  assert.equal(fullOf(events).length, 1);
  assert.equal(model.summaries.length, 0);
  assert.deepEqual(kindsOf(fired), ["auto"]);
});

test("no storms: turns that follow it are summarised only when the conversation has grown by 10 %", async (t) => {
  const { agent, model } = agentWith(t, [{ text: words(300, "a1") }, ...working(12)]);
  await runOf(agent, "first");
  const { events, result } = await runOf(agent, words(1_600, "long"));
  assert.equal(result.text, "end");
  assert.ok(model.summaries.length <= 3, `${model.summaries.length} summaries for 13 model calls`);
  assert.ok(fullOf(events).length <= 3, `${fullOf(events).length} diagnostics`);
  for (const { messages } of model.turns.slice(1)) assert.ok(json(messages).includes("<long>"));
});

test("after an overflow too, all that can go goes, and a provider that still refuses ends the run", async (t) => {
  const refusal = Object.assign(new Error("prompt is too long"), { code: "context_length_exceeded" });
  const over = (request) => (!isSummaryRequest(request) && requestTokens(request) > 1_200 ? { error: refusal } : null);
  const turns = [{ text: words(300, "a1") }, (request) => over(request) ?? { text: "end" }];
  const model = compactingModel(turns, { summary: { text: "S" } });
  const { agent } = compactingAgent(t, { model, context: { windowTokens: WINDOW } });
  await runOf(agent, "first");
  const { result } = await runOf(agent, words(1_000, "long"));
  assert.equal(result.text, "end");
  assert.ok(
    !json(model.turns.at(-1).messages).includes("<a1>") && json(model.turns.at(-1).messages).includes("<long>"),
  );
  await assert.rejects(agent.send(words(1_300, "longer")), (error) => error === refusal);
});
