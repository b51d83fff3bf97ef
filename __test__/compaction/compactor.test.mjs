// A compactor of the host. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import {
  assertEventsLike,
  call,
  collect,
  collectUntilError,
  compactingAgent,
  compactingModel,
  json,
  pairsOf,
  plain,
  plainTool,
  rejectionOf,
  runOf,
  textOf,
  within,
  words,
} from "./compacting.mjs";
import { outcome, operations, attempt } from "../support/operations.mjs";
import { testStore } from "../sessions/storing.mjs";

const user = (text) => ({ role: "user", content: text });

/** An agent whose compactor answers with `answer(messages, …)`; `asked` holds what it was given. */
function hosted(t, answer, { turns = [{ text: "one" }, { text: "two" }, { text: "end" }], ...config } = {}) {
  const asked = [];
  const compactor = {
    async maybeCompact(...given) {
      asked.push({ given: [plain(given[0]), { ...given[1] }, ...given.slice(2)], self: this });
      return answer(...given);
    },
  };
  const model = compactingModel(turns);
  return { asked, model, compactor, ...compactingAgent(t, { model, compactor, ...config }) };
}

const compacted = (agent, ...given) => within(collect(agent.compact(...given)), "compact()");

test("without a window it is asked before each model call, and each asking pairs", async (t) => {
  const tools = [plainTool("work", () => "x")];
  const turns = [{ calls: [call("a", "work")] }, { calls: [call("b", "work")] }, { text: "end" }];
  const { agent, asked, fired, model, compactor } = hosted(t, (messages) => ({ messages }), { tools, turns });
  const { events } = await runOf(agent, "hi");
  assert.equal(asked.length, 3);
  const ends = pairsOf(fired);
  assert.deepEqual(
    ends.map(({ status, before, after }) => [status, after === before]),
    Array(3).fill(["completed", true]),
  );
  assertEventsLike(events, fired);
  assert.equal(asked[0].self, compactor);
  assert.deepEqual(
    asked.map(({ given }) => given[0]),
    model.turns.map(({ messages }) => plain(messages)),
  );
});

test("with a window it is asked at 80 %", async (t) => {
  const turns = [{ text: words(500) }, { text: words(500) }, { text: "end" }];
  const { agent, asked, model } = hosted(t, (messages) => ({ messages: messages.slice(-1) }), {
    turns,
    context: { windowTokens: 1_500 },
  });
  await runOf(agent, "one");
  await runOf(agent, "two");
  assert.equal(asked.length, 0);
  await runOf(agent, words(150, "three"));
  assert.equal(asked.length, 1);
  assert.equal(model.turns.at(-1).messages.length, 1);
  assert.equal(model.summaries.length, 0);
});

test("it gets the messages, the model's last usage, no instructions, and a signal", async (t) => {
  const usage = { inputTokens: 123, outputTokens: 45 };
  const { agent, asked } = hosted(t, (messages) => ({ messages }), {
    turns: [{ text: "one", usage }, { text: "end" }],
  });
  await runOf(agent, "hi");
  await runOf(agent, "again");
  const [messages, given, instructions, signal] = asked[1].given;
  assert.deepEqual(messages.map(textOf), ["hi", "one", "again"]);
  assert.equal(given.inputTokens, 123);
  assert.equal(given.outputTokens, 45);
  assert.equal(instructions, undefined);
  assert.ok(signal instanceof AbortSignal && !signal.aborted);
});

test("what it answers is sent, stored, and taken up by a new agent", async (t) => {
  const store = testStore();
  const first = hosted(
    t,
    (messages) => ({ messages: messages.length > 2 ? [user("MINE"), ...messages.slice(-1)] : messages }),
    {
      checkpointer: store.checkpointer,
    },
  );
  await runOf(first.agent, "one");
  const { result } = await runOf(first.agent, "two");
  assert.ok(json(first.model.turns[1].messages).includes("MINE"));
  assert.ok(!json(first.model.turns[1].messages).includes('"one"'));
  assert.ok(json(result.messages).includes("MINE"));
  const { sessionId } = first.agent;
  await first.agent.close();
  const model = compactingModel([{ text: "end" }]);
  const { agent } = compactingAgent(t, { model, checkpointer: store.checkpointer });
  await runOf(agent, "three", { sessionId });
  assert.ok(json(model.turns[0].messages).includes("MINE"));
});

