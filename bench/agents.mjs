// Makes the agents that are measured, and folders for them: by default an empty one, with a home that has no hooks.json,
// and without stored sessions, so that what is measured is what the section names. Knows the public face only.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
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
  return createLiteAgent({ workdir, home, sessions: false, ...config });
}

/** A new folder, gone when the process ends. */
export function makeFolder() {
  return mkdtempSync(join(root, "folder-"));
}

/** A new workdir with a hooks.json. @param {Record<string, object[]>} hooks */
export function makeProject(hooks) {
  const folder = makeFolder();
  mkdirSync(join(folder, ".lite-agent"));
  writeFileSync(join(folder, ".lite-agent", "hooks.json"), JSON.stringify({ version: 1, hooks }));
  return folder;
}

/**
 * What an agent's events say went wrong: a failed call or hook would be measured as a quick one.
 * @returns {() => void} throws if there was any
 */
export function watchFailures(agent) {
  let failure;
  agent.subscribe(({ event }) => {
    if (event.type === "diagnostic" && event.level === "error") failure ??= event.message;
    if (event.type === "tool_result" && event.result.isError) failure ??= String(event.result.content);
  });
  return () => {
    if (failure !== undefined) throw new Error(`what was to be measured failed: ${failure}`);
  };
}
