// npm run bench: sets up what is missing and runs the benchmarks, with the words that follow `--`.

import { run, runMain } from "./process.mjs";
import { FAST_BUILDS, setUp } from "./setup.mjs";

await runMain(async (words) => {
  await setUp(FAST_BUILDS);
  return run(process.execPath, ["bench/main.mjs", ...words]);
});
