// Agents and models whose conversations get compacted, and what is read of it. Knows the public face only.
import assert from "node:assert/strict";
import { estimateTokens } from "../../index.js";
import { agentFor, collect, plainTool, recordHooks, scriptedModel, within } from "../support/model.mjs";
import { call, eventsOf } from "../runs/reading.mjs";

export * from "../support/model.mjs";
export * from "../runs/reading.mjs";

/** The system prompt of every agent here: a request with another one is for a summary. */
export const SYSTEM = "the agent under test";
export const isSummaryRequest = ({ system }) => system !== SYSTEM;

/** A text of about so many tokens, told apart by its name. */
export const words = (tokens, name = "w") => `<${name}>${"abc ".repeat(Math.max(0, tokens - 2))}</${name}>`;

/** An estimate of a whole request, tools and system included. */
export function requestTokens({ messages, system = "", tools = [] }) {
  return estimateTokens(messages) + Math.ceil((system.length + JSON.stringify(tools).length) / 4);
}

/**
 * A model that answers call n with turn n, and requests for summaries with `summary`; `model.turns` and
 * `model.summaries` are the requests of both kinds. Its usage is what an honest provider reports, unless a turn has one.
 */
export function compactingModel(
  turns,
  { summary = () => ({ text: "SUMMARY" }), context, onRequest, onSummary, honoursAbort } = {},
) {
  const asked = { turns: [], summaries: [] };
  const model = scriptedModel(
    [
      async (request, signal) => {
        const isSummary = isSummaryRequest(request);
        const list = isSummary ? asked.summaries : asked.turns;
        list.push(request);
        if (isSummary) onSummary?.(request, signal);
        const scripted = isSummary ? summary : turns[Math.min(list.length, turns.length) - 1];
        const turn = typeof scripted === "function" ? await scripted(request, signal, list.length) : scripted;
        return { usage: honestUsage(request, turn), ...turn };
      },
    ],
    { context, onRequest, honoursAbort },
  );
  return Object.assign(model, asked);
}

function honestUsage(request, { text = "", calls = [], content = [] }) {
  const answered = [{ role: "assistant", content: [{ type: "text", text: text + JSON.stringify([calls, content]) }] }];
  return { inputTokens: requestTokens(request), outputTokens: estimateTokens(answered) };
}

/** An agent with no tools but those given and `context`, and the compaction hooks that it fires. */
export function compactingAgent(t, { tools = [], ...config }) {
  const allowedTools = ["context", ...tools.map(({ name }) => name)];
  const agent = agentFor(t, { system: SYSTEM, allowedTools, tools, ...config });
  const fired = recordHooks(agent, ["compact:start", "compact:end"]);
  const failures = [];
  agent.subscribe(({ event }) => event.type === "error" && failures.push(event.error));
  return { agent, fired, failures };
}

/** One run, within a limit. */
export const runOf = (agent, input, options) => within(collect(agent.run(input, options)), "the run", 20_000);

/** Checks that hooks came in pairs, and gives their ends. */
export function pairsOf(fired) {
  assert.equal(fired.length % 2, 0, fired.map(({ event, kind }) => `${event} ${kind}`).join(", "));
  const ids = new Set();
  const ends = [];
  for (let index = 0; index < fired.length; index += 2) {
    const [start, end] = fired.slice(index, index + 2);
    assert.deepEqual([start.event, end.event], ["compact:start", "compact:end"]);
    for (const key of ["compactionId", "kind", "before", "runId", "sessionId", "source"]) {
      assert.equal(end[key], start[key], key);
    }
    assert.ok(!("after" in start) && !("status" in start) && !("error" in start), "what a start carries");
    assert.ok(!("instructions" in end), "an end has no instructions");
    assert.equal("error" in end, end.status === "failed", "error is there exactly when something was thrown");
    if (end.status !== "completed") assert.equal(end.after, end.before);
    assert.ok(Number.isFinite(end.before) && Number.isFinite(end.after) && end.after >= 0);
    ids.add(end.compactionId);
    ends.push(end);
  }
  assert.equal(ids.size, ends.length, "compactionId is unique");
  return ends;
}

export const kindsOf = (fired) => pairsOf(fired).map(({ kind }) => kind);

/** Checks that the stream's compaction events say the same as the hooks. */
export function assertEventsLike(events, fired) {
  const phases = { completed: "done", failed: "error", cancelled: "cancelled" };
  assert.deepEqual(
    eventsOf(events, "compaction").map(({ kind, before, after, phase }) => [kind, before, after, phase]),
    pairsOf(fired).flatMap(({ kind, before, after, status }) => [
      [kind, before, before, "start"],
      [kind, before, after, phases[status]],
    ]),
  );
}

/** Turns that each call `work` once with these inputs, then "end". */
export const working = (count, from = 0) => [
  ...Array.from({ length: count }, (_, index) => ({ calls: [call(`c${from + index}`, "work", { n: from + index })] })),
  { text: "end" },
];

/** The tool `work`: a result of so many tokens, told apart by `n`. */
export const workTool = (tokens) => plainTool("work", ({ n }) => words(tokens, `r${n}`));

/** No text of a request has half a character in it. */
export function assertWholeCharacters(value) {
  if (typeof value === "string") assert.ok(value.isWellFormed(), `half a character in …${value.slice(-40)}`);
  else if (value !== null && typeof value === "object") Object.values(value).forEach(assertWholeCharacters);
}

export const plain = (value) => JSON.parse(JSON.stringify(value));
export const json = (value) => JSON.stringify(value);
