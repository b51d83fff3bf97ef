// The working folder beside the tools: which file a path means, and files that are put back. What is safe is the core's
// business; here are the calls.
import { AgentError, ToolError, errorFromData } from "./errors.js";
import { NativeOperations } from "./native-operations.js";
import { native } from "./native.js";

const FUNCTIONS = { make: native.filesNew, start: native.filesStart, take: native.filesTake };
/** The code of what the core says of a file. */
const FILE_ERROR = "file_error";

export class WorkingFolder {
  #options;
  #operations;

  /** @param {{ workdir: string, denySymlinks: boolean }} options */
  constructor(options) {
    this.#options = options;
    this.#operations = new NativeOperations(FUNCTIONS, options, (data) =>
      data.code === FILE_ERROR ? new ToolError(data.message) : errorFromData(data),
    );
  }

  /**
   * @param {string} path absolute, or relative to the folder
   * @returns {Promise<string>} the canonical path: relative, links resolved
   * @throws {ToolError} when it leads outside
   */
  async resolve(path) {
    return await this.#operations.start({ do: "resolve", path }).over;
  }

  /**
   * @param {string} path canonical
   * @returns {Promise<string | null | undefined>} SHA-256 of what the file holds, null where there is none; undefined where
   *   that cannot be told
   */
  async digest(path) {
    try {
      const digest = await this.#operations.start({ do: "digest", path }).over;
      return digest === "" ? null : (digest ?? undefined);
    } catch {
      // The folder is gone.
      return undefined;
    }
  }

  /** @returns {FileRestoration} in this folder */
  restoration() {
    return new FileRestoration(this.#options);
  }
}

/** Files that are put back, all or none. Ends with `undo` or `keep`, whatever happens. */
class FileRestoration {
  #operations;

  constructor(options) {
    this.#operations = new NativeOperations(FUNCTIONS, options, (data) =>
      data.code === FILE_ERROR ? new AgentError(data.message, { code: "restore_failed" }) : errorFromData(data),
    );
  }

  /**
   * Looks whether a file can be put back; those that can wait for `putBackNext`.
   * @param {{ path: string, before: string | null, encoding?: "utf8" | "base64" }} target
   * @param {{ digests: string[], mayBeAbsent: boolean, isKnown: boolean }} left how the agent left the file
   * @returns {Promise<{ ready: boolean } | { skipped: string }>} `ready: false` where there is nothing to do
   * @throws {AgentError} when it cannot be written, with the code `restore_failed`
   */
  async check({ path, before, encoding }, left) {
    const operation = { do: "check", path, absent: before === null, base64: encoding === "base64", ...left };
    return await this.#operations.start(operation, before ?? undefined).over;
  }

  async putBackNext() {
    await this.#operations.start({ do: "putBack" }).over;
  }

  /** @returns {Promise<string[]>} what could not be undone */
  async undo() {
    return await this.#operations.start({ do: "undo" }).over;
  }

  /** @returns {Promise<string[]>} what could not be removed of what was replaced */
  async keep() {
    return await this.#operations.start({ do: "keep" }).over;
  }
}
