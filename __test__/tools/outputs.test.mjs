// What a tool may return, and what the model gets of it. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { defineTool, textBlock, tool, toolResultBlock, isTextBlock, isToolCallBlock } from "../../index.js";
import { agentFor, collect, plainTool, scriptedModel } from "../support/model.mjs";
import { assertConversation, blocksOf, call, contentText, eventsOf, resultFor } from "../runs/reading.mjs";

/** Runs one call of a tool that does `execute`; gives its result block, its event and the whole result. */
async function outcomeOf(t, execute, options, config) {
  const model = scriptedModel([{ calls: [call("a", "subject", { x: 1 })] }, { text: "end" }]);
  const agent = agentFor(t, { model, tools: [plainTool("subject", execute, options)], ...config });
  const { events, result } = await collect(agent.run("hi"));
  assert.equal(result.text, "end");
  assertConversation(result.messages);
  const [event] = eventsOf(events, "tool_result");
  const [end] = eventsOf(events, "tool_call_end");
  const block = resultFor(model.requests[1].messages, "a");
  assert.deepEqual(event.result.content, block.content);
  assert.equal(end.isError, block.isError === true);
  return { block, event, result };
}

const image = { type: "image", mediaType: "image/png", data: "iVBORw0KGgo=" };

test("a string is the content as it is", async (t) => {
  const { block } = await outcomeOf(t, () => "plain");
  assert.deepEqual(
    { ...block, isError: block.isError ?? false },
    { type: "tool_result", id: "a", content: "plain", isError: false },
  );
});

test("a promise is awaited", async (t) => {
  assert.equal(
    (
      await outcomeOf(t, async () => {
        await null;
        return "later";
      })
    ).block.content,
    "later",
  );
});

test("a thenable is awaited", async (t) => {
  assert.equal((await outcomeOf(t, () => ({ then: (resolve) => resolve("then") }))).block.content, "then");
});

test("text and image blocks are the content as they are", async (t) => {
  const content = [{ type: "text", text: "see" }, image];
  assert.deepEqual((await outcomeOf(t, () => content)).block.content, content);
});

test("{ content } is a result that succeeded", async (t) => {
  const { block } = await outcomeOf(t, () => ({ content: "fine" }));
  assert.equal(block.content, "fine");
  assert.notEqual(block.isError, true);
});

test("{ content, isError: true } is a failed result, and no failed run", async (t) => {
  const { block, event } = await outcomeOf(t, () => ({ content: [textBlock("no"), image], isError: true }));
  assert.deepEqual(block.content, [textBlock("no"), image]);
  assert.equal(block.isError, true);
  assert.equal(event.result.isError, true);
});

test("isError: false and undefined are successes", async (t) => {
  assert.notEqual((await outcomeOf(t, () => ({ content: "a", isError: false }))).block.isError, true);
  assert.notEqual((await outcomeOf(t, () => ({ content: "a", isError: undefined }))).block.isError, true);
});

test("what a tool does to its content after returning it is not seen", async (t) => {
  const content = [{ type: "text", text: "true" }];
  const model = scriptedModel([
    { calls: [call("a", "keep")] },
    () => {
      content[0].text = "forged";
      return { calls: [call("b", "echo")] };
    },
    { text: "end" },
  ]);
  const agent = agentFor(t, { model, tools: [plainTool("keep", () => content), plainTool("echo", () => "x")] });
  const result = await agent.send("hi");
  assert.equal(contentText(resultFor(model.requests[2].messages, "a")), "true");
  assert.equal(contentText(resultFor(result.messages, "a")), "true");
});

test("an empty string and an empty list are results that the next request can hold", async (t) => {
  await outcomeOf(t, () => "");
  await outcomeOf(t, () => []);
  await outcomeOf(t, () => ({ content: "" }));
  await outcomeOf(t, () => [{ type: "text", text: "" }]);
});

