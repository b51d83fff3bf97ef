// wrapModelCall and wrapToolCall: altering, replacing, repeating what they wrap. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { ProviderError } from "../../index.js";
import {
  aborted,
  agentFor,
  collect,
  deferred,
  plainTool,
  recordHooks,
  scriptedModel,
  within,
} from "../support/model.mjs";
import { assertConversation, call, contentText, eventsOf, rejectionOf, resultFor, textOf } from "../runs/reading.mjs";

const usage = { inputTokens: 1, outputTokens: 2 };
const done = (text) => ({
  type: "message_done",
  message: { role: "assistant", content: [{ type: "text", text }] },
  usage,
});

test("wrapModelCall may alter every chunk: the stream, the store and the result have the altered ones", async (t) => {
  const loud = {
    name: "loud",
    async *wrapModelCall(_, next) {
      for await (const chunk of next()) {
        if (chunk.type === "message_done") yield done(chunk.message.content[0].text.toUpperCase());
        else yield { ...chunk, text: chunk.text.toUpperCase() };
      }
    },
  };
  const { events, result } = await collect(agentFor(t, { model: [{ deltas: ["a", "b"] }], use: [loud] }).run("hi"));
  assert.deepEqual(
    eventsOf(events, "text_delta").map((event) => event.text),
    ["A", "B"],
  );
  assert.equal(result.text, "AB");
  assert.equal(textOf(result.messages[1]), "AB");
  assert.deepEqual({ ...result.usage }, usage);
});

test("wrapModelCall may drop deltas and add its own", async (t) => {
  const quiet = {
    name: "quiet",
    async *wrapModelCall(_, next) {
      yield { type: "text_delta", text: "+" };
      for await (const chunk of next()) if (chunk.type === "message_done") yield chunk;
    },
  };
  const { events } = await collect(agentFor(t, { model: [{ deltas: ["a", "b"] }], use: [quiet] }).run("hi"));
  assert.deepEqual(
    eventsOf(events, "text_delta").map((event) => event.text),
    ["+"],
  );
});

test("wrapModelCall that never calls next answers in the model's place", async (t) => {
  const model = scriptedModel([{ text: "real" }]);
  const result = await agentFor(t, {
    model,
    use: [
      {
        name: "cache",
        async *wrapModelCall() {
          yield done("cached");
        },
      },
    ],
  }).send("hi");
  assert.equal(result.text, "cached");
  assert.equal(model.requests.length, 0);
});

test("wrapModelCall may call next again after a failure", async (t) => {
  const model = scriptedModel([{ error: new Error("down") }, { text: "up" }]);
  const again = {
    name: "again",
    async *wrapModelCall(_, next) {
      try {
        yield* next();
      } catch {
        yield* next();
      }
    },
  };
  assert.equal((await agentFor(t, { model, use: [again] }).send("hi")).text, "up");
  assert.equal(model.requests.length, 2);
});

test("wrapModelCall sees the very error that the provider threw, and may let another out", async (t) => {
  const inner = new Error("inner");
  const outer = new Error("outer");
  let seen;
  const swap = {
    name: "swap",
    async *wrapModelCall(_, next) {
      try {
        yield* next();
      } catch (error) {
        seen = error;
        throw outer;
      }
    },
  };
  const { error } = await rejectionOf(agentFor(t, { model: [{ error: inner }], use: [swap] }).send("hi"));
  assert.equal(seen, inner);
  assert.equal(error, outer);
});

test("a wrapModelCall that breaks the stream's contract is a ProviderError, as a provider's is", async (t) => {
  for (const wrapModelCall of [
    async function* none() {},
    async function* twice() {
      yield done("a");
      yield done("b");
    },
    () => undefined,
    () => 5,
  ]) {
    await assert.rejects(agentFor(t, { use: [{ name: "odd", wrapModelCall }] }).send("hi"), ProviderError);
  }
});

test("wrapModelCall sees the run's abort by its signal, and does not hold it up", async (t) => {
  const entered = deferred();
  let reason;
  const waits = {
    name: "waits",
    async *wrapModelCall({ signal }) {
      entered.resolve();
      reason = await aborted(signal);
      yield done("late");
    },
  };
  const agent = agentFor(t, { use: [waits] });
  const controller = new AbortController();
  const sent = agent.send("hi", { signal: controller.signal });
  await entered.promise;
  controller.abort("enough");
  assert.equal((await within(sent, "send()", 1_000)).stopReason, "aborted");
  await new Promise(setImmediate);
  assert.equal(reason, "enough");
});

