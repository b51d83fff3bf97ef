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

/** Operations that wait for somebody who may never answer: given up so long after closing began. */
export class Patience {
  #waiting = new Set();

  /**
   * @template T
   * @param {() => Promise<T>} work
   * @param {() => Error} overdue what to reject with
   * @returns {Promise<T>} what `work` came to, unless it was given up
   */
  async unlessGivenUp(work, overdue) {
    let giveUp;
    const givenUp = new Promise((_, reject) => {
      giveUp = () => reject(overdue());
    });
    this.#waiting.add(giveUp);
    try {
      return await Promise.race([work(), givenUp]);
    } finally {
      this.#waiting.delete(giveUp);
    }
  }

  /** Waits for the end of what closes; what still goes on after a while is given up. */
  async during(closing) {
    const timer = setTimeout(() => {
      for (const giveUp of this.#waiting) giveUp();
    }, LET_GO_MS);
    try {
      await closing;
    } finally {
      clearTimeout(timer);
    }
  }
}
