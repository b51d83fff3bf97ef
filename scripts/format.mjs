// npm run format: brings Rust and JavaScript into the one form that `npm run check` asks for.

import { join } from "node:path";
import { installDependencies } from "./dependencies.mjs";
import { isMain, root, run, runMain } from "./process.mjs";

/** Patterns for prettier, which resolves them itself: no shell is asked. */
const FORMATTED = ["*.{js,ts,cts}", "{lib,scripts,bench,examples,__test__}/**/*.{js,mjs,cjs,ts,cts}"];

/**
 * @param {"--write" | "--check"} mode
 * @returns {Promise<number>} prettier's exit code
 */
export function prettier(mode) {
  const program = join(root, "node_modules", "prettier", "bin", "prettier.cjs");
  return run(process.execPath, [program, mode, "--log-level", "warn", ...FORMATTED]);
}

if (isMain(import.meta.url)) {
  await runMain(async () => {
    await installDependencies();
    const rust = await run("cargo", ["fmt", "--all"]);
    return (await prettier("--write")) || rust;
  });
}
