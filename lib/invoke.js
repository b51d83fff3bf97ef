// Calls one callback of the host within its frame, and says how it came back: at once, later, or by throwing. Knows
// nothing of what the callback is for.
import { now } from "./clock.js";
import { inFrame } from "./context.js";

/**
 * @param frame the frame to call in; it ends when the callback has settled
 * @param {() => unknown} callback
 * @param {(threw: boolean, value: unknown, elapsedMs: number) => void} settle called exactly once, unless the callback
 *   never settles; before this returns if the callback was synchronous
 * @returns {number} when the callback began, on the clock of `now()`, if it is still going; -1 if it has
 *   settled
 */
export function invoke(frame, callback, settle) {
  const started = now();
  let returned;
  try {
    returned = inFrame(frame, callback);
    if (isThenable(returned)) {
      // A foreign thenable is asked in the frame too: its `then` is host code.
      const promise = isPlainPromise(returned) ? returned : inFrame(frame, adopt, returned);
      // Within the try: an own `constructor` of a promise is read once more, and its getter may throw.
      promise.then(
        (value) => {
          frame.end();
          settle(false, value, now() - started);
        },
        (error) => {
          frame.end();
          settle(true, error, now() - started);
        },
      );
      return started;
    }
  } catch (error) {
    frame.end();
    settle(true, error, now() - started);
    return -1;
  }
  frame.end();
  settle(false, returned, now() - started);
  return -1;
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
