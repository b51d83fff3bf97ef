// How everything here is timed: variants take turns, round after round, so that a slow moment of the machine meets all
// of them alike; what counts is the median. Knows nothing of agents.
import { setImmediate as eventLoopTurn } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc");

/**
 * What one batch left behind is not the next one's. Young garbage alone: a forced full collection throws optimised code
 * away with the agents that it was made for, and every batch would begin cold, which no program does.
 */
async function settle() {
  collectGarbage({ type: "minor" });
  for (let turn = 0; turn < 3; turn += 1) await eventLoopTurn();
}

/** @param {number[]} values */
export function median(values) {
  const sorted = [...values].sort((left, right) => left - right);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/**
 * @typedef {object} Pace how long to measure
 * @property {number} warmUps rounds that do not count
 * @property {number} rounds rounds that count
 * @property {number} scale what batch sizes are multiplied with
 */

/** @type {Record<"full" | "quick", Pace>} */
export const PACES = {
  full: { warmUps: 4, rounds: 15, scale: 1 },
  quick: { warmUps: 1, rounds: 3, scale: 0.1 },
};

/** A batch size under a pace: at least 2. */
export function scaled(size, pace) {
  return Math.max(2, Math.round(size * pace.scale));
}

/** @typedef {{ prepare?: () => unknown, batch: (prepared: any) => unknown, clean?: (prepared: any) => unknown }} Variant */

/**
 * Runs the variants in turn, forwards and backwards by rounds. A variant prepares (not timed), runs one batch, and
 * cleans up (not timed). What `batch` returns, if it is an object of numbers, is kept in place of the time.
 *
 * @param {Record<string, Variant>} variants
 * @param {Pace} pace
 * @returns {Promise<Record<string, any[]>>} by variant, one entry a round: microseconds of the batch, or what it
 *   returned
 */
export async function takeTurns(variants, pace) {
  const names = Object.keys(variants);
  const measured = Object.fromEntries(names.map((name) => [name, []]));
  for (let round = -pace.warmUps; round < pace.rounds; round += 1) {
    for (const name of round % 2 === 0 ? names : [...names].reverse()) {
      const variant = variants[name];
      const prepared = await variant.prepare?.();
      await settle();
      const start = performance.now();
      const returned = await variant.batch(prepared);
      const microseconds = (performance.now() - start) * 1000;
      await variant.clean?.(prepared);
      if (round >= 0) measured[name].push(typeof returned === "object" && returned !== null ? returned : microseconds);
    }
  }
  return measured;
}

/**
 * One line of the table. Times are in microseconds.
 * @typedef {object} Row
 * @property {string} label
 * @property {number} ours
 * @property {number} [plain] the baseline, in the same run
 * @property {number} [tuned] the baseline with every shortcut that one may take
 * @property {{ kind: "ratio" | "time", limit: number }} [target] ratio: of ours to plain; time: microseconds
 */

/** Whether a row meets its target; undefined where it has none. @param {Row} row */
export function meetsTarget({ ours, plain, target }) {
  if (!target) return undefined;
  return (target.kind === "ratio" ? ours / plain : ours) <= target.limit;
}
