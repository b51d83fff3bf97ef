// assertWellFormed: requests that the model APIs take, and what is said of others.

import assert from "node:assert/strict";
import { test } from "node:test";

import { AgentError, assertWellFormed } from "../index.js";

const call = (id) => ({ type: "tool_call", id, name: "read", input: { path: "a" } });
const result = (id, content = "") => ({ type: "tool_result", id, content });
const user = (content) => ({ role: "user", content });
const assistant = (...content) => ({ role: "assistant", content });
const text = { type: "text", text: "a" };
const hi = user("hi");

const refused = (request, message) =>
  assert.throws(
    () => assertWellFormed(request),
    (error) => {
      assert.ok(error instanceof AgentError);
      assert.equal(error.code, "not_well_formed");
      assert.match(error.message, message);
      return true;
    },
  );

test("takes what the APIs take", () => {
  for (const messages of [
    [hi],
    [hi, assistant(text)],
    [hi, assistant(text, call("1"), call("2")), user([result("2"), result("1", [text]), text]), assistant(text)],
    [hi, assistant(call("1")), { role: "tool", content: [result("1")] }],
    [
      hi,
      assistant({ type: "reasoning", text: "hm", signature: "s" }, { type: "native", provider: "x", data: { a: 1 } }),
    ],
  ]) {
    assert.equal(assertWellFormed({ model: "m", system: "be brief", messages }), undefined);
  }
  const tools = [{ name: "read", description: "reads", parameters: { type: "object" } }];
  assertWellFormed({ model: "m", system: undefined, messages: [hi], tools });
});

test("names the place of what is wrong", () => {
  refused({ messages: [] }, /messages must not be empty/);
  refused({ messages: [hi, hi] }, /messages\[1\]\.role is user, but user and assistant must alternate/);
  refused({ messages: [assistant(text)] }, /messages\[0\]\.role must be user/);
  refused({ messages: [{ role: "system", content: "a" }] }, /messages\[0\]\.role is system/);
  refused({ messages: [user("")] }, /messages\[0\]\.content is empty/);
  refused({ messages: [user([{ type: "text", text: "" }])] }, /messages\[0\]\.content\[0\]\.text is empty/);
  refused({ messages: [hi, assistant(call("1"))] }, /messages\[1\] holds the tool_call "1", and no message/);
  refused({ messages: [hi, assistant(call("1")), hi] }, /messages\[2\] holds no tool_result for the tool_call "1"/);
  refused({ messages: [user([result("9")])] }, /messages\[0\]\.content\[0\] is a tool_result for "9"/);
  refused(
    { messages: [hi, assistant(call("1")), user([text, result("1")])] },
    /messages\[2\]\.content\[1\] is a tool_result behind/,
  );
  refused({ messages: [user([{ type: "tool_cal" }])] }, /did you mean "tool_call"/);
  refused({ messages: [hi], tools: [{ name: "" }] }, /tools\[0\]\.name is empty/);
  refused({ messages: [hi], system: 3 }, /system must be a string/);
});

test("anything but a request is a TypeError", () => {
  for (const request of [undefined, null, 3, "a", {}, { messages: "a" }, { messages: { length: 1 } }]) {
    assert.throws(() => assertWellFormed(request), TypeError);
  }
});

test("what JSON cannot say is not well formed", () => {
  refused({ messages: [user([{ type: "native", provider: "x", data: 10n }])] }, /cannot be written as JSON/);
});

test("half a surrogate pair in a text is no fault of the conversation's form", () => {
  assertWellFormed({ messages: [user("half \ud83d")] });
  assertWellFormed({ messages: [user("written out \\ud83d")] });
});
