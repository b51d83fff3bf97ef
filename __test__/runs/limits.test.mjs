// Bounds of a run: maxTurns, maxTotalTokens, maxParallelTools. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { agentFor, collect, deferred, plainTool, recordHooks, scriptedModel, until } from "../support/model.mjs";
import { assertConversation, call, eventsOf, resultFor } from "./reading.mjs";

/** A model that calls `echo` for ever. */
function endless(usage) {
  let count = 0;
  return scriptedModel([
    () => ({ text: `turn ${(count += 1)}`, calls: [call(`c${count}`, "echo")], ...(usage && { usage }) }),
  ]);
}

const echo = () => plainTool("echo", () => "x");

test("maxTurns of the config ends the run without an error", async (t) => {
  const model = endless();
  const result = await agentFor(t, { model, maxTurns: 3, tools: [echo()] }).send("hi");
  assert.equal(result.stopReason, "max_turns");
  assert.equal(model.requests.length, 3);
  assert.equal(result.text, "turn 3");
});

test("the calls of the last allowed turn are run, so that the conversation stays well formed", async (t) => {
  const model = endless();
  const agent = agentFor(t, { model, maxTurns: 2, tools: [echo()] });
  const { events, result } = await collect(agent.run("hi"));
  assert.equal(resultFor(result.messages, "c2").content, "x");
  assertConversation(result.messages);
  assert.equal(eventsOf(events, "tool_result").length, 2);
  assert.equal(events.at(-1).type, "done");
  assert.equal(events.at(-1).reason, "max_turns");
  assert.equal(eventsOf(events, "error").length, 0);
});

test("the session goes on after max_turns", async (t) => {
  const model = scriptedModel([{ calls: [call("a", "echo")] }, { text: "end" }]);
  const agent = agentFor(t, { model, maxTurns: 1, tools: [echo()] });
  assert.equal((await agent.send("hi")).stopReason, "max_turns");
  const result = await agent.send("more");
  assert.equal(result.stopReason, "stop");
  assertConversation(result.messages);
});

test("a run that ends by itself in its last allowed turn has stopped, not run out", async (t) => {
  const agent = agentFor(t, { model: [{ calls: [call("a", "echo")] }, { text: "end" }], maxTurns: 2, tools: [echo()] });
  assert.equal((await agent.send("hi")).stopReason, "stop");
});

test("maxTurns of a run goes over the config's, both ways", async (t) => {
  const model = endless();
  const agent = agentFor(t, { model, maxTurns: 2, tools: [echo()] });
  assert.equal((await agent.send("hi", { maxTurns: 4 })).stopReason, "max_turns");
  assert.equal(model.requests.length, 4);
  await agent.send("hi", { maxTurns: 1 });
  assert.equal(model.requests.length, 5);
  await agent.send("hi", { maxTurns: undefined });
  assert.equal(model.requests.length, 7);
});

test("the default is 50 turns", async (t) => {
  const model = endless();
  assert.equal((await agentFor(t, { model, tools: [echo()] }).send("hi")).stopReason, "max_turns");
  assert.equal(model.requests.length, 50);
});

test("run:end of a run that ran out of turns has status max_turns", async (t) => {
  const agent = agentFor(t, { model: endless(), maxTurns: 1, tools: [echo()] });
  const fired = recordHooks(agent, ["run:end"]);
  await agent.send("hi");
  assert.deepEqual(
    fired.map(({ status, result }) => [status, result.stopReason]),
    [["max_turns", "max_turns"]],
  );
});

test("turns are numbered from 1 in each run", async (t) => {
  const agent = agentFor(t, { model: endless(), maxTurns: 3, tools: [echo()] });
  for (let round = 0; round < 2; round += 1) {
    const { events } = await collect(agent.run("hi"));
    assert.deepEqual(
      eventsOf(events, "turn_start").map((event) => event.turn),
      [1, 2, 3],
    );
    assert.deepEqual(
      eventsOf(events, "turn_end").map((event) => event.turn),
      [1, 2, 3],
    );
  }
});

test("a run over maxTotalTokens stops like at maxTurns, with a token_budget diagnostic", async (t) => {
  const model = endless({ inputTokens: 60, outputTokens: 40 });
  const agent = agentFor(t, { model, tools: [echo()] });
  const { events, result } = await collect(agent.run("hi", { maxTotalTokens: 250 }));
  assert.equal(result.stopReason, "max_turns");
  assert.equal(model.requests.length, 3);
  const diagnostics = eventsOf(events, "diagnostic").filter((event) => event.code === "token_budget");
  assert.equal(diagnostics.length, 1);
  assert.match(diagnostics[0].message, /250/);
  assertConversation(result.messages);
  assert.equal(resultFor(result.messages, "c3").content, "x");
});

