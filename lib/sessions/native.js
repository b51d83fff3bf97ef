// The checkpointers that the core has: files and SQLite. Every operation runs on a thread of its own; here are the
// promises. What is written, and how it survives, is the core's.
import { absolutePath } from "../absolute-path.js";
import { ConfigError, errorFromData } from "../errors.js";
import { isOverdue, yieldToEventLoop } from "../fairness.js";
import { NativeOperations } from "../native-operations.js";
import { native } from "../native.js";
import { checkEvents, checkSequence, copyEvents } from "./memory.js";
import { OWN, PLACED } from "./own.js";
import { replaced } from "./replaced.js";
import { checkSessionId } from "./session-id.js";

const FUNCTIONS = { make: native.storeNew, start: native.storeStart, take: native.storeTake };
const DEFAULT_BUSY_TIMEOUT_MS = 5_000;
const MAX_BUSY_TIMEOUT_MS = 2_147_483_647;

class NativeCheckpointer {
  #operations;
  #closed = null;

  constructor(options) {
    this.#operations = new NativeOperations(FUNCTIONS, options, asError);
  }

  async append(sessionId, events, expectedHead) {
    checkSessionId("append", sessionId);
    checkEvents(events);
    if (expectedHead !== undefined) checkSequence("append: expectedHead", expectedHead);
    const lines = linesOf(copyEvents(events));
    return await this.#operations.start({ do: "append", session: sessionId, expectedHead }, lines).over;
  }

  async *read(sessionId, options) {
    checkSessionId("read", sessionId);
    const sinceSeq = options?.sinceSeq ?? 0;
    checkSequence("read: sinceSeq", sinceSeq);
    for await (const { events } of this.#batches(sessionId, sinceSeq, { bare: false })) yield* events;
  }

  async head(sessionId) {
    checkSessionId("head", sessionId);
    return await this.#operations.start({ do: "head", session: sessionId }).over;
  }

  async list() {
    return await this.#operations.start({ do: "list" }).over;
  }

  async delete(sessionId) {
    checkSessionId("delete", sessionId);
    await this.#operations.start({ do: "delete", session: sessionId }).over;
  }

  async truncate(sessionId, toSeq) {
    checkSessionId("truncate", sessionId);
    checkSequence("truncate: toSeq", toSeq);
    await this.#operations.start({ do: "truncate", session: sessionId, toSeq }).over;
  }

  /** Whatever is asked afterwards is refused. Idempotent. */
  async close() {
    this.#closed ??= this.#close();
    await this.#closed;
  }

  /** What is going on comes first: nothing is written afterwards. */
  async #close() {
    await this.#operations.idle();
    await this.#operations.start({ do: "close" }).over;
  }

  get [OWN]() {
    return {
      batches: (sessionId, sinceSeq) => this.#batches(sessionId, sinceSeq, { bare: true }),
      /** Marks the session as in use: a clean-up, also of another process, leaves it alone. */
      hold: async (sessionId) => {
        const { number, over } = this.#operations.start({ do: "hold", session: sessionId });
        await over;
        return async () => await this.#operations.start({ do: "release", number }).over;
      },
      cleanup: async ({ modifiedBeforeMs, maxBytes }) =>
        await this.#operations.start({ do: "cleanup", modifiedBeforeMs, maxBytes }).over,
    };
  }

  get [PLACED]() {
    return {
      append: async (session, events, { head, mark }) =>
        await this.#operations.start({ do: "appendAt", session, head, mark }, linesOf(events)).over,
      truncate: async (session, toSeq, expectedHead) =>
        await this.#operations.start({ do: "truncate", session, toSeq, expectedHead }).over,
    };
  }

  /**
   * Yields `{ first, events, repairs }`: successive events, as records or bare, and the number of the first. While one
   * batch is looked at, the next is read.
   */
  async *#batches(sessionId, sinceSeq, { bare }) {
    const { number, over } = this.#operations.start({ do: "read", session: sessionId, sinceSeq, bare });
    let next = over;
    try {
      for (let batch = await next; batch !== null; batch = await next) {
        next = this.#operations.start({ do: "next", reader: number }).over;
        // Whoever stops here does not hear how that went.
        next.catch(() => {});
        yield batch;
        if (isOverdue()) await yieldToEventLoop();
      }
      next = null;
    } finally {
      if (next !== null) {
        await next.catch(() => {});
        await this.#operations.start({ do: "release", number }).over;
      }
    }
  }
}

function linesOf(events) {
  return events.map((event) => JSON.stringify(event)).join("\n");
}

function asError(data) {
  if (data.code === "checkpoint_replaced") return replaced(data.sessionId, data.actual);
  if (data.code === "store_refused") return new ConfigError(data.message);
  return errorFromData(data);
}

/**
 * One log a session, a file of JSON lines.
 * @param {{ dir: string }} options made when the first session is written
 * @returns {object} a Checkpointer
 * @throws {ConfigError}
 */
export function fileCheckpointer(options) {
  const { dir } = checkOptions("fileCheckpointer", options, ["dir"]);
  return new NativeCheckpointer({
    kind: "file",
    dir: absolutePath("fileCheckpointer: dir", filled("fileCheckpointer", "dir", dir)),
  });
}

/**
 * All sessions in one SQLite database.
 * @param {{ file: string, busyTimeoutMs?: number, synchronous?: "normal" | "full" }} options `:memory:` is a database of its
 *   own. With "normal" a power cut may take the last appends; a killed process takes none. Default "full"
 * @returns {object} a Checkpointer
 * @throws {ConfigError}
 */
export function sqliteCheckpointer(options) {
  const name = "sqliteCheckpointer";
  const { file, busyTimeoutMs, synchronous } = checkOptions(name, options, ["file", "busyTimeoutMs", "synchronous"]);
  filled(name, "file", file);
  const timeout = busyTimeoutMs ?? DEFAULT_BUSY_TIMEOUT_MS;
  if (!Number.isInteger(timeout) || timeout < 0 || timeout > MAX_BUSY_TIMEOUT_MS) {
    throw new ConfigError(
      `${name}: busyTimeoutMs must be an integer from 0 to ${MAX_BUSY_TIMEOUT_MS}, got ${String(timeout)}`,
    );
  }
  if (synchronous !== undefined && synchronous !== "normal" && synchronous !== "full") {
    throw new ConfigError(`${name}: synchronous must be "normal" or "full", got ${JSON.stringify(synchronous)}`);
  }
  return new NativeCheckpointer({
    kind: "sqlite",
    file: file === ":memory:" ? file : absolutePath("sqliteCheckpointer: file", file),
    busyTimeoutMs: timeout,
    fullSync: synchronous !== "normal",
  });
}

function checkOptions(name, options, known) {
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    throw new TypeError(`${name}: the options must be an object`);
  }
  for (const key of Object.keys(options)) {
    if (known.includes(key)) continue;
    const near = native.nearest(key, known);
    throw new ConfigError(`${name}: ${key} is not an option here${near === null ? "" : `; did you mean ${near}?`}`);
  }
  return options;
}

function filled(name, option, value) {
  if (typeof value === "string" && value !== "" && !value.includes("\0")) return value;
  throw new ConfigError(
    `${name}: ${option} must be a path, got ${typeof value === "string" ? JSON.stringify(value) : typeof value}`,
  );
}
