// Where what belongs to one project is kept: a folder of the home that is named after the project's own.
import { createHash } from "node:crypto";
import { realpathSync } from "node:fs";
import { join } from "node:path";

import { absolutePath } from "../absolute-path.js";
import { ConfigError } from "../errors.js";
import { defaultHome } from "../home.js";

/** 16 hexadecimal digits tell projects apart: nobody chooses them. */
const HASH_LENGTH = 16;

/**
 * @param {{ workdir: string, home?: string }} options relative paths resolve against process.cwd()
 * @returns {{ home: string, hash: string, sessionsDir: string, tasksDir: string }} absolute; nothing is made on the disk.
 *   `hash` is of the folder's real path, so that a link to a project is that project
 * @throws {TypeError | ConfigError}
 */
export function resolveProjectPaths(options) {
  if (typeof options !== "object" || options === null) {
    throw new TypeError("resolveProjectPaths: the options must be an object");
  }
  const { workdir, home } = options;
  for (const [name, value] of Object.entries({ workdir, home })) {
    if (name === "home" && value === undefined) continue;
    if (typeof value !== "string" || value === "") {
      throw new ConfigError(`${name} must be a string that is not empty, got ${value === "" ? '""' : typeof value}`);
    }
  }
  const absoluteHome = home === undefined ? defaultHome() : absolutePath("home", home);
  const hash = createHash("sha256")
    .update(realPath(absolutePath("workdir", workdir)))
    .digest("hex")
    .slice(0, HASH_LENGTH);
  const project = join(absoluteHome, "projects", hash);
  return { home: absoluteHome, hash, sessionsDir: join(project, "sessions"), tasksDir: join(project, "tasks") };
}

function realPath(path) {
  try {
    return realpathSync.native(path);
  } catch (error) {
    if (error.code === "ENOENT") return path;
    throw new ConfigError(`workdir must be a directory that can be reached, got "${path}": ${error.message}`, {
      cause: error,
    });
  }
}
