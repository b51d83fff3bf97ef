// fakeProvider, driven by hand: which turn answers which call, what is streamed, and which scripts are refused.

import assert from "node:assert/strict";
import { test } from "node:test";

import { fakeProvider, textBlock } from "lite-agent";

const request = { model: "fake", messages: [{ role: "user", content: "hello" }] };
const say = (text) => ({ role: "assistant", content: [textBlock(text)] });

async function collect(stream) {
  const chunks = [];
  for await (const chunk of stream) chunks.push(chunk);
  return chunks;
}

test("call n is answered with turn n, and every call after the last turn with the last", async () => {
  const model = fakeProvider([{ message: say("one") }, { message: say("two") }]);
  const answers = [];
  for (let call = 0; call < 4; call += 1) {
    const [{ message }] = await collect(model.stream(request));
    answers.push(message.content[0].text);
  }
  assert.deepEqual(answers, ["one", "two", "two", "two"]);
});

test("calls count from the moment when stream() is called", async () => {
  const model = fakeProvider([{ message: say("one") }, { message: say("two") }]);
  const first = model.stream(request);
  const second = model.stream(request);
  assert.equal((await collect(second))[0].message.content[0].text, "two");
  assert.equal((await collect(first))[0].message.content[0].text, "one");
});

test("its id is fake, and a turn without text yields the message alone, with no tokens used", async () => {
  const message = say("done");
  const model = fakeProvider([{ message }]);
  assert.equal(model.id, "fake");
  assert.deepEqual(await collect(model.stream(request)), [
    { type: "message_done", message, usage: { inputTokens: 0, outputTokens: 0 } },
  ]);
});

test("text is streamed first, one delta a character, also outside the basic plane", async () => {
  const text = "aé漢🎉\ud83dz\ud83d";
  const usage = { inputTokens: 3, outputTokens: 4, cacheReadTokens: 1 };
  const chunks = await collect(fakeProvider([{ text, message: say("done"), usage }]).stream(request));
  const deltas = chunks.slice(0, -1);
  assert.deepEqual(
    deltas.map((chunk) => chunk.text),
    Array.from(text),
  );
  assert.ok(deltas.every((chunk) => chunk.type === "text_delta"));
  assert.deepEqual(chunks.at(-1), { type: "message_done", message: say("done"), usage });
});

test("an aborted signal ends the stream with the signal's reason", async () => {
  const controller = new AbortController();
  const stream = fakeProvider([{ text: "abc", message: say("abc") }]).stream(request, controller.signal);
  assert.equal((await stream.next()).value.text, "a");
  const reason = new Error("enough");
  controller.abort(reason);
  await assert.rejects(stream.next(), (error) => error === reason);
  assert.deepEqual(await stream.next(), { value: undefined, done: true });
});

test("a stream that is left is over", async () => {
  const stream = fakeProvider([{ text: "abc", message: say("abc") }]).stream(request);
  for await (const chunk of stream) {
    assert.equal(chunk.text, "a");
    break;
  }
  assert.deepEqual(await stream.next(), { value: undefined, done: true });
});

test("changes to the array of turns come too late", async () => {
  const turns = [{ message: say("one") }];
  const model = fakeProvider(turns);
  turns[0] = { message: say("other") };
  assert.equal((await collect(model.stream(request)))[0].message.content[0].text, "one");
});

test("no turns are a ConfigError", () => {
  assert.throws(() => fakeProvider([]), { name: "ConfigError", message: "turns must hold at least one turn" });
});

const good = { message: say("x") };
const WRONG = [
  [undefined, /^turns must be an array/],
  [{}, /^turns must be an array/],
  [[good, null], /^turns\[1\] must be an object/],
  [new Array(1), /^turns\[0\] must be an object/],
  [[good, { text: "x" }], /^turns\[1\]\.message must be a message/],
  [[{ ...good, text: 3 }], /^turns\[0\]\.text must be a string/],
  [[{ message: { role: "user", content: [] } }], /^turns\[0\]\.message\.role must be "assistant", got "user"/],
  [[{ message: { role: "assistant", content: "x" } }], /^turns\[0\]\.message\.content must be an array of blocks/],
  [
    [{ message: { role: "assistant", content: ["x"] } }],
    /^turns\[0\]\.message\.content\[0\] must be a block with a type/,
  ],
  [[{ ...good, usage: {} }], /^turns\[0\]\.usage must have the numbers/],
  [[{ ...good, usage: null }], /^turns\[0\]\.usage must have the numbers/],
];
for (const [turns, message] of WRONG) {
  test(`a script is refused at its place: ${message.source}`, () => {
    assert.throws(() => fakeProvider(turns), { name: "TypeError", message });
  });
}