const cyclic = {};
cyclic.self = cyclic;
const ODD = {
  undefined: undefined,
  null: null,
  "a number": 42,
  NaN: NaN,
  "a boolean": true,
  "a BigInt": 10n,
  "a symbol": Symbol("s"),
  "a function": () => {},
  "an object": { some: "value" },
  "a cyclic object": cyclic,
  "a date": new Date(0),
  "content that is a number": { content: 5 },
  "content that is null": { content: null },
  "a list of strings": ["a"],
  "a list with null": [null],
  "a sparse list": [, textBlock("x")],
  "a block of another type": [{ type: "tool_call", id: "x", name: "y", input: {} }],
  "a text block without text": [{ type: "text" }],
  "an image without data": [{ type: "image", mediaType: "image/png" }],
  "isError that is a string": { content: "x", isError: "yes" },
  "an object whose content throws": {
    get content() {
      throw new Error("touched");
    },
  },
  "a proxy that throws at every touch": new Proxy(
    {},
    {
      get() {
        throw new Error("touched");
      },
      ownKeys() {
        throw new Error("touched");
      },
      has() {
        throw new Error("touched");
      },
      getPrototypeOf() {
        throw new Error("touched");
      },
    },
  ),
};
for (const [kind, value] of Object.entries(ODD)) {
  test(`a tool that returns ${kind} does not fail the run, and its result is one that a model can be sent`, async (t) => {
    // A thenable check touches the proxy inside the promise machinery: returned synchronously, the SDK must cope itself.
    const { block } = await outcomeOf(t, () => value);
    assert.ok(typeof block.content === "string" || Array.isArray(block.content));
    if (block.isError) assert.match(contentText(block), /\S/);
  });
}

test("what is no valid output is said to be so, naming the tool's fault", async (t) => {
  const { block } = await outcomeOf(t, () => [{ type: "video", data: "x" }]);
  assert.equal(block.isError, true);
  assert.match(contentText(block), /video|content|block/);
});

test("without stored sessions a result of 5 MB passes whole", async (t) => {
  const big = "x".repeat(5_000_000);
  assert.equal((await outcomeOf(t, () => big, undefined, { sessions: false })).block.content.length, big.length);
});

test("an image of 2 MB passes whole", async (t) => {
  const data = "A".repeat(2_000_000);
  assert.equal((await outcomeOf(t, () => [{ ...image, data }])).block.content[0].data, data);
});

test("tool() and defineTool() make the same tool", () => {
  const execute = () => "x";
  const schema = { type: "object" };
  const made = tool("name", "what it does", schema, execute, {
    timeoutMs: 5,
    jsonSchema: { type: "object" },
    security: { network: "none" },
  });
  assert.equal(made.name, "name");
  assert.equal(made.description, "what it does");
  assert.equal(made.schema, schema);
  assert.equal(made.timeoutMs, 5);
  assert.deepEqual(made.jsonSchema, { type: "object" });
  assert.deepEqual(made.security, { network: "none" });
  const defined = defineTool({ name: "name", description: "d", schema, execute });
  assert.equal(defined.name, "name");
  assert.equal(defined.schema, schema);
});

test("execute is called as a method of its tool", async (t) => {
  class Counter {
    name = "count";
    description = "counts";
    schema = { type: "object" };
    #count = 41;
    execute() {
      return String((this.#count += 1));
    }
  }
  const model = scriptedModel([{ calls: [call("a", "count")] }, { text: "end" }]);
  await agentFor(t, { model, tools: [defineTool(new Counter())] }).send("hi");
  assert.equal(blocksOf(model.requests[1].messages, "tool_result")[0].content, "42");
});

test("a plain object of the Tool shape is a tool", async (t) => {
  const model = scriptedModel([{ calls: [call("a", "bare")] }, { text: "end" }]);
  await agentFor(t, {
    model,
    tools: [{ name: "bare", description: "d", schema: { type: "object" }, execute: () => "ran" }],
  }).send("hi");
  assert.equal(blocksOf(model.requests[1].messages, "tool_result")[0].content, "ran");
});

test("the block makers and guards make and know their blocks", () => {
  assert.deepEqual(textBlock("x"), { type: "text", text: "x" });
  const made = toolResultBlock("id", "content");
  assert.deepEqual([made.type, made.id, made.content, made.isError ?? false], ["tool_result", "id", "content", false]);
  assert.equal(toolResultBlock("id", "content", true).isError, true);
  assert.equal(isTextBlock(textBlock("x")), true);
  assert.equal(isTextBlock(made), false);
  assert.equal(isToolCallBlock({ type: "tool_call", id: "a", name: "b", input: {} }), true);
  assert.equal(isToolCallBlock(textBlock("x")), false);
});
