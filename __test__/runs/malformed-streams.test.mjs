// A provider whose stream breaks the contract: a ProviderError that says what was wrong, and a session that lives on.
// Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { AgentError, ProviderError } from "../../index.js";
import { agentFor, collectUntilError, plainTool, recordHooks, scriptedModel, within } from "../support/model.mjs";
import { assertConversation, eventsOf, rejectionOf } from "./reading.mjs";

const usage = { inputTokens: 1, outputTokens: 1 };
const message = { role: "assistant", content: [{ type: "text", text: "x" }] };
const done = { type: "message_done", message, usage };
const toolCall = (id, fields) => ({ type: "tool_call", id, name: "echo", input: {}, ...fields });
const doneWith = (content) => ({ type: "message_done", message: { role: "assistant", content }, usage });
const delta = { type: "text_delta", text: "x" };

/** Name → the chunks, and what the message must speak of. */
const STREAMS = {
  "no chunk at all": [[], /message_done/],
  "no message_done": [[delta], /message_done/],
  "two message_done": [[done, done], /message_done/],
  "a delta after message_done": [[done, delta], /message_done/],
  "an unknown chunk": [[{ type: "text-delta", text: "x" }, done], /text-delta/],
  "a chunk without a type": [[{ text: "x" }, done], /type|chunk/],
  "a chunk that is null": [[null, done], /chunk|null/],
  "a chunk that is undefined": [[undefined, done], /chunk|undefined/],
  "a chunk that is a string": [["x", done], /chunk|string/],
  "a chunk that is a number": [[7, done], /chunk|number/],
  "a delta whose text is no string": [[{ type: "text_delta", text: 5 }, done], /text/],
  "a delta without text": [[{ type: "reasoning_delta" }, done], /text/],
  "no message in message_done": [[{ type: "message_done", usage }], /message/],
  "a message that is a string": [[{ type: "message_done", message: "x", usage }], /message/],
  "a message without content": [[{ type: "message_done", message: { role: "assistant" }, usage }], /content/],
  "a message whose content is null": [[doneWith(null)], /content/],
  "a message whose content is a number": [[doneWith(5)], /content/],
  "a message of the user": [
    [{ type: "message_done", message: { role: "user", content: [{ type: "text", text: "x" }] }, usage }],
    /role|assistant/,
  ],
  "a block that is null": [[doneWith([null])], /content|block/],
  "a block without a type": [[doneWith([{ text: "x" }])], /content|block|type/],
  "a text block without text": [[doneWith([{ type: "text" }])], /text/],
  "a tool call without an id": [[doneWith([toolCall(undefined)])], /id/],
  "a tool call with an empty id": [[doneWith([toolCall("")])], /id/],
  "a tool call whose id is a number": [[doneWith([toolCall(5)])], /id/],
  "a tool call without a name": [[doneWith([toolCall("a", { name: undefined })])], /name/],
  "a tool call whose name is a number": [[doneWith([toolCall("a", { name: 5 })])], /name/],
  "two tool calls with one id": [[doneWith([toolCall("same"), toolCall("same")])], /same/],
  "no usage": [[{ type: "message_done", message }], /usage/],
  "a usage that is null": [[{ type: "message_done", message, usage: null }], /usage/],
  "a usage without outputTokens": [
    [{ type: "message_done", message, usage: { inputTokens: 1 } }],
    /outputTokens|usage/,
  ],
  "a usage of strings": [
    [{ type: "message_done", message, usage: { inputTokens: "1", outputTokens: "1" } }],
    /inputTokens|usage/,
  ],
  "a usage of NaN": [
    [{ type: "message_done", message, usage: { inputTokens: NaN, outputTokens: 1 } }],
    /inputTokens|usage/,
  ],
  "a negative usage": [
    [{ type: "message_done", message, usage: { inputTokens: 1, outputTokens: -1 } }],
    /outputTokens|usage/,
  ],
  "an unknown stop reason": [[{ ...done, stopReason: "bored" }], /bored|stopReason/],
};

/** A model that misbehaves once and then is fine. */
function onceBad(stream) {
  let calls = 0;
  const fine = scriptedModel([{ text: "fine" }]);
  return {
    id: "bad",
    stream: (request, signal) => ((calls += 1) === 1 ? stream(request, signal) : fine.stream(request, signal)),
  };
}

