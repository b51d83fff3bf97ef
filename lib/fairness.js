// Lets timers and sockets in between the turns of runs whose promises are always ready: such a chain would go on in
// microtasks alone, and starve the event loop.
import { performance } from "node:perf_hooks";
import { setImmediate } from "node:timers";

/** How long promises may follow one another before the event loop gets its turn. */
const SLICE_MS = 5;

let sliceStart = 0;
let watching = false;

function sliceOver() {
  watching = false;
}

/** Whether the event loop has waited for longer than a slice. */
export function isOverdue() {
  if (watching) return performance.now() - sliceStart > SLICE_MS;
  watching = true;
  sliceStart = performance.now();
  setImmediate(sliceOver).unref();
  return false;
}

/** Resolves after the event loop had its turn. */
export function yieldToEventLoop() {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
