// Compaction as the host performs it: measures and outlines a conversation, has the model summarise, and puts the shorter
// one in its place. When, and what goes, is the core's.
import { Conversation } from "./conversation.js";
import { callbackFrame, LazySignal } from "./context.js";
import { AgentError } from "./errors.js";
import { isOverdue, yieldToEventLoop } from "./fairness.js";
import { copyFrozen } from "./frozen.js";
import { callHost } from "./host-call.js";
import { wantStream } from "./malformed-stream.js";
import { isReference, reference, wholeLetters } from "./sessions/archive.js";
import { messageProblem } from "./sessions/fold.js";
import { Places, placeOf } from "./sessions/places.js";
import { blockTokens, estimateTokens, knownWindow, messageTokens, textTokens, valueTokens } from "./tokens.js";
import { assertWellFormed } from "./well-formed.js";

/** What a model is asked when it summarises. */
const SUMMARY_SYSTEM =
  "You summarise the earlier part of a conversation between a user and an agent, so that the agent can go on without it. " +
  "Keep: what the user wants and has decided, what was done and found, names of files and exact values that still matter, " +
  "what failed and why, and what is left to do. Write plain text, as short as it can be. Answer with the summary alone.";
const SUMMARY_HEAD = "[Summary of the conversation so far]\n";
/** With what a message costs beside its text. */
const SUMMARY_HEAD_TOKENS = messageTokens({ content: SUMMARY_HEAD });
const DROPPED = "[The earlier part of the conversation was dropped to make room: it could not be summarised]";
/** Of one text of what is summarised so much is shown. */
const MAX_SHOWN_LETTERS = 4_000;
const LETTERS_PER_TOKEN = 4;
/** How many messages go by between two looks at the clock. */
const MESSAGES_PER_LOOK = 64;
const OVERFLOW_CODE = "context_length_exceeded";
const OVERFLOW_MESSAGE = /prompt is too long|context (length|window)|maximum context|too many tokens/i;

/** Tokens of a request beside its messages. */
function fixedTokens({ request }) {
  const { system, tools } = request;
  return (system === undefined ? 0 : textTokens(system)) + (tools === undefined ? 0 : valueTokens(tools));
}

/** What the next request comes to, and the model's window. */
export function performMeasure(family, run, { id }) {
  const { contextWindow, automatic } = family.parts;
  const { provider, request: common } = run.role;
  const window = contextWindow ?? windowOf(provider) ?? knownWindow(common.model) ?? null;
  // Nobody needs to know where nothing would come of it.
  const wanted = (automatic && window !== null) || run.source === "manual";
  if (wanted && typeof provider.context?.countTokens === "function") {
    const lazy = new LazySignal();
    ask(
      family,
      run,
      id,
      lazy,
      async () => {
        const request = { ...common, messages: run.conversation.view.slice() };
        try {
          return await provider.context.countTokens(request, lazy.signal);
        } catch {
          // A provider that cannot count: an estimate does.
          return undefined;
        }
      },
      (tokens) => {
        const usable = typeof tokens === "number" && Number.isFinite(tokens) && tokens >= 0;
        return JSON.stringify({ tokens: usable ? tokens : estimated(run), window });
      },
    );
    return;
  }
  family.answer(id, 0, JSON.stringify({ tokens: estimated(run), window }));
}

function windowOf(provider) {
  const window = provider.context?.contextWindow;
  return typeof window === "number" && Number.isFinite(window) && window > 0 ? window : undefined;
}

/** What the model last said that it used, and an estimate of what came since; else an estimate of all. */
function estimated(run) {
  const { conversation } = run;
  const { messages, used } = conversation;
  if (used !== null && used.messages <= messages.length) {
    return used.tokens + estimateTokens(messages.slice(used.messages));
  }
  return fixed(run) + conversation.tokens();
}

function fixed({ role }) {
  role.fixedTokens ??= fixedTokens(role);
  return role.fixedTokens;
}

/** The conversation as a plan needs it. */
export function performOutline(family, run, { id }) {
  ask(
    family,
    run,
    id,
    null,
    () => outlined(run),
    (json) => json,
  );
}

/** As JSON text, put together in parts, so that a long conversation does not hold up the event loop. */
async function outlined(run) {
  const { messages } = run.conversation;
  const pieces = [];
  for (let index = 0; index < messages.length; index += 1) {
    pieces.push(JSON.stringify(pieceOf(run, messages[index])));
    if (index % MESSAGES_PER_LOOK === 0 && isOverdue()) await yieldToEventLoop();
  }
  return `{"pieces":[${pieces.join(",")}],"fixed":${fixed(run)}}`;
}

function pieceOf(run, message) {
  const tokens = messageTokens(message);
  if (message.role === "assistant") return { kind: "assistant", tokens };
  if (!isResults(message)) return { kind: "user", tokens };
  const results = message.content.map((block) => ({
    tokens: blockTokens(block),
    isReference: block.type !== "tool_result" || isReference(block) || !mayBeLeftOut(run, block),
  }));
  return { kind: "results", tokens, results };
}

