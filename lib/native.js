// Loads the addon: the file that a build left in a checkout, else the platform's package. Knows where the addon may lie,
// and nothing of what it does. Not the loader that napi generates: that one also takes paths from the environment, falls
// back to WebAssembly, and looks for packages under names that this project does not hold.

import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

const require = createRequire(import.meta.url);

/** The platforms that are built, by `process.platform` and `process.arch`. */
const BUILT = {
  "linux-x64": { file: "lite-agent.linux-x64-gnu.node", package: "@lite-agent/binding-linux-x64-gnu" },
};

const loaded = loadNative();
/** @type {typeof import("../binding.d.cts")} */
export const native = loaded.addon;
/** Where the addon lies; the supervisor of commands is beside it. */
export const addonFolder = dirname(loaded.path);

function loadNative() {
  const platform = `${process.platform}-${process.arch}`;
  const built = BUILT[platform];
  if (built === undefined) {
    throw new Error(`lite-agent is not built for ${platform} yet, only for ${Object.keys(BUILT).join(", ")} (glibc)`);
  }
  const beside = fileURLToPath(new URL(`../${built.file}`, import.meta.url));
  if (existsSync(beside)) return load(beside, beside);
  let resolved;
  try {
    resolved = require.resolve(built.package);
  } catch (cause) {
    throw new Error(
      `the native part of lite-agent is missing: there is neither ${beside} nor the package ${built.package}. ` +
        "In a checkout, run `npm run build`. In a project, install lite-agent again without --omit=optional " +
        "(--no-optional), on the platform where it will run",
      { cause },
    );
  }
  return load(resolved, built.package);
}

function load(path, place) {
  try {
    return { addon: require(path), path };
  } catch (cause) {
    throw new Error(
      `the native part of lite-agent at ${place} cannot be loaded: ${cause.message}. ` +
        "It needs glibc: on another C library, or after a change of Node or of the platform, install lite-agent again " +
        "where it will run (in a checkout, `npm run build`)",
      { cause },
    );
  }
}
