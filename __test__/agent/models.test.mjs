// fakeProvider and assertWellFormed, which are exported for tests. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { assertWellFormed, fakeProvider } from "../../index.js";
import { agentFor, collect, plainTool } from "../support/model.mjs";
import { eventsOf } from "../runs/reading.mjs";

const said = (text) => ({ role: "assistant", content: [{ type: "text", text }] });
const called = (...ids) => ({
  role: "assistant",
  content: ids.map((id) => ({ type: "tool_call", id, name: "echo", input: {} })),
});
const result = (id) => ({ type: "tool_result", id, content: "x" });
const user = (content) => ({ role: "user", content });
const request = (...messages) => ({ model: "m", messages });

async function chunksOf(provider, given = request(user("hi"))) {
  const chunks = [];
  for await (const chunk of provider.stream(given)) chunks.push(chunk);
  return chunks;
}

test("fakeProvider streams its text one delta a character, then its message", async () => {
  const chunks = await chunksOf(
    fakeProvider([{ text: "héy\u{1F600}", message: said("héy\u{1F600}"), usage: { inputTokens: 3, outputTokens: 4 } }]),
  );
  assert.deepEqual(
    chunks.slice(0, -1),
    ["h", "é", "y", "\u{1F600}"].map((text) => ({ type: "text_delta", text })),
  );
  assert.equal(chunks.at(-1).type, "message_done");
  assert.deepEqual(chunks.at(-1).message, said("héy\u{1F600}"));
  assert.deepEqual(chunks.at(-1).usage, { inputTokens: 3, outputTokens: 4 });
});

test("fakeProvider without text streams the message alone, with a usage", async () => {
  const chunks = await chunksOf(fakeProvider([{ message: said("x") }]));
  assert.deepEqual(
    chunks.map((chunk) => chunk.type),
    ["message_done"],
  );
  assert.equal(typeof chunks[0].usage.inputTokens, "number");
  assert.equal(typeof chunks[0].usage.outputTokens, "number");
});

test("fakeProvider answers call n with turn n, and the last turn ever after", async () => {
  const provider = fakeProvider([{ message: said("one") }, { message: said("two") }]);
  const texts = [];
  for (let count = 0; count < 4; count += 1) texts.push((await chunksOf(provider)).at(-1).message.content[0].text);
  assert.deepEqual(texts, ["one", "two", "two", "two"]);
  assert.equal(typeof provider.id, "string");
});

test("two fakeProviders count on their own", async () => {
  const turns = [{ message: said("one") }, { message: said("two") }];
  const [a, b] = [fakeProvider(turns), fakeProvider(turns)];
  await chunksOf(a);
  assert.equal((await chunksOf(b)).at(-1).message.content[0].text, "one");
});

test("an agent runs on a fakeProvider, calls and all", async (t) => {
  const agent = agentFor(t, {
    model: fakeProvider([{ message: called("a") }, { text: "end", message: said("end") }]),
    tools: [plainTool("echo", () => "x")],
  });
  const { events, result: outcome } = await collect(agent.run("hi"));
  assert.equal(outcome.text, "end");
  assert.deepEqual(
    eventsOf(events, "text_delta").map((event) => event.text),
    ["e", "n", "d"],
  );
});

test("fakeProvider without a turn is refused", () => {
  for (const turns of [undefined, [], 5]) assert.throws(() => fakeProvider(turns), Error);
});

const WELL_FORMED = {
  "one user message": request(user("hi")),
  "a conversation": request(user("hi"), said("yo"), user([{ type: "text", text: "again" }])),
  "calls and their results in one message": request(user("hi"), called("a", "b"), user([result("a"), result("b")])),
  "results and then text in one message": request(
    user("hi"),
    called("a"),
    user([result("a"), { type: "text", text: "steer" }]),
  ),
  "a call after a call": request(
    user("hi"),
    called("a"),
    user([result("a")]),
    called("b"),
    user([result("b")]),
    said("end"),
  ),
  images: request(user([{ type: "image", mediaType: "image/png", data: "AA==" }])),
  "reasoning before text": request(
    user("hi"),
    {
      role: "assistant",
      content: [
        { type: "reasoning", text: "hm" },
        { type: "text", text: "x" },
      ],
    },
    user("more"),
  ),
};
for (const [name, given] of Object.entries(WELL_FORMED)) {
  test(`assertWellFormed accepts ${name}`, () => assert.equal(assertWellFormed(given), undefined));
}

const ILL_FORMED = {
  "a call without a result": [request(user("hi"), called("a"), user("go on")), /a/],
  "a call at the end": [request(user("hi"), called("a")), /a/],
  "one of two results missing": [request(user("hi"), called("a", "b"), user([result("a")])), /b/],
  "a result without a call": [request(user("hi"), said("x"), user([result("ghost")])), /ghost/],
  "two results for one call": [request(user("hi"), called("a"), user([result("a"), result("a")])), /a/],
  "a result that comes too late": [
    request(user("hi"), called("late"), user("no"), said("x"), user([result("late")])),
    /late/,
  ],
  "a result before its call": [request(user([result("early")]), called("early"), user("x")), /early/],
  "two user messages in a row": [request(user("a"), user("b")), /user|alternate/],
  "two assistant messages in a row": [request(user("a"), said("b"), said("c")), /assistant|alternate/],
  "an assistant message first": [request(said("a"), user("b")), /assistant|user|first/],
  "an empty text": [request(user("")), /empty/],
  "an empty list": [request(user([])), /empty/],
  "an empty text block": [request(user([{ type: "text", text: "" }])), /empty/],
  "an empty text block of the assistant": [
    request(user("a"), { role: "assistant", content: [{ type: "text", text: "" }] }, user("b")),
    /empty/,
  ],
  "an empty assistant message": [request(user("a"), { role: "assistant", content: [] }, user("b")), /empty/],
};
for (const [name, [given, pattern]] of Object.entries(ILL_FORMED)) {
  test(`assertWellFormed throws at ${name}, and says what is wrong`, () =>
    assert.throws(() => assertWellFormed(given), pattern));
}
