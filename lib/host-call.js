// Answers one call of the core by host code: invokes the callback in its frame, keeps what it threw, and gives it up when
// the core does. The one way in which hooks, tools and middleware are called.
import { timeoutReason } from "./context.js";
import { invoke } from "./invoke.js";

/** Returned by a callback in place of a value: what it was given is not valid. */
export class Invalid {
  constructor(problem) {
    this.problem = problem;
    invalid.add(this);
  }
}

/** Told apart without touching what host code returned: a proxy may throw when it is looked at. */
const invalid = new WeakSet();

/**
 * @param {number} id the call of the core
 * @param {object} call
 * @param call.frame the async context frame of the callback
 * @param {LazySignal | null} call.lazy aborted when the core gives the call up
 * @param {number} [call.timeoutMs] the core's deadline, which waits for the moment when the callback began
 * @param {() => unknown} call.callback host code
 * @param {(value: unknown) => string} call.conclude keeps the value and returns the answer; what it throws counts as
 *   thrown by the callback
 * @param {() => void} [call.over] called once, when the callback has settled or was given up
 * @param {number} [call.longestMessage] of what it throws
 */
export function callHost(family, run, id, { frame, lazy, timeoutMs, callback, conclude, over, longestMessage }) {
  let going = false;
  const begun = invoke(frame, callback, (threw, value, elapsedMs) => {
    // Host code that was given up may settle whenever it likes: it was observed, and that is all.
    if (going && !family.settled(id)) return;
    over?.();
    // The core will call it late, as it does one that never settles: its signal says so too, to whatever it left behind.
    if (elapsedMs >= timeoutMs) lazy?.abort(timeoutReason);
    if (!threw && invalid.has(value)) {
      family.refuse(id, value.problem);
      return;
    }
    let answer;
    try {
      if (threw) throw value;
      answer = conclude(value);
    } catch (error) {
      run.thrown.set(id, error);
      family.fail(id, elapsedMs, error, longestMessage);
      return;
    }
    family.answer(id, elapsedMs, answer);
  });
  if (begun < 0) return;
  going = true;
  family.pending.set(id, {
    run,
    abort(makeReason) {
      frame.end();
      lazy?.abort(makeReason);
      over?.();
    },
  });
  if (timeoutMs !== undefined) family.begun(id, begun);
}
