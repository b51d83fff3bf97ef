// Runs the tests that go through the public face, in Node's own runner. It names the files itself: Node 20 resolves no
// patterns, and shells differ in how they do.

import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root, run } from "./process.mjs";

/** How long one test file may take before it counts as hung. */
const FILE_LIMIT_MS = 600_000;
const LONG_FILE_LIMIT_MS = 3_600_000;

/**
 * @param {import("./tally.mjs").Tally} tally
 * @param {{ only: string[], long: boolean }} options `only`: parts of paths; a file must have one of them, if there are any
 */
export async function runNodeTests(tally, { only, long }) {
  const files = testFiles("__test__").filter((file) => only.length === 0 || only.some((part) => file.includes(part)));
  if (files.length === 0) {
    tally.addProblem(`no test file has one of these in its path: ${only.join(", ")}`);
    return;
  }
  const folder = mkdtempSync(join(tmpdir(), "lite-agent-tests-"));
  const records = join(folder, "records.jsonl");
  const code = await run(process.execPath, [
    "--unhandled-rejections=strict",
    "--test",
    `--test-timeout=${long ? LONG_FILE_LIMIT_MS : FILE_LIMIT_MS}`,
    "--test-reporter=spec",
    "--test-reporter-destination=stdout",
    `--test-reporter=${join(root, "scripts", "test-record.mjs")}`,
    `--test-reporter-destination=${records}`,
    ...files,
  ]);
  const before = tally.failures;
  for (const line of readFileSync(records, "utf8").trimEnd().split("\n")) {
    if (line !== "") tally.add(JSON.parse(line));
  }
  if (code !== 0 && tally.failures === before) tally.addProblem(`node --test ended with ${code}`);
  rmSync(folder, { recursive: true });
}

function testFiles(folder) {
  const entries = readdirSync(join(root, folder), { withFileTypes: true });
  return entries
    .flatMap((entry) => {
      const path = `${folder}/${entry.name}`;
      if (entry.isDirectory()) return testFiles(path);
      return entry.name.endsWith(".test.mjs") ? [path] : [];
    })
    .sort();
}
