// The conversation that a session's events add up to. Knows nothing of where events are stored.

const ROLES = new Set(["system", "user", "assistant", "tool"]);
const NO_CALLS = Object.freeze([]);

/**
 * @param {Iterable<object>} events SessionEvents, oldest first; they are not changed
 * @returns {object[]} the messages, oldest first. The results of an assistant message's calls follow it as one message of the
 *   role `user`, in the order of the calls, whatever order they were stored in; a summary stands in place of all before it
 * @throws {TypeError} for what is no event
 */
export function foldEvents(events) {
  if (typeof events?.[Symbol.iterator] !== "function") {
    throw new TypeError("foldEvents: events must be an array of session events");
  }
  const fold = new Fold();
  let index = 0;
  for (const event of events) {
    const problem = eventProblem(event);
    if (problem !== null) throw new TypeError(`foldEvents: events[${index}] ${problem}`);
    fold.add(event);
    index += 1;
  }
  return [...fold.messages()];
}

/** One message, and the calls that it made. */
class Entry {
  /** Of calls that nobody made, by their id. */
  strays = null;

  constructor(message) {
    this.message = message;
    this.calls = message === null ? NO_CALLS : callsOf(message);
  }

  #resultsOfCalls() {
    const results = [];
    for (const { result } of this.calls) if (result !== null) results.push(result);
    return results;
  }

  /** @returns {object[]} in the order of the calls */
  results() {
    return this.strays === null ? this.#resultsOfCalls() : [...this.strays.values()];
  }
}

/** Folds one valid event after another. */
export class Fold {
  #entries = [];
  /** Calls without a result by their id: of several that have it the one that the next result is of. */
  #open = new Map();
  /** Turn of the latest event that has one. */
  #turn = 0;

  add(event) {
    if (Number.isInteger(event.turn)) this.#turn = event.turn;
    switch (event.type) {
      case "user":
      case "assistant":
        this.#push(event.message);
        break;
      case "tool_result":
        this.#addResult(event.result);
        break;
      case "summary":
        this.#entries = [];
        this.#open.clear();
        for (const message of event.messages) this.#push(message);
        break;
      default:
        break;
    }
  }

  #push(message) {
    const entry = new Entry(message);
    this.#entries.push(entry);
    // The last first: of calls of one message that share an id, the first gets the first result.
    for (let index = entry.calls.length - 1; index >= 0; index -= 1) {
      const call = entry.calls[index];
      call.before = this.#open.get(call.id) ?? null;
      this.#open.set(call.id, call);
    }
    // Results that a host gave as part of a conversation, or that a summary took over: they stand in their message.
    if (message.role !== "assistant" && Array.isArray(message.content)) {
      for (const { type, id } of message.content) if (type === "tool_result") this.#settle(id);
    }
  }

  /** @returns {object | undefined} the call of that id that waits for its result, which waits no more */
  #settle(id) {
    const call = this.#open.get(id);
    if (call === undefined) return undefined;
    call.isOpen = false;
    if (call.before === null) this.#open.delete(id);
    else this.#open.set(id, call.before);
    return call;
  }

  #addResult(result) {
    const call = this.#settle(result.id);
    if (call !== undefined) {
      call.result = result;
      return;
    }
    // Of a call that nobody made: it stands where it was stored.
    let entry = this.#entries.at(-1);
    if (entry === undefined || entry.message !== null) this.#entries.push((entry = new Entry(null)));
    entry.strays ??= new Map();
    entry.strays.set(result.id, result);
  }

  /** Whether a call of that id was made, and has no result yet. */
  awaits(id) {
    return this.#open.has(id);
  }

  /** One after another: a long conversation need not be put together in one go. */
  *messages() {
    for (const entry of this.#entries) {
      if (entry.message !== null) yield entry.message;
      const content = entry.results();
      if (content.length > 0) yield { role: "user", content };
    }
  }

  /** @returns {{ id: string, name: string, turn: number }[]} the calls that have no result */
  dangling() {
    const dangling = [];
    if (this.#open.size === 0) return dangling;
    const turn = Math.max(this.#turn, 1);
    for (const { calls } of this.#entries) {
      for (const { id, name, isOpen } of calls) if (isOpen) dangling.push({ id, name, turn });
    }
    return dangling;
  }
}

/**
 * @returns {readonly { id: string, name: string, result: object | null, isOpen: boolean, before: object | null }[]} calls,
 *   which wait for their results; `result` stays null where it stands in a message; `before` is another open call of the id
 */
function callsOf({ role, content }) {
  if (role !== "assistant" || typeof content === "string") return NO_CALLS;
  let calls = NO_CALLS;
  for (const { type, id, name } of content) {
    if (type !== "tool_call") continue;
    if (calls === NO_CALLS) calls = [];
    calls.push({ id, name, result: null, isOpen: true, before: null });
  }
  return calls;
}

/** @returns {string | null} why a value is no event of a session: a phrase that follows its name */
export function eventProblem(event) {
  if (typeof event !== "object" || event === null)
    return `is ${event === null ? "null" : typeof event}, not a session event`;
  switch (event.type) {
    case "user":
    case "assistant":
      return messageProblem(event.message);
    case "tool_result":
      if (typeof event.result?.id !== "string") return "has no result with an id";
      return event.result.content === undefined ? "has a result without content" : null;
    case "summary":
      return summaryProblem(event.messages);
    case "tool_started":
    case "file_snapshot":
    case "permission_decision":
      return null;
    default:
      return `has the type ${JSON.stringify(event.type)}, which no session event has`;
  }
}

/** @returns {string | null} why a value is no message: a phrase that follows its name */
export function messageProblem(message) {
  if (!ROLES.has(message?.role)) return "has no message of a known role";
  const { content } = message;
  if (typeof content === "string") return null;
  if (!Array.isArray(content)) return "has a message without content";
  for (const block of content) {
    if (typeof block?.type !== "string") return "has a message with something that is no block";
    if (block.type === "text" && typeof block.text !== "string") return "has a text block without text";
    if ((block.type === "tool_call" || block.type === "tool_result") && typeof block.id !== "string") {
      return `has a ${block.type} without an id`;
    }
  }
  return null;
}

function summaryProblem(messages) {
  if (!Array.isArray(messages)) return "is a summary without messages";
  for (const message of messages) {
    const problem = messageProblem(message);
    if (problem !== null) return problem;
  }
  return null;
}