/** In a stored session what becomes a reference must be readable by it; in others nothing ever is. */
function mayBeLeftOut({ role, conversation }, block) {
  return conversation.log === null || (role.readsArchive && placeOf(block) !== undefined);
}

function isResults({ role, content }) {
  return role !== "assistant" && Array.isArray(content) && content.some(({ type }) => type === "tool_result");
}

/** Has the model summarise what goes. */
export function performSummarise(family, run, { id, to, except, instructions: asked, maxTokens }) {
  const instructions = asked ?? undefined;
  const lazy = new LazySignal();
  const going = run.conversation.messages.filter((_message, index) => index < to && index !== except);
  ask(
    family,
    run,
    id,
    lazy,
    async () => {
      const { provider, request } = run.role;
      const wish =
        instructions === undefined || instructions === "" ? "" : `\n\nThe user asks of the summary: ${instructions}`;
      const room = Math.max(maxTokens * 8, 2_000) * LETTERS_PER_TOKEN;
      const content = `${transcript(going, room)}\n\n---\nSummarise this conversation.${wish}`;
      const stream = provider.stream(
        { model: request.model, system: SUMMARY_SYSTEM, messages: [{ role: "user", content }], maxTokens },
        lazy.signal,
      );
      let done;
      for await (const chunk of wantStream(stream, "the model's stream()", "stream"))
        if (chunk?.type === "message_done") done = chunk;
      const text = summaryText(done?.message);
      if (text === "") throw new AgentError("the model answered with no summary", { code: "no_summary" });
      run.values.set(id, withinTokens(text, maxTokens - SUMMARY_HEAD_TOKENS));
      return usageOf(done.usage);
    },
    (usage) => JSON.stringify(usage),
  );
}

/** The beginning of a text, of no more tokens: a model need not keep to what it was told. */
function withinTokens(text, tokens) {
  let whole = text;
  for (let count = textTokens(whole); count > tokens; count = textTokens(whole)) {
    whole = whole.slice(0, wholeLetters(whole, Math.floor((whole.length * tokens) / count)));
  }
  return whole;
}

function summaryText(message) {
  if (typeof message?.content === "string") return message.content.trim();
  if (!Array.isArray(message?.content)) return "";
  return message.content
    .filter((block) => block?.type === "text" && typeof block.text === "string")
    .map(({ text }) => text)
    .join("\n")
    .trim();
}

/** What the summary used: numbers alone. */
function usageOf(usage) {
  const used = { inputTokens: 0, outputTokens: 0 };
  for (const name of ["inputTokens", "outputTokens", "cacheReadTokens", "cacheCreationTokens"]) {
    const tokens = usage?.[name];
    if (Number.isFinite(tokens) && tokens >= 0) used[name] = tokens;
  }
  return used;
}

/** Messages as text: the newest whole, of the rest as much as fits. */
function transcript(messages, room) {
  const parts = [];
  let left = room;
  for (let index = messages.length - 1; index >= 0 && left > 0; index -= 1) {
    const whole = shown(messages[index]);
    const part = whole.slice(0, wholeLetters(whole, left));
    left -= part.length;
    parts.unshift(part);
  }
  return parts.join("\n");
}

function shown({ role, content }) {
  const who = role === "assistant" ? "Agent" : "User";
  if (typeof content === "string") return `${who}: ${cut(content)}`;
  return content.map((block) => shownBlock(who, block)).join("\n");
}

function shownBlock(who, block) {
  switch (block.type) {
    case "text":
      return `${who}: ${cut(block.text)}`;
    case "tool_call":
      return `Agent calls ${block.name}: ${cut(JSON.stringify(block.input) ?? "")}`;
    case "tool_result": {
      const text = typeof block.content === "string" ? block.content : summaryText({ content: block.content });
      return `Result${block.isError ? " (failed)" : ""}: ${cut(text)}`;
    }
    case "compaction":
      return `${who}: ${cut(block.content ?? "")}`;
    default:
      return `${who}: [${block.type}]`;
  }
}

function cut(text) {
  if (text.length <= MAX_SHOWN_LETTERS) return text;
  const head = wholeLetters(text, MAX_SHOWN_LETTERS / 2);
  const tail = wholeLetters(text, text.length - MAX_SHOWN_LETTERS / 2);
  return `${text.slice(0, head)} […] ${text.slice(tail)}`;
}

/** Puts the compacted conversation in the place of the old. */
export function performCompact(family, run, { id, change }) {
  const { messages } = run.conversation;
  const lazy = new LazySignal();
  const next = change.how === "references" ? withReferences(messages, change.results) : withSummary(run, change);
  ask(
    family,
    run,
    id,
    lazy,
    () => replace(run, lazy, next, change.before),
    (compacted) => JSON.stringify(compacted),
  );
}

function withReferences(messages, results) {
  const names = callNames(messages);
  const byMessage = Map.groupBy?.(results, ([message]) => message) ?? groupByMessage(results);
  return messages.map((message, index) => {
    const planned = byMessage.get(index);
    if (planned === undefined) return message;
    const content = message.content.slice();
    for (const [, position] of planned)
      content[position] = reference(content[position], names.get(content[position].id));
    return Object.freeze({ role: message.role, content: Object.freeze(content) });
  });
}

