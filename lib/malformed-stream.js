// What is no stream of a model: told apart from errors that host code throws, and worded for whoever wrote it.
import { dropsPromise } from "./dropped.js";

/** The stream is not what the contract of ModelProvider says. */
export class MalformedStream extends Error {
  constructor(problem) {
    super(problem);
    malformed.add(this);
  }
}

/** Ours, told apart without touching what host code threw: a proxy may throw when it is looked at. */
const malformed = new WeakSet();

export function isMalformedStream(error) {
  return malformed.has(error);
}

/**
 * @param {unknown} stream what a function of the host returned
 * @param {string} whose which function, for the message
 * @param {string} name its name alone
 * @returns {AsyncIterable<unknown>} the very same
 * @throws {MalformedStream}
 */
export function wantStream(stream, whose, name) {
  if (typeof stream?.[Symbol.asyncIterator] === "function") return stream;
  const got = dropsPromise(stream)
    ? `a promise; perhaps a \`*\` is missing, as in \`async *${name}(…)\``
    : nameKind(stream);
  throw new MalformedStream(`${whose} must return an async iterable, got ${got}`);
}

/** What a value is, for a message; a promise among them is observed. */
export function nameKind(value) {
  if (typeof value === "string") return `"${value.slice(0, 60)}"`;
  if (dropsPromise(value)) return "a promise";
  return value === null ? "null" : typeof value;
}
