// The AsyncGenerator that run() and query() return: one layer over a run's events, written by hand because a generator
// function could neither begin at the first next() with its caller's checks, nor be cancelled while a next() is pending.
import { hold, release } from "./keep-alive.js";

const AsyncIteratorPrototype = Object.getPrototypeOf(
  Object.getPrototypeOf(Object.getPrototypeOf((async function* () {})())),
);
const READ_EVENTS_KEPT = 1024;

export class RunIterator {
  #begin;
  #finalise;
  #run = null;
  #state = "new";
  #events = [];
  #read = 0;
  #waiting = [];
  #outcome = null;

  /**
   * @param {(iterator: RunIterator) => Run} begin starts the run; what it throws rejects the first next()
   * @param {() => Promise<void>} [finalise] awaited before the iterator's end is told
   */
  constructor(begin, finalise) {
    this.#begin = begin;
    this.#finalise = finalise;
  }

  // --- the run's side ---

  get length() {
    return this.#events.length - this.#read;
  }

  push(event) {
    if (this.#waiting.length > 0) {
      release();
      this.#waiting.shift().resolve({ value: event, done: false });
    } else {
      this.#events.push(event);
    }
  }

  // --- the reader's side ---

  next() {
    if (this.#read < this.#events.length) return Promise.resolve({ value: this.#take(), done: false });
    if (this.#state === "new") {
      try {
        this.#start();
      } catch (error) {
        this.#state = "ended";
        return this.#afterFinalise(() => Promise.reject(error));
      }
      // The first events are there already, most of the time.
      if (this.#read < this.#events.length) return Promise.resolve({ value: this.#take(), done: false });
    }
    if (this.#state === "ended") return this.#ending();
    return new Promise((resolve, reject) => {
      hold();
      this.#waiting.push({ resolve, reject });
    });
  }

  return(value) {
    if (this.#state === "new") {
      this.#state = "ended";
      return this.#afterFinalise(() => Promise.resolve(value).then((settled) => ({ value: settled, done: true })));
    }
    return this.#leave().then(async () => ({ value: await value, done: true }));
  }

  throw(error) {
    if (this.#state === "new") {
      this.#state = "ended";
      return this.#afterFinalise(() => Promise.reject(error));
    }
    return this.#leave().then(() => {
      throw error;
    });
  }

  [Symbol.asyncIterator]() {
    return this;
  }

  get [Symbol.toStringTag]() {
    return "AsyncGenerator";
  }

  #start() {
    this.#state = "running";
    this.#run = this.#begin(this);
    this.#run.settled.then(
      (result) => this.#end({ result }),
      (error) => this.#end({ error, failed: true }),
    );
  }

  /** The run has settled: what was queued is read first, then the end is told once. */
  #end(outcome) {
    this.#state = "ended";
    this.#outcome = outcome;
    while (this.#waiting.length > 0) {
      const { resolve } = this.#waiting.shift();
      resolve(this.#ending());
      release();
    }
  }

  #ending() {
    const outcome = this.#outcome;
    this.#outcome = null;
    if (outcome === null) return this.#afterFinalise(() => Promise.resolve({ value: undefined, done: true }));
    return this.#afterFinalise(() =>
      outcome.failed ? Promise.reject(outcome.error) : Promise.resolve({ value: outcome.result, done: true }),
    );
  }

  #afterFinalise(conclude) {
    if (this.#finalise === undefined) return conclude();
    hold();
    return this.#finalise().finally(release).then(conclude);
  }

  /** The reader goes: cancels the run, and resolves when its terminal hooks are over. */
  #leave() {
    // It never began, or what began it threw: there is nothing to wait for.
    if (this.#run === null) return this.#afterFinalise(() => Promise.resolve());
    this.#events = [];
    this.#read = 0;
    this.#outcome = null;
    // From the bottom of the stack: a reader that leaves near its end would leave the core in the middle of it.
    const leaving = Promise.resolve().then(() => {
      if (this.#state === "running") {
        this.#run.stopStreaming();
        this.#run.cancel(undefined);
      }
      this.#events = [];
      this.#read = 0;
      return this.#run.settled;
    });
    hold();
    return leaving
      .then(
        () => {},
        // A reader that left does not hear how the run failed.
        () => {},
      )
      .then(() => {
        this.#outcome = null;
        return this.#finalise?.();
      })
      .finally(release);
  }

  #take() {
    const event = this.#events[this.#read];
    this.#events[this.#read] = undefined;
    this.#read += 1;
    if (this.#read === this.#events.length) {
      this.#events.length = 0;
      this.#read = 0;
    } else if (this.#read === READ_EVENTS_KEPT) {
      this.#events.splice(0, READ_EVENTS_KEPT);
      this.#read = 0;
    }
    this.#run.caughtUp();
    return event;
  }
}

Object.setPrototypeOf(RunIterator.prototype, AsyncIteratorPrototype);

if (Symbol.asyncDispose !== undefined && !(Symbol.asyncDispose in RunIterator.prototype)) {
  Object.defineProperty(RunIterator.prototype, Symbol.asyncDispose, {
    value() {
      return this.return(undefined).then(() => {});
    },
    configurable: true,
    writable: true,
  });
}
