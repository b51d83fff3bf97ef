// Where the agent's own files are: the home folder. Read from the environment here and nowhere else.
import { homedir } from "node:os";
import { join } from "node:path";

import { absolutePath } from "./absolute-path.js";
import { ConfigError } from "./errors.js";

/**
 * @returns {string} absolute: LITE_AGENT_HOME, else `.lite-agent` in the user's home directory
 * @throws {ConfigError} when there is neither
 */
export function defaultHome() {
  const named = process.env.LITE_AGENT_HOME;
  if (named !== undefined && named !== "") return absolutePath("LITE_AGENT_HOME", named);
  try {
    return join(homedir(), ".lite-agent");
  } catch (cause) {
    throw new ConfigError(`home must be given: the user's home directory is not known: ${cause.message}`, { cause });
  }
}
