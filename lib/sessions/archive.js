// Results that are too long to be sent whole: the session's log holds them whole, the conversation their beginning, their
// end and a reference, which the tool `context` reads by. A reference names the place of the result in the log.
import { blocksOf, placeOf, refOf, rememberPlace, resultsIn, seqOf } from "./places.js";
import { readingOf, throwIfGivenUp } from "./reading.js";

export { rememberPlace };

const MAX_WHOLE_BYTES = 16 * 1024;
const HEAD_BYTES = 6_000;
const TAIL_BYTES = 3_000;
/** A page is not shortened itself. */
const MAX_PAGE_BYTES = 15_000;
const DEFAULT_PAGE_LETTERS = 8_000;
/** Of a list so many entries are shown at once. */
const MAX_ENTRIES = 50;
const MAX_MATCH_LETTERS = 400;

/**
 * @param {object} result `{ id, content, … }`, frozen
 * @param {number} seq where it stands in the log
 * @param {boolean} isReadable there is a tool that reads it
 * @returns {object} the result itself, or one with its beginning, its end and a reference
 */
export function shortened(result, seq, isReadable) {
  const text = textOf(result.content);
  if (text.length * 3 <= MAX_WHOLE_BYTES || Buffer.byteLength(text) <= MAX_WHOLE_BYTES) return result;
  const head = text.slice(0, endWithin(text, 0, HEAD_BYTES));
  const tail = text.slice(startWithin(text, TAIL_BYTES));
  const left = text.length - head.length - tail.length;
  const where = isReadable ? `; context with ref "${refOf(seq)}" and offset ${head.length} goes on` : "";
  const note = `\n[… ${left} of ${text.length} characters left out${where} …]\n`;
  const content = replaceText(result.content, head + note + tail);
  const short = Object.freeze({ ...result, content });
  rememberPlace(short, seq);
  return short;
}

/** @returns {object} what stands in the place of an old result */
export function reference(result, name) {
  const place = placeOf(result);
  const what = `[the result of ${name ?? "tool"} was left out to make room`;
  const content = place === undefined ? `${what}]` : `${what}; context with ref "${refOf(place)}" reads it]`;
  const { type, id, isError } = result;
  const made = { type, id, content };
  if (isError) made.isError = true;
  references.add(Object.freeze(made));
  if (place !== undefined) rememberPlace(made, place);
  return made;
}

const references = new WeakSet();
const REFERENCE = /^\[the result of \S+ was left out to make room(; context with ref "r[\d.]+" reads it)?\]$/;

export function isReference(result) {
  return references.has(result) || (typeof result.content === "string" && REFERENCE.test(result.content));
}

/** Where a piece from `start` on ends that has at most so many bytes, and at least one character. */
function endWithin(text, start, bytes) {
  let end = start;
  let left = bytes;
  while (end < text.length) {
    const point = text.codePointAt(end);
    left -= point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    if (left < 0 && end > start) break;
    end += point > 0xffff ? 2 : 1;
  }
  return end;
}

/** Where the last piece of so many bytes begins. */
function startWithin(text, bytes) {
  let start = wholeLetters(text, Math.max(0, text.length - bytes));
  while (Buffer.byteLength(text.slice(start)) > bytes) start = endWithin(text, start, 64);
  return start;
}

/** A place at which no pair of surrogates is parted. */
export function wholeLetters(text, place) {
  if (place <= 0 || place >= text.length) return Math.max(0, Math.min(place, text.length));
  const code = text.charCodeAt(place);
  return code >= 0xdc00 && code <= 0xdfff ? place - 1 : place;
}

function textOf(content) {
  if (typeof content === "string") return content;
  return content
    .filter(({ type }) => type === "text")
    .map(({ text }) => text)
    .join("\n");
}

/** Pictures stay; all text becomes one. */
function replaceText(content, text) {
  if (typeof content === "string") return text;
  const blocks = content.filter(({ type }) => type !== "text");
  return Object.freeze([Object.freeze({ type: "text", text }), ...blocks]);
}

/**
 * What the tool `context` answers. In lists, `offset` and `limit` count entries.
 * @param {object} checkpointer
 * @param {string} sessionId
 * @param {{ ref?: string, query?: string, offset?: number, limit?: number }} input
 * @param {import("../context.js").LazySignal} lazy aborted when nobody waits for it any more
 * @returns {Promise<{ content: string, isError: boolean }>}
 */
