// Sees that the benchmarks run and report every section. What they measure decides nothing here.
import assert from "node:assert/strict";
import { test } from "node:test";
import { runFile } from "./support/child.mjs";

const bench = new URL("../bench/main.mjs", import.meta.url);

test("the benchmarks run and report every row with a number", async () => {
  const { code, stdout, stderr, overdue } = await runFile(bench, {
    arguments: ["--quick", "--json"],
    limitMs: 400_000,
  });
  assert.deepEqual({ code, stderr, overdue }, { code: 0, stderr: "", overdue: false });
  const { quick, unit, sections } = JSON.parse(stdout);
  assert.deepEqual({ quick, unit }, { quick: true, unit: "microseconds" });
  const counts = Object.fromEntries(Object.entries(sections).map(([name, rows]) => [name, rows.length]));
  assert.deepEqual(counts, {
    dispatch: 10,
    runs: 8,
    streaming: 4,
    permissions: 12,
    files: 4,
    commands: 4,
    "hook-commands": 8,
    sessions: 10,
    lifetime: 7,
  });
  for (const { label, ours, plain } of Object.values(sections).flat()) {
    assert.ok(Number.isFinite(ours ?? plain), label);
  }
});

test("the benchmarks print a table", async () => {
  const { code, stdout } = await runFile(bench, { arguments: ["--quick", "--only", "streaming"], limitMs: 60_000 });
  assert.equal(code, 0);
  assert.match(stdout, /^a delta of 2,000, run\(\) +\d+\.\d+ µs +\d+\.\d+ µs +\d+\.\d+ +≤ 2\.00 µs +(met|over)$/m);
});
