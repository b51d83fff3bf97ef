// Agents with hooks.json files of their own, their runs, and what the commands left. Knows the public face only.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { policy } from "../../index.js";
import {
  agentFor,
  collectUntilError,
  hookFailures,
  plainTool,
  scriptedModel,
  temporaryFolder,
  within,
} from "../support/model.mjs";

export const ALL_EVENTS = ["run:start", "run:end", "tool:start", "tool:end", "compact:start", "compact:end"];

/** The text of a file with these hooks. */
export const fileOf = (hooks) => JSON.stringify({ version: 1, hooks });

/** Folders with hooks.json files: `project` and `global` are hooks, or the very text or bytes of the file. */
export async function hookFolder(t, { project, global } = {}) {
  const folder = await temporaryFolder(t);
  const projectFile = join(folder.workdir, ".lite-agent", "hooks.json");
  const globalFile = join(folder.home, "hooks.json");
  mkdirSync(join(folder.workdir, ".lite-agent"));
  const write = (file, content) => {
    if (content === undefined) return;
    writeFileSync(file, typeof content === "string" || Buffer.isBuffer(content) ? content : fileOf(content));
  };
  write(projectFile, project);
  write(globalFile, global);
  /** What a command wrote into a file of the workdir; undefined where it is not there. */
  const read = (name) => {
    try {
      return readFileSync(join(folder.workdir, name), "utf8");
    } catch (error) {
      if (error.code === "ENOENT") return undefined;
      throw error;
    }
  };
  const lines = (name) => (read(name) ?? "").split("\n").filter((line) => line !== "");
  return {
    ...folder,
    projectFile,
    globalFile,
    read,
    lines,
    events: (name) => lines(name).map((line) => JSON.parse(line)),
  };
}

/** An agent over such folders, with the tools `work` (answers `worked`) and `other`; `calls` are those of its first turn. */
export async function hookAgent(t, { project, global, calls, ...config }) {
  const folder = await hookFolder(t, { project, global });
  const model = config.model ?? scriptedModel([...(calls ? [{ calls }] : []), { text: "done" }]);
  const tools = [plainTool("work", () => "worked"), plainTool("other", () => "other")];
  const { workdir, home } = folder;
  const agent = agentFor(t, { workdir, home, sessions: false, permission: policy(), tools, ...config, model });
  const heard = [];
  agent.subscribe(({ event }) => heard.push(event));
  return { ...folder, workdir: config.workdir ?? workdir, agent, model, heard };
}

/** One run of such an agent, to its end. */
export async function runHooked(t, given, options) {
  const made = await hookAgent(t, given);
  const {
    events: stream,
    result,
    error,
  } = await within(collectUntilError(made.agent.run("go", options)), "the run", 60_000);
  const failures = hookFailures(stream);
  return { ...made, stream, result, error, failures, reasons: failures.map(({ hook }) => hook.reason) };
}

export const call = (id = "call-1", name = "work", input = {}) => ({ id, name, input });
