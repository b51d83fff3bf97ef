// How a session's log is read from a checkpointer, which may be the host's: what its read() must return, and how a reading
// ends that nobody waits for any more. Knows nothing of what events mean.
import { AgentError } from "../errors.js";

/**
 * @param {object} checkpointer
 * @param {string} sessionId
 * @param {{ sinceSeq: number }} [options]
 * @returns {AsyncIterable<object>} for one `for await`
 * @throws {AgentError} for what cannot be iterated, with the code `store_invalid`
 * @throws what read() throws
 */
export function readingOf(checkpointer, sessionId, options) {
  const stored = options === undefined ? checkpointer.read(sessionId) : checkpointer.read(sessionId, options);
  if (isIterable(stored)) return stored;
  // Whatever it comes to: nobody else looks at it.
  const isPromise = observe(stored);
  const got = isPromise
    ? "a promise: if it is an async function, the * of an async generator may be missing"
    : kindOf(stored);
  throw new AgentError(`the checkpointer's read() must return an async iterable, got ${got} (session ${sessionId})`, {
    code: "store_invalid",
  });
}

function isIterable(value) {
  return typeof (value?.[Symbol.asyncIterator] ?? value?.[Symbol.iterator]) === "function";
}

/** Lets a promise of whatever kind fail unheard. @returns {boolean} whether it is one */
function observe(value) {
  if (typeof value !== "object" || value === null || typeof value.then !== "function") return false;
  new Promise((resolve) => {
    resolve(value);
  }).catch(() => {});
  return true;
}

function kindOf(value) {
  if (value === null) return "null";
  return typeof value === "object" ? "an object that is none" : typeof value;
}

/**
 * Ends a reading that was given up: thrown within its loop, this lets the store's iterator clean up. A store that does not
 * answer is not waited for by whoever gave it up.
 * @param {{ isAborted: boolean, signal: AbortSignal }} lazy
 * @throws why it was given up, if it was
 */
export function throwIfGivenUp(lazy) {
  if (lazy.isAborted) throw lazy.signal.reason;
}
