// Makes the agents that are measured: in an empty folder, with a home that has no hooks.json. Knows the public face
// only.
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLiteAgent, tool } from "../index.js";

const root = mkdtempSync(join(tmpdir(), "lite-agent-bench-"));
const workdir = join(root, "work");
const home = join(root, "home");
mkdirSync(workdir);
mkdirSync(home);
process.on("exit", () => rmSync(root, { recursive: true, force: true }));

/** A tool that does nothing, for lite-agent and for the baseline. */
export const nothing = tool("nothing", "does nothing", { type: "object" }, async () => "ok");

/** @param {object} config */
export function makeAgent(config) {
  return createLiteAgent({ workdir, home, ...config });
}