test("compact() asks it, with the instructions, also when the session is empty", async (t) => {
  const { agent, asked, fired, model } = hosted(t, (messages) => ({ messages }));
  const { result } = await compacted(agent, "be brief");
  assert.equal(asked.length, 1);
  assert.deepEqual(asked[0].given[0], []);
  assert.equal(asked[0].given[2], "be brief");
  assert.equal(result.before, result.after);
  assert.deepEqual([pairsOf(fired)[0].kind, pairsOf(fired)[0].status], ["manual", "completed"]);
  assert.equal(fired[0].instructions, "be brief");
  assert.equal(model.requests.length, 0);
});

test("compact() lets it leave nothing: no model is called", async (t) => {
  for (const left of [[], [user("")], [{ role: "user", content: [] }]]) {
    let before = true;
    const { agent, fired, model } = hosted(t, (messages) => ({ messages: before ? messages : left }));
    await runOf(agent, "one");
    before = false;
    await compacted(agent);
    before = true;
    assert.equal(pairsOf(fired).at(-1).status, "completed");
    await runOf(agent, "two");
    assert.deepEqual(model.turns.at(-1).messages.map(textOf), ["two"]);
  }
});

test("compact() without instructions gives it undefined", async (t) => {
  const { agent, asked } = hosted(t, (messages) => ({ messages }));
  await compacted(agent);
  assert.equal(asked[0].given[2], undefined);
});

test("compact() after a finished run may keep the model's last answer", async (t) => {
  const { agent, fired, model } = hosted(t, (messages) => ({ messages: [user("MINE"), ...messages.slice(-1)] }), {
    context: { windowTokens: 100_000 },
  });
  await runOf(agent, "one");
  await runOf(agent, "two");
  const { result } = await compacted(agent);
  assert.equal(pairsOf(fired)[0].status, "completed");
  assert.ok(result.after < result.before);
  await runOf(agent, "three");
  assert.deepEqual(model.turns.at(-1).messages.map(textOf), ["MINE", "two", "three"]);
});

for (const config of [{ context: false }, {}]) {
  test(`${json(config)}: what compact() fills into an empty session is there for the next run`, async (t) => {
    const { agent, model } = hosted(
      t,
      (messages) => ({ messages: messages.length === 0 ? [user("PRIMED")] : messages }),
      config,
    );
    await compacted(agent);
    await runOf(agent, "hi");
    assert.ok(json(model.turns[0].messages).includes("PRIMED"));
    assert.ok(json(model.turns[0].messages).includes("hi"));
  });
}

test("context: false: it is not asked by itself, and asked by compact()", async (t) => {
  const { agent, asked } = hosted(t, (messages) => ({ messages }), { context: false });
  await runOf(agent, "hi");
  assert.equal(asked.length, 0);
  await compacted(agent);
  assert.equal(asked.length, 1);
});

test("an array that it shortened in place and gave back is a change", async (t) => {
  const { agent, model } = hosted(t, (messages) => {
    if (messages.length > 2) messages.splice(0, messages.length - 1);
    return { messages };
  });
  await runOf(agent, "one");
  await runOf(agent, "two");
  assert.deepEqual(model.turns.at(-1).messages.map(textOf), ["two"]);
});

test("an array that it shortened in place changes nothing where it then throws", async (t) => {
  const { agent, model } = hosted(t, (messages) => {
    messages.length = 0;
    throw new Error("after all not");
  });
  await runOf(agent, "one");
  await runOf(agent, "two");
  assert.deepEqual(model.turns.at(-1).messages.map(textOf), ["one", "one", "two"]);
});

