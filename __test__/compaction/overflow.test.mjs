// A model that says that the request was too long: one compaction, one more try. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import {
  assertEventsLike,
  call,
  collectUntilError,
  compactingAgent,
  compactingModel,
  eventsOf,
  json,
  pairsOf,
  plainTool,
  rejectionOf,
  requestTokens,
  runOf,
  within,
  words,
} from "./compacting.mjs";

const failing = (properties, message = "no") => Object.assign(new Error(message), properties);
const overflow = () => failing({ code: "context_length_exceeded" });

/** Two answers, then these turns. */
async function conversing(t, turns, { modelOptions, ...config } = {}) {
  const model = compactingModel([{ text: words(300, "a1") }, { text: words(300, "a2") }, ...turns], modelOptions);
  const made = compactingAgent(t, { model, ...config });
  await runOf(made.agent, "first");
  await runOf(made.agent, "second");
  return { model, ...made };
}

const RECOGNISED = [
  ["code context_length_exceeded", overflow()],
  ["code context_length_exceeded and no Error", { code: "context_length_exceeded" }],
  ...[400, 413].flatMap((status) =>
    [
      "prompt is too long: 205000 tokens > 200000 maximum",
      "This model's maximum context length is 8192 tokens",
      "input exceeds the context window",
      "context length exceeded",
      "Too Many Tokens in the request",
    ].map((message) => [`status ${status}: ${message}`, failing({ status }, message)]),
  ),
];
for (const [name, error] of RECOGNISED) {
  test(`compacts once and tries again: ${name}`, async (t) => {
    const { agent, model, fired } = await conversing(t, [{ error }, { text: "end" }]);
    const { result, events } = await runOf(agent, "third");
    assert.equal(result.text, "end");
    assert.equal(model.turns.length, 4);
    const ends = pairsOf(fired);
    assert.ok(ends.length >= 1 && ends.at(-1).kind === "auto");
    assertEventsLike(events, fired);
    const [refused, retried] = model.turns.slice(-2);
    assert.ok(requestTokens(retried) < requestTokens(refused));
    assert.ok(json(retried.messages).includes("third") && json(retried.messages).includes("SUMMARY"));
    assert.equal(eventsOf(events, "error").length, 0);
  });
}

const OTHERS = [
  ["status 500 with such a message", failing({ status: 500 }, "prompt is too long")],
  ["status 429 with such a message", failing({ status: 429 }, "too many tokens per minute")],
  ["status 400 with another message", failing({ status: 400 }, "invalid model")],
  ["such a message without a status", failing({}, "prompt is too long")],
  ["a status that is a text", failing({ status: "400" }, "prompt is too long")],
  ["another code", failing({ code: "rate_limit_exceeded", status: 400 }, "slow down")],
  ["a text", "prompt is too long"],
  ["undefined", undefined],
  ["null", null],
  [
    "an object that cannot be read",
    new Proxy(
      {},
      {
        get() {
          throw new Error("trap");
        },
      },
    ),
  ],
];
for (const [name, error] of OTHERS) {
  test(`ends the run at once with the very error, uncompacted: ${name}`, async (t) => {
    const { agent, model, fired } = await conversing(t, [{ error }, { text: "end" }]);
    const rejected = await within(rejectionOf(agent.send("third")), "send()");
    assert.equal(rejected.error, error);
    assert.equal(model.turns.length, 3);
    assert.deepEqual(fired, []);
  });
}

test("a second overflow ends the run with the very error, and the next run works", async (t) => {
  const first = overflow();
  const second = overflow();
  const { agent, model, fired } = await conversing(t, [{ error: first }, { error: second }, { text: "end" }]);
  const { events, error } = await within(collectUntilError(agent.run("third")), "the run");
  assert.equal(error, second);
  assert.equal(eventsOf(events, "error").at(-1).error, second);
  assert.equal(model.turns.length, 4);
  assert.equal(pairsOf(fired).at(-1).status, "completed");
  const { result } = await runOf(agent, "fourth");
  assert.equal(result.text, "end");
  assert.ok(json(model.turns.at(-1).messages).includes("third"));
});

