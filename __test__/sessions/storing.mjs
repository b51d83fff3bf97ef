// A checkpointer of the test's own, which shows what an agent stores and can be told to wait, to fail or to lie.
// Knows the public shapes only.
import { CheckpointConflictError } from "../../index.js";
import { deferred } from "../support/model.mjs";

const copy = (value) => JSON.parse(JSON.stringify(value));

/**
 * Keeps each session as an array. Events are kept as JSON, so that what survives is what a file would keep.
 * `trace` holds, in order, "append <types>" when an append begins and "stored <types>" when it is durable; tests add
 * their own entries. `before(operation, …arguments)` is awaited at the start of every operation.
 */
export function testStore({ before = () => {} } = {}) {
  const sessions = new Map();
  let clock = Date.UTC(2026, 0, 1);
  const logOf = (id) => sessions.get(id)?.events ?? [];
  const store = {
    before,
    trace: [],
    appends: [],
    reads: [],
    closed: 0,
    sessions,
    /** What is stored of a session, with numbers and all. */
    stored: (id) => copy(logOf(id)),
    /** The events of a session. */
    events: (id) => copy(logOf(id).map(({ event }) => event)),
    types: (id) => logOf(id).map(({ event }) => event.type),
    /** Puts events into a session, behind the back of whoever uses the store. */
    put(id, events) {
      const log = logOf(id);
      clock += 1_000;
      for (const event of events) {
        const seq = log.length + 1;
        log.push({
          seq,
          sessionId: id,
          parentSeq: seq === 1 ? null : seq - 1,
          ts: new Date(clock).toISOString(),
          event: copy(event),
        });
      }
      sessions.set(id, { events: log, mtime: clock });
      return log.length;
    },
    checkpointer: {
      async append(id, events, expectedHead) {
        const types = events.map(({ type }) => type).join(",");
        store.trace.push(`append ${types}`);
        store.appends.push({ id, events, expectedHead });
        await store.before("append", id, events, expectedHead);
        const head = logOf(id).length;
        if (expectedHead !== undefined && expectedHead !== head)
          throw new CheckpointConflictError(id, expectedHead, head);
        const next = store.put(id, events);
        store.trace.push(`stored ${types}`);
        return next;
      },
      async *read(id, { sinceSeq = 0 } = {}) {
        store.reads.push(id);
        await store.before("read", id);
        for (const stored of copy(logOf(id))) if (stored.seq > sinceSeq) yield stored;
      },
      async head(id) {
        await store.before("head", id);
        return logOf(id).length;
      },
      async list() {
        await store.before("list");
        return [...sessions]
          .map(([id, { mtime }]) => ({ id, mtime }))
          .reverse()
          .sort((a, b) => b.mtime - a.mtime);
      },
      async delete(id) {
        await store.before("delete", id);
        store.trace.push(`delete ${id}`);
        sessions.delete(id);
      },
      close() {
        store.closed += 1;
      },
    },
  };
  return store;
}

/** Holds the first operation that `matches`, until it is released; `entered` resolves when it has come. */
export function holdOnce(store, matches) {
  const entered = deferred();
  const released = deferred();
  let used = false;
  const earlier = store.before;
  store.before = async (...given) => {
    await earlier(...given);
    if (used || !matches(...given)) return;
    used = true;
    entered.resolve();
    await released.promise;
  };
  return { entered: entered.promise, release: released.resolve, fail: released.reject };
}

/** Matches an append that holds an event of this type. */
export const appending =
  (type) =>
  (operation, _id, events = []) =>
    operation === "append" && events.some((event) => event.type === type);

export const user = (text) => ({ type: "user", message: { role: "user", content: text } });
export const said = (text) => ({
  type: "assistant",
  message: { role: "assistant", content: [{ type: "text", text }] },
});
export const calling = (...calls) => ({
  type: "assistant",
  message: { role: "assistant", content: calls.map((call) => ({ type: "tool_call", ...call })) },
});
export const started = (id, name, turn = 1) => ({ type: "tool_started", id, name, turn });
export const resultOf = (id, content, turn = 1) => ({
  type: "tool_result",
  result: { type: "tool_result", id, content },
  turn,
});
