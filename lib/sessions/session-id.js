// What a session may be called. An id is part of a file's name, so what does not fit is refused and never rewritten: two
// ids never share one log.
import { ConfigError } from "../errors.js";

const SESSION_ID = /^[A-Za-z0-9_-]{1,128}$/;

/**
 * @param {string} operation what is to be done with it, for the message
 * @param {unknown} sessionId
 * @throws {TypeError} when it is no string
 * @throws {ConfigError} when it is none
 */
export function checkSessionId(operation, sessionId) {
  if (typeof sessionId !== "string") {
    const kind = sessionId === null ? "null" : typeof sessionId;
    throw new TypeError(`${operation}: sessionId must be a string, got ${kind}`);
  }
  if (SESSION_ID.test(sessionId)) return;
  throw new ConfigError(
    `${operation}: sessionId must be 1 to 128 characters of A-Z a-z 0-9 _ -, got ${JSON.stringify(sessionId.slice(0, 140))}`,
  );
}
