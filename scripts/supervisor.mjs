// Builds the supervisor, the small program that owns a command. Static where the C library can be linked so, else
// dynamic: nothing is ever fetched for it. `tests/commands/mod.rs` builds it in the same way.

import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { root, run, StepError } from "./process.mjs";

export const SUPERVISOR = "lite-agent-supervisor";
/** Where it lies in a checkout: beside the addon. */
export const supervisorFile = join(root, SUPERVISOR);

/**
 * The same program whatever the addon's profile is: it is built in seconds.
 * @param {string[]} cargoWords
 * @returns {Promise<string>} the program that was built
 */
export async function buildSupervisor(cargoWords) {
  // A folder of its own, and flags for this one program: the addon's dependencies are not built anew for it.
  const words = ["rustc", "--package", SUPERVISOR, "--bin", SUPERVISOR, "--profile", "supervisor", ...cargoWords];
  // At a fixed address, which saves what starting it would spend on moving itself.
  const linkage = hasStaticLibrary() ? ["--", "-Ctarget-feature=+crt-static", "-Crelocation-model=static"] : [];
  const code = await run("cargo", [...words, "--target-dir", "target/supervisor", ...linkage], { output: "stderr" });
  if (code !== 0) throw new StepError(`the build of the supervisor failed with ${code}: see above`);
  return join(root, "target", "supervisor", "supervisor", SUPERVISOR);
}

/** The compiler names the file with its folder if there is one. */
function hasStaticLibrary() {
  const { stdout } = spawnSync("cc", ["-print-file-name=libc.a"], { encoding: "utf8" });
  return stdout?.startsWith("/") ?? false;
}