const CALLS = [user("a"), { role: "assistant", content: [{ type: "tool_call", id: "x", name: "work", input: {} }] }];
const MALFORMED = {
  nothing: undefined,
  null: null,
  "a text": "short",
  "no messages": {},
  "messages that are a text": { messages: "a" },
  "messages of null": { messages: [null] },
  "an unknown role": { messages: [{ role: "wizard", content: "a" }] },
  "a system message": { messages: [{ role: "system", content: "a" }, user("b")] },
  "an unknown block": { messages: [{ role: "user", content: [{ type: "video" }] }] },
  "a call without its result": { messages: [...CALLS, user("b")] },
  "a result without its call": {
    messages: [{ role: "user", content: [{ type: "tool_result", id: "x", content: "a" }] }],
  },
  "the assistant first": { messages: [{ role: "assistant", content: [{ type: "text", text: "a" }] }, user("b")] },
  "no message at all, before a model call": { messages: [] },
  "a message of an empty text alone, before a model call": { messages: [user("")] },
  "a message without a block alone, before a model call": { messages: [{ role: "user", content: [] }] },
  "messages of blocks that hold nothing, before a model call": {
    messages: [user(""), { role: "user", content: [{ type: "text", text: "" }] }],
  },
  "what is no JSON": {
    messages: [...CALLS.slice(0, 1), { role: "user", content: [{ type: "native", provider: "x", data: 1n }] }],
  },
};
for (const [name, answer] of Object.entries(MALFORMED)) {
  test(`a malformed answer is a failed pair, and the run goes on with what there was: ${name}`, async (t) => {
    const { agent, model, fired } = hosted(t, () => answer);
    const { result, events } = await runOf(agent, "hi there");
    assert.equal(result.text, "one");
    const [end] = pairsOf(fired);
    assert.equal(end.status, "failed");
    assert.ok(end.error.message.length > 0);
    assertEventsLike(events, fired);
    assert.deepEqual(model.turns[0].messages.map(textOf), ["hi there"]);
  });
}

test("an answer whose properties throw is a failed pair, and the run goes on", async (t) => {
  const odd = {
    get messages() {
      throw new Error("trap");
    },
  };
  const { agent, fired } = hosted(t, () => odd);
  assert.equal((await runOf(agent, "hi")).result.text, "one");
  assert.equal(pairsOf(fired)[0].error.message, "trap");
});

for (const [name, thrown] of [
  ["an error", new Error("compactor failed")],
  ["undefined", undefined],
  ["a text", "compactor failed"],
]) {
  test(`one that throws ${name}: a failed pair, the run goes on; compact() throws the very value`, async (t) => {
    const { agent, fired, failures } = hosted(t, () => {
      throw thrown;
    });
    assert.equal((await runOf(agent, "hi")).result.text, "one");
    const [end] = pairsOf(fired);
    assert.deepEqual([end.kind === "manual", end.status], [false, "failed"]);
    assert.deepEqual(failures, []);
    const ended = await within(collectUntilError(agent.compact()), "compact()");
    assert.ok("error" in ended);
    assert.equal(ended.error, thrown);
    assert.deepEqual([pairsOf(fired)[1].kind, pairsOf(fired)[1].status], ["manual", "failed"]);
  });
}

test("one that never answers is given up with its run", async (t) => {
  const controller = new AbortController();
  let seen;
  const { agent, fired } = hosted(t, (_messages, _usage, _instructions, signal) => {
    seen = signal;
    queueMicrotask(() => controller.abort());
    return new Promise(() => {});
  });
  const { result } = await runOf(agent, "hi", { signal: controller.signal });
  assert.equal(result.stopReason, "aborted");
  assert.ok(seen.aborted);
  assert.equal(pairsOf(fired)[0].status, "cancelled");
});

test("what it answers after it was given up changes nothing", async (t) => {
  const controller = new AbortController();
  let answer;
  let late = true;
  const { agent, model } = hosted(t, (messages) => {
    if (!late) return { messages };
    late = false;
    controller.abort();
    return new Promise((resolve) => {
      answer = resolve;
    });
  });
  await runOf(agent, "hi", { signal: controller.signal });
  answer({ messages: [user("TOO LATE")] });
  await new Promise(setImmediate);
  await runOf(agent, "again");
  assert.ok(!json(model.turns.at(-1).messages).includes("TOO LATE"));
});

