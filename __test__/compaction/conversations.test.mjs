// Random conversations that are compacted all the time: what must hold of every request. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { assertWellFormed } from "../../index.js";
import {
  assertWholeCharacters,
  call,
  collect,
  compactingAgent,
  compactingModel,
  isSummaryRequest,
  json,
  pairsOf,
  plain,
  plainTool,
  requestTokens,
  words,
} from "./compacting.mjs";
import { randomFrom } from "../sessions/random.mjs";
import { testStore } from "../sessions/storing.mjs";

const SEEDS = process.env.LITE_AGENT_LONG === "1" ? 100 : 20;

const IMAGE = { type: "image", mediaType: "image/png", data: "iVBORw0KGgo=" };
const FILLERS = ["abc ", "🦊", "漢字", "é", "line\n"];

/** One conversation of several runs, with everything that may go wrong. */
async function converse(t, seed, { truthful }) {
  const random = randomFrom(seed);
  const windowTokens = random.of([2_500, 4_000, 8_000]);
  const text = (tokens, name) => `<${name}>${random.of(FILLERS).repeat(random.upTo(tokens))}</${name}>`;
  let calls = 0;
  let newest = "";
  let largest = 0;
  const store = testStore();
  const overflow = () => Object.assign(new Error("too long"), { code: "context_length_exceeded" });
  const turn = (request) => {
    if (!truthful && random.chance(0.05)) return { error: overflow() };
    if (random.chance(0.25)) return { text: text(windowTokens / 20, "said") };
    const made = Array.from({ length: 1 + random.upTo(2) }, () =>
      call(`c${(calls += 1)}`, random.chance(0.9) ? "work" : "context", {}),
    );
    return {
      text: random.chance(0.3) ? text(50, "calls") : undefined,
      calls: made,
      ...(truthful ? {} : oddUsage(random)),
    };
  };
  const summary = () =>
    random.chance(0.25)
      ? { error: new Error("no summary") }
      : { text: random.of(FILLERS).repeat(random.upTo(20_000)) || "S" };
  const context = random.chance(0.5) ? { countTokens: async (request) => requestTokens(request) } : undefined;
  const model = compactingModel(Array(200).fill(turn), {
    summary,
    context,
    onRequest(request) {
      if (isSummaryRequest(request)) return;
      assert.ok(json(request.messages).includes(newest), "the newest user message is there");
      largest = Math.max(largest, requestTokens(request) / windowTokens);
    },
  });
  const work = plainTool("work", () => {
    const size = random.chance(0.1) ? windowTokens * 2 : windowTokens / 10;
    const result = text(size, "result");
    const content = random.chance(0.2)
      ? [{ type: "text", text: result }, ...(random.chance(0.3) ? [IMAGE] : [])]
      : result;
    return { content, isError: random.chance(0.2) };
  });
  const made = compactingAgent(t, {
    model,
    tools: [work],
    checkpointer: random.chance(0.8) ? store.checkpointer : undefined,
    sessions: false,
    context: { windowTokens },
    maxTurns: 12,
  });
  let result;
  for (let run = 0; run < 6; run += 1) {
    newest = `[message ${run}]`;
    try {
      ({ result } = await collect(made.agent.run(newest + text(windowTokens / 20, "user"), { sessionId: "s" })));
    } catch (error) {
      // A second overflow in a row; anything else is a fault.
      if (error.code !== "context_length_exceeded") throw error;
    }
    if (random.chance(0.2))
      await collect(made.agent.compact()).catch(({ message }) => assert.equal(message, "no summary"));
  }
  // Where a request for a summary is refused, the agent takes another way: each is looked at here.
  for (const request of model.requests) {
    assertWellFormed(request);
    if (!isSummaryRequest(request)) assertWholeCharacters(request.messages);
    assert.equal(request.tools === undefined, isSummaryRequest(request), "a summary has no tools");
  }
  return { ...made, model, store, result, largest, windowTokens };
}

function oddUsage(random) {
  return random.chance(0.3) ? { usage: { inputTokens: random.upTo(10_000), outputTokens: 0 } } : {};
}

test("every request is well formed, holds the newest user message, and no half characters", async (t) => {
  let compactions = 0;
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    try {
      const { fired } = await converse(t, seed, { truthful: false });
      compactions += pairsOf(fired).length;
    } catch (error) {
      error.message = `seed ${seed}: ${error.message}`;
      throw error;
    }
  }
  assert.ok(compactions > SEEDS * 2, `${compactions} compactions`);
});

test("a model that counts honestly gets no request over the window", async (t) => {
  let compactions = 0;
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const { largest, fired } = await converse(t, seed, { truthful: true });
    compactions += pairsOf(fired).length;
    // Due at 80 %, and where a compaction freed little, after 10 % more.
    assert.ok(largest <= 0.9, `seed ${seed}: a request of ${Math.round(largest * 100)} % of the window`);
  }
  assert.ok(compactions > SEEDS * 2, `${compactions} compactions`);
});

test("what a new agent takes up of such a session is what the old one had", async (t) => {
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const { agent, store, result } = await converse(t, seed, { truthful: true });
    if (store.sessions.size === 0) continue;
    const before = store.stored("s").length;
    await agent.close();
    const model = compactingModel([{ text: words(5) }]);
    const { agent: other } = compactingAgent(t, { model, checkpointer: store.checkpointer, context: false });
    const { result: resumed } = await collect(other.run("MORE", { sessionId: "s" }));
    await other.close();
    if (store.types("s").slice(0, before).at(-1) === "summary") continue;
    assert.deepEqual(plain(resumed.messages.slice(0, -2)), plain(result.messages), `seed ${seed}`);
  }
});
