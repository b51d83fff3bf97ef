// Host code that answers a promise where something else is wanted: the error says whose it was, and a promise that is
// rejected ends nothing, though nobody waits for it. Knows the public face only.
import { after, before, beforeEach, test } from "node:test";
import assert from "node:assert/strict";
import { setImmediate as eventLoop } from "node:timers/promises";
import { ConfigError, ProviderError, createLiteAgent, query, retry, tool } from "../../index.js";
import { agentFor, collect, plainTool, scriptedModel, temporaryFolder } from "../support/model.mjs";
import { call, rejectionOf } from "./reading.mjs";

const unhandled = [];
const note = (reason) => unhandled.push(reason);
before(() => process.on("unhandledRejection", note));
after(() => process.off("unhandledRejection", note));
beforeEach(() => unhandled.splice(0));

/** What nobody observed is told of when the microtasks are over. */
async function assertAllObserved() {
  await eventLoop();
  await eventLoop();
  assert.deepEqual(unhandled, []);
}

const refused = async () => {
  throw new Error("connection refused");
};
const usage = { inputTokens: 1, outputTokens: 1 };
const message = { role: "assistant", content: [{ type: "text", text: "x" }] };
const streamOf = (makeChunk) => ({
  id: "odd",
  async *stream() {
    yield makeChunk();
  },
});
const thenable = () => ({ then: (_resolve, reject) => queueMicrotask(() => reject(new Error("refused"))) });

