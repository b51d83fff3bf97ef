// Runs the tests of the pure library with cargo and reads their results from what it prints: the stable test harness has
// no other form.

import { run } from "./process.mjs";

/** @param {import("./tally.mjs").Tally} tally */
export async function runRustTests(tally) {
  let results = 0;
  const failures = tally.failures;
  const code = await run(
    "cargo",
    [
      "test",
      "--workspace",
      "--no-default-features",
      "--features",
      "lite-agent/sqlite",
      "--no-fail-fast",
      ...lockWords(),
    ],
    {
      // Colours would stand between the words that are looked for.
      env: { CARGO_TERM_COLOR: "never" },
      onLine(line) {
        const ignored = /^test (.+) \.\.\. ignored(?:, (.*))?$/.exec(line);
        if (ignored !== null) tally.add({ name: `cargo > ${ignored[1]}`, outcome: "skipped", reason: ignored[2] });
        const failed = /^test (.+) \.\.\. FAILED$/.exec(line);
        if (failed !== null) tally.add({ name: `cargo > ${failed[1]}`, outcome: "failed" });
        const result = /^test result: \w+\. (\d+) passed;/.exec(line);
        if (result === null) return;
        results += 1;
        tally.addPassed(Number(result[1]));
      },
    },
  );
  if (code !== 0 && tally.failures === failures) tally.addProblem(`cargo test ended with ${code}: see above`);
  else if (results === 0) tally.addProblem("cargo test reported no result");
}

/** See addon.mjs: only CI insists on the lockfile. */
function lockWords() {
  return process.env.CI ? ["--locked"] : [];
}
