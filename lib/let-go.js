// Lets go of what a closing agent holds: whatever one of them does, the others are let go as well, and none is waited for
// longer than so long. Knows nothing of what they are.
import { clearTimeout, setTimeout } from "node:timers";

/** How long an agent that closes waits for whoever does not answer. */
export const LET_GO_MS = 5_000;

/**
 * @param {[what: string, release: () => unknown][]} held
 * @returns {Promise<{ overdue: string[], failures: unknown[] }>} never rejects: which did not settle in time, and what was
 *   thrown
 */
export async function letGo(held) {
  const failures = [];
  const waiting = new Set();
  const settled = held.map(async ([what, release]) => {
    waiting.add(what);
    try {
      await release();
    } catch (error) {
      failures.push(error);
    }
    waiting.delete(what);
  });
  await within(LET_GO_MS, Promise.all(settled));
  return { overdue: [...waiting], failures: [...failures] };
}

/** Resolves when the promise, which never rejects, has settled, or so many milliseconds later. */
async function within(limitMs, promise) {
  let timer;
  const patience = new Promise((resolve) => {
    timer = setTimeout(resolve, limitMs);
  });
  await Promise.race([promise, patience]);
  clearTimeout(timer);
}

/** An operation that waits for somebody who may never answer: given up so long after closing began. */
class Wait {
  #giveUp;
  #givenUp;
  #isGivenUp = false;
  #isBegun = false;
  #isHurried = false;
  #timer = undefined;

  /** @param {() => Error} overdue called when it is given up: what to reject with */
  constructor(overdue) {
    this.#givenUp = new Promise((_, reject) => {
      this.#giveUp = () => {
        this.#isGivenUp = true;
        reject(overdue());
      };
    });
    this.#givenUp.catch(() => {});
  }

  /** It had its turn: from now on it waits for others. */
  begin() {
    this.#isBegun = true;
    this.#startTimer();
  }

  /** The agent closes. */
  hurry() {
    this.#isHurried = true;
    this.#startTimer();
  }

  #startTimer() {
    if (this.#isBegun && this.#isHurried) this.#timer ??= setTimeout(this.#giveUp, LET_GO_MS);
  }

  stop() {
    clearTimeout(this.#timer);
  }

  /** What `work` comes to, unless it is given up before; then work that has not begun does not begin. */
  async unlessGivenUp(work) {
    return await Promise.race(this.#isGivenUp ? [this.#givenUp] : [work(), this.#givenUp]);
  }
}

/** What an agent that closes waits for, each for a while. */
export class Patience {
  /** Whatever goes on, with what it comes to. @type {Map<Wait, Promise<unknown>>} */
  #going = new Map();
  #isClosing = false;
  #overdue = [];

  /**
   * @template T
   * @param {{ what: string, makeError: () => Error }} overdue what is given up, in words, and what to reject with then
   * @param {(wait: Wait) => Promise<T>} work tells `wait` when it begins to wait for others; called at once
   * @returns {Promise<T>} what `work` came to, unless it was given up
   */
  async unlessGivenUp({ what, makeError }, work) {
    const wait = new Wait(() => {
      this.#overdue.push(what);
      return makeError();
    });
    if (this.#isClosing) wait.hurry();
    const outcome = wait.unlessGivenUp(() => work(wait));
    this.#going.set(wait, outcome);
    try {
      return await outcome;
    } finally {
      wait.stop();
      this.#going.delete(wait);
    }
  }

  /**
   * Waits for the end of what closes, and for what was begun before.
   * @param {Promise<void>} closing
   * @returns {Promise<string[]>} what was given up
   */
  async during(closing) {
    this.#isClosing = true;
    for (const wait of this.#going.keys()) wait.hurry();
    await closing;
    // Nothing is before them any more.
    for (const wait of this.#going.keys()) wait.begin();
    while (this.#going.size > 0) await Promise.allSettled([...this.#going.values()]);
    return this.#overdue;
  }
}