/** Name → a configuration, and what the message must say. */
const CASES = {
  "a provider's async stream()": [
    { model: { id: "m", stream: refused } },
    /the model's stream\(\) .* got a promise; .*`\*` is missing, as in `async \*stream/,
  ],
  "a stream() that returns a thenable": [{ model: { id: "m", stream: thenable } }, /stream\(\).* got a promise/],
  "a stream whose iterator is a promise": [
    { model: { id: "m", stream: () => ({ [Symbol.asyncIterator]: refused }) } },
    /\[Symbol\.asyncIterator\]\(\) returned a promise/,
  ],
  "a chunk that is a promise": [
    {
      model: {
        id: "m",
        stream: () => ({ [Symbol.asyncIterator]: () => ({ next: async () => ({ value: refused(), done: false }) }) }),
      },
    },
    /chunk of unknown type a promise/,
  ],
  "an async wrapModelCall()": [
    { use: [{ name: "mine", wrapModelCall: refused }] },
    /^wrapModelCall\(\) of the middleware "mine" .* got a promise; .*`async \*wrapModelCall/,
  ],
  "an async wrapModelCall() within another": [
    { use: [retry({ attempts: 1 }), { name: "inner", wrapModelCall: refused }] },
    /^wrapModelCall\(\) of the middleware "inner" .* got a promise/,
  ],
  "a provider's async stream() within middleware": [
    { use: [retry({ attempts: 1 })], model: { id: "m", stream: refused } },
    /^the model's stream\(\) .* got a promise/,
  ],
};
for (const [name, [config, pattern]] of Object.entries(CASES)) {
  test(`${name} is a ProviderError that names it, and its rejection ends nothing`, async (t) => {
    const agent = agentFor(t, config);
    const { error } = await rejectionOf(agent.send("hi"));
    assert.ok(error instanceof ProviderError, `a ProviderError, not ${error?.name}: ${error?.message}`);
    assert.match(error.message, pattern);
    await assertAllObserved();
  });
}

for (const [name, chunk] of Object.entries({
  "a delta's text": () => ({ type: "text_delta", text: refused() }),
  "the message": () => ({ type: "message_done", message: refused(), usage }),
  "the usage": () => ({ type: "message_done", message, usage: refused() }),
  "a block": () => ({ type: "message_done", message: { role: "assistant", content: [refused(), refused()] }, usage }),
})) {
  test(`${name} that is a promise is a ProviderError, and its rejection ends nothing`, async (t) => {
    const agent = agentFor(t, { model: streamOf(chunk) });
    const { error } = await rejectionOf(agent.send("hi"));
    assert.ok(error instanceof ProviderError, `a ProviderError, not ${error?.name}: ${error?.message}`);
    assert.match(error.message, /a promise/);
    await assertAllObserved();
  });
}

test("a child's provider with an async stream() fails the child alone", async (t) => {
  const task = { display_name: "c", subagent_type: "general-purpose", prompt: "p", model: "simple" };
  const lead = { provider: scriptedModel([{ calls: [call("a", "Agent", { tasks: [task] })] }, { text: "end" }]) };
  const models = {
    simple: { provider: { id: "m", stream: refused }, modelName: "small" },
    medium: { ...lead, modelName: "medium" },
    complex: { ...lead, modelName: "large" },
  };
  const { workdir, home } = await temporaryFolder(t);
  const { events, result } = await collect(query({ prompt: "go", cwd: workdir, home, models }));
  const { completion } = events.find(({ type }) => type === "background_completed");
  assert.match(completion.content, /status: failed\)\n\nError: the model's stream\(\) .* got a promise/);
  assert.equal(result.text, "end");
  await assertAllObserved();
});

for (const [name, left] of Object.entries({
  "a promise": refused,
  "promises of messages": () => [refused(), refused()],
})) {
  test(`a beforeModel that leaves ${name} fails the run and says so`, async (t) => {
    const use = [
      {
        name: "mine",
        beforeModel(context) {
          context.messages = left();
        },
      },
    ];
    const { error } = await rejectionOf(agentFor(t, { use }).send("hi"));
    assert.match(error.message, /beforeModel must leave an array of messages .*got a promise; perhaps an `await`/);
    await assertAllObserved();
  });
}

for (const [name, output] of Object.entries({
  "promises of blocks": () => [1, 2].map(refused),
  "a content that is a promise": () => ({ content: refused() }),
  "a text that is a promise": () => [
    { type: "text", text: refused() },
    { type: "text", text: refused() },
  ],
  "an image's data that is a promise": () => [{ type: "image", mediaType: "image/png", data: refused() }],
})) {
  test(`a tool that returns ${name} has a failed result that says so`, async (t) => {
    const model = scriptedModel([{ calls: [call("a", "odd")] }, { text: "end" }]);
    const agent = agentFor(t, { model, tools: [plainTool("odd", output)] });
    const { events } = await collect(agent.run("hi"));
    const { result } = events.find(({ type }) => type === "tool_result");
    assert.equal(result.isError, true);
    assert.match(result.content, /^Error: tool 'odd' returned .*a promise \(is an `await` missing\?\)/);
    await assertAllObserved();
  });
}

const standard = (fields) => ({
  "~standard": { version: 1, vendor: "mine", validate: (value) => ({ value }), ...fields },
});

test("a schema whose jsonSchema.input() is asynchronous is a ConfigError that says so", async (t) => {
  const { workdir, home } = await temporaryFolder(t);
  const schema = standard({ jsonSchema: { input: refused } });
  const tools = [tool("odd", "Odd.", schema, () => "x")];
  const model = scriptedModel([{ text: "ok" }]);
  const told = /`~standard\.jsonSchema\.input\(\)` of its schema returned a promise/;
  assert.throws(
    () => createLiteAgent({ workdir, home, model, tools }),
    (error) => error instanceof ConfigError && told.test(error.message) && /^tool 'odd'/.test(error.message),
  );
  assert.throws(
    () => createLiteAgent({ workdir, home, model, outputSchema: schema }),
    (error) => error instanceof ConfigError && told.test(error.message) && /^outputSchema/.test(error.message),
  );
  await assertAllObserved();
});

test("issues that are a promise fail the call, and nothing else", async (t) => {
  const schema = standard({
    jsonSchema: { input: () => ({ type: "object" }) },
    validate: () => ({ issues: refused() }),
  });
  const model = scriptedModel([{ calls: [call("a", "odd")] }, { text: "end" }]);
  const agent = agentFor(t, { model, tools: [tool("odd", "Odd.", schema, () => "x")] });
  const { events, result } = await collect(agent.run("hi"));
  const { result: failed } = events.find(({ type }) => type === "tool_result");
  assert.match(failed.content, /the schema of mine returned a promise as issues/);
  assert.equal(result.text, "end");
  await assertAllObserved();
});

test("a redactor that answers a thenable is one that fails: what it was to mask is withheld", async (t) => {
  const model = scriptedModel([{ calls: [call("a", "echo")] }, { text: "end" }]);
  const agent = agentFor(t, {
    model,
    tools: [plainTool("echo", () => "x")],
    permission: { check: () => "allow" },
    permissionAudit: true,
    redact: thenable,
  });
  const { events } = await collect(agent.run("hi"));
  const decision = events.find(({ type }) => type === "permission_decision");
  assert.equal(decision.call.input, "[withheld: redact() failed]");
  await assertAllObserved();
});
