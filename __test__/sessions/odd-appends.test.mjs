// What no store takes: the built-in ones refuse it in the same words, and write nothing. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { fileCheckpointer, memoryCheckpointer, sqliteCheckpointer } from "../../index.js";
import { temporaryFolder } from "../support/model.mjs";
import { rejectionOf } from "../runs/reading.mjs";
import { user } from "./storing.mjs";

const STORES = {
  memoryCheckpointer: () => memoryCheckpointer(),
  fileCheckpointer: ({ workdir }) => fileCheckpointer({ dir: workdir }),
  sqliteCheckpointer: () => sqliteCheckpointer({ file: ":memory:" }),
};

/** An event whose call has an input of so many levels: an event has four around it. */
function nested(levels) {
  let input = {};
  for (let level = 1; level < levels; level += 1) input = { a: input };
  return {
    type: "assistant",
    message: { role: "assistant", content: [{ type: "tool_call", id: "1", name: "t", input }] },
  };
}

for (const [name, make] of Object.entries(STORES)) {
  const opened = async (t) => {
    const store = make(await temporaryFolder(t));
    t.after(() => store.close());
    return store;
  };

  test(`${name}: an event that is nested too deeply, or in itself, is a TypeError that names it`, async (t) => {
    const store = await opened(t);
    const cyclic = nested(1);
    cyclic.message.content[0].input.self = cyclic;
    for (const event of [nested(107), nested(50_000), cyclic]) {
      const { error } = await rejectionOf(store.append("s", [user("a"), event]));
      assert.ok(error instanceof TypeError, error?.stack);
      assert.equal(error.message, "append: events[1] is nested more than 110 levels deep");
    }
    assert.equal(await store.head("s"), 0);
    assert.equal(await store.append("s", [nested(100), nested(106)]), 2);
  });

  test(`${name}: an event that is no JSON is a TypeError that names it`, async (t) => {
    const store = await opened(t);
    const { error } = await rejectionOf(store.append("s", [user("a"), user("b"), { ...user("c"), extra: 1n }]));
    assert.ok(error instanceof TypeError, error?.stack);
    assert.match(error.message, /^append: events\[2\] is not JSON: it holds a BigInt/);
    assert.equal(await store.head("s"), 0);
  });

  test(`${name}: what a toJSON of an event throws is what append() rejects with`, async (t) => {
    const store = await opened(t);
    const failure = new Error("no");
    const toJSON = () => {
      throw failure;
    };
    assert.equal((await rejectionOf(store.append("s", [{ ...user("a"), extra: { toJSON } }]))).error, failure);
  });

  test(`${name}: an expected head that is no sequence number is a TypeError`, async (t) => {
    const store = await opened(t);
    for (const head of [Number.NaN, -1, 1.5, "0", null, Infinity]) {
      const { error } = await rejectionOf(store.append("s", [user("a")], head));
      assert.ok(error instanceof TypeError, `${String(head)}: ${error?.stack}`);
      assert.match(error.message, /expectedHead must be an integer/);
    }
    assert.equal(await store.append("s", [user("a")], undefined), 1);
  });
}
