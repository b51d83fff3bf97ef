// One session's log as the agent sees it: what is written goes to the checkpointer in order, one append at a time, and
// what comes up meanwhile goes along with the next. Knows nothing of runs; what is written, and when, is the core's.
import { AgentError } from "../errors.js";
import { isOverdue, yieldToEventLoop } from "../fairness.js";
import { freezeDeep } from "../frozen.js";
import { Fold } from "./fold.js";

/** How many events go by between two looks at the clock. */
const EVENTS_PER_LOOK = 64;
const ROLES = new Set(["system", "user", "assistant", "tool"]);

export class SessionLog {
  #checkpointer;
  #sessionId;
  #head = 0;
  /** Events that wait for the append before them: `{ events, resolve, reject }`. */
  #waiting = [];
  #isWriting = false;

  constructor(checkpointer, sessionId) {
    this.#checkpointer = checkpointer;
    this.#sessionId = sessionId;
  }

  /**
   * Reads the whole log.
   * @returns {Promise<{ messages: object[], dangling: { id: string, name: string, turn: number }[] }>} frozen messages;
   *   the calls of the last assistant message that have no result
   * @throws what the checkpointer throws; {AgentError} for an event that is none, by its number
   */
  async load() {
    const fold = new Fold();
    const calls = new CallLedger();
    let head = 0;
    for await (const stored of this.#checkpointer.read(this.#sessionId)) {
      head = this.#check(stored, head);
      const event = freezeDeep(stored.event);
      fold.add(event);
      calls.add(event);
      if (head % EVENTS_PER_LOOK === 0 && isOverdue()) await yieldToEventLoop();
    }
    this.#head = head;
    return { messages: fold.messages().map((message) => Object.freeze(message)), dangling: calls.dangling() };
  }

  #check(stored, head) {
    const seq = stored?.seq;
    const where = `session ${this.#sessionId}: event ${head + 1} of its log`;
    if (seq !== head + 1) throw new AgentError(`${where} has the number ${String(seq)}`, { code: "session_damaged" });
    const { type, message, messages, result } = stored.event ?? {};
    const problem =
      type === "user" || type === "assistant"
        ? messageProblem(message)
        : type === "summary"
          ? summaryProblem(messages)
          : type === "tool_result" && typeof result?.id !== "string"
            ? "has no result"
            : null;
    if (problem !== null) throw new AgentError(`${where} ${problem}`, { code: "session_damaged" });
    return seq;
  }

  /** @returns {Promise<void>} resolves when the events are durable */
  append(events) {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ events, resolve, reject });
      if (!this.#isWriting) this.#write();
    });
  }

  async #write() {
    this.#isWriting = true;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting;
      this.#waiting = [];
      const events = batch.length === 1 ? batch[0].events : batch.flatMap((each) => each.events);
      try {
        const head = await this.#checkpointer.append(this.#sessionId, events, this.#head);
        this.#head = expectHead(head, this.#head + events.length, this.#sessionId);
        for (const { resolve } of batch) resolve();
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.#isWriting = false;
  }
}

/** The calls of the last assistant message, and which of them have a result. */
class CallLedger {
  #open = new Map();
  #turn = 0;

  add({ type, message, messages, result, turn }) {
    if (Number.isInteger(turn)) this.#turn = turn;
    if (type === "assistant") this.#take(message);
    else if (type === "tool_result") this.#open.delete(result.id);
    else if (type === "user") this.#open.clear();
    else if (type === "summary") {
      this.#open.clear();
      const last = messages.at(-1);
      if (last?.role === "assistant") this.#take(last);
    }
  }

  #take({ content }) {
    this.#open.clear();
    if (typeof content === "string") return;
    for (const { type, id, name } of content) if (type === "tool_call") this.#open.set(id, name);
  }

  dangling() {
    return [...this.#open].map(([id, name]) => ({ id, name, turn: Math.max(this.#turn, 1) }));
  }
}

function messageProblem(message) {
  if (!ROLES.has(message?.role)) return "has no message of a known role";
  const { content } = message;
  if (typeof content === "string") return null;
  if (!Array.isArray(content)) return "has a message without content";
  return content.every((block) => typeof block?.type === "string")
    ? null
    : "has a message with something that is no block";
}

function summaryProblem(messages) {
  if (!Array.isArray(messages)) return "is a summary without messages";
  for (const message of messages) {
    const problem = messageProblem(message);
    if (problem !== null) return problem;
  }
  return null;
}

/** A store that says something else has lost or gained events. */
function expectHead(head, expected, sessionId) {
  if (head === expected) return head;
  throw new AgentError(
    `session ${sessionId}: the checkpointer's append() resolved to ${String(head)}, not to its new head ${expected}`,
    {
      code: "session_damaged",
    },
  );
}
