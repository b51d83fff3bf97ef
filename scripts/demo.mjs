// npm run demo: sets up what is missing and runs the demo, with the words that follow `--`.

import { run, runMain } from "./process.mjs";
import { setUp } from "./setup.mjs";

await runMain(async (words) => {
  await setUp();
  return run(process.execPath, ["examples/demo/main.mjs", ...words]);
});
