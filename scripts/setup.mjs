// Makes a clone ready to run: checks Node and cargo, installs the development packages, builds the addon. Says each step
// that it takes and does nothing twice. Everything that needs the addon begins with this.

import { ensureAddon } from "./addon.mjs";
import { installDependencies } from "./dependencies.mjs";
import { isMain, runMain, say } from "./process.mjs";
import { checkToolchain } from "./toolchain.mjs";

/** Builds that will do where speed is not what is asked for. */
const ANY_BUILD = ["ci", "release", "debug"];

/** Builds whose speed says something. */
export const FAST_BUILDS = ["ci", "release"];

/** @param {string[]} builds the profiles of the addon that will do; the first is built where none of them is there */
export async function setUp(builds = ANY_BUILD) {
  checkToolchain();
  const installed = await installDependencies();
  const built = await ensureAddon(builds);
  say(installed || built ? "done" : "nothing to do");
}

if (isMain(import.meta.url)) await runMain(() => setUp());