test("one message is one model call's worth of events, however often the middleware asked", async (t) => {
  const model = scriptedModel([{ error: new Error("down") }, { text: "up" }]);
  const again = {
    name: "again",
    async *wrapModelCall(_, next) {
      try {
        yield* next();
      } catch {
        yield* next();
      }
    },
  };
  const { events } = await collect(agentFor(t, { model, use: [again] }).run("hi"));
  assert.equal(eventsOf(events, "message").length, 1);
  assert.equal(eventsOf(events, "turn_end").length, 1);
  assert.equal(eventsOf(events, "error").length, 0);
});

/** An agent whose model calls `echo` once; `ran` counts. */
function withEcho(t, use, execute) {
  const ran = { count: 0 };
  const model = scriptedModel([{ calls: [call("a", "echo", { x: 1 })] }, { text: "end" }]);
  const agent = agentFor(t, {
    model,
    use,
    tools: [
      plainTool("echo", (input, context) => {
        ran.count += 1;
        return execute ? execute(input, ran.count, context) : "real";
      }),
    ],
  });
  return { agent, model, ran };
}

test("wrapToolCall may answer without calling the tool", async (t) => {
  const { agent, model, ran } = withEcho(t, [
    {
      name: "cache",
      async wrapToolCall({ call: { id, name } }) {
        return { id, name, content: "cached" };
      },
    },
  ]);
  const fired = recordHooks(agent, ["tool:start", "tool:end"]);
  await agent.send("hi");
  assert.equal(ran.count, 0);
  assert.equal(resultFor(model.requests[1].messages, "a").content, "cached");
  assert.deepEqual(
    fired.map((event) => event.event),
    ["tool:start", "tool:end"],
  );
  assert.equal(fired[1].result.content, "cached");
});

test("wrapToolCall may change the result, which is what hooks, stream and model get", async (t) => {
  const { agent, model } = withEcho(t, [
    {
      name: "m",
      async wrapToolCall(_, next) {
        const result = await next();
        return { ...result, content: `${result.content}, changed`, isError: true };
      },
    },
  ]);
  const fired = recordHooks(agent, ["tool:end"]);
  const { events } = await collect(agent.run("hi"));
  const block = resultFor(model.requests[1].messages, "a");
  assert.equal(block.content, "real, changed");
  assert.equal(block.isError, true);
  assert.equal(eventsOf(events, "tool_result")[0].result.content, "real, changed");
  assert.equal(eventsOf(events, "tool_call_end")[0].isError, true);
  assert.equal(fired[0].status, "failed");
});

test("wrapToolCall may call next twice: the tool runs twice, its hooks fire once", async (t) => {
  const { agent, model, ran } = withEcho(
    t,
    [
      {
        name: "again",
        async wrapToolCall(_, next) {
          const first = await next();
          return first.isError ? next() : first;
        },
      },
    ],
    (_, count) => {
      if (count === 1) throw new Error("flaky");
      return "second time";
    },
  );
  const fired = recordHooks(agent, ["tool:start", "tool:end"]);
  await agent.send("hi");
  assert.equal(ran.count, 2);
  assert.equal(resultFor(model.requests[1].messages, "a").content, "second time");
  assert.deepEqual(
    fired.map((event) => event.event),
    ["tool:start", "tool:end"],
  );
});

test("next() gives middleware a ToolResult with the call's id and name, a thrown tool's as a failed one", async (t) => {
  let seen;
  const { agent } = withEcho(
    t,
    [
      {
        name: "m",
        async wrapToolCall(_, next) {
          seen = await next();
          return seen;
        },
      },
    ],
    () => {
      throw new Error("broken");
    },
  );
  await agent.send("hi");
  assert.deepEqual([seen.id, seen.name, seen.content, seen.isError], ["a", "echo", "Error: broken", true]);
});

test("a wrapToolCall that throws leaves a conversation that the next send() can use, with one tool:end", async (t) => {
  for (const wrapToolCall of [
    () => {
      throw new Error("wrap broke");
    },
    async () => {
      throw new Error("wrap broke");
    },
  ]) {
    let bad = true;
    const { agent } = withEcho(t, [
      {
        name: "m",
        wrapToolCall(context, next) {
          if (!bad) return next();
          bad = false;
          return wrapToolCall();
        },
      },
    ]);
    const fired = recordHooks(agent, ["tool:start", "tool:end", "run:end"]);
    const outcome = await within(
      agent.send("hi").then(
        (result) => ({ result }),
        (error) => ({ error }),
      ),
      "send()",
    );
    if (outcome.error) assert.equal(outcome.error.message, "wrap broke");
    else assert.match(contentText(resultFor(outcome.result.messages, "a")), /wrap broke/);
    assert.deepEqual(
      fired.map((event) => event.event),
      ["tool:start", "tool:end", "run:end"],
    );
    assert.equal(fired[1].status, "failed");
    const { messages } = await agent.send("again");
    assertConversation(messages);
    assert.equal(resultFor(messages, "a").isError, true);
  }
});

