// One suite for every store of sessions. Throws at the first thing that a store does otherwise than the built-in ones,
// and runs under any test runner, or none. Knows nothing of any particular store.
import assert from "node:assert/strict";

import { CheckpointConflictError, ConfigError } from "../errors.js";

/** How many appends are made at once. */
const AT_ONCE = 20;
const LONG_TEXT_LENGTH = 300_000;

const user = (text) => ({ type: "user", message: { role: "user", content: text } });
const answer = (text) => ({ type: "assistant", message: { role: "assistant", content: [{ type: "text", text }] } });

/**
 * @param {() => object | Promise<object>} make a new, empty Checkpointer each time
 * @returns {Promise<void>}
 * @throws {Error} whose message begins with what the store should have done
 */
export async function checkpointerConformance(make) {
  if (typeof make !== "function") {
    throw new TypeError("checkpointerConformance: make must be a function that returns a checkpointer");
  }
  for (const [claim, check] of CHECKS) {
    const store = await make();
    try {
      for (const method of ["append", "read", "head", "list", "delete"]) {
        assert.equal(typeof store?.[method], "function", `it has no ${method}()`);
      }
      await check(store);
    } catch (cause) {
      throw new Error(`a checkpointer must do this: ${claim}; ${cause?.message ?? String(cause)}`, { cause });
    } finally {
      await store?.close?.();
    }
  }
}

