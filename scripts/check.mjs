// npm run check: all that a change must pass. Goes on after a step that failed, so that one call tells everything.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { buildAddon } from "./addon.mjs";
import { prettier } from "./format.mjs";
import { root, run, runMain } from "./process.mjs";
import { setUp } from "./setup.mjs";
import { runTests } from "./test.mjs";

const DENY_WARNINGS = ["--", "-D", "warnings"];

/** Each returns an exit code; the last one closes with the tests' own count. */
const STEPS = [
  ["the form of the Rust code (npm run format)", () => run("cargo", ["fmt", "--all", "--check"])],
  ["the form of the JavaScript code (npm run format)", () => prettier("--check")],
  // Not its tests: napi leaves out what it exports when tests are compiled, and all that it uses would be dead code.
  ["clippy, the addon", () => run("cargo", ["clippy", "--workspace", ...DENY_WARNINGS])],
  [
    "clippy, the pure library and the tests",
    () =>
      run("cargo", [
        "clippy",
        "--workspace",
        "--all-targets",
        "--no-default-features",
        "--features",
        "lite-agent/sqlite",
        ...DENY_WARNINGS,
      ]),
  ],
  ["the types", () => run(process.execPath, ["node_modules/typescript/bin/tsc", "-p", "scripts/tsconfig.json"])],
  ["binding.d.cts is what the build generates (npm run build:debug)", bindingTypesAreCurrent],
  ["the tests", () => runTests([])],
];

async function bindingTypesAreCurrent() {
  const generated = await buildAddon("ci");
  const [kept, made] = [root, generated].map((folder) => readTypes(folder));
  return kept === made ? 0 : 1;
}

function readTypes(folder) {
  try {
    return readFileSync(join(folder, "binding.d.cts"), "utf8");
  } catch (error) {
    if (error.code === "ENOENT") return null;
    throw error;
  }
}

await runMain(async () => {
  await setUp();
  const failed = [];
  for (const [title, step] of STEPS) {
    process.stdout.write(`\n== ${title}\n`);
    if ((await step()) !== 0) failed.push(title);
  }
  for (const title of failed) process.stdout.write(`check failed: ${title}\n`);
  if (failed.length === 0) process.stdout.write("check passed\n");
  return failed.length === 0 ? 0 : 1;
});
