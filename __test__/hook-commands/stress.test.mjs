// Many runs with hook commands of every kind that are stopped at any moment: the right diagnostics, and nothing left alive.
// LITE_AGENT_SEED repeats a round; LITE_AGENT_LONG=1 makes it ten times as long.
import { test } from "node:test";
import assert from "node:assert/strict";
import { runFile } from "../support/child.mjs";

const seed = Number(process.env.LITE_AGENT_SEED ?? Date.now() % 2 ** 31);
const runs = process.env.LITE_AGENT_LONG === "1" ? 1_000 : 100;

test(`${runs} runs with commands of every kind, stopped at random moments, have the right diagnostics and leave nothing`, async (t) => {
  t.diagnostic(`seed ${seed}: repeat with LITE_AGENT_SEED=${seed}`);
  const { code, signal, stdout, stderr, overdue } = await runFile(new URL("./stress-process.mjs", import.meta.url), {
    arguments: [String(seed), String(runs)],
    limitMs: runs * 3_000,
  });
  assert.equal(
    overdue,
    false,
    `seed ${seed}: the process did not end; ${stdout.slice(0, 2_000)} ${stderr.slice(0, 2_000)}`,
  );
  assert.deepEqual([code, signal, stderr], [0, null, ""], `seed ${seed}`);
  const { violations, outcomes } = JSON.parse(stdout);
  t.diagnostic(JSON.stringify(outcomes));
  assert.deepEqual(violations, [], `seed ${seed}`);
  assert.ok(
    outcomes.whole > 0 && outcomes.signal > 0 && outcomes.break > 0,
    `seed ${seed}: ${JSON.stringify(outcomes)}`,
  );
});
