// Takes a session back to an earlier event: each file that the agent changed since goes back to its earliest snapshot, then
// the log is cut. How a file is put back safely is the core's business.
import { createHash } from "node:crypto";

import { callbackFrame, inFrame } from "../context.js";
import { AgentError, CheckpointConflictError, ConfigError } from "../errors.js";
import { isOverdue, yieldToEventLoop } from "../fairness.js";
import { tellManual } from "../listeners.js";
import { defaultRedactor, redactTextBy } from "../redact.js";
import { onAbort } from "../signals.js";
import { describeThrown } from "../thrown.js";
import { eventProblem } from "./fold.js";
import { checkSequence } from "./memory.js";
import { PLACED } from "./own.js";
import { readingOf } from "./reading.js";

const NOT_KEPT = "what it held was too much to keep";

/**
 * What a restoration changes.
 * @typedef {object} Scope
 * @property {boolean} conversation cut the log
 * @property {boolean} files put files back
 * @property {AbortSignal} [signal]
 */

/**
 * @param {unknown} toSeq
 * @param {Scope} scope
 * @param {object} checkpointer
 * @throws {TypeError | ConfigError}
 */
export function checkRestore(toSeq, { conversation, files }, checkpointer) {
  checkSequence("restore: toSeq", toSeq);
  if (!conversation && !files) {
    throw new ConfigError("restore: conversation and files are both false, so there is nothing to restore");
  }
  if (conversation && checkpointer.truncate === undefined) {
    throw new ConfigError(
      "restore: the checkpointer has no truncate(), so its log cannot be cut; pass conversation: false to restore files alone",
    );
  }
}

/**
 * Must have the session's place.
 * @param {import("../family.js").Family} family
 * @param {object} checkpointer
 * @param {string} sessionId
 * @param {number} toSeq
 * @param {Scope} scope
 * @returns {Promise<{ restoredFiles: string[], skippedFiles: { path: string, reason: string }[] }>}
 */
export async function restore(family, checkpointer, sessionId, toSeq, scope) {
  const store = new Store(family, checkpointer, sessionId);
  throwIfAborted(scope.signal);
  const { head, changes } = await store.read(toSeq, scope);
  if (toSeq > head) {
    throw new ConfigError(`restore: toSeq is ${toSeq}, but the log of session ${sessionId} ends at ${head}`);
  }
  const progress = new Progress(family, sessionId, toSeq, changes.length);
  const files = family.parts.workingFolder().restoration();
  progress.tell("start");
  let outcome;
  try {
    outcome = await putBack(files, changes, progress, scope.signal);
    if (scope.conversation && toSeq < head) await store.truncate(toSeq, head);
  } catch (error) {
    const failure = withProblems(error, await files.undo());
    progress.tell("error", describeThrown(failure).message);
    throw failure;
  }
  const leftOver = await files.keep();
  progress.tell("done", leftOver.length > 0 ? leftOver.join("; ") : undefined);
  return outcome;
}

function throwIfAborted(signal) {
  if (signal?.aborted) throw signal.reason;
}

/** Puts files back one after another, all checked first. */
async function putBack(files, changes, progress, signal) {
  const restoredFiles = [];
  const skippedFiles = [];
  const reasons = new Map();
  const waiting = new Set();
  for (const change of changes) {
    throwIfAborted(signal);
    const { skipped, ready } = change.truncated ? { skipped: NOT_KEPT } : await files.check(change, change.left());
    if (skipped !== undefined) reasons.set(change.path, skipped);
    else if (ready) waiting.add(change.path);
  }
  for (const { path } of changes) {
    throwIfAborted(signal);
    const reason = reasons.get(path);
    if (reason === undefined) {
      if (waiting.has(path)) await files.putBackNext();
      restoredFiles.push(path);
    } else {
      skippedFiles.push({ path, reason });
    }
    progress.tell("progress", reason === undefined ? path : `${path} is left as it is: ${reason}`);
  }
  throwIfAborted(signal);
  return { restoredFiles, skippedFiles };
}

/** What happened to one file since. */
class FileChange {
  /** How the agent may have left it: digests, null for a file that there is not. */
  #left = new Set();
  /** The turn of the last change. */
  #turn = -1;
  /** How it was left if the changes of that turn were not made. */
  #untouched = new Set();
  /** A custom tool changed it in that turn, of which nobody knows yet what it wrote. */
  #isOpen = false;

  constructor({ path, before, truncated, encoding }) {
    this.path = path;
    this.before = truncated ? null : before;
    this.truncated = truncated === true;
    this.encoding = encoding;
  }

  /** @param {number} turn changes of one turn may have been made in any order */
  add(snapshot, turn) {
    if (turn !== this.#turn) {
      this.#turn = turn;
      this.#isOpen = false;
      // A change that was recorded may not have been made: what the file held before this one shows whether it was.
      const held = snapshot.truncated ? undefined : digestOf(snapshot);
      this.#untouched = held === undefined ? this.#left : new Set(this.#left.has(held) ? [held] : []);
      this.#left = new Set(this.#untouched);
    }
    const { after } = snapshot;
    this.#isOpen ||= after === undefined;
    if (after !== undefined) this.#left.add(after);
  }

