// Starts the programs that the scripts need, and says what is being done. Knows no step of any of them.

import { spawn } from "node:child_process";
import { realpathSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

export const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** A failure that is told by its message alone: where it came from in the scripts is of no interest. */
export class StepError extends Error {}

/** Says it on stderr, so that what a script prints as its result stays clean. */
export function say(text) {
  process.stderr.write(`[set-up] ${text}\n`);
}

/**
 * Runs a program in the project's folder and waits for its end.
 * @param {string} program
 * @param {string[]} words
 * @param {{ env?: Record<string, string>, output?: "inherit" | "stderr", onLine?: (line: string) => void }} [options]
 *   `onLine` gets each line of stdout, which is still shown
 * @returns {Promise<number>} the exit code; 128 for a signal
 */
export function run(program, words, { env = {}, output = "inherit", onLine } = {}) {
  return new Promise((resolve, reject) => {
    const stdout = onLine === undefined ? (output === "stderr" ? 2 : "inherit") : "pipe";
    const child = spawn(program, words, {
      cwd: root,
      env: { ...process.env, ...env },
      stdio: ["inherit", stdout, "inherit"],
    });
    let rest = "";
    child.stdout?.setEncoding("utf8").on("data", (text) => {
      process.stdout.write(text);
      const lines = (rest + text).split("\n");
      rest = lines.pop();
      lines.forEach(onLine);
    });
    child.on("error", (cause) => reject(new StepError(`${program} cannot be started: ${cause.message}`)));
    child.on("close", (code) => {
      if (rest !== "") onLine(rest);
      resolve(code ?? 128);
    });
  });
}

/** Whether this module is what Node was started with. */
export function isMain(address) {
  return process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(address);
}

/** Runs a script's `main`; its number, if it returns one, becomes the exit code. */
export async function runMain(main) {
  try {
    process.exitCode = (await main(process.argv.slice(2))) ?? 0;
  } catch (error) {
    process.stderr.write(`${error instanceof StepError ? `error: ${error.message}` : error.stack}\n`);
    process.exitCode = 1;
  }
}