function groupByMessage(results) {
  const groups = new Map();
  for (const planned of results) {
    const group = groups.get(planned[0]);
    if (group === undefined) groups.set(planned[0], [planned]);
    else group.push(planned);
  }
  return groups;
}

function callNames(messages) {
  const names = new Map();
  for (const { role, content } of messages) {
    if (role !== "assistant" || typeof content === "string") continue;
    for (const { type, id, name } of content) if (type === "tool_call") names.set(id, name);
  }
  return names;
}

function withSummary(run, { to, except, summary }) {
  // Absent is null in what the core says.
  const { messages } = run.conversation;
  const text = summary === null ? DROPPED : `${SUMMARY_HEAD}${run.values.get(summary)}`;
  const next = [Object.freeze({ role: "user", content: text })];
  if (except !== null) next.push(messages[except]);
  for (let index = to; index < messages.length; index += 1) next.push(messages[index]);
  return next;
}

/** Stores the new conversation, then takes it up, unless the core has given it up meanwhile. */
async function replace(run, lazy, messages, before, told = {}) {
  const { conversation } = run;
  // Of what the provider counts, the share that an estimate says.
  const rest = fixed(run);
  const estimate = rest + conversation.tokens();
  const { restored, lastIsAssistant } = await Conversation.restoredSlowly(messages);
  const shorter = rest + restored.tokens();
  const after = Math.round(estimate === 0 ? shorter : (before * shorter) / estimate);
  const stored = { before: told.before ?? before, after: told.after ?? after };
  if (conversation.log !== null) await conversation.log.summarise(messages, stored);
  if (!lazy.isAborted) conversation.adopt(restored);
  return { after, messages: messages.length, lastIsAssistant };
}

/** Asks the host's compactor. */
export function performAskCompactor(family, run, { id, instructions: asked }) {
  const instructions = asked ?? undefined;
  const lazy = new LazySignal();
  ask(
    family,
    run,
    id,
    lazy,
    async () => {
      const { conversation } = run;
      const before = estimated(run);
      const given = conversation.messages.slice();
      const asGiven = given.slice();
      const answer = await family.parts.compactor.maybeCompact(
        given,
        { ...conversation.usage },
        instructions,
        lazy.signal,
      );
      const { messages, kind, before: toldBefore, after } = answer ?? {};
      if (!Array.isArray(messages)) throw new TypeError("the compactor's maybeCompact() must resolve to { messages }");
      const told = toldBy({ kind, before: toldBefore, after });
      // Given up meanwhile: what it answers changes nothing any more.
      const changes = family.pending.has(id) && !isSame(messages, asGiven);
      const compacted = changes ? await replace(run, lazy, checkedMessages(messages, run), before, told) : null;
      return { compacted, told };
    },
    (answered) => JSON.stringify(answered),
  );
}

/** What a compactor says of its kind and of tokens, where that is valid. */
function toldBy({ kind, before, after }) {
  const isCount = (tokens) => typeof tokens === "number" && Number.isFinite(tokens) && tokens >= 0;
  return {
    kind: kind === "micro" || kind === "auto" ? kind : undefined,
    before: isCount(before) ? before : undefined,
    after: isCount(after) ? after : undefined,
  };
}

/** @throws {TypeError} for what no request could send */
function checkedMessages(messages, run) {
  const checked = messages.map((message, index) => {
    const copy = copyFrozen(message);
    const problem = copy?.role === "system" ? "must not be a system message" : messageProblem(copy);
    if (problem !== null) throw new TypeError(`the compactor's messages[${index}] ${problem}`);
    return copy;
  });
  // Copies: where in the log their results stand is known of what the compactor was given.
  const places = new Places();
  for (const { content } of run.conversation.messages) {
    if (typeof content === "string") continue;
    for (const block of content) if (placeOf(block) !== undefined) places.add(block, placeOf(block));
  }
  places.rememberIn(checked);
  const lineUp = new Conversation(null);
  lineUp.restore(checked);
  if (lineUp.view.length > 0) assertWellFormed({ messages: lineUp.view });
  // Messages may be left and hold nothing: requests go without those.
  else if (run.source !== "manual") {
    throw new TypeError("the compactor left no message with content, and a model is about to be called");
  }
  return checked;
}

function isSame(messages, others) {
  return messages.length === others.length && messages.every((message, index) => message === others[index]);
}

/** Whether a provider's error says that the request was too long. */
export function performIsOverflow(family, run, { id, call }) {
  family.answer(id, 0, String(saysOverflow(run.thrown.get(call))));
}

function saysOverflow(error) {
  try {
    if (error?.code === OVERFLOW_CODE) return true;
    return (error?.status === 400 || error?.status === 413) && OVERFLOW_MESSAGE.test(String(error.message));
  } catch {
    // An error that does not want to be looked at says nothing.
    return false;
  }
}

function ask(family, run, id, lazy, callback, conclude) {
  callHost(family, run, id, { frame: callbackFrame(family, run), lazy, callback, conclude });
}
