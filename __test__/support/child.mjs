// Runs a piece of JavaScript in a Node process of its own: for what only a whole process can show (exit, unhandled
// rejections, memory). Knows the public face only, by its address.
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

const packageAddress = new URL("../../index.js", import.meta.url).href;
const supportAddress = new URL("./model.mjs", import.meta.url).href;

/** Import lines for a script: `lite` is the package, `support` is model.mjs, `work` a folder of the process's own. */
const prelude = `
import * as lite from ${JSON.stringify(packageAddress)};
import * as support from ${JSON.stringify(supportAddress)};
import { mkdtempSync, mkdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
const work = mkdtempSync(join(tmpdir(), "lite-agent-child-"));
mkdirSync(join(work, "home"));
process.on("exit", () => rmSync(work, { recursive: true, force: true }));
const makeAgent = (config = {}) => lite.createLiteAgent({
  workdir: work, home: join(work, "home"), model: support.scriptedModel([{ text: "ok" }]), ...config });
`;

/**
 * Runs `script` (an ES module; `lite`, `support`, `work` and `makeAgent(config)` are in scope). The process must end by
 * itself; after `limitMs` it is killed and `overdue` is true.
 * @param {string} script
 * @param {{ flags?: string[], env?: Record<string, string>, limitMs?: number }} [options]
 * @returns {Promise<{ code: number | null, signal: string | null, stdout: string, stderr: string, overdue: boolean }>}
 */
export function runChild(script, { flags = ["--unhandled-rejections=strict"], env = {}, limitMs = 60_000 } = {}) {
  return runNode([...flags, "--input-type=module", "--eval", prelude + script], { env, limitMs });
}

/** Runs a file in the same way, without the prelude. */
export function runFile(
  file,
  { flags = ["--unhandled-rejections=strict"], env = {}, limitMs = 60_000, arguments: given = [] } = {},
) {
  return runNode([...flags, file instanceof URL ? fileURLToPath(file) : file, ...given], { env, limitMs });
}

function runNode(argv, { env, limitMs }) {
  return new Promise((resolve, reject) => {
    // A test runner's own channel must not be inherited: its protocol would mix with the script's output.
    const { NODE_TEST_CONTEXT: _, NODE_OPTIONS: __, ...inherited } = process.env;
    const child = spawn(process.execPath, argv, { env: { ...inherited, ...env }, stdio: ["ignore", "pipe", "pipe"] });
    let stdout = "";
    let stderr = "";
    let overdue = false;
    child.stdout.setEncoding("utf8").on("data", (text) => {
      stdout += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text) => {
      stderr += text;
    });
    const timer = setTimeout(() => {
      overdue = true;
      child.kill("SIGKILL");
    }, limitMs);
    child.on("error", reject);
    child.on("close", (code, signal) => {
      clearTimeout(timer);
      resolve({ code, signal, stdout, stderr, overdue });
    });
  });
}
