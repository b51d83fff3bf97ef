// When a compaction is due: the window, the count, 80 %. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { compactingAgent, compactingModel, kindsOf, pairsOf, runOf, within, words } from "./compacting.mjs";
import { attempt, operations, outcome } from "../support/operations.mjs";

/** What one run fires, where the provider counts so many tokens. */
async function firedAt(t, tokens, { windowTokens, contextWindow, ...config } = {}) {
  const counted = [];
  const context = { countTokens: async (...given) => (counted.push(given), tokens) };
  if (contextWindow !== undefined) context.contextWindow = contextWindow;
  const model = compactingModel([{ text: "end" }], { context });
  if (windowTokens !== undefined) config.context = { windowTokens };
  const { agent, fired } = compactingAgent(t, { model, ...config });
  const { result, events } = await runOf(agent, "hi");
  assert.equal(result.text, "end");
  return { fired, counted, model, events };
}

for (const [name, config] of [
  ["context.windowTokens", { windowTokens: 1_000 }],
  ["the provider's contextWindow", { contextWindow: 1_000 }],
  ["windowTokens before the provider's contextWindow", { windowTokens: 1_000, contextWindow: 10 }],
  ["the provider's contextWindow before the known model's", { contextWindow: 1_000, modelName: "gpt-4" }],
]) {
  test(`due at 80 % of ${name}, and not below`, async (t) => {
    assert.deepEqual((await firedAt(t, 799, config)).fired, []);
    const { fired } = await firedAt(t, 800, config);
    assert.ok(fired.length > 0);
    assert.equal(pairsOf(fired)[0].before, 800);
  });
}

for (const [modelName, window] of [
  ["gpt-4", 8_192],
  ["claude-sonnet-4-5", 200_000],
]) {
  test(`a model of the built-in table has its window: ${modelName}`, async (t) => {
    assert.deepEqual((await firedAt(t, Math.floor(window * 0.8) - 1, { modelName })).fired, []);
    assert.ok((await firedAt(t, Math.ceil(window * 0.8), { modelName })).fired.length > 0);
  });
}

test("without a window nothing is ever due", async (t) => {
  assert.deepEqual((await firedAt(t, 1e9, { modelName: "my-own-model" })).fired, []);
});

for (const [name, config] of [
  ["context: false", { context: false }],
  ["compactor: false", { compactor: false }],
]) {
  test(`${name} turns automatic compaction off`, async (t) => {
    const { fired, counted } = await firedAt(t, 5_000, { contextWindow: 1_000, ...config });
    assert.deepEqual(fired, []);
    assert.deepEqual(counted, [], "nobody counts for nothing");
  });
}

test("countTokens gets the request that is about to be sent, and a signal", async (t) => {
  const { counted, model } = await firedAt(t, 10, { contextWindow: 1_000 });
  assert.equal(counted.length, 1);
  const [request, signal] = counted[0];
  assert.deepEqual(request, model.requests[0]);
  assert.ok(signal instanceof AbortSignal && !signal.aborted);
});

test("countTokens is called on its own object", async (t) => {
  let self;
  const context = {
    contextWindow: 1_000,
    async countTokens() {
      self = this;
      return 1;
    },
  };
  const { agent } = compactingAgent(t, { model: compactingModel([{ text: "end" }], { context }) });
  await runOf(agent, "hi");
  assert.equal(self, context);
});

for (const [name, value] of [
  ["NaN", NaN],
  ["a negative number", -1],
  ["infinity", Infinity],
  ["a text", "900"],
  ["nothing", undefined],
  ["a bigint", 900n],
]) {
  test(`a countTokens that answers ${name}: the run goes on by an estimate`, async (t) => {
    assert.deepEqual((await firedAt(t, value, { contextWindow: 1_000 })).fired, []);
    // The estimate still finds what is too long.
    const context = { contextWindow: 1_000, countTokens: async () => value };
    const model = compactingModel([{ text: words(900) }, { text: "end" }], { context });
    const { agent, fired } = compactingAgent(t, { model });
    await runOf(agent, "one");
    await runOf(agent, "two");
    assert.ok(kindsOf(fired).includes("auto"));
  });
}

for (const [name, countTokens] of [
  ["rejects", () => Promise.reject(new Error("count failed"))],
  [
    "throws",
    () => {
      throw new Error("count failed");
    },
  ],
  ["throws undefined", () => Promise.reject(undefined)],
]) {
  test(`a countTokens that ${name} does not end the run`, async (t) => {
    const model = compactingModel([{ text: "end" }], { context: { contextWindow: 1_000, countTokens } });
    const { agent } = compactingAgent(t, { model });
    assert.equal((await runOf(agent, "hi")).result.text, "end");
  });
}

