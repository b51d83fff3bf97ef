// estimateTokens: an estimate that one may rely on to grow. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { estimateTokens } from "../../index.js";

const user = (content) => ({ role: "user", content });
const assistant = (...content) => ({ role: "assistant", content });
const image = (bytes) => ({ type: "image", mediaType: "image/png", data: Buffer.alloc(bytes).toString("base64") });

test("nothing is nothing, and every message counts for something", () => {
  assert.equal(estimateTokens([]), 0);
  for (const message of [user("a"), user(""), assistant(), assistant({ type: "text", text: "" })]) {
    const tokens = estimateTokens([message]);
    assert.ok(Number.isFinite(tokens) && tokens >= 0, `${tokens}`);
  }
  assert.ok(estimateTokens([user("a")]) >= 1);
});

test("more messages are more tokens, and the whole is the sum of its parts or near it", () => {
  const messages = Array.from({ length: 50 }, (_, index) => user(`message ${index}`));
  let last = 0;
  for (let count = 1; count <= messages.length; count += 1) {
    const tokens = estimateTokens(messages.slice(0, count));
    assert.ok(tokens > last);
    last = tokens;
  }
});

const SAMPLES = {
  English: "The quick brown fox jumps over the lazy dog. ",
  Chinese: "敏捷的棕色狐狸跳过了懒狗。",
  Japanese: "素早い茶色の狐がのろまな犬を飛び越える。",
  Korean: "날쌘 갈색 여우가 게으른 개를 뛰어넘는다.",
  emoji: "🦊🐕👩‍👩‍👧‍👦",
  code: "for (let i = 0; i < n; i += 1) { sum += a[i]; }\n",
};
for (const [language, sample] of Object.entries(SAMPLES)) {
  test(`a longer text is never fewer tokens: ${language}`, () => {
    const text = sample.repeat(Math.ceil(20_000 / sample.length));
    let last = 0;
    for (let length = 1; length <= text.length; length += 97) {
      const tokens = estimateTokens([user(text.slice(0, length))]);
      assert.ok(tokens >= last, `${tokens} at ${length}, ${last} before`);
      last = tokens;
    }
  });
}

test("a longer text is never fewer tokens: languages mixed", () => {
  const parts = [
    SAMPLES.English.repeat(40),
    SAMPLES.Chinese.repeat(60),
    SAMPLES.code.repeat(30),
    SAMPLES.Japanese.repeat(20),
  ];
  const text = parts.join("").repeat(4);
  let last = 0;
  for (let length = 1; length <= text.length; length += 101) {
    const tokens = estimateTokens([user(text.slice(0, length))]);
    assert.ok(tokens >= last, `${tokens} at ${length}, ${last} before`);
    last = tokens;
  }
});

test("English is about a token for four letters, Chinese about one a character", () => {
  const english = estimateTokens([user(SAMPLES.English.repeat(100))]) / (SAMPLES.English.length * 100);
  assert.ok(english > 0.15 && english < 0.5, `${english} a letter`);
  for (const language of ["Chinese", "Japanese", "Korean"]) {
    const each = estimateTokens([user(SAMPLES[language].repeat(100))]) / (SAMPLES[language].length * 100);
    assert.ok(each > 0.5 && each < 2.5, `${each} a character of ${language}`);
  }
});

test("a picture counts as a picture, not as its base64", () => {
  const small = estimateTokens([user([image(1_000)])]);
  const large = estimateTokens([user([image(3_000_000)])]);
  assert.ok(small > 50, `${small}`);
  assert.ok(large < 20_000, `${large}`);
  assert.ok(large >= small);
  assert.ok(estimateTokens([user([image(10), image(10)])]) > estimateTokens([user([image(10)])]));
  const inResult = [user([{ type: "tool_result", id: "a", content: [image(3_000_000)] }])];
  assert.ok(estimateTokens(inResult) > 50 && estimateTokens(inResult) < 20_000);
});

test("every kind of block counts, by what it holds", () => {
  const long = "word ".repeat(1_000);
  for (const block of [
    (text) => ({ type: "text", text }),
    (text) => ({ type: "reasoning", text }),
    (text) => ({ type: "tool_call", id: "a", name: "work", input: { text } }),
    (text) => ({ type: "tool_result", id: "a", content: text }),
    (text) => ({ type: "tool_result", id: "a", content: [{ type: "text", text }] }),
    (text) => ({ type: "native", provider: "p", data: { text } }),
    (text) => ({ type: "compaction", content: text }),
  ]) {
    const [few, many] = ["x", long].map((text) => estimateTokens([assistant(block(text))]));
    assert.ok(many > few + 500, `${JSON.stringify(block("x"))}: ${few}, ${many}`);
  }
  assert.ok(estimateTokens([assistant({ type: "compaction", content: null })]) >= 0);
});

test("ten million characters take a moment", () => {
  const started = performance.now();
  assert.ok(estimateTokens([user("x".repeat(10_000_000))]) > 1_000_000);
  assert.ok(performance.now() - started < 5_000);
});

test("what is no list of messages is a TypeError", () => {
  for (const given of [undefined, null, 5, "text", {}, [null], ["text"], [5]]) {
    assert.throws(() => estimateTokens(given), TypeError, JSON.stringify(given));
  }
});
