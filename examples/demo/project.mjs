// The small real project that the demo works on, with its hooks.json and that of the user: makes the folders, looks at
// what is in them, and runs the project's own check. Knows nothing of agents.
import { execFile } from "node:child_process";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";

/** `<home>/hooks.json`: the user's, for every project. */
const GLOBAL_HOOKS = {
  version: 1,
  hooks: {
    "run:start": [{ command: "cat >> ../runs.jsonl" }],
    "run:end": [{ command: "cat >> ../runs.jsonl" }],
  },
};

/** `<workdir>/.lite-agent/hooks.json`: comes with the project. */
const PROJECT_HOOKS = {
  version: 1,
  hooks: {
    "tool:start": [{ match: "delete_file", command: "node scripts/back-up.mjs", timeoutMs: 300 }],
    "tool:end": [
      { match: "{write,edit,delete}_file", command: "node scripts/record-change.mjs" },
      { match: "write_file", command: "node scripts/update-index.mjs" },
      { match: "delete_file", command: "node scripts/tell-everybody.mjs" },
    ],
  },
};

/** A hook command by what a diagnostic says of it. @returns {string | undefined} */
export function commandAt({ event, index }) {
  return [...(GLOBAL_HOOKS.hooks[event] ?? []), ...(PROJECT_HOOKS.hooks[event] ?? [])][index]?.command;
}

const shownAsJson = (value) => `${JSON.stringify(value, null, 2)}\n`;

const FILES = {
  ".lite-agent/hooks.json": shownAsJson(PROJECT_HOOKS),
  ".lite-agent/agents/reviewer.md": `---
name: reviewer
description: Reads one source file and reports what it exports, and where that is used.
tools: read_file, grep
---
You are a reviewer of one source file. Report what it exports and where that is used, in one sentence.
`,
  "scripts/record-change.mjs": `// The event is one line of JSON on standard input.
import { appendFileSync, readFileSync } from "node:fs";
const { call, status } = JSON.parse(readFileSync(0, "utf8"));
appendFileSync("changes.log", \`\${call.name} \${call.input.path} \${status}\\n\`);
`,
  "scripts/update-index.mjs": `console.error("there is no search index to update");
process.exit(1);
`,
  "scripts/back-up.mjs": `setTimeout(() => {}, 60_000); // the archive does not answer
`,
  "scripts/watch.sh": `echo "watching src"
while :; do node check.mjs; sleep 1; done
`,
  "scripts/tell-everybody.mjs": `throw new Error("this must not run: nobody allowed it");
`,
  "secrets/chart-server.key": `ky-7f3a-not-a-real-one
`,
  "package.json": `{
  "name": "tide-table",
  "version": "1.0.0",
  "type": "module"
}
`,
  "src/tides.js": `// Height of the tide in metres, from one constituent.
export function heightAt(hours, { meanLevel, amplitude, period }) {
  const angle = (2 * Math.PI * hours) / period;
  return amplitude * Math.cos(angle);
}
`,
  "src/depth.js": `// Charts give depths in feet, tide tables in metres.
export function feetFromMetres(metres) {
  return metres / 0.3;
}
`,
  "src/wind.js": `// Wind comes in knots.
export function kilometresPerHour(knots) {
  return knots * 1.8;
}
`,
  "notes/old-tables.md": `High water 3:40, 16:05. Of a year that nobody remembers.
`,
  "notes/todo.md": `# To do

- [x] README: say where the tables come from
- [ ] src/tides.js: \`amplitude*Math.cos(angle)\` -> \`meanLevel + amplitude * Math.cos(angle)\` (no mean level)
- [ ] src/depth.js: \`metres / 0.3;\` -> \`metres / 0.3048;\` (a foot is 0.3048 m)
- [ ] src/wind.js: \`knots * 1.8;\` -> \`knots * 1.852;\` (a knot is 1.852 km/h)
- [ ] notes/old-tables.md: delete
- [ ] secrets/chart-server.key: see whether it is last year's
`,
  "check.mjs": `import { feetFromMetres } from "./src/depth.js";
import { heightAt } from "./src/tides.js";
import { kilometresPerHour } from "./src/wind.js";

const checks = {
  "high water is 5 m": heightAt(0, { meanLevel: 3, amplitude: 2, period: 12.42 }) === 5,
  "3.048 m are 10 ft": Math.abs(feetFromMetres(3.048) - 10) < 1e-9,
  "10 kn are 18.52 km/h": Math.abs(kilometresPerHour(10) - 18.52) < 1e-9,
};
for (const [what, holds] of Object.entries(checks)) console.log(holds ? "holds" : "FAILS", what);
process.exitCode = Object.values(checks).every(Boolean) ? 0 : 1;
`,
};

/** Writes the project and the user's hooks.json into `folder`, which must be empty or not there yet. */
export async function createProject(folder, { workdir, home }) {
  await mkdir(folder, { recursive: true });
  if ((await readdir(folder)).length > 0) throw new Error(`the demo needs an empty folder, and ${folder} is not`);
  for (const [path, content] of Object.entries(FILES)) {
    await mkdir(dirname(join(workdir, path)), { recursive: true });
    await writeFile(join(workdir, path), content);
  }
  await mkdir(home);
  await writeFile(join(home, "hooks.json"), shownAsJson(GLOBAL_HOOKS));
}

/** What every file holds, by its path with forward slashes, sorted. @returns {Promise<Map<string, string>>} */
export async function readProject(folder) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile())
    .map((entry) =>
      relative(folder, join(entry.parentPath ?? entry.path, entry.name))
        .split(sep)
        .join("/"),
    );
  const contents = new Map();
  for (const path of paths.sort()) contents.set(path, await readFile(join(folder, path), "utf8"));
  return contents;
}

/** Runs the project's check.mjs in a Node process of its own. @returns {Promise<{ what: string, holds: boolean }[]>} */
export function checkProject(folder) {
  return new Promise((resolve, reject) => {
    execFile(process.execPath, ["check.mjs"], { cwd: folder }, (error, stdout) => {
      // It ends with 1 where a check fails; anything else is no answer.
      if (error && error.code !== 1) return reject(error);
      resolve(
        stdout
          .trim()
          .split("\n")
          .map((line) => ({ holds: line.startsWith("holds"), what: line.slice(6) })),
      );
    });
  });
}
