// checkpointerConformance: right stores pass it; each that is wrong in one way does not. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { CheckpointConflictError, checkpointerConformance, ConfigError, memoryCheckpointer } from "../../index.js";

const copy = (value) => JSON.parse(JSON.stringify(value));
const later = () => new Promise(setImmediate);

test("memoryCheckpointer passes", async () => {
  assert.equal(await checkpointerConformance(memoryCheckpointer), undefined);
  await checkpointerConformance(async () => {
    await later();
    return memoryCheckpointer();
  });
});

test("a store of another make passes, slow or not, with truncate or without", async () => {
  await checkpointerConformance(() => plainStore());
  await checkpointerConformance(() => {
    const { truncate: _, close: __, ...without } = plainStore();
    return without;
  });
  await checkpointerConformance(() => {
    const inner = plainStore();
    const slow = (method) =>
      async function (...given) {
        await later();
        const answer = await inner[method](...given);
        await later();
        return answer;
      };
    return {
      ...Object.fromEntries(["append", "head", "list", "delete", "truncate"].map((method) => [method, slow(method)])),
      async *read(...given) {
        for await (const event of inner.read(...given)) {
          await later();
          yield event;
        }
      },
    };
  });
});

test("every store that is made is closed, also where one fails", async () => {
  let open = 0;
  const make = (wrong) => () => {
    open += 1;
    const store = plainStore();
    return {
      ...store,
      close() {
        open -= 1;
      },
      ...(wrong && { head: async () => 7 }),
    };
  };
  await checkpointerConformance(make(false));
  assert.equal(open, 0);
  await assert.rejects(checkpointerConformance(make(true)));
  assert.equal(open, 0);
});

test("what make throws is what rejects, and what is no function is a TypeError", async () => {
  const failure = new Error("no disk");
  await assert.rejects(
    checkpointerConformance(() => {
      throw failure;
    }),
    (error) => error === failure || error.cause === failure,
  );
  for (const given of [undefined, null, {}, "memory", memoryCheckpointer()]) {
    await assert.rejects(async () => checkpointerConformance(given), TypeError);
  }
  for (const made of [undefined, null, 5, {}]) await assert.rejects(checkpointerConformance(() => made));
});

/** A right store, in as few lines as it takes; the parts that mutants exchange are options. */
function plainStore({
  checkId = (id) => {
    if (!/^[A-Za-z0-9_-]{1,128}$/.test(id)) throw new ConfigError(`session id ${JSON.stringify(id)}`);
  },
  conflict = (id, expected, actual) => new CheckpointConflictError(id, expected, actual),
  keep = copy,
  give = copy,
  numbered = (seq) => ({ seq, parentSeq: seq === 1 ? null : seq - 1 }),
} = {}) {
  const logs = new Map();
  let clock = 0;
  return {
    logs,
    async append(id, events, expected) {
      checkId(id);
      const log = logs.get(id)?.log ?? [];
      if (expected !== undefined && expected !== log.length) throw conflict(id, expected, log.length);
      if (events.length === 0) return log.length;
      const ts = new Date().toISOString();
      for (const event of events) log.push({ ...numbered(log.length + 1), sessionId: id, ts, event: keep(event) });
      clock += 1;
      logs.set(id, { log, mtime: Date.now(), order: clock });
      return log.length;
    },
    async *read(id, { sinceSeq = 0 } = {}) {
      checkId(id);
      for (const stored of [...(logs.get(id)?.log ?? [])]) if (stored.seq > sinceSeq) yield give(stored);
    },
    async head(id) {
      checkId(id);
      return logs.get(id)?.log.length ?? 0;
    },
    async list() {
      return [...logs].sort(([, a], [, b]) => b.order - a.order).map(([id, { mtime }]) => ({ id, mtime }));
    },
    async delete(id) {
      checkId(id);
      logs.delete(id);
    },
    async truncate(id, toSeq) {
      checkId(id);
      const session = logs.get(id);
      if (!session || session.log.length <= toSeq) return;
      if (toSeq === 0) logs.delete(id);
      else session.log.length = toSeq;
    },
    close() {},
  };
}

/** A store whose methods are these, over a right one. */
const over = (change, options) => () => {
  const right = plainStore(options);
  return { ...right, ...change(right) };
};
const withOptions = (options) => () => plainStore(options);
const tornAt = (limit) => (event) => copy(JSON.parse(JSON.stringify(event).replaceAll(limit, "\ufffd")));

