// Wakes from the core's other threads: one weak function for the environment, which never keeps Node alive, calls
// `poll()` of whoever has that number and has something going on.
import { native } from "./native.js";

/** What has something going on, by number: nothing else is reached by a wake. */
const active = new Map();
let lastNumber = 0;

// At module load, so that wakes come in no caller's async context.
export const waker = native.createWaker((number) => {
  active.get(number)?.poll();
});

/** @returns {number} that nothing else has */
export function nextNumber() {
  lastNumber += 1;
  return lastNumber;
}

/** From now on wakes of this number call `owner.poll()`. */
export function activate(number, owner) {
  active.set(number, owner);
}

export function deactivate(number) {
  active.delete(number);
}
