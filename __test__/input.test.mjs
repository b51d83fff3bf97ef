// What a run, and a SteerController, accept as input, and in which words they refuse the rest; and the block builders.

import assert from "node:assert/strict";
import { tmpdir } from "node:os";
import { after, test } from "node:test";

import {
  createLiteAgent,
  fakeProvider,
  isTextBlock,
  isToolCallBlock,
  SteerController,
  textBlock,
  toolResultBlock,
} from "lite-agent";

const requests = [];
const scripted = fakeProvider([{ message: { role: "assistant", content: [textBlock("done")] } }]);
const model = {
  id: "recorder",
  stream(request, signal) {
    requests.push(request);
    return scripted.stream(request, signal);
  },
};
const agent = createLiteAgent({ model, workdir: tmpdir(), hookFiles: false });
after(() => agent.close());

/** The messages that the model is sent for the input. */
async function sent(input) {
  agent.clear();
  await agent.send(input);
  return requests.at(-1).messages;
}

const user = (content) => ({ role: "user", content });
const call = (id, input = {}) => ({ type: "tool_call", id, name: "read", input });
const result = (id) => ({ type: "tool_result", id, content: "text" });
const assistant = (...content) => ({ role: "assistant", content });
const nested = (levels) => {
  let value = {};
  for (let level = 1; level < levels; level += 1) value = { value };
  return value;
};

const REFUSED = [
  [undefined, "input must be a string or an array of messages, got undefined"],
  [null, "input must be a string or an array of messages, got null"],
  [3, "input must be a string or an array of messages, got number"],
  [user("x"), "input must be a string or an array of messages, got object"],
  ["", "input must not be empty"],
  [[], "input must hold at least one message"],
  [["x"], "input[0] must be a message, got string"],
  [[null], "input[0] must be a message, got null"],
  [[[]], "input[0] must be a message, got an array"],
  [new Array(1), "input[0] must be a message, got undefined"],
  [[{ content: "x" }], 'input[0].role must be "user", "assistant" or "tool", got undefined'],
  [[{ role: "developer", content: "x" }], 'input[0].role must be "user", "assistant" or "tool", got "developer"'],
  [[{ role: "toString", content: "x" }], 'input[0].role must be "user", "assistant" or "tool", got "toString"'],
  [
    [{ role: "system", content: "x" }, user("x")],
    'input[0].role must not be "system": system text belongs in the option system',
  ],
  [[{ role: "user" }], "input[0].content must be a string or an array of blocks, got undefined"],
  [[user("")], "input[0].content must not be empty"],
  [[user([])], "input[0].content must not be empty"],
  [[user(["x"])], "input[0].content[0] must be a block, got string"],
  [
    [user([{ type: "txt", text: "x" }])],
    'input[0].content[0].type must be one of text, image, tool_result, native, compaction, got "txt"',
  ],
  [
    [user([{ text: "x" }])],
    "input[0].content[0].type must be one of text, image, tool_result, native, compaction, got undefined",
  ],
  [[user([{ type: "text" }])], "input[0].content[0].text must be a string, got undefined"],
  [[user([{ type: "text", text: "" }])], "input[0].content[0].text must not be empty"],
  [[user([{ type: "image", mediaType: "image/png" }])], "input[0].content[0].data must be a string, got undefined"],
  [[user([{ type: "image", mediaType: "", data: "x" }])], "input[0].content[0].mediaType must not be empty"],
  [[user([{ type: "native", provider: "x" }])], "input[0].content[0].data must be JSON, got undefined"],
  [[user([{ type: "native", provider: "x", data: 1n }])], "input[0].content[0].data is not JSON: it holds a BigInt"],
  [[user([{ type: "compaction" }])], "input[0].content[0].content must be a string, got undefined"],
  [[user("x"), assistant("x")], "input[1].content[0] must be a block, got string"],
  [
    [user([call("a")])],
    /^input\[0\]\.content\[0\]\.type must be one of .* in a message of this kind, got "tool_call"$/,
  ],
  [
    [user("x"), assistant(result("a"))],
    /^input\[1\]\.content\[0\]\.type must be one of .* in a message of this kind, got "tool_result"$/,
  ],
  [[{ role: "tool", content: "x" }], "input[0].content must be an array of tool_result blocks, got string"],
  [
    [{ role: "tool", content: [textBlock("x")] }],
    'input[0].content[0].type must be one of tool_result in a message of this kind, got "text"',
  ],
  [
    [user("x"), { role: "assistant", content: "y" }],
    "input[1] must not be an assistant message: the last one is what the model answers",
  ],
  [[user([result("a")])], 'input[0].content[0].id "a" answers no call that waits for its result'],
  [
    [user("x"), assistant(call("a")), user([result("b")])],
    'input[2].content[0].id "b" answers no call that waits for its result',
  ],
  [
    [user("x"), assistant(call("a")), user([result("a"), result("a")])],
    'input[2].content[1].id "a" answers no call that waits for its result',
  ],
  [
    [user("x"), assistant(call("a")), user("y")],
    'input ends before the call "a" (input[1].content[0]) has its tool_result',
  ],
  [
    [user("x"), assistant(call("a")), assistant(textBlock("y")), user("z")],
    'input[2] comes before the call "a" (input[1].content[0]) has its tool_result',
  ],
  [
    [user("x"), assistant(call("a"), call("a")), user([result("a")])],
    'input[1].content[1].id "a" is the id of an earlier call of the same message',
  ],
  [[user("x"), assistant(call("")), user([result("")])], "input[1].content[0].id must not be empty"],
  [
    [user("x"), assistant({ type: "tool_call", id: "a", name: "read" })],
    "input[1].content[0].input must be JSON, got undefined",
  ],
  [[user("x"), assistant(call("a", nested(101)))], "input[1].content[0].input is nested more than 100 levels deep"],
  [
    [user("x"), assistant(call("a")), user([{ type: "tool_result", id: "a", content: 3 }])],
    "input[2].content[0].content must be a string or an array of text and image blocks, got number",
  ],
  [
    [user("x"), assistant(call("a")), user([{ ...result("a"), isError: 1 }])],
    "input[2].content[0].isError must be true or false, got number",
  ],
];
for (const [input, message] of REFUSED) {
  const shown = typeof message === "string" ? message : message.source;
  test(`input is refused: ${shown}`, async () => {
    await assert.rejects(agent.send(input), { name: "TypeError", message });
    await assert.rejects(agent.run(input).next(), { name: "TypeError", message });
  });
}

