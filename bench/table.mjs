// Prints rows as a table that lines up. Knows nothing of what was measured.
import { meetsTarget } from "./measure.mjs";

const COLUMNS = ["", "lite-agent", "plain", "ratio", "tuned", "ratio", "target", ""];
const WIDTHS = [50, 11, 10, 7, 10, 7, 14, 6];
const coloured = process.stdout.isTTY && !process.env.NO_COLOR;
const paint = (code, text) => (coloured ? `\u001b[${code}m${text}\u001b[0m` : text);

/** Microseconds with three significant digits or so. */
function time(microseconds) {
  if (microseconds === undefined) return "";
  // A difference that is lost in the noise.
  if (microseconds < 0) return "≈ 0 µs";
  const digits = Math.abs(microseconds) < 10 ? 2 : Math.abs(microseconds) < 100 ? 1 : 0;
  return `${microseconds.toFixed(digits)} µs`;
}

function ratio(ours, other) {
  if (ours === undefined || other === undefined) return "";
  return ours < 0 ? "≈ 0" : (ours / other).toFixed(2);
}

function target(row) {
  if (!row.target) return "";
  return row.target.kind === "ratio" ? `ratio ≤ ${row.target.limit}` : `≤ ${time(row.target.limit)}`;
}

function line(cells) {
  return cells
    .map((cell, column) => (column === 0 ? cell.padEnd(WIDTHS[0]) : cell.padStart(WIDTHS[column])))
    .join(" ")
    .trimEnd();
}

export function printHeading(title, explanation) {
  process.stdout.write(`\n${paint(1, title)}\n${paint(2, explanation)}\n${paint(2, line(COLUMNS))}\n`);
}

/** @param {import("./measure.mjs").Row} row */
export function printRow(row) {
  const met = meetsTarget(row);
  const verdict = met === undefined ? "" : met ? "met" : "over";
  const text = line([
    row.label,
    time(row.ours),
    time(row.plain),
    ratio(row.ours, row.plain),
    time(row.tuned),
    ratio(row.ours, row.tuned),
    target(row),
    verdict,
  ]);
  process.stdout.write(`${met === undefined ? text : text.replace(/\S+$/, (word) => paint(met ? 32 : 33, word))}\n`);
}
