// Results that are too long to be sent whole: the session's log holds them whole, the conversation their beginning, their
// end and a reference, which the tool `context` reads by. A reference is the place of the result in the log.
const MAX_WHOLE_BYTES = 16 * 1024;
const HEAD_BYTES = 6_000;
const TAIL_BYTES = 3_000;
/** A page is not shortened itself. */
const MAX_PAGE_BYTES = 15_000;
const DEFAULT_PAGE_LETTERS = 8_000;
const MAX_MATCHES = 50;
const MAX_MATCH_LETTERS = 400;

/** Names of results that were shortened or became references, told by the result. */
const places = new WeakMap();

/** Remembers where in the log a result stands. */
export function rememberPlace(result, seq) {
  places.set(result, seq);
}

/** @returns {number | undefined} where in the log a result stands, if that is known */
export function placeOf(result) {
  return places.get(result);
}

/**
 * @param {object} result `{ id, content, … }`, frozen
 * @param {number} seq where it stands in the log
 * @returns {object} the result itself, or one with its beginning, its end and a reference
 */
export function shortened(result, seq) {
  const text = textOf(result.content);
  if (text.length * 3 <= MAX_WHOLE_BYTES || Buffer.byteLength(text) <= MAX_WHOLE_BYTES) {
    rememberPlace(result, seq);
    return result;
  }
  const head = text.slice(0, endWithin(text, 0, HEAD_BYTES));
  const tail = text.slice(startWithin(text, TAIL_BYTES));
  const left = text.length - head.length - tail.length;
  const note = `\n[… ${left} of ${text.length} characters left out; context with ref "${refOf(seq)}" and offset ${head.length} goes on …]\n`;
  const content = replaceText(result.content, head + note + tail);
  const short = Object.freeze({ ...result, content });
  rememberPlace(short, seq);
  return short;
}

/** @returns {object} what stands in the place of an old result */
export function reference(result, name) {
  const seq = placeOf(result);
  const what = `[the result of ${name ?? "tool"} was left out to make room`;
  const content = seq === undefined ? `${what}]` : `${what}; context with ref "${refOf(seq)}" reads it]`;
  const { type, id, isError } = result;
  const made = { type, id, content };
  if (isError) made.isError = true;
  references.add(Object.freeze(made));
  if (seq !== undefined) rememberPlace(made, seq);
  return made;
}

const references = new WeakSet();
const REFERENCE = /^\[the result of \S+ was left out to make room(; context with ref "r\d+" reads it)?\]$/;

export function isReference(result) {
  return references.has(result) || (typeof result.content === "string" && REFERENCE.test(result.content));
}

function refOf(seq) {
  return `r${seq}`;
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
 * What the tool `context` answers.
 * @param {object} checkpointer
 * @param {string} sessionId
 * @param {{ ref?: string, query?: string, offset?: number, limit?: number }} input
 * @returns {Promise<{ content: string, isError: boolean }>}
 */
export async function readArchive(checkpointer, sessionId, { ref, query, offset = 0, limit = DEFAULT_PAGE_LETTERS }) {
  if (ref === undefined)
    return query === undefined ? list(checkpointer, sessionId) : search(checkpointer, sessionId, query);
  const seq = /^r[1-9]\d{0,14}$/.test(ref) ? Number(ref.slice(1)) : 0;
  const found = seq === 0 ? undefined : await eventAt(checkpointer, sessionId, seq);
  if (found?.type !== "tool_result") {
    return {
      content: `Error: there is no result ${JSON.stringify(ref)}; context without ref lists them`,
      isError: true,
    };
  }
  const text = textOf(found.result.content);
  if (query !== undefined)
    return { content: matches(text, query, ref) || `no line of ${ref} holds it`, isError: false };
  const start = wholeLetters(text, Math.min(offset, text.length));
  const wished = wholeLetters(text, Math.min(start + limit, text.length));
  const end = Math.min(endWithin(text, start, MAX_PAGE_BYTES), wished > start ? wished : endWithin(text, start, 1));
  const rest = end < text.length ? `\n[characters ${start} to ${end} of ${text.length}; offset ${end} goes on]` : "";
  return { content: text.slice(start, end) + rest, isError: false };
}

async function eventAt(checkpointer, sessionId, seq) {
  for await (const stored of checkpointer.read(sessionId, { sinceSeq: seq - 1 })) return stored.event;
  return undefined;
}

async function list(checkpointer, sessionId) {
  const lines = [];
  const names = new Map();
  for await (const { seq, event } of checkpointer.read(sessionId)) {
    if (event.type === "tool_started") names.set(event.id, event.name);
    if (event.type !== "tool_result") continue;
    const { length } = textOf(event.result.content);
    lines.push(`${refOf(seq)}: ${names.get(event.result.id) ?? "a tool"}, ${length} characters`);
  }
  return { content: lines.slice(-MAX_MATCHES).join("\n") || "there are no results", isError: false };
}

async function search(checkpointer, sessionId, query) {
  const found = [];
  for await (const { seq, event } of checkpointer.read(sessionId)) {
    if (event.type !== "tool_result" || found.length >= MAX_MATCHES) continue;
    const lines = matches(textOf(event.result.content), query, refOf(seq));
    if (lines !== "") found.push(lines);
  }
  return { content: found.join("\n") || "no result holds it", isError: false };
}

function matches(text, query, ref) {
  const lines = [];
  let from = 0;
  while (lines.length < MAX_MATCHES) {
    const at = text.indexOf(query, from);
    if (at < 0) break;
    const start = text.lastIndexOf("\n", at) + 1;
    const newline = text.indexOf("\n", at);
    const end = newline < 0 ? text.length : newline;
    lines.push(
      `${ref} at ${at}: ${text.slice(Math.max(start, at - MAX_MATCH_LETTERS / 2), Math.min(end, at + MAX_MATCH_LETTERS / 2))}`,
    );
    from = end + 1;
  }
  return lines.join("\n");
}