  /** A call came to its end, and left the file so. */
  answered(after) {
    if (this.#isOpen) for (const state of this.#untouched) this.#left.delete(state);
    this.#isOpen = false;
    this.#left.add(after);
  }

  /** How the agent left the file. */
  left() {
    const digests = [...this.#left].filter((state) => state !== null);
    return { digests, mayBeAbsent: this.#isOpen || this.#left.has(null), isKnown: !this.#isOpen };
  }
}

/** How a call left the files that it had recorded; nothing where the log does not say so. */
function filesOf({ files }) {
  const isDigest = (after) => after === null || typeof after === "string";
  return Array.isArray(files) ? files.filter((file) => typeof file?.path === "string" && isDigest(file.after)) : [];
}

function digestOf({ before, encoding }) {
  if (before === null) return null;
  return createHash("sha256")
    .update(before, encoding === "base64" ? "base64" : "utf8")
    .digest("hex");
}

/** The session's log, asked in a callback's frame: a store of the host that waits for the session would wait for itself. */
class Store {
  #checkpointer;
  #sessionId;
  #family;

  constructor(family, checkpointer, sessionId) {
    this.#family = family;
    this.#checkpointer = checkpointer;
    this.#sessionId = sessionId;
  }

  /**
   * @returns {Promise<{ head: number, changes: FileChange[] }>} the files that changed after `toSeq`, the first first
   * @throws the signal's reason, as soon as it is aborted
   */
  async read(toSeq, { files, signal }) {
    return await this.#inFrame(() => {
      const reading = this.#changes(toSeq, files, signal);
      return signal === undefined ? reading : unlessAborted(signal, reading);
    });
  }

  async #changes(toSeq, files, signal) {
    const changes = new Map();
    let turn = 0;
    const head = await this.#checkpointer.head(this.#sessionId);
    throwIfAborted(signal);
    if (!files || toSeq >= head) return { head, changes: [] };
    let seq = toSeq;
    for await (const stored of readingOf(this.#checkpointer, this.#sessionId, { sinceSeq: toSeq })) {
      throwIfAborted(signal);
      seq += 1;
      const { event } = this.#checked(stored, seq);
      if (event.type === "file_snapshot") {
        const change = changes.get(event.path) ?? new FileChange(event);
        changes.set(event.path, change);
        change.add(event, turn);
      } else if (event.type === "tool_result") {
        for (const { path, after } of filesOf(event)) changes.get(path)?.answered(after);
      } else if (event.type === "assistant" || event.type === "user") {
        turn += 1;
      }
      if (isOverdue()) await yieldToEventLoop();
    }
    return { head: seq, changes: [...changes.values()] };
  }

  #checked(stored, seq) {
    const problem =
      stored?.seq === seq
        ? (eventProblem(stored.event) ?? snapshotProblem(stored.event))
        : `has the number ${String(stored?.seq)} in the store`;
    if (problem === null) return stored;
    throw new AgentError(`session ${this.#sessionId}: event ${seq} of its log ${problem}`, { code: "session_damaged" });
  }

  /** Cuts the log, if it still ends where it was read to. */
  async truncate(toSeq, head) {
    await this.#inFrame(async () => {
      const placed = this.#checkpointer[PLACED];
      if (placed !== undefined) {
        await placed.truncate(this.#sessionId, toSeq, head);
        return;
      }
      const now = await this.#checkpointer.head(this.#sessionId);
      if (now !== head) throw new CheckpointConflictError(this.#sessionId, head, now);
      await this.#checkpointer.truncate(this.#sessionId, toSeq);
    });
  }

  async #inFrame(work) {
    const frame = callbackFrame(this.#family, { sessionId: this.#sessionId, ownerId: this.#sessionId });
    try {
      return await inFrame(frame, work);
    } finally {
      frame.end();
    }
  }
}

/** Rejects with the signal's reason once it is aborted: what goes on of the promise is of nobody's interest any more. */
function unlessAborted(signal, promise) {
  return new Promise((resolve, reject) => {
    const stop = onAbort(signal, () => reject(signal.reason));
    void promise.then(resolve, reject).finally(stop);
  });
}

function snapshotProblem({ type, path, before }) {
  if (type !== "file_snapshot") return null;
  if (typeof path !== "string") return "is a snapshot without a path";
  return before === null || typeof before === "string"
    ? null
    : "is a snapshot of which it is not clear what the file held";
}

/** Tells subscribers how far a restoration is. */
class Progress {
  #family;
  #sessionId;
  #toSeq;
  #total;
  #completed = 0;

  constructor(family, sessionId, toSeq, total) {
    this.#family = family;
    this.#sessionId = sessionId;
    this.#toSeq = toSeq;
    this.#total = total;
  }

  tell(phase, message) {
    if (phase === "progress") this.#completed += 1;
    const event = {
      type: "checkpoint_restore",
      phase,
      sessionId: this.#sessionId,
      toSeq: this.#toSeq,
      completed: this.#completed,
      total: this.#total,
    };
    if (message !== undefined) event.message = this.#masked(message);
    tellManual(this.#family, this.#sessionId, event);
  }

  #masked(message) {
    return redactTextBy(this.#family.parts.redact ?? defaultRedactor, message);
  }
}

/** The error, with what could not be undone in its message. */
function withProblems(error, problems) {
  if (problems.length === 0) {
    if (error?.code !== "restore_failed") return error;
    return new AgentError(`restore: no file was changed, for ${error.message}`, { code: error.code, cause: error });
  }
  const { message } = describeThrown(error);
  return new AgentError(`${message}; and not all could be undone: ${problems.join("; ")}`, {
    code: "restore_incomplete",
    cause: error,
  });
}
