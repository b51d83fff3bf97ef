// Questions to the user: the tool `ask_user`, and `context.input` of custom tools. Asked one at a time in a family, in the
// order in which they came up.
import { inFrame, questionFrame } from "./context.js";
import { ConfigError, ReentrancyError } from "./errors.js";

/** One agent's way to its user. */
export class UserInput {
  #handler;
  #last = Promise.resolve();
  /** The frame of the question that is being asked. */
  #asking = null;

  /** @param {{ request(question: object, signal?: AbortSignal): Promise<object> }} handler */
  constructor(handler) {
    this.#handler = handler;
  }

  /**
   * Asks, when those before have their answers.
   * @param run whose events tell of it
   * @param {object} call the call that asks
   * @param {object} question frozen
   * @param {AbortSignal} signal
   * @returns {Promise<object>} the answer, frozen
   * @throws what the handler throws; {TypeError} for what is no answer
   */
  ask(run, call, question, signal) {
    // The question that is being asked waits for this run: to wait for its answer would be for ever.
    if (run.insideQuestion !== undefined && run.insideQuestion === this.#asking) {
      return Promise.reject(
        new ReentrancyError("the user is being asked by what started this run, and cannot be asked by it"),
      );
    }
    const asked = this.#last.then(() => this.#ask(run, call, question, signal));
    // Whoever comes next waits for the answer, whatever it is; or until nobody wants it any more.
    this.#last = untilAborted(asked, signal);
    return asked;
  }

  async #ask(run, call, question, signal) {
    if (signal.aborted) throw signal.reason;
    run.emit({ type: "input_request", call, question });
    const frame = questionFrame(run.family, run);
    this.#asking = frame;
    let answer;
    try {
      answer = readAnswer(await inFrame(frame, () => this.#handler.request(question, signal)));
    } finally {
      frame.end();
      if (this.#asking === frame) this.#asking = null;
    }
    if (signal.aborted) throw signal.reason;
    run.emit({ type: "input_resolved", id: call.id, answer });
    return answer;
  }

  /** What a custom tool gets as `context.input`. */
  handlerFor(run, call, lazy) {
    return Object.freeze({
      request: (question, signal) =>
        this.ask(
          run,
          call,
          readQuestion(question),
          signal === undefined ? lazy.signal : AbortSignal.any([lazy.signal, signal]),
        ),
    });
  }
}

/** Resolves when the promise has settled or the signal fires. */
function untilAborted(promise, signal) {
  return new Promise((resolve) => {
    const done = () => {
      signal.removeEventListener("abort", done);
      resolve(undefined);
    };
    signal.addEventListener("abort", done);
    promise.then(done, done);
    if (signal.aborted) done();
  });
}

/** @throws {TypeError} */
function readQuestion(value) {
  if (typeof value !== "object" || value === null || typeof value.question !== "string" || value.question === "") {
    throw new TypeError(
      "input.request: the question must be { question: string, options?: string[], multiSelect?: boolean }",
    );
  }
  const { question, options, multiSelect } = value;
  if (options !== undefined && !isTexts(options))
    throw new TypeError("input.request: options must be an array of strings");
  return Object.freeze({
    question,
    ...(options === undefined ? {} : { options: Object.freeze([...options]) }),
    ...(multiSelect === undefined ? {} : { multiSelect: multiSelect === true }),
  });
}

/** @throws {TypeError} */
function readAnswer(value) {
  const { text, selected } = typeof value === "object" && value !== null ? value : /** @type {any} */ ({});
  const isAnswer =
    (text === undefined || typeof text === "string") &&
    (selected === undefined || isTexts(selected)) &&
    (text !== undefined || selected !== undefined);
  if (!isAnswer) {
    throw new TypeError(
      "onAskUser.request() must resolve to { text?: string, selected?: string[] } with at least one of them",
    );
  }
  const answer = {};
  if (text !== undefined) answer.text = text;
  if (selected !== undefined) answer.selected = Object.freeze([...selected]);
  return Object.freeze(answer);
}

function isTexts(value) {
  return Array.isArray(value) && value.every((element) => typeof element === "string");
}

/** Asks for a call of the tool `ask_user`. @returns {Promise<string>} what the model is told */
export async function askForCall(family, run, call, lazy) {
  const { userInput } = family.parts;
  if (userInput === undefined) throw new ConfigError("there is no onAskUser handler");
  return JSON.stringify(await userInput.ask(run, call, call.input, lazy.signal));
}