async function assertRefused(t, stream, pattern) {
  const agent = agentFor(t, { model: onceBad(stream), tools: [plainTool("echo", () => "x")] });
  const fired = recordHooks(agent, ["run:end", "tool:start"]);
  const { error } = await within(rejectionOf(agent.send("hi")), "send()");
  assert.ok(error instanceof ProviderError, `a ProviderError, not ${error?.name}: ${error?.message}`);
  assert.ok(error instanceof AgentError);
  assert.match(error.message, pattern);
  assert.deepEqual(
    fired.map((event) => [event.event, event.status]),
    [["run:end", "failed"]],
  );
  const result = await within(agent.send("again"), "the next send()");
  assert.equal(result.text, "fine");
  assertConversation(result.messages);
}

for (const [name, [chunks, pattern]] of Object.entries(STREAMS)) {
  test(`a stream with ${name} is a ProviderError that says so`, async (t) => {
    await assertRefused(
      t,
      async function* stream() {
        yield* chunks;
      },
      pattern,
    );
  });
}

const NOT_STREAMS = {
  undefined: undefined,
  null: null,
  "a number": 5,
  "an object": {},
  "a promise": Promise.resolve(5),
  "a function": () => {},
};
for (const [name, value] of Object.entries(NOT_STREAMS)) {
  test(`a stream() that returns ${name} is a ProviderError that says so`, async (t) => {
    await assertRefused(t, () => value, /stream|iterable/);
  });
}

test("an iterator that is none is a ProviderError", async (t) => {
  await assertRefused(t, () => ({ [Symbol.asyncIterator]: () => 5 }), /stream|iterator|iterable|next/);
  await assertRefused(t, () => ({ [Symbol.asyncIterator]: () => ({}) }), /stream|iterator|iterable|next/);
});

test("an iterator result that is no object is a ProviderError", async (t) => {
  for (const value of [undefined, null, 5]) {
    await assertRefused(
      t,
      () => ({ [Symbol.asyncIterator]: () => ({ next: async () => value }) }),
      /stream|iterator|result|chunk|object/,
    );
  }
});

test("a malformed stream ends run() with a fatal error event and a throw", async (t) => {
  const agent = agentFor(t, {
    model: onceBad(async function* stream() {
      yield delta;
    }),
  });
  const { events, error } = await collectUntilError(agent.run("hi"));
  assert.ok(error instanceof ProviderError);
  assert.equal(events.at(-1).type, "error");
  assert.equal(events.at(-1).fatal, true);
  assert.equal(eventsOf(events, "message").length, 0);
});

test("calls of a refused message are not run", async (t) => {
  let ran = 0;
  const agent = agentFor(t, {
    model: onceBad(async function* stream() {
      yield doneWith([toolCall("a")]);
      yield delta;
    }),
    tools: [
      plainTool("echo", () => {
        ran += 1;
        return "x";
      }),
    ],
  });
  await assert.rejects(agent.send("hi"), ProviderError);
  assert.equal(ran, 0);
});

test("a stream that refuses to end after message_done is not waited for without end when aborted", async (t) => {
  const model = onceBad(async function* stream() {
    yield done;
    await new Promise(() => {});
  });
  const agent = agentFor(t, { model });
  const controller = new AbortController();
  const sent = agent.send("hi", { signal: controller.signal });
  setTimeout(() => controller.abort(), 30);
  const result = await within(sent, "send()", 2_000);
  assert.ok(["aborted", "stop"].includes(result.stopReason));
});

test("a chunk with a getter that throws fails the run, and the session lives on", async (t) => {
  const hostile = {
    type: "message_done",
    usage,
    get message() {
      throw new Error("mine");
    },
  };
  const agent = agentFor(t, {
    model: onceBad(async function* stream() {
      yield hostile;
    }),
  });
  await assert.rejects(agent.send("hi"), (error) => error instanceof Error);
  assert.equal((await agent.send("again")).text, "fine");
});

test("extra fields of chunks and usage are no fault", async (t) => {
  const agent = agentFor(t, {
    model: onceBad(async function* stream() {
      yield { ...delta, index: 0 };
      yield { ...done, id: "msg_1", usage: { ...usage, total: 2 } };
    }),
  });
  assert.equal((await agent.send("hi")).text, "x");
});