/** @type {[string, (store: any) => Promise<void>][]} */
const CHECKS = [
  [
    "know nothing of a session that was never written",
    async (store) => {
      assert.equal(await store.head("none"), 0);
      assert.deepEqual(await all(store, "none"), []);
      assert.deepEqual(await store.list(), []);
      await store.delete("none");
    },
  ],
  [
    "number events from 1 without gaps, each after its parent, and resolve to the new head",
    async (store) => {
      assert.equal(await store.append("a", [user("1")]), 1);
      assert.equal(await store.append("a", [answer("2"), user("3")], 1), 3);
      assert.equal(await store.head("a"), 3);
      const stored = await all(store, "a");
      assert.deepEqual(
        stored.map(({ seq, sessionId, parentSeq }) => [seq, sessionId, parentSeq]),
        [
          [1, "a", null],
          [2, "a", 1],
          [3, "a", 2],
        ],
      );
      assert.deepEqual(
        stored.map(({ event }) => event),
        [user("1"), answer("2"), user("3")],
      );
      for (const { ts } of stored) assert.equal(new Date(ts).toISOString(), ts, "ts is an ISO 8601 time in UTC");
    },
  ],
  [
    "refuse a stale head with CheckpointConflictError, and write nothing then",
    async (store) => {
      await store.append("a", [user("1"), answer("2")]);
      for (const stale of [0, 1, 3]) {
        const error = await refusal(store.append("a", [user("lost")], stale));
        assert.ok(error instanceof CheckpointConflictError, `it threw ${error?.name}`);
        assert.deepEqual([error.sessionId, error.expected, error.actual], ["a", stale, 2]);
      }
      assert.equal(await store.head("a"), 2);
      assert.equal((await all(store, "a")).length, 2);
      assert.equal(await store.append("new", [user("1")], 0), 1);
      assert.ok((await refusal(store.append("other", [user("1")], 4))) instanceof CheckpointConflictError);
      assert.equal(await store.head("other"), 0);
    },
  ],
  [
    "take an append of nothing as a question for the head",
    async (store) => {
      assert.equal(await store.append("a", []), 0);
      assert.deepEqual(await store.list(), []);
      await store.append("a", [user("1")]);
      assert.equal(await store.append("a", [], 1), 1);
    },
  ],
  [
    "read what comes after a sequence number",
    async (store) => {
      await store.append("a", [user("1"), user("2"), user("3")]);
      const seqs = async (sinceSeq) => (await all(store, "a", { sinceSeq })).map(({ seq }) => seq);
      assert.deepEqual(await seqs(0), [1, 2, 3]);
      assert.deepEqual(await seqs(2), [3]);
      assert.deepEqual(await seqs(3), []);
      assert.deepEqual(await seqs(99), []);
    },
  ],
  [
    "give events back as they were, whatever they hold",
    async (store) => {
      const data = { a: [1, 2.5, -1e21, 0.1, null, true, { "": {} }], 键: '\u0000\u001f\u2028\u{1f600}\ud800\\"\n\r' };
      const native = { type: "native", provider: "p", data };
      const events = [
        { type: "assistant", message: { role: "assistant", content: [native] } },
        user("x".repeat(LONG_TEXT_LENGTH)),
        user('line one\nline two\r\n{"seq":1}\n'),
        JSON.parse('{"type":"user","message":{"role":"user","content":"p"},"extra":{"__proto__":{"x":1}}}'),
      ];
      await store.append("a", events);
      const stored = (await all(store, "a")).map(({ event }) => event);
      assert.deepEqual(
        stored.map((event) => JSON.stringify(event)),
        events.map((event) => JSON.stringify(event)),
      );
    },
  ],
  [
    "keep its events when the caller changes what it gave or got",
    async (store) => {
      const event = user("kept");
      await store.append("a", [event]);
      event.message.content = "changed";
      const [first] = await all(store, "a");
      try {
        first.event.message.content = "changed";
      } catch {
        // Frozen: so much the better.
      }
      const [again] = await all(store, "a");
      assert.equal(again.event.message.content, "kept");
    },
  ],
  [
    "keep sessions apart, and refuse an id that could be another's",
    async (store) => {
      const ids = ["a_b", "A_B", "a-b", "ab", "a".repeat(128), "0", "constructor", "__proto__"];
      for (const id of ids) await store.append(id, [user(id)]);
      for (const id of ids) {
        const [only, ...more] = await all(store, id);
        assert.deepEqual([only.event.message.content, more.length], [id, 0]);
      }
      for (const id of ["", "a/b", "../a", "a.b", "a b", "a\u0000", "é", "a".repeat(129)]) {
        const error = await refusal(store.append(id, [user("1")]));
        assert.ok(error instanceof ConfigError, `the id ${JSON.stringify(id)} was not refused with a ConfigError`);
      }
      assert.equal((await store.list()).length, ids.length);
    },
  ],
  [
    "list sessions, the last written first, with the time in milliseconds",
    async (store) => {
      const before = Date.now() - 2_000;
      await store.append("first", [user("1")]);
      await apart();
      await store.append("second", [user("1")]);
      await apart();
      await store.append("first", [user("2")]);
      const listed = await store.list();
      assert.deepEqual(
        listed.map(({ id }) => id),
        ["first", "second"],
      );
      for (const { mtime } of listed) assert.ok(mtime >= before && mtime <= Date.now() + 2_000, `mtime is ${mtime}`);
    },
  ],
  [
    "delete a session whole, and number it anew afterwards",
    async (store) => {
      await store.append("a", [user("1"), user("2")]);
      await store.append("b", [user("1")]);
      await store.delete("a");
      assert.equal(await store.head("a"), 0);
      assert.deepEqual(await all(store, "a"), []);
      assert.deepEqual(
        (await store.list()).map(({ id }) => id),
        ["b"],
      );
      assert.equal(await store.append("a", [user("new")], 0), 1);
      assert.equal((await all(store, "a"))[0].event.message.content, "new");
    },
  ],
  [
    "give each of many appends at once its own place",
    async (store) => {
      const heads = await Promise.all(
        Array.from({ length: AT_ONCE }, (_, index) => store.append("a", [user(`${index}`), answer(`${index}`)])),
      );
      assert.deepEqual(
        heads.sort((one, other) => one - other),
        Array.from({ length: AT_ONCE }, (_, index) => 2 * (index + 1)),
      );
      const stored = await all(store, "a");
      stored.forEach(({ seq }, index) => assert.equal(seq, index + 1));
      for (let index = 0; index < stored.length; index += 2) {
        const [one, other] = [stored[index].event.message.content, stored[index + 1].event.message.content[0].text];
        assert.equal(one, other, "what is appended together stands together");
      }
    },
  ],
  [
    "let one of many appends to the same head win",
    async (store) => {
      const outcomes = await Promise.allSettled(
        Array.from({ length: AT_ONCE }, (_, index) => store.append("a", [user(`${index}`)], 0)),
      );
      const lost = outcomes.filter(({ status }) => status === "rejected");
      assert.equal(lost.length, AT_ONCE - 1);
      for (const { reason } of lost) assert.ok(reason instanceof CheckpointConflictError, `it threw ${reason?.name}`);
      assert.equal(await store.head("a"), 1);
    },
  ],
  [
    "cut a session back, where it has truncate(), and go on from there",
    async (store) => {
      if (store.truncate === undefined) return;
      await store.append("a", [user("1"), user("2"), user("3")]);
      await store.truncate("a", 5);
      assert.equal(await store.head("a"), 3);
      await store.truncate("a", 1);
      assert.equal(await store.head("a"), 1);
      assert.equal(await store.append("a", [user("other")], 1), 2);
      assert.deepEqual(
        (await all(store, "a")).map(({ event }) => event.message.content),
        ["1", "other"],
      );
      await store.truncate("a", 0);
      assert.equal(await store.head("a"), 0);
      await store.truncate("none", 0);
    },
  ],
];

async function all(store, sessionId, options) {
  const stored = [];
  for await (const event of store.read(sessionId, options)) stored.push(event);
  return stored;
}

async function refusal(promise) {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error("it was taken");
}

/** Two writes whose times differ, where a clock has whole milliseconds. */
function apart() {
  return new Promise((resolve) => {
    setTimeout(resolve, 5);
  });
}
