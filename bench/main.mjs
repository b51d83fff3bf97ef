// npm run bench: measures lite-agent beside plain JavaScript and prints a table. README.md in this folder says how to
// read it. Decides nothing: the exit code is 0 whatever the times are.
import { cpus } from "node:os";
import { parseArgs } from "node:util";
import { commandRows } from "./cases/commands.mjs";
import { dispatchRows } from "./cases/dispatch.mjs";
import { fileRows } from "./cases/files.mjs";
import { hookCommandRows } from "./cases/hook-commands.mjs";
import { lifetimeRows } from "./cases/lifetime.mjs";
import { permissionRows } from "./cases/permissions.mjs";
import { runRows } from "./cases/runs.mjs";
import { sessionRows } from "./cases/sessions.mjs";
import { streamingRows } from "./cases/streaming.mjs";
import { meetsTarget, PACES } from "./measure.mjs";
import { printHeading, printRow } from "./table.mjs";

const SECTIONS = {
  dispatch: {
    title: "Hook dispatch, a handler",
    explanation: "plain: the same promises in plain JavaScript · tuned: without its copy, signals made on demand",
    rows: dispatchRows,
  },
  runs: {
    title: "Runs, turns, calls",
    explanation: "plain: a bare loop that promises nothing (no hooks, deadlines, copies, validation, sessions)",
    rows: runRows,
  },
  streaming: {
    title: "Streaming",
    explanation: "time of the JS thread, provider and consumer included · plain: the bare loop",
    rows: streamingRows,
  },
  permissions: {
    title: "Permission, a decision",
    explanation: "rules that do not match, asked from JS",
    rows: permissionRows,
  },
  files: {
    title: "File tools, a call",
    explanation: "plain: rg, fs.promises; for edit_file with a temporary file, fsync and rename · tuned: without them",
    rows: fileRows,
  },
  commands: {
    title: "The bash tool",
    explanation: "plain: child_process.spawn of /bin/sh -c, which limits, kills and cleans up nothing",
    rows: commandRows,
  },
  "hook-commands": {
    title: "Hooks as commands",
    explanation: "plain: child_process.spawn of /bin/sh -c, with the event on its input",
    rows: hookCommandRows,
  },
  sessions: {
    title: "Stored sessions, in files",
    explanation: "plain: JSON lines and node:fs, appends synced to the disk · tuned: appends not synced",
    rows: sessionRows,
  },
  lifetime: {
    title: "Agents that come and go",
    explanation: "the 20th and the 400th agent of a process of their own",
    rows: lifetimeRows,
  },
};

const { values: options } = parseArgs({
  options: { quick: { type: "boolean" }, json: { type: "boolean" }, only: { type: "string", multiple: true } },
});
const wanted = options.only ?? Object.keys(SECTIONS);
for (const name of wanted) {
  if (!(name in SECTIONS))
    throw new RangeError(`--only must be one of ${Object.keys(SECTIONS).join(", ")}, got ${name}`);
}
const pace = options.quick ? PACES.quick : PACES.full;
const machine = {
  node: process.version,
  platform: `${process.platform}-${process.arch}`,
  processor: cpus()[0]?.model ?? "unknown",
};

if (!options.json) {
  process.stdout.write(`lite-agent bench on Node ${machine.node}, ${machine.platform}, ${machine.processor}\n`);
  process.stdout.write(`medians of ${pace.rounds} rounds${options.quick ? " (quick: too few to rely on)" : ""}\n`);
}
const report = { machine, quick: options.quick === true, unit: "microseconds", sections: {} };
for (const name of wanted) {
  const { title, explanation, rows } = SECTIONS[name];
  if (!options.json) printHeading(title, explanation);
  report.sections[name] = [];
  for await (const row of rows(pace)) {
    report.sections[name].push({ ...row, met: meetsTarget(row) });
    if (!options.json) printRow(row);
  }
}
if (options.json) process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
