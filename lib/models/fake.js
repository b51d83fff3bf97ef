// fakeProvider: a scripted model for tests and demos. It answers from its script alone and never looks at a request.

import { ConfigError } from "../errors.js";

const NO_USAGE = Object.freeze({ inputTokens: 0, outputTokens: 0 });

/**
 * Answers call n with turn n, the last turn ever after; `text`, if given, is streamed first, one delta a code point.
 * @param {{ text?: string, message: object, usage?: object }[]} turns
 * @returns {{ id: "fake", stream(request: object, signal?: AbortSignal): AsyncIterableIterator<object> }}
 * @throws {TypeError} when the turns, or a part of one, are of the wrong type
 * @throws {ConfigError} when there is no turn
 */
export function fakeProvider(turns) {
  if (!Array.isArray(turns)) throw new TypeError(`turns must be an array, got ${typeof turns}`);
  if (turns.length === 0) throw new ConfigError("turns must hold at least one turn");
  const script = Array.from(turns, readTurn);
  let calls = 0;
  return {
    id: "fake",
    stream(_request, signal) {
      const turn = script[Math.min(calls, script.length - 1)];
      calls += 1;
      return new FakeStream(turn, signal);
    },
  };
}

/** Checks a turn's shape, not its sense: a test may script what no model should say. */
function readTurn(turn, index) {
  const place = `turns[${index}]`;
  if (typeof turn !== "object" || turn === null) throw new TypeError(`${place} must be an object`);
  const { text, message, usage } = turn;
  if (text !== undefined && typeof text !== "string") throw new TypeError(`${place}.text must be a string`);
  if (typeof message !== "object" || message === null) throw new TypeError(`${place}.message must be a message`);
  if (message.role !== "assistant") {
    throw new TypeError(`${place}.message.role must be "assistant", got ${JSON.stringify(message.role)}`);
  }
  if (!Array.isArray(message.content)) throw new TypeError(`${place}.message.content must be an array of blocks`);
  const strange = message.content.findIndex((block) => typeof block?.type !== "string");
  if (strange !== -1) throw new TypeError(`${place}.message.content[${strange}] must be a block with a type`);
  if (usage !== undefined && !(Number.isFinite(usage?.inputTokens) && Number.isFinite(usage.outputTokens))) {
    throw new TypeError(`${place}.usage must have the numbers inputTokens and outputTokens`);
  }
  return { text: text ?? "", done: { type: "message_done", message, usage: usage ?? NO_USAGE } };
}

/** Written out rather than a generator: each step of one waits for three ticks, and benchmarks stream through this. */
class FakeStream {
  #turn;
  #signal;
  #position = 0;
  #over = false;

  constructor(turn, signal) {
    this.#turn = turn;
    this.#signal = signal;
  }

  [Symbol.asyncIterator]() {
    return this;
  }

  next() {
    if (this.#over) return Promise.resolve({ value: undefined, done: true });
    if (this.#signal?.aborted) {
      this.#over = true;
      return Promise.reject(this.#signal.reason);
    }
    const { text, done } = this.#turn;
    if (this.#position < text.length) {
      const start = this.#position;
      this.#position += text.codePointAt(start) > 0xffff ? 2 : 1;
      const delta = { type: "text_delta", text: text.slice(start, this.#position) };
      return Promise.resolve({ value: delta, done: false });
    }
    this.#over = true;
    return Promise.resolve({ value: { ...done }, done: false });
  }

  return(value) {
    this.#over = true;
    return Promise.resolve({ value, done: true });
  }
}
