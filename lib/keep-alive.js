// Keeps Node alive while something is awaited, and never else: one timer a thread, which does nothing and is ref'd only
// while the count of holds is over zero.
import { setInterval } from "node:timers";

const LONGEST_MS = 2 ** 31 - 1;

// Made at module load, so that it holds on to no caller's async context.
const timer = setInterval(() => {}, LONGEST_MS).unref();
let holds = 0;

/** Node stays alive until as many calls of release() follow. */
export function hold() {
  if (holds === 0) timer.ref();
  holds += 1;
}

export function release() {
  holds -= 1;
  if (holds === 0) timer.unref();
}
