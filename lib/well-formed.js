// assertWellFormed: whether a request is one that the model APIs would take. The rules are the core's; this only hands
// the request over. Knows no provider and no agent.

import { AgentError } from "./errors.js";
import { native } from "./native.js";

const NOT_WELL_FORMED = "not_well_formed";

/** What JSON.stringify leaves of half a surrogate pair: the core reads no such text, and whole pairs are not escaped. */
const LONE_SURROGATE = /\\ud[89a-f]/;

/**
 * Throws unless every tool call has one result and the reverse, roles alternate, and no block is empty.
 * @param {{ system?: string, messages: object[], tools?: object[] }} request
 * @throws {TypeError} for anything but an object with an array of messages
 * @throws {AgentError} with the code `not_well_formed` and a message that names the place
 */
export function assertWellFormed(request) {
  if (request === null || typeof request !== "object" || !Array.isArray(request.messages)) {
    throw new TypeError("request must be an object whose messages are an array");
  }
  const problem = native.checkWellFormed(asJson(request));
  if (problem !== null) throw new AgentError(`the request is not well formed: ${problem}`, { code: NOT_WELL_FORMED });
}

function asJson({ system, messages, tools }) {
  try {
    const json = JSON.stringify({ system, messages, tools });
    return LONE_SURROGATE.test(json) ? JSON.stringify({ system, messages, tools }, whole) : json;
  } catch (cause) {
    const message = `the request is not well formed: it cannot be written as JSON (${cause?.message ?? cause})`;
    throw new AgentError(message, { code: NOT_WELL_FORMED, cause });
  }
}

function whole(key, value) {
  return typeof value === "string" ? value.toWellFormed() : value;
}
