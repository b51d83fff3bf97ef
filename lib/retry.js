// The retry() middleware: calls the model again after a transient failure, as long as nothing was streamed.
import { clearTimeout, setTimeout } from "node:timers";

import { ConfigError } from "./errors.js";

const TRANSIENT_STATUSES = new Set([408, 409, 429]);
const TRANSIENT_CODES = new Set([
  "ECONNRESET",
  "ECONNREFUSED",
  "EPIPE",
  "ETIMEDOUT",
  "EAI_AGAIN",
  "ENOTFOUND",
  "UND_ERR_CONNECT_TIMEOUT",
  "UND_ERR_SOCKET",
]);

/**
 * @param {{ attempts?: number, baseDelayMs?: number, maxDelayMs?: number }} [options] attempts in all (default 3), and
 *   the bounds of the exponential delay between them (default 500 and 30,000 milliseconds)
 * @throws {ConfigError} for a value that is no integer in range
 */
export function retry(options = {}) {
  if (typeof options !== "object" || options === null) throw new TypeError("retry: options must be an object");
  const attempts = whole(options, "attempts", 3, 1, 100);
  const baseDelayMs = whole(options, "baseDelayMs", 500, 0, 2 ** 31 - 1);
  const maxDelayMs = whole(options, "maxDelayMs", 30_000, 0, 2 ** 31 - 1);
  return {
    name: "retry",
    async *wrapModelCall(context, next) {
      for (let attempt = 1; ; attempt += 1) {
        let streamed = false;
        try {
          for await (const chunk of next()) {
            streamed = true;
            yield chunk;
          }
          return;
        } catch (error) {
          if (streamed || attempt >= attempts || context.signal.aborted || !isTransient(error)) throw error;
        }
        // Half of the delay is random, so that many agents do not come back at the same moment.
        const delay = Math.min(maxDelayMs, baseDelayMs * 2 ** (attempt - 1));
        await pause(delay / 2 + (Math.random() * delay) / 2, context.signal);
      }
    },
  };
}

function whole(options, name, standard, least, most) {
  const value = options[name] ?? standard;
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  throw new ConfigError(`retry: ${name} must be an integer from ${least} to ${most}, got ${String(value)}`);
}

function isTransient(error) {
  if (typeof error !== "object" || error === null) return false;
  const { status, code, cause } = error;
  if (TRANSIENT_STATUSES.has(status) || (typeof status === "number" && status >= 500 && status < 600)) return true;
  return TRANSIENT_CODES.has(code) || TRANSIENT_CODES.has(cause?.code);
}

function pause(delayMs, signal) {
  return new Promise((resolve, reject) => {
    const aborted = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", aborted);
      resolve();
    }, delayMs);
    signal.addEventListener("abort", aborted, { once: true });
  });
}
