// What the demo shows at its end: runs, tools, hooks, and what changed in the folder. Reads what was gathered.
import { changedFiles } from "./difference.mjs";
import { milliseconds, statusColour } from "./view.mjs";

/**
 * @typedef {object} Gathered
 * @property {import("./tally.mjs").Ran[]} runs
 * @property {Map<string, { times: number[], failed: number }>} tools
 * @property {Map<string, { events: Set<string>, calls: number, failed: number, durationMs: number }>} hooks
 * @property {Map<string, import("./tally.mjs").Commanded>} commands of hooks.json
 * @property {{ before: Map<string, string>, after: Map<string, string> }} files
 * @property {{ before: { what: string, holds: boolean }[], after: { what: string, holds: boolean }[] }} checks
 */

/** @param {import("./view.mjs").View} view @param {Gathered} gathered */
export function showSummary(view, { runs, tools, hooks, commands, files, checks }) {
  view.heading("Summary");
  view.line();
  let number = 0;
  view.table(
    ["run", "prompt", "ended", ">turns", ">calls", ">tokens in", ">out", ">time"],
    runs.map((run) => {
      if (run.who === "user") number += 1;
      return [
        run.who === "user" ? String(number) : NOT_THE_USERS[run.who],
        firstLine(run.prompt),
        { text: run.status, colour: statusColour(run.status) },
        String(run.turns),
        String(run.calls),
        (run.usage.inputTokens ?? 0).toLocaleString("en"),
        (run.usage.outputTokens ?? 0).toLocaleString("en"),
        milliseconds(run.durationMs),
      ];
    }),
  );
  view.line();
  view.table(
    ["tool", ">calls", ">failed", ">fastest", ">slowest", ">together"],
    [...tools].map(([name, { times, failed }]) => [
      name,
      String(times.length),
      failures(failed),
      milliseconds(Math.min(...times)),
      milliseconds(Math.max(...times)),
      milliseconds(times.reduce((sum, time) => sum + time, 0)),
    ]),
  );
  view.line();
  view.table(
    ["function hook", ">calls", ">failed", ">each", "on"],
    [...hooks].map(([name, { events, calls, failed, durationMs }]) => [
      name,
      String(calls),
      failures(failed),
      milliseconds(durationMs / Math.max(1, calls)),
      [...events].join(", "),
    ]),
  );
  view.line();
  view.table(
    ["command hook", "of", "on", ">allowed", ">denied", "went wrong"],
    [...commands].map(([command, { source, events, allowed, denied, failed }]) => [
      command,
      source,
      [...events].join(", "),
      String(allowed),
      failures(denied),
      { text: [...failed].join(", ") || "nothing", colour: failed.size > 0 ? "yellow" : "dim" },
    ]),
  );

  view.heading("What changed in the folder");
  view.changes(changedFiles(files.before, files.after));
  view.line();
  view.table(
    ["its own check", "before", "after"],
    checks.after.map(({ what, holds }, index) => [what, verdict(checks.before[index].holds), verdict(holds)]),
  );
}

const MAX_PROMPT_LETTERS = 40;
/** A run that takes up what children came to follows from theirs. */
const NOT_THE_USERS = { child: "child", background: "then" };

function firstLine(prompt) {
  const [line] = prompt.split("\n");
  return line.length > MAX_PROMPT_LETTERS ? `${line.slice(0, MAX_PROMPT_LETTERS - 1)}…` : line;
}

const failures = (count) => (count > 0 ? { text: String(count), colour: "yellow" } : "0");
const verdict = (holds) => (holds ? { text: "holds", colour: "green" } : { text: "fails", colour: "red" });