test("a run that stays within maxTotalTokens has no token_budget diagnostic", async (t) => {
  const agent = agentFor(t, { model: [{ calls: [call("a", "echo")] }, { text: "end" }], tools: [echo()] });
  const { events, result } = await collect(agent.run("hi", { maxTotalTokens: 1_000 }));
  assert.equal(result.stopReason, "stop");
  assert.equal(eventsOf(events, "diagnostic").length, 0);
});

test("maxTotalTokens counts the run's own tokens, not the session's", async (t) => {
  const agent = agentFor(t);
  for (let round = 0; round < 5; round += 1)
    assert.equal((await agent.send("hi", { maxTotalTokens: 20 })).stopReason, "stop");
});

for (const [name, values] of [
  ["maxTurns", [0, -1, 1.5, NaN, Infinity, "3"]],
  ["maxTotalTokens", [0, -1, 1.5, NaN, "3"]],
]) {
  test(`a ${name} of a run that is no positive integer is refused by name`, async (t) => {
    const model = scriptedModel([{ text: "ok" }]);
    const agent = agentFor(t, { model });
    for (const value of values) {
      await assert.rejects(
        async () => agent.send("hi", { [name]: value }),
        (error) => error.message.includes(name),
        `${name}: ${value}`,
      );
    }
    assert.equal(model.requests.length, 0);
    assert.equal((await agent.send("hi")).text, "ok");
  });
}

for (const [given, bound] of [
  [1, 1],
  [3, 3],
  [undefined, 10],
]) {
  test(`with maxParallelTools ${given} at most ${bound} of 25 calls run at once`, async (t) => {
    let running = 0;
    let most = 0;
    const gates = [];
    const started = [];
    const agent = agentFor(t, {
      maxParallelTools: given,
      model: [{ calls: Array.from({ length: 25 }, (_, index) => call(`c${index}`, "wait")) }, { text: "end" }],
      tools: [
        plainTool("wait", async (_, { call: { id } }) => {
          running += 1;
          most = Math.max(most, running);
          started.push(id);
          const gate = deferred();
          gates.push(gate);
          await gate.promise;
          running -= 1;
          return id;
        }),
      ],
    });
    const sent = agent.send("hi");
    for (let finished = 0; finished < 25; finished += 1) {
      await until(() => started.length === Math.min(25, finished + bound), `${finished + bound} started`);
      // The newest first, so that order of finishing and order of calling differ.
      gates.splice(-1)[0].resolve();
    }
    const { messages } = await sent;
    assert.equal(most, bound);
    const expected = Array.from({ length: 25 }, (_, index) => `c${index}`);
    assert.deepEqual(started, expected);
    assert.deepEqual(
      messages[2].content.map((block) => block.content),
      expected,
    );
  });
}

test("with maxParallelTools 1 each call ends and is stored before the next begins", async (t) => {
  const agent = agentFor(t, {
    maxParallelTools: 1,
    model: [{ calls: [call("a", "echo"), call("b", "echo")] }, { text: "end" }],
    tools: [plainTool("echo", async () => "x")],
  });
  const { events } = await collect(agent.run("hi"));
  const steps = events
    .filter((event) => ["tool_call_start", "tool_call_end", "tool_result"].includes(event.type))
    .map((event) => `${event.type} ${event.call?.id ?? event.id ?? event.result.id}`);
  assert.deepEqual(steps, [
    "tool_call_start a",
    "tool_call_end a",
    "tool_result a",
    "tool_call_start b",
    "tool_call_end b",
    "tool_result b",
  ]);
});

test("200 calls of one turn all run, and their results are in call order", async (t) => {
  const ids = Array.from({ length: 200 }, (_, index) => `c${index}`);
  const agent = agentFor(t, {
    model: [{ calls: ids.map((id) => call(id, "echo", { id })) }, { text: "end" }],
    tools: [
      plainTool("echo", async ({ id }) => {
        if (id.endsWith("7")) await new Promise(setImmediate);
        return id;
      }),
    ],
  });
  const { messages } = await agent.send("hi");
  assert.deepEqual(
    messages[2].content.map((block) => block.content),
    ids,
  );
});
