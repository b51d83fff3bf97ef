// npm run build, npm run build:debug: builds the addon, and brings binding.d.cts, which is kept in the repository, in line
// with it.

import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { buildAddon } from "./addon.mjs";
import { installDependencies } from "./dependencies.mjs";
import { root, runMain, StepError } from "./process.mjs";
import { checkToolchain } from "./toolchain.mjs";

await runMain(async ([profile]) => {
  if (profile !== "release" && profile !== "debug") {
    throw new StepError(`the profile must be release or debug, got ${profile}`);
  }
  checkToolchain();
  await installDependencies();
  const generated = await buildAddon(profile);
  copyFileSync(join(generated, "binding.d.cts"), join(root, "binding.d.cts"));
});
