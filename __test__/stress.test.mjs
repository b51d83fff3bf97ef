// Many runs with everything going wrong in random places. LITE_AGENT_SEED repeats a round; LITE_AGENT_LONG=1 makes it ten
// times as long.
import { test } from "node:test";
import assert from "node:assert/strict";
import { runFile } from "./support/child.mjs";

const seed = Number(process.env.LITE_AGENT_SEED ?? Date.now() % 2 ** 31);
const runs = process.env.LITE_AGENT_LONG === "1" ? 1_000 : 100;
/** What the heap may differ between the first and the last third of the runs, whose objects are all gone by then. */
const HEAP_TOLERANCE_BYTES = 1_500_000;

test(`${runs} runs with aborts, breaks, throws, and slow and failing parts in random places end as they should`, async (t) => {
  t.diagnostic(`seed ${seed}: repeat with LITE_AGENT_SEED=${seed}`);
  const { code, signal, stdout, stderr, overdue } = await runFile(
    new URL("./support/stress-process.mjs", import.meta.url),
    {
      flags: ["--expose-gc", "--unhandled-rejections=strict"],
      arguments: [String(seed), String(runs)],
      limitMs: 180_000,
    },
  );
  assert.equal(
    overdue,
    false,
    `seed ${seed}: the process did not end by itself; ${stdout.slice(0, 2_000)} ${stderr.slice(0, 2_000)}`,
  );
  assert.deepEqual([code, signal, stderr], [0, null, ""], `seed ${seed}`);
  const report = JSON.parse(stdout);
  t.diagnostic(JSON.stringify(report.outcomes));
  assert.deepEqual(report.violations, [], `seed ${seed}`);
  assert.deepEqual(report.resourcesLeft, [], `seed ${seed}`);
  assert.ok(report.runs >= runs);
  // A round of 100 may have no run that is out of turns.
  for (const status of ["completed", "failed", "cancelled", ...(runs > 100 ? ["max_turns"] : [])])
    assert.ok(report.outcomes[status] > 0, `seed ${seed}: no run was ${status}`);
  const grown = report.heapLast - report.heapFirst;
  t.diagnostic(`heap after the last third: ${Math.round(grown / 1024)} KiB more than after the first`);
  assert.ok(grown < HEAP_TOLERANCE_BYTES, `seed ${seed}: the heap grew by ${grown} bytes`);
});