export async function readArchive(checkpointer, sessionId, { ref, query, offset = 0, limit }, lazy) {
  if (ref === undefined && query === undefined)
    return { content: await list(resultsOf(checkpointer, sessionId, lazy), offset, limit), isError: false };
  if (ref === undefined) {
    const found = await firstMatches(resultsOf(checkpointer, sessionId, lazy), query, offset, limit);
    return { content: found || nothingFound(offset, "no result holds it"), isError: false };
  }
  const result = await resultAt(checkpointer, sessionId, ref);
  if (result === undefined) {
    return {
      content: `Error: there is no result ${JSON.stringify(ref)}; context without ref lists them`,
      isError: true,
    };
  }
  if (query !== undefined) {
    const found = await firstMatches([{ ref, result }], query, offset, limit);
    return { content: found || nothingFound(offset, `no line of ${ref} holds it`), isError: false };
  }
  return { content: page(textOf(result.content), offset, limit ?? DEFAULT_PAGE_LETTERS), isError: false };
}

function page(text, offset, limit) {
  const start = wholeLetters(text, Math.min(offset, text.length));
  const wished = wholeLetters(text, Math.min(start + limit, text.length));
  const end = Math.min(endWithin(text, start, MAX_PAGE_BYTES), wished > start ? wished : endWithin(text, start, 1));
  const rest = end < text.length ? `\n[characters ${start} to ${end} of ${text.length}; offset ${end} goes on]` : "";
  return text.slice(start, end) + rest;
}

function nothingFound(offset, what) {
  return offset === 0 ? what : `${what} after the first ${offset}`;
}

async function resultAt(checkpointer, sessionId, ref) {
  const seq = seqOf(ref);
  if (seq === undefined) return undefined;
  for await (const { event } of readingOf(checkpointer, sessionId, { sinceSeq: seq - 1 })) {
    return resultsIn(event, seq).find(({ place }) => refOf(place) === ref)?.result;
  }
  return undefined;
}

/** All results of a session, oldest first; not those of `context` itself, or to search would find what it showed before. */
async function* resultsOf(checkpointer, sessionId, lazy) {
  const names = new Map();
  for await (const { seq, event } of readingOf(checkpointer, sessionId)) {
    throwIfGivenUp(lazy);
    for (const { type, id, name } of blocksOf(event)) if (type === "tool_call") names.set(id, name);
    for (const { place, result } of resultsIn(event, seq)) {
      const name = names.get(result.id) ?? "a tool";
      if (name !== "context") yield { ref: refOf(place), result, name };
    }
  }
}

/** The newest first to be shown, the oldest of those first. */
async function list(results, offset, limit = MAX_ENTRIES) {
  const lines = [];
  for await (const { ref, result, name } of results) {
    lines.push(`${ref}: ${name}, ${textOf(result.content).length} characters`);
  }
  if (lines.length === 0) return "there are no results";
  const end = Math.max(0, lines.length - offset);
  const start = Math.max(0, end - Math.min(limit, MAX_ENTRIES));
  if (end === 0) return `there are no results before the newest ${lines.length}`;
  const shown = lines.slice(start, end).join("\n");
  if (start === 0 && end === lines.length) return shown;
  const before = start > 0 ? `; offset ${lines.length - start} shows those before them` : "";
  return `${shown}\n[results ${start + 1} to ${end} of ${lines.length}${before}]`;
}

/** So many matches after the first `offset`, or as many as fit into a page; says where the rest is. */
async function firstMatches(results, query, offset, limit = MAX_ENTRIES) {
  const lines = [];
  let bytes = 0;
  let seen = 0;
  for await (const { ref, result } of results) {
    for (const line of matches(textOf(result.content), query, ref)) {
      seen += 1;
      if (seen <= offset) continue;
      bytes += Buffer.byteLength(line) + 1;
      if (lines.length >= Math.min(limit, MAX_ENTRIES) || (bytes > MAX_PAGE_BYTES && lines.length > 0)) {
        const shown = offset + lines.length;
        return `${lines.join("\n")}\n[matches ${offset + 1} to ${shown}, and there are more; offset ${shown} goes on]`;
      }
      lines.push(line);
    }
  }
  return lines.join("\n");
}

/** Of each line that holds it, the part around the first place. */
function* matches(text, query, ref) {
  let from = 0;
  for (;;) {
    const at = text.indexOf(query, from);
    if (at < 0) return;
    const start = text.lastIndexOf("\n", at) + 1;
    const newline = text.indexOf("\n", at);
    const end = newline < 0 ? text.length : newline;
    const first = wholeLetters(text, Math.max(start, at - MAX_MATCH_LETTERS / 2));
    const last = wholeLetters(text, Math.min(end, at + MAX_MATCH_LETTERS / 2));
    yield `${ref} at ${at}: ${text.slice(first, last)}`;
    from = end + 1;
  }
}
