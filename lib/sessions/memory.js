// A checkpointer that forgets when it is let go. What others do on disk it does with frozen copies.
import { CheckpointConflictError } from "../errors.js";
import { copyFrozenAround, isNotJson, isTooDeep, MAX_DEPTH_AROUND } from "../frozen.js";
import { PLACED } from "./own.js";
import { replaced } from "./replaced.js";
import { checkSessionId } from "./session-id.js";

class MemoryCheckpointer {
  #sessions = new Map();

  async append(sessionId, events, expectedHead) {
    checkSessionId("append", sessionId);
    checkEvents(events);
    if (expectedHead !== undefined) checkSequence("append: expectedHead", expectedHead);
    return this.#append(sessionId, events, expectedHead, undefined);
  }

  #append(sessionId, events, expectedHead, mark) {
    const copies = copyEvents(events);
    const session = this.#sessions.get(sessionId);
    const head = session?.events.length ?? 0;
    if (expectedHead !== undefined && expectedHead !== head) {
      throw new CheckpointConflictError(sessionId, expectedHead, head);
    }
    if (mark !== undefined && mark !== session?.events.at(-1)) throw replaced(sessionId, head);
    if (copies.length === 0) return head;
    const ts = new Date().toISOString();
    const stored = copies.map((event, index) => {
      const seq = head + index + 1;
      return Object.freeze({ seq, sessionId, parentSeq: seq === 1 ? null : seq - 1, ts, event });
    });
    const all = session?.events ?? [];
    // One by one: a list may have more than a call takes arguments.
    for (const event of stored) all.push(event);
    // Sessions stand in the order of their last change.
    this.#sessions.delete(sessionId);
    this.#sessions.set(sessionId, { events: all, mtime: Date.now() });
    return head + stored.length;
  }

  async *read(sessionId, options) {
    checkSessionId("read", sessionId);
    const events = this.#sessions.get(sessionId)?.events ?? [];
    const first = options?.sinceSeq ?? 0;
    checkSequence("read: sinceSeq", first);
    // What is appended meanwhile is not of this reading.
    const { length } = events;
    for (let index = first; index < length; index += 1) yield events[index];
  }

  async head(sessionId) {
    checkSessionId("head", sessionId);
    return this.#sessions.get(sessionId)?.events.length ?? 0;
  }

  async list() {
    return [...this.#sessions].map(([id, { mtime }]) => ({ id, mtime })).reverse();
  }

  async delete(sessionId) {
    checkSessionId("delete", sessionId);
    this.#sessions.delete(sessionId);
  }

  async truncate(sessionId, toSeq) {
    checkSessionId("truncate", sessionId);
    checkSequence("truncate: toSeq", toSeq);
    const session = this.#sessions.get(sessionId);
    if (session === undefined || session.events.length <= toSeq) return;
    this.#sessions.delete(sessionId);
    if (toSeq > 0) this.#sessions.set(sessionId, { events: session.events.slice(0, toSeq), mtime: Date.now() });
  }

  async close() {}

  get [PLACED]() {
    return {
      append: async (sessionId, events, { head, mark }) => {
        const grown = this.#append(sessionId, events, head, mark);
        return { head: grown, mark: this.#sessions.get(sessionId)?.events.at(-1) };
      },
      truncate: async (sessionId, toSeq, expectedHead) => {
        const head = this.#sessions.get(sessionId)?.events.length ?? 0;
        if (head !== expectedHead) throw new CheckpointConflictError(sessionId, expectedHead, head);
        await this.truncate(sessionId, toSeq);
      },
    };
  }
}

/** @throws {TypeError} */
export function checkEvents(events) {
  if (!Array.isArray(events)) throw new TypeError("append: events must be an array of session events");
  events.forEach((event, index) => {
    if (typeof event === "object" && event !== null && typeof event.type === "string") return;
    throw new TypeError(`append: events[${index}] must be a session event, an object with a type`);
  });
}

/**
 * @returns {object[]} frozen copies of checked events, as JSON sees them
 * @throws {TypeError} for what no store takes, by its position; what a getter or `toJSON` of an event throws
 */
export function copyEvents(events) {
  return Array.from(events, (event, index) => {
    try {
      return copyFrozenAround(event);
    } catch (error) {
      if (!isTooDeep(error) && !isNotJson(error)) throw error;
      const problem = isTooDeep(error) ? `nested more than ${MAX_DEPTH_AROUND} levels deep` : error.message;
      throw new TypeError(`append: events[${index}] is ${problem}`, { cause: error });
    }
  });
}

/** @throws {TypeError} */
export function checkSequence(name, value) {
  if (Number.isSafeInteger(value) && value >= 0) return;
  throw new TypeError(`${name} must be an integer that is at least 0, got ${String(value)}`);
}

/** @returns {object} a Checkpointer whose sessions live as long as it does */
export function memoryCheckpointer() {
  return new MemoryCheckpointer();
}