test("a wrapToolCall that returns what is no result does not take the run down unheard", async (t) => {
  for (const value of [undefined, null, 5, {}, { content: 5 }]) {
    const { agent } = withEcho(t, [{ name: "m", wrapToolCall: async () => value }]);
    const outcome = await within(
      agent.send("hi").then(
        (result) => ({ result }),
        (error) => ({ error }),
      ),
      "send()",
    );
    if (outcome.error) assert.match(outcome.error.message, /wrapToolCall|result|middleware/);
    else assert.equal(resultFor(outcome.result.messages, "a").isError, true);
    assertConversation((await agent.send("again")).messages);
  }
});

test("the result keeps its call's id and name, whatever a middleware wrote there", async (t) => {
  const { agent, model } = withEcho(t, [
    {
      name: "m",
      async wrapToolCall(_, next) {
        return { ...(await next()), id: "other", name: "other" };
      },
    },
  ]);
  const { events } = await collect(agent.run("hi"));
  assert.equal(eventsOf(events, "tool_result")[0].result.id, "a");
  assert.equal(resultFor(model.requests[1].messages, "a").content, "real");
});

test("next() called twice at once runs the tool twice, and each gives its own result", async (t) => {
  const { agent, model, ran } = withEcho(
    t,
    [
      {
        name: "race",
        async wrapToolCall(_, next) {
          const [first, second] = await Promise.all([next(), next()]);
          return { ...first, content: `${first.content} ${second.content}` };
        },
      },
    ],
    async (_, count) => {
      await null;
      return `run ${count}`;
    },
  );
  await agent.send("hi");
  assert.equal(ran.count, 2);
  assert.equal(resultFor(model.requests[1].messages, "a").content, "run 1 run 2");
});

test("next() that is kept and called after its call is over harms nobody", async (t) => {
  let kept;
  const { agent } = withEcho(t, [
    {
      name: "m",
      wrapToolCall(_, next) {
        kept = next;
        return next();
      },
    },
  ]);
  await agent.send("hi");
  await within(
    Promise.resolve()
      .then(() => kept())
      .then(
        () => {},
        () => {},
      ),
    "the late next()",
    2_000,
  );
  assert.equal((await agent.send("again")).text, "end");
});

test("a tool's deadline holds inside middleware", async (t) => {
  const model = scriptedModel([{ calls: [call("a", "slow")] }, { text: "end" }]);
  await agentFor(t, {
    model,
    use: [{ name: "m", wrapToolCall: (_, next) => next() }],
    tools: [plainTool("slow", () => new Promise(() => {}), { timeoutMs: 30 })],
  }).send("hi");
  assert.match(contentText(resultFor(model.requests[1].messages, "a")), /timed out after 30 ms/);
});

test("an abort inside a wrapToolCall that never settles ends the run at once", async (t) => {
  const entered = deferred();
  const { agent } = withEcho(t, [
    {
      name: "m",
      wrapToolCall() {
        entered.resolve();
        return new Promise(() => {});
      },
    },
  ]);
  const controller = new AbortController();
  const sent = agent.send("hi", { signal: controller.signal });
  await entered.promise;
  controller.abort();
  const result = await within(sent, "send()", 1_000);
  assert.equal(result.stopReason, "aborted");
  assert.match(contentText(resultFor(result.messages, "a")), /interrupted/);
});

test("parallel calls go through middleware at the same time, each with its own call", async (t) => {
  const both = deferred();
  const seen = [];
  const model = scriptedModel([{ calls: [call("a", "echo"), call("b", "echo")] }, { text: "end" }]);
  await within(
    agentFor(t, {
      model,
      tools: [plainTool("echo", (_, { call: { id } }) => id)],
      use: [
        {
          name: "m",
          async wrapToolCall(context, next) {
            seen.push(context.call.id);
            if (seen.length === 2) both.resolve();
            await both.promise;
            return next();
          },
        },
      ],
    }).send("hi"),
    "send()",
  );
  assert.deepEqual(seen.sort(), ["a", "b"]);
});
