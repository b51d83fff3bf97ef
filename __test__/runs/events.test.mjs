// The events of a run: which, in what order, with what in them. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { agentFor, collect, deferred, plainTool, scriptedModel, until } from "../support/model.mjs";
import { call, eventsOf, textOf, typesOf } from "./reading.mjs";

const message = (text) => ({ role: "assistant", content: [{ type: "text", text }] });

test("a run that answers in text has exactly these events, in this order", async (t) => {
  const agent = agentFor(t, { model: [{ deltas: ["he", "llo"] }] });
  const { events, result } = await collect(agent.run("hi"));
  assert.deepEqual(typesOf(events), [
    "turn_start",
    "model_call_start",
    "text_delta",
    "text_delta",
    "model_call_end",
    "message",
    "turn_end",
    "done",
  ]);
  assert.deepEqual(events[0], { type: "turn_start", turn: 1 });
  assert.equal(events[1].turn, 1);
  assert.equal(events[1].model, "scripted");
  assert.deepEqual(
    events.slice(2, 4).map((event) => event.text),
    ["he", "llo"],
  );
  assert.equal(events[4].turn, 1);
  assert.equal(events[4].model, "scripted");
  assert.deepEqual(events[4].usage, { inputTokens: 10, outputTokens: 5 });
  assert.ok(events[4].durationMs >= 0);
  assert.equal(events[4].error, undefined);
  assert.deepEqual(events[5].message, message("hello"));
  assert.deepEqual(events[6], { type: "turn_end", turn: 1, stopReason: "stop" });
  assert.equal(events[7].reason, "stop");
  assert.deepEqual(events[7].result, result);
  assert.equal(result.text, "hello");
});

test("a run with one call has exactly these events, in this order", async (t) => {
  const agent = agentFor(t, {
    tools: [plainTool("echo", ({ say }) => `said ${say}`)],
    model: [{ text: "so", calls: [call("c1", "echo", { say: "x" })] }, { text: "end" }],
  });
  const { events } = await collect(agent.run("hi"));
  const permission = events.filter((event) => event.type === "permission_decision");
  const rest = events.filter((event) => event.type !== "permission_decision");
  assert.ok(permission.every((event) => event.decision === "allow"));
  assert.deepEqual(typesOf(rest), [
    "turn_start",
    "model_call_start",
    "text_delta",
    "model_call_end",
    "message",
    "tool_use",
    "tool_call_start",
    "tool_call_end",
    "tool_result",
    "turn_end",
    "turn_start",
    "model_call_start",
    "text_delta",
    "model_call_end",
    "message",
    "turn_end",
    "done",
  ]);
  const expected = { id: "c1", name: "echo", input: { say: "x" } };
  assert.deepEqual(rest[5], { type: "tool_use", call: expected });
  assert.deepEqual(rest[6], { type: "tool_call_start", call: expected, turn: 1 });
  const { durationMs, ...end } = rest[7];
  assert.deepEqual(end, { type: "tool_call_end", id: "c1", name: "echo", turn: 1, isError: false });
  assert.ok(durationMs >= 0);
  assert.equal(rest[8].result.id, "c1");
  assert.equal(rest[8].result.name, "echo");
  assert.equal(rest[8].result.content, "said x");
  assert.notEqual(rest[8].result.isError, true);
  assert.deepEqual(rest[9], { type: "turn_end", turn: 1, stopReason: "tool_use" });
  assert.equal(rest[10].turn, 2);
  assert.deepEqual(rest[15], { type: "turn_end", turn: 2, stopReason: "stop" });
});

test("every tool_use of a turn comes before the first tool_call_start, in call order", async (t) => {
  const agent = agentFor(t, {
    tools: [plainTool("echo", () => "x")],
    model: [{ calls: [call("a", "echo"), call("b", "echo"), call("c", "echo")] }, { text: "end" }],
  });
  const { events } = await collect(agent.run("hi"));
  const types = typesOf(events);
  assert.deepEqual(
    eventsOf(events, "tool_use").map((event) => event.call.id),
    ["a", "b", "c"],
  );
  assert.ok(types.lastIndexOf("tool_use") < types.indexOf("tool_call_start"));
  assert.ok(types.lastIndexOf("tool_result") < types.indexOf("turn_end"));
});

test("parallel calls end and report in the order in which they finish, each start, end, result", async (t) => {
  const gates = { a: deferred(), b: deferred(), c: deferred() };
  const agent = agentFor(t, {
    tools: [
      plainTool("wait", async (_, { call: { id } }) => {
        await gates[id].promise;
        return id;
      }),
    ],
    model: [{ calls: [call("a", "wait"), call("b", "wait"), call("c", "wait")] }, { text: "end" }],
  });
  const events = [];
  agent.subscribe(({ event }) => events.push(event));
  const sent = agent.send("hi");
  await until(() => eventsOf(events, "tool_call_start").length === 3, "all three started");
  for (const id of ["c", "a", "b"]) {
    gates[id].resolve();
    await until(() => eventsOf(events, "tool_result").some((event) => event.result.id === id), `the result of ${id}`);
  }
  await sent;
  assert.deepEqual(
    eventsOf(events, "tool_call_start").map((event) => event.call.id),
    ["a", "b", "c"],
  );
  assert.deepEqual(
    eventsOf(events, "tool_call_end").map((event) => event.id),
    ["c", "a", "b"],
  );
  assert.deepEqual(
    eventsOf(events, "tool_result").map((event) => event.result.id),
    ["c", "a", "b"],
  );
  for (const id of ["a", "b", "c"]) {
    const end = events.findIndex((event) => event.type === "tool_call_end" && event.id === id);
    const result = events.findIndex((event) => event.type === "tool_result" && event.result.id === id);
    assert.ok(end < result, `tool_call_end of ${id} before its tool_result`);
  }
});