const MUTANTS = {
  "loses the last event of an append of several": over(({ append }) => ({
    append: (id, events, expected) => append(id, events.length > 1 ? events.slice(0, -1) : events, expected),
  })),
  "loses the last event and says that it has it": over(({ append }) => ({
    append: async (id, events, expected) => {
      const kept = events.length > 1 ? events.slice(0, -1) : events;
      return (await append(id, kept, expected)) + events.length - kept.length;
    },
  })),
  "leaves a gap in the numbers": withOptions({
    numbered: (seq) => ({ seq: seq + (seq > 1), parentSeq: seq === 1 ? null : seq - 1 + (seq > 2) }),
  }),
  "numbers from 0": withOptions({ numbered: (seq) => ({ seq: seq - 1, parentSeq: seq === 1 ? null : seq - 2 }) }),
  "gives the first event a parent 0": withOptions({ numbered: (seq) => ({ seq, parentSeq: seq - 1 }) }),
  "answers the number of events appended in place of the head": over(({ append }) => ({
    append: async (...given) => {
      await append(...given);
      return given[1].length;
    },
  })),
  "answers nothing to an append": over(({ append }) => ({
    append: async (...given) => {
      await append(...given);
    },
  })),
  "knows no conflict": over(({ append }) => ({ append: (id, events) => append(id, events) })),
  "knows a conflict only where it has less than was expected": over(({ append, head }) => ({
    append: async (id, events, expected) =>
      append(id, events, expected !== undefined && expected < (await head(id)) ? undefined : expected),
  })),
  "tells of a conflict by another error": withOptions({ conflict: () => new Error("conflict") }),
  "mixes up what was expected and what is": withOptions({
    conflict: (id, expected, actual) => new CheckpointConflictError(id, actual, expected),
  }),
  "writes although there is a conflict": over(({ append }) => ({
    append: async (id, events, expected) => {
      try {
        return await append(id, events, expected);
      } catch (error) {
        if (error instanceof CheckpointConflictError) await append(id, events);
        throw error;
      }
    },
  })),
  "takes an expected head of 0 for none": over(({ append }) => ({
    append: (id, events, expected) => append(id, events, expected || undefined),
  })),
  "accepts an id with a slash": withOptions({
    checkId: (id) => {
      if (!/^[A-Za-z0-9_/-]{1,128}$/.test(id)) throw new ConfigError("id");
    },
  }),
  "accepts an id with a dot": withOptions({
    checkId: (id) => {
      if (!/^[A-Za-z0-9_.-]{1,128}$/.test(id)) throw new ConfigError("id");
    },
  }),
  "accepts an id of 129 characters": withOptions({
    checkId: (id) => {
      if (!/^[A-Za-z0-9_-]{1,129}$/.test(id)) throw new ConfigError("id");
    },
  }),
  "accepts an empty id": withOptions({
    checkId: (id) => {
      if (!/^[A-Za-z0-9_-]{0,128}$/.test(id)) throw new ConfigError("id");
    },
  }),
  "refuses ids of 128 characters": withOptions({
    checkId: (id) => {
      if (!/^[A-Za-z0-9_-]{1,127}$/.test(id)) throw new ConfigError("id");
    },
  }),
  "rewrites ids that it does not like": over((right) =>
    Object.fromEntries(
      ["append", "read", "head", "delete", "truncate"].map((method) => [
        method,
        (id, ...rest) => right[method](id.replaceAll(/[^A-Za-z0-9_]/g, "_").slice(0, 128) || "_", ...rest),
      ]),
    ),
  ),
  "takes no difference between a-b and a_b": over((right) =>
    Object.fromEntries(
      ["append", "read", "head", "delete", "truncate"].map((method) => [
        method,
        (id, ...rest) => right[method](/^[\w-]+$/.test(id) ? id.replaceAll("-", "_") : id, ...rest),
      ]),
    ),
  ),
  "takes no difference between letters large and small": over((right) =>
    Object.fromEntries(
      ["append", "read", "head", "delete", "truncate"].map((method) => [
        method,
        (id, ...rest) => right[method](id.toLowerCase(), ...rest),
      ]),
    ),
  ),
  "lists the oldest first": over(({ list }) => ({ list: async () => (await list()).reverse() })),
  "lists in the order of creation": over(({ list, logs }) => ({
    list: async () => {
      const listed = await list();
      return [...logs.keys()].reverse().map((id) => listed.find((entry) => entry.id === id));
    },
  })),
  "gives times in seconds": over(({ list }) => ({
    list: async () => (await list()).map(({ id, mtime }) => ({ id, mtime: Math.floor(mtime / 1_000) })),
  })),
  "lists sessions of which it knows nothing": over(({ list }) => ({
    list: async () => [...(await list()), { id: "ghost", mtime: 0 }],
  })),
  "reads from sinceSeq on, itself included": over(({ read }) => ({
    read: (id, { sinceSeq = 0 } = {}) => read(id, { sinceSeq: sinceSeq - 1 }),
  })),
  "ignores sinceSeq": over(({ read }) => ({ read: (id) => read(id) })),
  "reads backwards": over(({ read }) => ({
    async *read(...given) {
      const events = [];
      for await (const event of read(...given)) events.unshift(event);
      yield* events;
    },
  })),
  "tears characters outside the basic plane": withOptions({ keep: tornAt(/[\u{10000}-\u{10ffff}]/gu) }),
  "replaces lone surrogates": withOptions({ keep: tornAt(/\\ud800/g) }),
  "turns line separators into spaces": withOptions({
    keep: (event) => JSON.parse(JSON.stringify(event).replaceAll("\u2028", " ")),
  }),
  "splits events at line feeds": withOptions({
    keep: (event) => JSON.parse(JSON.stringify(event).replaceAll(/\\n/g, "")),
  }),
  "cuts long texts": withOptions({
    keep: (event) =>
      JSON.parse(JSON.stringify(event, (_, value) => (typeof value === "string" ? value.slice(0, 65_536) : value))),
  }),
  "rounds numbers": withOptions({
    keep: (event) =>
      JSON.parse(JSON.stringify(event, (_, value) => (typeof value === "number" ? Math.round(value) : value))),
  }),
  "leaves null values out": withOptions({
    keep: (event) =>
      JSON.parse(
        JSON.stringify(event, (_, value) =>
          typeof value === "object" && value !== null && !Array.isArray(value)
            ? Object.fromEntries(Object.entries(value).filter(([, each]) => each !== null))
            : value === null
              ? 0
              : value,
        ),
      ),
  }),
  "keeps what the caller may still change": withOptions({ keep: (event) => event }),
  "gives out what it keeps": withOptions({ give: (stored) => stored }),
  "gives out another session id": withOptions({ give: (stored) => ({ ...copy(stored), sessionId: "x" }) }),
  "gives times in another form": withOptions({
    give: (stored) => ({ ...copy(stored), ts: new Date(stored.ts).toString() }),
  }),
  "gives no times": withOptions({
    give: (stored) => {
      const { ts: _, ...rest } = copy(stored);
      return rest;
    },
  }),
  "mixes up appends that are made at once": over(({ append }) => ({
    append: async (id, events, expected) => {
      if (events.length < 2 || expected !== undefined) return append(id, events, expected);
      let head = 0;
      for (const event of events) {
        head = await append(id, [event]);
        await later();
      }
      return head;
    },
  })),
  "looks at the head some time before it writes": over(({ append, head }) => ({
    append: async (id, events, expected) => {
      const actual = await head(id);
      if (expected !== undefined && expected !== actual) throw new CheckpointConflictError(id, expected, actual);
      await later();
      return append(id, events);
    },
  })),
  "has truncate do nothing": over(() => ({ async truncate() {} })),
  "truncates one event too many": over(({ truncate }) => ({
    truncate: (id, toSeq) => truncate(id, Math.max(0, toSeq - 1)),
  })),
  "truncates one event too few": over(({ truncate }) => ({ truncate: (id, toSeq) => truncate(id, toSeq + 1) })),
  "deletes the session when it is truncated": over((right) => ({ truncate: (id) => right.delete(id) })),
  "has delete do nothing": over(() => ({ async delete() {} })),
  "deletes a session from the list alone": over(({ list }) => {
    const hidden = new Set();
    return {
      async delete(id) {
        hidden.add(id);
      },
      list: async () => (await list()).filter(({ id }) => !hidden.has(id)),
    };
  }),
  "goes on numbering after a delete": over((right) => {
    const offsets = new Map();
    return {
      async delete(id) {
        offsets.set(id, await right.head(id));
        await right.delete(id);
      },
      append: async (id, ...rest) => (await right.append(id, ...rest)) + (offsets.get(id) ?? 0),
    };
  }),
  "deletes all sessions": over(({ logs }) => ({
    async delete() {
      logs.clear();
    },
  })),
  "rejects the delete of an unknown session": over((right) => ({
    async delete(id) {
      if (!right.logs.has(id)) throw new Error("no such session");
      await right.delete(id);
    },
  })),
  "answers null for the head of an unknown session": over(({ head }) => ({
    head: async (id) => (await head(id)) || null,
  })),
  "rejects the reading of an unknown session": over((right) => ({
    async *read(id, options) {
      if (!right.logs.has(id)) throw new Error("no such session");
      yield* right.read(id, options);
    },
  })),
  "makes a session of an append that conflicts": over(({ append, logs }) => ({
    append: async (id, events, expected) => {
      if (!logs.has(id) && /^[\w-]{1,128}$/.test(id)) logs.set(id, { log: [], mtime: Date.now(), order: 0 });
      return append(id, events, expected);
    },
  })),
  "drops fields that it does not know": withOptions({
    keep: (event) => copy(event.type === "user" ? { type: event.type, message: event.message } : event),
  }),
  "has a close that fails": over(() => ({
    close() {
      throw new Error("cannot close");
    },
  })),
};
for (const [what, make] of Object.entries(MUTANTS)) {
  test(`a store that ${what} is refused`, async () => {
    await assert.rejects(checkpointerConformance(make), (error) => error instanceof Error && error.message.length > 0);
  });
}

test("the refusal says what the store should have done", async () => {
  await assert.rejects(
    checkpointerConformance(over(({ append }) => ({ append: (id, events) => append(id, events) }))),
    /conflict/i,
  );
  await assert.rejects(checkpointerConformance(MUTANTS["has delete do nothing"]), /delete/i);
  await assert.rejects(
    checkpointerConformance(() => ({ ...plainStore(), list: undefined })),
    /list/,
  );
});
