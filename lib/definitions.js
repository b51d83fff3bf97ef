// Definitions of child agents and skills: where they are looked for. They are read once, when the agent is made, by the core.
import { join } from "node:path";

import { ConfigError, errorOfHookFile } from "./errors.js";
import { native } from "./native.js";

const PROJECT = ".lite-agent";

/**
 * @param {{ home: string, workdir: string, hookFiles: boolean, agents: boolean, agentsDir?: string, skillsDir?: string }} checked
 * @returns {{ agents: readonly object[], skills: readonly object[] }} `{ name, description, prompt, tools?, model? }` and
 *   `{ name, description, tags, folder }`, by name
 * @throws {ConfigError} naming the file
 */
export function loadDefinitions({ home, workdir, hookFiles, agents, agentsDir, skillsDir }) {
  const folders = (kind, own) => {
    const usual = [join(home, kind), join(workdir, PROJECT, kind)];
    return own === undefined ? usual : [...usual, own];
  };
  let json;
  try {
    json = native.loadDefinitions(
      JSON.stringify({
        agents: agents ? folders("agents", agentsDir) : undefined,
        skills: folders("skills", skillsDir),
      }),
    );
  } catch (error) {
    if (error.code !== "definition") throw error;
    // A folder that cannot be entered is in the way of hooks.json as well, which is told first.
    if (hookFiles) checkHookFiles(home, workdir);
    const { message, file } = JSON.parse(error.message);
    throw new ConfigError(message, { file });
  }
  return JSON.parse(json);
}

/** @throws {ConfigError} where a hooks.json file cannot be used */
function checkHookFiles(home, workdir) {
  try {
    native.checkHookFiles(home, workdir);
  } catch (error) {
    throw error.code === "hook_file" ? errorOfHookFile(error) : error;
  }
}
