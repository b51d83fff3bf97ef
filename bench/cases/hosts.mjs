// The hosts in which commands are measured: processes of their own, small and large, for what a spawn costs may grow
// with the memory of whoever spawns.
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const HOSTS = [
  ["50 MB", 50],
  ["1 GB", 1024],
];

/**
 * Runs a script of this folder in each host; it gets `{ megabytes, pace }` as its argument and prints JSON.
 * @returns {AsyncGenerator<[string, Record<string, any>]>} the host's size, and what it measured
 */
export async function* eachHost(script, pace) {
  const file = fileURLToPath(new URL(script, import.meta.url));
  for (const [label, megabytes] of HOSTS) {
    const { stdout } = await promisify(execFile)(process.execPath, [file, JSON.stringify({ megabytes, pace })]);
    yield [label, JSON.parse(stdout)];
  }
}
