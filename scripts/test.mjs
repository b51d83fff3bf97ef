// npm test: sets up what is missing, then runs the Rust tests and the Node tests, and counts both.
//
//   npm test                     all of them, the long proofs at a tenth
//   npm run test:long            all of them, the long proofs in full
//   npm test -- hooks/deadlines  only the Node tests whose path has this

import { isMain, runMain } from "./process.mjs";
import { runNodeTests } from "./node-tests.mjs";
import { runRustTests } from "./rust-tests.mjs";
import { setUp } from "./setup.mjs";
import { Tally } from "./tally.mjs";

/** @returns {Promise<number>} the exit code */
export async function runTests(words) {
  const long = words.includes("--long") || process.env.LITE_AGENT_LONG === "1";
  if (long) process.env.LITE_AGENT_LONG = "1";
  const only = words.filter((word) => word !== "--long");
  await setUp();
  const tally = new Tally();
  if (only.length === 0) await runRustTests(tally);
  await runNodeTests(tally, { only, long });
  return tally.conclude();
}

if (isMain(import.meta.url)) await runMain(runTests);
