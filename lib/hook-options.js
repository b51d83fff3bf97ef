// What agent.hook() accepts. Knows nothing of how handlers are called.
import { native } from "./native.js";
import { kindOf } from "./option-rules.js";

const HOOK_NAMES = ["run:start", "run:end", "tool:start", "tool:end", "compact:start", "compact:end"];
const DEFAULT_HOOK_TIMEOUT_MS = 10_000;
const MAX_HOOK_TIMEOUT_MS = 120_000;

/**
 * @returns {number} the handler's deadline in milliseconds, default 10,000
 * @throws {TypeError} for an unknown event, a handler that is no function, and unknown options
 * @throws {RangeError} for a timeoutMs that is no integer from 1 to 120,000
 */
export function checkHook(name, handler, options) {
  if (!HOOK_NAMES.includes(name)) {
    const near = typeof name === "string" ? native.nearest(name, HOOK_NAMES) : null;
    const hint = near === null ? `it must be one of ${HOOK_NAMES.join(", ")}` : `did you mean "${near}"?`;
    throw new TypeError(`hook: unknown event ${typeof name === "string" ? `"${name}"` : typeof name}; ${hint}`);
  }
  if (typeof handler !== "function") {
    throw new TypeError(`hook: the handler must be a function, got ${kindOf(handler)}`);
  }
  return hookTimeout(options);
}

function hookTimeout(options) {
  if (options === undefined) return DEFAULT_HOOK_TIMEOUT_MS;
  if (typeof options !== "object" || options === null) {
    throw new TypeError(`hook: options must be an object, got ${kindOf(options)}`);
  }
  for (const name of Object.keys(options)) {
    if (name === "timeoutMs") continue;
    const near = native.nearest(name, ["timeoutMs"]);
    // The commonest slip leaves out the unit, which is too far off to be a near miss.
    const hint = near !== null || name.startsWith("timeout") ? "did you mean timeoutMs?" : "there is only timeoutMs";
    throw new TypeError(`hook: unknown option '${name}'; ${hint}`);
  }
  const { timeoutMs } = options;
  if (timeoutMs === undefined) return DEFAULT_HOOK_TIMEOUT_MS;
  if (Number.isInteger(timeoutMs) && timeoutMs >= 1 && timeoutMs <= MAX_HOOK_TIMEOUT_MS) return timeoutMs;
  const got = typeof timeoutMs === "number" ? String(timeoutMs) : kindOf(timeoutMs);
  throw new RangeError(`hook: timeoutMs must be an integer from 1 to ${MAX_HOOK_TIMEOUT_MS}, got ${got}`);
}
