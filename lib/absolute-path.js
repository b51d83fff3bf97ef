// Paths of options as absolute ones. The process may have no current directory: it was removed, say. Knows no option, and
// reads no file.
import { resolve } from "node:path";

import { ConfigError } from "./errors.js";

/**
 * @param {string} name of the option, for the message
 * @param {string} path a relative one is relative to the current directory
 * @returns {string}
 * @throws {ConfigError} for a relative path where there is no current directory
 */
export function absolutePath(name, path) {
  try {
    return resolve(path);
  } catch (cause) {
    throw new ConfigError(`${name} must be an absolute path: the process has no current directory: ${cause.message}`, {
      cause,
    });
  }
}