test("what it answers after it was given up is not stored either", async (t) => {
  const store = testStore();
  const controller = new AbortController();
  let answer;
  const { agent } = hosted(
    t,
    () => {
      controller.abort();
      return new Promise((resolve) => {
        answer = resolve;
      });
    },
    { checkpointer: store.checkpointer },
  );
  await runOf(agent, "hi", { signal: controller.signal, sessionId: "s" });
  await agent.close();
  const before = store.types("s");
  answer({ messages: [user("TOO LATE")] });
  await new Promise(setImmediate);
  assert.deepEqual(store.types("s"), before);
});

test("what it keeps of its answer and changes later changes nothing", async (t) => {
  const mine = [user("MINE"), user("AND MINE")];
  const { agent, model } = hosted(t, (messages) => (messages.length === 3 ? { messages: mine } : { messages }));
  await runOf(agent, "one");
  await runOf(agent, "two");
  mine[0].content = "CHANGED";
  mine.length = 1;
  await runOf(agent, "three");
  for (const { messages } of model.turns) assert.ok(!json(messages).includes("CHANGED"));
});

test("operations on its own session inside it are refused, other sessions are not", async (t) => {
  const seen = {};
  let agent;
  let used = false;
  const made = hosted(t, async (messages) => {
    if (!used) {
      used = true;
      for (const name of Object.keys(operations))
        if (name !== "close") seen[name] = await outcome(attempt(name, agent));
      seen.other = (await agent.send("beside", { sessionId: "other" })).text;
    }
    return { messages };
  });
  ({ agent } = made);
  await runOf(agent, "hi");
  const { other, ...rest } = seen;
  assert.deepEqual(new Set(Object.values(rest)), new Set(["refused"]), json(seen));
  assert.ok(other);
});

test("no storms: one that changes nothing at 80 % is not asked before each call", async (t) => {
  const context = { contextWindow: 1_000, countTokens: async () => 900 };
  const turns = [...Array.from({ length: 5 }, (_, n) => ({ calls: [call(`c${n}`, "work")] })), { text: "end" }];
  const model = compactingModel(turns, { context });
  let asked = 0;
  const compactor = { maybeCompact: async (messages) => ((asked += 1), { messages }) };
  const { agent } = compactingAgent(t, { model, compactor, tools: [plainTool("work", () => "x")] });
  await runOf(agent, "hi");
  assert.equal(asked, 1);
});

test("a compactor that may pass on every kind of block that a conversation has", async (t) => {
  const odd = [
    { type: "reasoning", text: "", signature: "s" },
    { type: "native", provider: "x", data: { a: [1] } },
    { type: "compaction", content: null },
    { type: "text", text: "said" },
  ];
  const turns = [{ content: odd }, { content: [] }, { text: "end" }];
  const { agent, fired, model } = hosted(
    t,
    (messages) => ({ messages: messages.length > 4 ? messages.slice(2) : [...messages] }),
    { turns },
  );
  for (const text of ["one", "two", "three"]) await runOf(agent, text);
  assert.deepEqual(
    pairsOf(fired).map(({ status, error }) => [status, error?.message]),
    Array(3).fill(["completed", undefined]),
  );
  assert.ok(json(model.turns.at(-1).messages).includes("three"));
});

test("maybeCompact that is missing is refused when the agent is made", (t) => {
  for (const compactor of [{}, { maybeCompact: 5 }, true, "x", null]) {
    assert.throws(() => compactingAgent(t, { model: compactingModel([{ text: "x" }]), compactor }), /compactor/);
  }
});

test("a failing provider after it still ends the run with the very error", async (t) => {
  const error = new Error("no");
  const { agent } = hosted(t, (messages) => ({ messages }), { turns: [{ error }, { text: "end" }] });
  assert.equal((await rejectionOf(agent.send("hi"))).error, error);
});
