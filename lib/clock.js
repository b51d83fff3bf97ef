// The clock by which host code is timed. Taken once, when the package is loaded: a host whose tests mock the clock later
// (`performance.now` too, as most fake timers do) neither makes a handler late nor hides that it was.
import { performance } from "node:perf_hooks";

/** @returns {number} milliseconds since the process began, as `performance.now()` gives them */
export const now = performance.now.bind(performance);
