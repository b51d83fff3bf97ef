// The conversation that a session's events add up to. Knows nothing of where events are stored.

/**
 * @param {Iterable<object>} events SessionEvents, oldest first; they are not changed
 * @returns {object[]} the messages, oldest first: successive tool results joined into one message of the role `user`, and
 *   a summary in place of all before it
 * @throws {TypeError} for what is no event
 */
export function foldEvents(events) {
  if (typeof events?.[Symbol.iterator] !== "function") {
    throw new TypeError("foldEvents: events must be an array of session events");
  }
  const fold = new Fold();
  for (const event of events) fold.add(event);
  return fold.messages();
}

/** Folds one event after another. */
export class Fold {
  #messages = [];
  /** Result blocks that stand at the end and may be joined by more. */
  #results = null;

  add(event) {
    switch (event?.type) {
      case "user":
      case "assistant":
        this.#endResults();
        this.#messages.push(event.message);
        break;
      case "tool_result":
        this.#results ??= [];
        this.#results.push(event.result);
        break;
      case "summary":
        this.#results = null;
        this.#messages = [...event.messages];
        break;
      case "tool_started":
      case "file_snapshot":
      case "permission_decision":
        break;
      default:
        throw new TypeError(`foldEvents: ${describe(event)} is no session event`);
    }
  }

  messages() {
    this.#endResults();
    return this.#messages;
  }

  #endResults() {
    if (this.#results === null) return;
    this.#messages.push({ role: "user", content: this.#results });
    this.#results = null;
  }
}

function describe(event) {
  if (typeof event !== "object" || event === null) return event === null ? "null" : typeof event;
  return `an object of the type ${JSON.stringify(event.type)}`;
}