test("reasoning deltas pass as reasoning_delta, in order among the text", async (t) => {
  const model = {
    id: "thinker",
    async *stream() {
      yield { type: "reasoning_delta", text: "hm" };
      yield { type: "text_delta", text: "a" };
      yield { type: "reasoning_delta", text: "so" };
      yield {
        type: "message_done",
        message: {
          role: "assistant",
          content: [
            { type: "reasoning", text: "hmso", signature: "s" },
            { type: "text", text: "a" },
          ],
        },
        usage: { inputTokens: 1, outputTokens: 1 },
      };
    },
  };
  const agent = agentFor(t, { model });
  const { events, result } = await collect(agent.run("hi"));
  assert.deepEqual(
    events.filter((event) => event.type.endsWith("_delta")).map(({ type, text }) => [type, text]),
    [
      ["reasoning_delta", "hm"],
      ["text_delta", "a"],
      ["reasoning_delta", "so"],
    ],
  );
  assert.equal(result.text, "a");
  assert.deepEqual(result.messages.at(-1).content[0], { type: "reasoning", text: "hmso", signature: "s" });
});

test("a turn's stop reason is the provider's, and follows from the calls where the provider gives none", async (t) => {
  const done = (content, stopReason) => ({
    type: "message_done",
    message: { role: "assistant", content },
    usage: { inputTokens: 1, outputTokens: 1 },
    ...(stopReason && { stopReason }),
  });
  const answers = [
    done([{ type: "tool_call", id: "a", name: "echo", input: {} }]),
    done([{ type: "tool_call", id: "b", name: "echo", input: {} }], "tool_use"),
    done([{ type: "text", text: "cut" }], "max_tokens"),
    done([{ type: "text", text: "end" }]),
  ];
  const model = {
    id: "m",
    async *stream() {
      yield answers.shift();
    },
  };
  const agent = agentFor(t, { model, tools: [plainTool("echo", () => "x")] });
  const first = await collect(agent.run("hi"));
  const second = await collect(agent.run("go on"));
  assert.deepEqual(
    eventsOf(first.events, "turn_end").map((event) => event.stopReason),
    ["tool_use", "tool_use", "max_tokens"],
  );
  assert.deepEqual(
    eventsOf(second.events, "turn_end").map((event) => event.stopReason),
    ["stop"],
  );
  assert.equal(first.result.stopReason, "stop");
});

test("the result holds the last assistant message's text, the summed usage and the whole conversation", async (t) => {
  const agent = agentFor(t, {
    tools: [plainTool("echo", () => "x")],
    model: [
      { text: "first", calls: [call("a", "echo")], usage: { inputTokens: 100, outputTokens: 7, cacheReadTokens: 3 } },
      { text: "last", usage: { inputTokens: 20, outputTokens: 1, cacheReadTokens: 4, cacheCreationTokens: 5 } },
    ],
  });
  const result = await agent.send("hi");
  assert.equal(result.text, "last");
  assert.deepEqual(
    { ...result.usage },
    { inputTokens: 120, outputTokens: 8, cacheReadTokens: 7, cacheCreationTokens: 5 },
  );
  assert.deepEqual(
    result.messages.map((entry) => entry.role),
    ["user", "assistant", "user", "assistant"],
  );
  assert.equal(textOf(result.messages[0]), "hi");
  assert.equal(result.stopReason, "stop");
});

test("a message of several text blocks has their joined text as the result's text", async (t) => {
  const agent = agentFor(t, {
    model: [
      {
        content: [
          { type: "text", text: "a" },
          { type: "reasoning", text: "-" },
          { type: "text", text: "b" },
        ],
      },
    ],
  });
  assert.equal((await agent.send("hi")).text, "ab");
});

test("usage is the run's own, not the session's", async (t) => {
  const agent = agentFor(t);
  await agent.send("one");
  assert.deepEqual({ ...(await agent.send("two")).usage }, { inputTokens: 10, outputTokens: 5 });
});

test("send() resolves with what run() returns", async (t) => {
  const sent = await agentFor(t).send("hi");
  const { result } = await collect(agentFor(t).run("hi"));
  assert.deepEqual(sent, result);
});

test("no event of a root agent has an agentId", async (t) => {
  const agent = agentFor(t, {
    tools: [plainTool("echo", () => "x")],
    model: [{ calls: [call("a", "echo")] }, { text: "end" }],
  });
  const { events } = await collect(agent.run("hi"));
  assert.ok(events.every((event) => !("agentId" in event) || event.agentId === undefined));
});

test("an assistant message without a block ends the run with an empty text and leaves the session usable", async (t) => {
  const model = scriptedModel([{ content: [] }, { content: [{ type: "text", text: "" }] }, { text: "fine" }]);
  const agent = agentFor(t, { model });
  assert.equal((await agent.send("one")).text, "");
  assert.equal((await agent.send("two")).text, "");
  assert.equal((await agent.send("three")).text, "fine");
});