test("each model call of a run has its own second try", async (t) => {
  const { agent, model } = await conversing(
    t,
    [{ error: overflow() }, { calls: [call("c", "work")] }, { error: overflow() }, { text: "end" }],
    { tools: [plainTool("work", () => words(400))] },
  );
  const { result } = await runOf(agent, words(50, "third"));
  assert.equal(result.text, "end");
  assert.equal(model.turns.length, 6);
  for (const { messages } of model.turns.slice(2)) assert.ok(json(messages).includes("<third>"));
});

test("where nothing can go, an overflow ends the run with the very error", async (t) => {
  const error = overflow();
  const { agent, fired } = compactingAgent(t, { model: compactingModel([{ error }, { text: "end" }]) });
  assert.equal((await rejectionOf(agent.send("hi"))).error, error);
  for (const { status, before, after } of pairsOf(fired)) assert.deepEqual([status, after], ["completed", before]);
  assert.equal((await runOf(agent, "again")).result.text, "end");
});

for (const config of [{ context: false }, { compactor: false }]) {
  test(`${json(config)}: an overflow ends the run with the very error`, async (t) => {
    const error = overflow();
    const { agent, model, fired } = await conversing(t, [{ error }, { text: "end" }], config);
    assert.equal((await rejectionOf(agent.send("third"))).error, error);
    assert.equal(model.turns.length, 3);
    assert.deepEqual(fired, []);
  });
}

test("an overflow of a known window is compacted though 80 % were not reached", async (t) => {
  const { agent, fired } = await conversing(t, [{ error: overflow() }, { text: "end" }], {
    context: { windowTokens: 100_000 },
  });
  assert.equal((await runOf(agent, "third")).result.text, "end");
  assert.ok(pairsOf(fired).length > 0);
});

test("a summary that overflows too is given up, and the oldest turns are dropped", async (t) => {
  const { agent, model, fired } = await conversing(t, [{ error: overflow() }, { text: "end" }], {
    modelOptions: { summary: () => ({ error: overflow() }) },
  });
  assert.equal((await runOf(agent, "third")).result.text, "end");
  assert.equal(model.summaries.length, 2);
  assert.equal(pairsOf(fired).at(-1).status, "completed");
});

test("after an overflow, a countTokens that fails does not take the place of the provider's error", async (t) => {
  const error = overflow();
  let calls = 0;
  const context = {
    contextWindow: 100_000,
    countTokens: async () => {
      calls += 1;
      if (calls > 3) throw new Error("count failed");
      return 10;
    },
  };
  const { agent } = await conversing(t, [{ error }, { error }], { modelOptions: { context } });
  assert.equal((await rejectionOf(agent.send("third"))).error, error);
});

test("a host's compactor is asked after an overflow; one that throws leaves the run with the provider's error", async (t) => {
  const error = overflow();
  let fails = true;
  const compactor = {
    async maybeCompact(messages) {
      if (fails) throw new Error("compactor failed");
      return { messages: messages.slice(-1) };
    },
  };
  const { agent, fired, model } = await conversing(t, [{ error }, { error }, { text: "end" }], {
    compactor,
    context: { windowTokens: 100_000 },
  });
  assert.equal((await rejectionOf(agent.send("third"))).error, error);
  assert.equal(pairsOf(fired)[0].status, "failed");
  assert.equal(pairsOf(fired)[0].error.message, "compactor failed");
  fails = false;
  assert.equal((await runOf(agent, "fourth")).result.text, "end");
  assert.equal(model.turns.at(-1).messages.length, 1);
  assert.equal(pairsOf(fired)[1].status, "completed");
});

test("an abort while the overflow is being compacted: the run is aborted, in a cancelled pair", async (t) => {
  const controller = new AbortController();
  const { agent, fired } = await conversing(t, [{ error: overflow() }, { text: "end" }], {
    modelOptions: { onSummary: () => controller.abort(), summary: { wait: new Promise(() => {}) } },
  });
  const { result } = await runOf(agent, "third", { signal: controller.signal });
  assert.equal(result.stopReason, "aborted");
  assert.equal(pairsOf(fired).at(-1).status, "cancelled");
});

test("what beforeModel left is what the first try sends; the second is shorter all the same", async (t) => {
  const use = [{ name: "looks", beforeModel: ({ messages }) => void messages.length }];
  const { agent, model } = await conversing(t, [{ error: overflow() }, { text: "end" }], { use });
  assert.equal((await runOf(agent, "third")).result.text, "end");
  assert.ok(json(model.turns.at(-1).messages).includes("SUMMARY"));
});
