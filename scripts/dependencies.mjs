// Brings node_modules in line with package-lock.json. Knows nothing of what the packages are for.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root, run, say, StepError } from "./process.mjs";

/** @returns {Promise<boolean>} whether something had to be installed */
export async function installDependencies() {
  const why = whyStale();
  if (why === null) return false;
  say(`installing the development packages (npm ci), because ${why}`);
  // Errors only: that a package of a package names a newer Node than it needs is nothing to read here.
  const words = ["ci", "--no-audit", "--no-fund", "--loglevel=error"];
  const code = await run("npm", words, { output: "stderr" });
  if (code !== 0) throw new StepError(`npm ci failed with ${code}: see above`);
  return true;
}

/** Compares with the lockfile that npm keeps of what it installed; dates would say nothing, git sets them anew. */
function whyStale() {
  const installed = readPackages(join(root, "node_modules", ".package-lock.json"));
  if (installed === null) return "node_modules is missing";
  for (const [path, wanted] of Object.entries(readPackages(join(root, "package-lock.json")) ?? {})) {
    if (!path.startsWith("node_modules/")) continue;
    const found = installed[path];
    // npm leaves out optional packages of other platforms.
    if (found === undefined && wanted.optional) continue;
    if (found?.version !== wanted.version || !existsSync(join(root, path))) {
      return `${path} is not what package-lock.json says`;
    }
  }
  return null;
}

function readPackages(file) {
  try {
    return JSON.parse(readFileSync(file, "utf8")).packages;
  } catch (error) {
    if (error.code === "ENOENT") return null;
    throw error;
  }
}
