// What a custom tool records of a file that it is about to change. Knows nothing of how files are put back.
import { AgentError, ToolError } from "../errors.js";
import { lookAtLeftBehind } from "./left-behind.js";
import { storeEvents } from "./records.js";

const ENCODINGS = ["utf8", "base64"];
/** Base64 text, padded. */
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** `recordSnapshot` of the context of one call. */
export class SnapshotRecorder {
  #family;
  #run;
  #callId;
  #paths = new Set();
  #over = false;

  constructor(family, run, callId) {
    this.#family = family;
    this.#run = run;
    this.#callId = callId;
  }

  /** The call has its result, or was given up. What it left is looked at now: whoever hears of the result may change it. */
  end() {
    this.#over = true;
    if (this.#paths.size > 0)
      lookAtLeftBehind(this.#run, this.#callId, this.#paths, this.#family.parts.workingFolder());
  }

  /** @see ToolContext.recordSnapshot */
  async record(path, before, truncated, encoding) {
    check(path, before, truncated, encoding);
    const canonical = await this.#family.parts.workingFolder().resolve(path);
    if (canonical === ".")
      throw new ToolError("recordSnapshot: path names the working folder itself, not a file in it");
    if (this.#over) {
      throw new AgentError("recordSnapshot was called after the call was over: its file must not be changed any more");
    }
    const event = { type: "file_snapshot", path: canonical, before };
    if (truncated) event.truncated = true;
    if (encoding !== undefined && before !== null) event.encoding = encoding;
    event.turn = this.#run.turn;
    this.#paths.add(canonical);
    await storeEvents(this.#run, [Object.freeze(event)]);
  }
}

/** @throws {TypeError} */
function check(path, before, truncated, encoding) {
  if (typeof path !== "string" || path === "") {
    throw new TypeError(
      `recordSnapshot: path must be a string that is not empty, got ${path === "" ? '""' : typeof path}`,
    );
  }
  if (before !== null && typeof before !== "string") {
    throw new TypeError(
      `recordSnapshot: before must be a string, or null where there was no file, got ${typeof before}`,
    );
  }
  if (truncated !== undefined && typeof truncated !== "boolean") {
    throw new TypeError(`recordSnapshot: truncated must be true or false, got ${typeof truncated}`);
  }
  if (encoding !== undefined && !ENCODINGS.includes(encoding)) {
    const got = typeof encoding === "string" ? JSON.stringify(encoding) : typeof encoding;
    throw new TypeError(`recordSnapshot: encoding must be "utf8" or "base64", got ${got}`);
  }
  if (before === null) return;
  if (encoding === "base64" && !BASE64.test(before)) {
    throw new TypeError("recordSnapshot: before is no base64 text, though encoding says so");
  }
  if (encoding !== "base64" && !before.isWellFormed()) {
    throw new TypeError(
      'recordSnapshot: before holds half of a surrogate pair, so it is no file\'s text; use "base64"',
    );
  }
}
