// Lets timers and sockets in between the steps of runs that are always ready: callbacks that return at once, and promises
// that are settled already, would follow one another for ever and starve the event loop. Who had to wait goes on in the
// order of asking, for a slice of time in each turn of the loop. Knows nothing of what waits.
import { AsyncResource } from "node:async_hooks";
import { setImmediate } from "node:timers";

import { now } from "./clock.js";

/** How long steps may follow one another before the event loop gets its turn. */
const SLICE_MS = 3;
/** Of those that wait, so many at most go on in one turn of the event loop. */
const MAX_RESUMED = 16;

/** One immediate goes on for many: in no caller's async context. */
const outside = new AsyncResource("LiteAgentTurn");

let sliceStart = 0;
let watching = false;

/** Callbacks that wait, oldest first; those before `resumed` are done with. */
let waiting = [];
let resumed = 0;
/** How many immediates are on their way to the next of them. */
let resumers = 0;

function sliceOver() {
  watching = false;
}

/** Whether the event loop has waited for longer than a slice. */
export function isOverdue() {
  if (watching) return now() - sliceStart > SLICE_MS;
  watching = true;
  sliceStart = now();
  setImmediate(sliceOver).unref();
  return false;
}

/** Calls `callback` after the event loop had its turn. */
export function afterEventLoop(callback) {
  waiting.push(callback);
  if (resumers >= MAX_RESUMED) return;
  resumers += 1;
  outside.runInAsyncScope(setImmediate, undefined, resumeNext);
}

/** Resolves after the event loop had its turn. */
export function yieldToEventLoop() {
  return new Promise((resolve) => {
    afterEventLoop(resolve);
  });
}

/** An immediate each: what one resumes goes on in microtasks, and only then the clock says whether there is time for more. */
function resumeNext() {
  if (resumed < waiting.length && !isOverdue()) {
    const callback = waiting[resumed];
    waiting[resumed] = undefined;
    resumed += 1;
    if (resumed === waiting.length) {
      waiting = [];
      resumed = 0;
    }
    callback();
  }
  if (resumed + resumers > waiting.length) resumers -= 1;
  else setImmediate(resumeNext);
}