test("a string becomes one user message", async () => {
  assert.deepEqual(await sent("hello"), [user("hello")]);
});

test("a conversation with calls and results of every kind is sent as it is", async () => {
  const image = { type: "image", mediaType: "image/png", data: "AAAA" };
  const conversation = [
    user("start"),
    assistant(
      { type: "reasoning", text: "", signature: "sig" },
      textBlock("reading"),
      call("a", nested(100)),
      call("b", [1, null, "x"]),
      { type: "native", provider: "own", data: { deep: [1] } },
    ),
    user([{ type: "tool_result", id: "b", content: [textBlock("t"), image], isError: true }, result("a")]),
    assistant(call("a")),
    user([{ type: "tool_result", id: "a", content: "" }, textBlock("and now?"), image]),
  ];
  assert.deepEqual(await sent(conversation), conversation);
});

test("results may come in messages of the role tool", async () => {
  const conversation = [user("x"), assistant(call("a")), { role: "tool", content: [result("a")] }];
  assert.deepEqual(await sent(conversation), conversation);
});

test("input is copied and frozen when it is handed in", async () => {
  const conversation = [user([textBlock("first")])];
  agent.clear();
  const sending = agent.send(conversation);
  conversation[0].content[0].text = "changed";
  conversation.push(user("late"));
  await sending;
  const [message] = requests.at(-1).messages;
  assert.deepEqual(message, user([textBlock("first")]));
  assert.ok(Object.isFrozen(message) && Object.isFrozen(message.content) && Object.isFrozen(message.content[0]));
});

test("what a getter of the input throws is thrown as itself", async () => {
  const own = new Error("of the host");
  const block = {
    get type() {
      throw own;
    },
  };
  await assert.rejects(agent.send([user([block])]), (error) => error === own);
});

const STEER_REFUSED = [
  [undefined, "content must be a string or a message, got undefined"],
  [null, "content must be a string or a message, got null"],
  [3, "content must be a string or a message, got number"],
  [[user("x")], "content must be a string or a message, got an array"],
  ["", "content must not be empty"],
  [{ role: "assistant", content: "x" }, 'content.role must be "user", got "assistant"'],
  [{ role: "system", content: "x" }, 'content.role must be "user", got "system"'],
  [user(""), "content.content must not be empty"],
  [user([]), "content.content must not be empty"],
  [
    user([result("a")]),
    'content.content[0].type must be one of text, image, native in a message of this kind, got "tool_result"',
  ],
];
for (const [content, message] of STEER_REFUSED) {
  test(`steering is refused: ${message} (${JSON.stringify(content)})`, () => {
    const steer = new SteerController();
    assert.throws(() => steer.steer(content), { name: "TypeError", message });
    assert.throws(() => steer.followUp(content), { name: "TypeError", message });
  });
}

test("steering returns nothing, and shows nothing of its own", () => {
  const steer = new SteerController();
  assert.equal(steer.steer("left"), undefined);
  assert.equal(steer.followUp(user([textBlock("right")])), undefined);
  assert.deepEqual(Reflect.ownKeys(steer), []);
});

test("block builders make blocks, and leave isError out where it is not given", () => {
  assert.deepEqual(textBlock("x"), { type: "text", text: "x" });
  assert.deepEqual(toolResultBlock("a", "x"), { type: "tool_result", id: "a", content: "x" });
  assert.deepEqual(toolResultBlock("a", [textBlock("x")], true), {
    type: "tool_result",
    id: "a",
    content: [textBlock("x")],
    isError: true,
  });
});

test("block builders refuse arguments of the wrong type", () => {
  assert.throws(() => textBlock(3), { name: "TypeError", message: "text must be a string, got number" });
  assert.throws(() => toolResultBlock(3, "x"), { name: "TypeError", message: /^id / });
  assert.throws(() => toolResultBlock("a", 3), { name: "TypeError", message: /^content / });
  assert.throws(() => toolResultBlock("a", "x", "yes"), { name: "TypeError", message: /^isError / });
});

test("block guards tell text and calls from everything else", () => {
  const blocks = [textBlock("x"), call("a"), result("a"), undefined];
  assert.deepEqual(blocks.map(isTextBlock), [true, false, false, false]);
  assert.deepEqual(blocks.map(isToolCallBlock), [false, true, false, false]);
});
