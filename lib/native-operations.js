// Operations of one native object that run on a thread of their own: here are their promises. Knows nothing of what they do.
import { hold, release } from "./keep-alive.js";
import { activate, deactivate, nextNumber, waker } from "./wakes.js";

export class NativeOperations {
  #handle;
  #functions;
  #asError;
  #number = nextNumber();
  #last = 0;
  /** Operations that are going on: `{ over, resolve, reject }` by number. */
  #going = new Map();

  /**
   * @param {{ make: Function, start: Function, take: Function }} functions of the addon
   * @param {object} options what the native object is made of
   * @param {(data: { code: string, message: string }) => Error} asError
   */
  constructor(functions, options, asError) {
    this.#functions = functions;
    this.#asError = asError;
    this.#handle = functions.make(JSON.stringify(options), this.#number, waker);
  }

  get handle() {
    return this.#handle;
  }

  /**
   * @param {object} operation as JSON data
   * @param {string} [text] what belongs to it and is long
   * @returns {{ number: number, over: Promise<any> }} the operation's number, and what came of it
   */
  start(operation, text) {
    this.#last += 1;
    const number = this.#last;
    const going = {};
    const over = new Promise((resolve, reject) => {
      Object.assign(going, { resolve, reject });
    });
    going.over = over;
    this.#going.set(number, going);
    if (this.#going.size === 1) activate(this.#number, this);
    // Whoever asked waits for it.
    hold();
    try {
      this.#functions.start(this.#handle, number, JSON.stringify(operation), text);
    } catch (error) {
      this.#settle(number, error, undefined);
    }
    return { number, over };
  }

  poll() {
    for (const { op, ok, error } of JSON.parse(this.#functions.take(this.#handle))) {
      this.#settle(op, error === undefined ? undefined : this.#asError(error), ok);
    }
  }

  /** Resolves when what is going on now is over, however it ends. */
  async idle() {
    await Promise.allSettled([...this.#going.values()].map(({ over }) => over));
  }

  #settle(number, error, value) {
    const operation = this.#going.get(number);
    this.#going.delete(number);
    if (this.#going.size === 0) deactivate(this.#number);
    release();
    if (error === undefined) operation.resolve(value);
    else operation.reject(error);
  }
}
