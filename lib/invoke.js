// Calls one callback of the host within its frame, and says how it came back: at once, later, or by throwing. Knows
// nothing of what the callback is for.
import { performance } from "node:perf_hooks";

import { inFrame } from "./context.js";

/**
 * @param frame the frame to call in; it ends when the callback has settled
 * @param {() => unknown} callback
 * @param {(threw: boolean, value: unknown, elapsedMs: number) => void} settle called exactly once, unless the callback
 *   never settles; before this returns if the callback was synchronous
 * @returns {number} when the callback began, on the clock of `performance.now()`, if it is still going; -1 if it has
 *   settled
 */
export function invoke(frame, callback, settle) {
  const started = performance.now();
  let promise;
  try {
    const returned = inFrame(frame, callback);
    if (!isThenable(returned)) {
      frame.end();
      settle(false, returned, performance.now() - started);
      return -1;
    }
    // A foreign thenable is asked in the frame too: its `then` is host code.
    promise = isPlainPromise(returned) ? returned : inFrame(frame, adopt, returned);
  } catch (error) {
    frame.end();
    settle(true, error, performance.now() - started);
    return -1;
  }
  promise.then(
    (value) => {
      frame.end();
      settle(false, value, performance.now() - started);
    },
    (error) => {
      frame.end();
      settle(true, error, performance.now() - started);
    },
  );
  return started;
}

function isThenable(value) {
  return (
    ((typeof value === "object" && value !== null) || typeof value === "function") && typeof value.then === "function"
  );
}

/** Whether its `then` is the language's own, which never throws and settles once. */
function isPlainPromise(value) {
  return value instanceof Promise && value.then === Promise.prototype.then && value.constructor === Promise;
}

function adopt(thenable) {
  return new Promise((resolve) => {
    resolve(thenable);
  });
}
