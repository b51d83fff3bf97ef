// foldEvents: the conversation that a log adds up to. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { foldEvents } from "../../index.js";
import { call } from "../runs/reading.mjs";
import { calling, resultOf, said, started, user } from "./storing.mjs";

const result = (id, content) => ({ type: "tool_result", id, content });
const joined = (...blocks) => ({ role: "user", content: blocks });
const summary = (...messages) => ({ type: "summary", messages, throughSeq: 1, before: 100, after: 10 });
const snapshot = { type: "file_snapshot", path: "x", before: null, turn: 1 };
const decision = {
  type: "permission_decision",
  call: { id: "a", name: "work", input: {} },
  decision: "allow",
  by: "policy",
  turn: 1,
};

const TABLE = {
  "no events": [[], []],
  "a user message": [[user("a")], [user("a").message]],
  "a question and its answer": [
    [user("a"), said("b")],
    [user("a").message, said("b").message],
  ],
  "two user messages, which stay two": [
    [user("a"), user("b")],
    [user("a").message, user("b").message],
  ],
  "one result": [
    [user("go"), calling(call("a", "work")), started("a", "work"), resultOf("a", "x"), said("end")],
    [user("go").message, calling(call("a", "work")).message, joined(result("a", "x")), said("end").message],
  ],
  "successive results, which join into one message": [
    [calling(call("a", "work"), call("b", "work")), resultOf("a", "x"), resultOf("b", "y"), said("end")],
    [
      calling(call("a", "work"), call("b", "work")).message,
      joined(result("a", "x"), result("b", "y")),
      said("end").message,
    ],
  ],
  "results with other events between them, which join all the same": [
    [
      calling(call("a", "work"), call("b", "work")),
      decision,
      started("a", "work"),
      resultOf("a", "x"),
      decision,
      snapshot,
      started("b", "work"),
      resultOf("b", "y"),
    ],
    [calling(call("a", "work"), call("b", "work")).message, joined(result("a", "x"), result("b", "y"))],
  ],
  "results of two turns, which stay two": [
    [calling(call("a", "work")), resultOf("a", "x"), calling(call("b", "work")), resultOf("b", "y")],
    [
      calling(call("a", "work")).message,
      joined(result("a", "x")),
      calling(call("b", "work")).message,
      joined(result("b", "y")),
    ],
  ],
  "results of an id that two turns use, the earlier of which had none": [
    [calling(call("a", "work")), user("again"), calling(call("a", "other")), resultOf("a", "y"), resultOf("a", "x")],
    [
      calling(call("a", "work")).message,
      joined(result("a", "x")),
      user("again").message,
      calling(call("a", "other")).message,
      joined(result("a", "y")),
    ],
  ],
  "results of calls of one message that share an id": [
    [calling(call("a", "work"), call("a", "work")), resultOf("a", "x"), resultOf("a", "y")],
    [calling(call("a", "work"), call("a", "work")).message, joined(result("a", "x"), result("a", "y"))],
  ],
  "a result that stands in a message, and one of a later call of that id": [
    [
      calling(call("a", "work")),
      { type: "user", message: joined(result("a", "x")) },
      calling(call("a", "work")),
      resultOf("a", "y"),
    ],
    [
      calling(call("a", "work")).message,
      joined(result("a", "x")),
      calling(call("a", "work")).message,
      joined(result("a", "y")),
    ],
  ],
  "a steered message after results": [
    [calling(call("a", "work")), resultOf("a", "x"), user("left"), said("end")],
    [calling(call("a", "work")).message, joined(result("a", "x")), user("left").message, said("end").message],
  ],
  "results at the end": [[resultOf("a", "x")], [joined(result("a", "x"))]],
  "a summary, which replaces all before it": [
    [user("a"), said("b"), summary(user("short").message), user("c")],
    [user("short").message, user("c").message],
  ],
  "an empty summary": [[user("a"), said("b"), summary()], []],
  "a summary of a summary": [
    [user("a"), summary(user("one").message, said("two").message), said("b"), summary(user("three").message)],
    [user("three").message],
  ],
  "a summary in the middle of results": [
    [calling(call("a", "work")), resultOf("a", "x"), summary(user("short").message), resultOf("b", "y")],
    [user("short").message, joined(result("b", "y"))],
  ],
  "what is no part of the conversation": [[decision, snapshot, started("a", "work")], []],
};
for (const [what, [events, messages]] of Object.entries(TABLE)) {
  test(`foldEvents of ${what}`, () => {
    assert.deepEqual(foldEvents(events), messages);
  });
}