test("a countTokens that answers at once, without a promise, is taken", async (t) => {
  const context = { contextWindow: 1_000, countTokens: () => 800 };
  const { agent, fired } = compactingAgent(t, { model: compactingModel([{ text: "end" }], { context }) });
  await runOf(agent, "hi");
  assert.equal(pairsOf(fired)[0].before, 800);
});

test("a countTokens that never answers is given up with its run", async (t) => {
  const controller = new AbortController();
  let seen;
  const context = {
    contextWindow: 1_000,
    countTokens: (_request, signal) => {
      seen = signal;
      controller.abort(new Error("enough"));
      return new Promise(() => {});
    },
  };
  const { agent } = compactingAgent(t, { model: compactingModel([{ text: "end" }], { context }) });
  const { stopReason } = await within(agent.send("hi", { signal: controller.signal }), "send()");
  assert.equal(stopReason, "aborted");
  assert.ok(seen.aborted);
});

for (const [name, contextWindow] of [
  ["NaN", NaN],
  ["a text", "1000"],
  ["null", null],
  ["negative", -5],
  ["zero", 0],
  ["infinite", Infinity],
  ["an object", {}],
]) {
  test(`a provider's contextWindow that is ${name} does not end the run`, async (t) => {
    const model = compactingModel([{ text: "end" }], { context: { contextWindow } });
    const { agent } = compactingAgent(t, { model });
    assert.equal((await runOf(agent, "hi")).result.text, "end");
  });
}

test("a provider whose context cannot be read fails no more than its run", async (t) => {
  const model = compactingModel([{ text: "end" }]);
  Object.defineProperty(model, "context", {
    get() {
      throw new Error("no context");
    },
  });
  const { agent } = compactingAgent(t, { model });
  await within(
    agent.send("hi").catch(() => {}),
    "send()",
  );
});

test("operations on its own session inside countTokens are refused, other sessions are not", async (t) => {
  const seen = {};
  let agent;
  let used = false;
  const context = {
    contextWindow: 1_000,
    async countTokens() {
      if (used) return 1;
      used = true;
      for (const name of Object.keys(operations))
        if (name !== "close") seen[name] = await outcome(attempt(name, agent));
      seen.other = (await agent.send("beside", { sessionId: "other" })).text;
      return 1;
    },
  };
  ({ agent } = compactingAgent(t, { model: compactingModel([{ text: "end" }], { context }) }));
  await runOf(agent, "hi");
  const { other, ...rest } = seen;
  assert.deepEqual(new Set(Object.values(rest)), new Set(["refused"]));
  assert.equal(other, "end");
});

test("the last reported usage counts, with what was added since and not more", async (t) => {
  // An answer that looks long and by the provider's account is not.
  const usage = { inputTokens: 100, outputTokens: 20 };
  const quiet = compactingAgent(t, {
    model: compactingModel([{ text: words(2_000), usage }, { text: "end" }]),
    context: { windowTokens: 1_000 },
  });
  await runOf(quiet.agent, "one");
  await runOf(quiet.agent, "two");
  assert.deepEqual(quiet.fired, []);

  // One that looks short and is not.
  const { agent, fired } = compactingAgent(t, {
    model: compactingModel([{ text: "short", usage: { inputTokens: 700, outputTokens: 60 } }, { text: "end" }]),
    context: { windowTokens: 1_000 },
  });
  await runOf(agent, "one");
  await runOf(agent, words(60));
  const [{ before }] = pairsOf(fired);
  assert.ok(before >= 810 && before <= 840, `${before}`);
});

test("what was read from or written to a cache was in the request as well", async (t) => {
  const usage = { inputTokens: 10, outputTokens: 10, cacheReadTokens: 500, cacheCreationTokens: 300 };
  const { agent, fired } = compactingAgent(t, {
    model: compactingModel([{ text: "short", usage }, { text: "end" }]),
    context: { windowTokens: 1_000 },
  });
  await runOf(agent, "one");
  await runOf(agent, "two");
  assert.ok(pairsOf(fired)[0].before >= 820);
});

test("a provider that reports no usage is estimated, system prompt included", async (t) => {
  const usage = { inputTokens: 0, outputTokens: 0 };
  const { agent, fired } = compactingAgent(t, {
    model: compactingModel([
      { text: words(700), usage },
      { text: "end", usage },
    ]),
    context: { windowTokens: 1_000 },
  });
  await runOf(agent, "one");
  assert.deepEqual(fired, []);
  await runOf(agent, words(80));
  assert.ok(fired.length > 0);
});