test("a failed result keeps its mark, and content its blocks", () => {
  const failed = { type: "tool_result", id: "a", content: [{ type: "text", text: "no" }], isError: true };
  assert.deepEqual(foldEvents([{ type: "tool_result", result: failed, turn: 1 }]), [joined(failed)]);
});

test("results that were logged in another order than their calls are in call order", () => {
  assert.deepEqual(
    foldEvents([calling(call("a", "work"), call("b", "work")), resultOf("b", "y"), resultOf("a", "x")])[1],
    {
      role: "user",
      content: [result("a", "x"), result("b", "y")],
    },
  );
});

test("foldEvents changes nothing that it is given, and takes frozen events", () => {
  const freeze = (value) => {
    if (typeof value === "object" && value !== null) Object.values(Object.freeze(value)).forEach(freeze);
    return value;
  };
  for (const [events, messages] of Object.values(TABLE)) {
    const copy = JSON.parse(JSON.stringify(events));
    assert.deepEqual(foldEvents(freeze(JSON.parse(JSON.stringify(events)))), messages);
    foldEvents(copy);
    assert.deepEqual(copy, events);
  }
});

test("folding what was folded before and more is folding all", () => {
  const events = [
    user("a"),
    calling(call("1", "work"), call("2", "work")),
    resultOf("1", "x"),
    resultOf("2", "y"),
    said("b"),
  ];
  const whole = foldEvents(events);
  for (let length = 0; length <= events.length; length += 1) {
    const part = foldEvents(events.slice(0, length));
    assert.ok(part.length <= whole.length);
    if (length !== 3) assert.deepEqual(part, whole.slice(0, part.length));
  }
});

test("100,000 events are folded in a moment, results of one turn among them", () => {
  const events = [user("a"), ...Array.from({ length: 100_000 }, (_, index) => resultOf(`${index}`, "x")), said("b")];
  const messages = foldEvents(events);
  assert.equal(messages.length, 3);
  assert.equal(messages[1].content.length, 100_000);
});

test("100,000 calls of one id without a result, and then their results, are folded in a moment", () => {
  const calls = Array.from({ length: 100_000 }, () => calling(call("a", "work")));
  const results = Array.from(calls, (_, index) => resultOf("a", `${index}`));
  const messages = foldEvents([...calls, ...results]);
  assert.equal(messages.length, 200_000);
  assert.deepEqual(messages[1], joined(result("a", "99999")));
  assert.deepEqual(messages.at(-1), joined(result("a", "0")));
});

test("what is no list of events is a TypeError", () => {
  for (const given of [
    undefined,
    null,
    5,
    {},
    "events",
    [null],
    [undefined],
    ["user"],
    [5],
    [{}],
    [{ type: "usr" }],
    [{ type: "toString" }],
    [{ type: "__proto__" }],
    [{ type: null }],
    [user("a"), { type: "USER", message: user("a").message }],
  ]) {
    assert.throws(() => foldEvents(given), TypeError, JSON.stringify(given));
  }
});

test("an event of a known type without what it must hold is a TypeError, not a hole in the conversation", () => {
  for (const given of [
    [{ type: "user" }],
    [{ type: "assistant", message: null }],
    [{ type: "user", message: "hi" }],
    [{ type: "tool_result", turn: 1 }],
    [{ type: "tool_result", result: "x", turn: 1 }],
    [{ type: "summary", throughSeq: 1, before: 1, after: 1 }],
    [{ type: "summary", messages: "short", throughSeq: 1, before: 1, after: 1 }],
  ]) {
    assert.throws(() => foldEvents(given), TypeError, JSON.stringify(given));
  }
});
