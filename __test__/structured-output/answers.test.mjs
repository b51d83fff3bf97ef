// A run that ends with its answer: where the answer is, and what the model sees. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { query } from "../../index.js";
import { blocksOf, eventsOf, resultFor, typesOf } from "../runs/reading.mjs";
import { agentFor, collect, recordHooks, scriptedModel, temporaryFolder, within } from "../support/model.mjs";
import { answer, answered, answeringAgent, BERN, CITY, ROME, withoutAnswer } from "./answering.mjs";

test("a valid answer is result.output, and ends the run without another model call", async (t) => {
  const { model, result, events } = await answered(t, [{ calls: [answer(BERN)] }, { text: "never" }]);
  assert.deepEqual(result.output, BERN);
  assert.equal(result.stopReason, "stop");
  assert.equal(model.requests.length, 1);
  assert.deepEqual(withoutAnswer(events), []);
});

test("the answer may come after other turns", async (t) => {
  const calls = [{ id: "look", name: "glob", input: { pattern: "*" } }];
  const { model, result } = await answered(t, [{ calls }, { calls: [answer(BERN)] }, { text: "never" }]);
  assert.deepEqual(result.output, BERN);
  assert.equal(model.requests.length, 2);
});

test("send() gives the same result", async (t) => {
  const { agent } = answeringAgent(t, [{ calls: [answer(BERN)] }]);
  assert.deepEqual((await agent.send("go")).output, BERN);
});

test("query() gives the same result", async (t) => {
  const { workdir, home } = await temporaryFolder(t);
  const model = scriptedModel([{ calls: [answer(BERN)] }]);
  const { events, result } = await within(
    collect(query({ prompt: "go", cwd: workdir, home, model, outputSchema: CITY })),
    "query()",
  );
  assert.deepEqual(result.output, BERN);
  assert.deepEqual(events.at(-1).result.output, BERN);
});

test("the done event has the answer, and is the last", async (t) => {
  const { events, result } = await answered(t, [{ calls: [answer(BERN)] }]);
  assert.equal(events.at(-1).type, "done");
  assert.equal(events.at(-1).reason, "stop");
  assert.deepEqual(events.at(-1).result.output, BERN);
  assert.deepEqual(events.at(-1).result.output, result.output);
});

test("run:end has the answer in its result, frozen to the bottom", async (t) => {
  const schema = {
    type: "object",
    properties: { list: { type: "array", items: { type: "object" } } },
    required: ["list"],
  };
  const { agent } = answeringAgent(t, [{ calls: [answer({ list: [{ deep: { deeper: 1 } }] })] }], {
    outputSchema: schema,
  });
  const fired = recordHooks(agent, ["run:end"]);
  await agent.send("go");
  assert.equal(fired[0].status, "completed");
  const { output } = fired[0].result;
  assert.deepEqual(output, { list: [{ deep: { deeper: 1 } }] });
  for (const part of [fired[0].result, output, output.list, output.list[0], output.list[0].deep])
    assert.ok(Object.isFrozen(part));
});

test("what a run:end handler does to the answer is not seen by the caller", async (t) => {
  const { agent } = answeringAgent(t, [{ calls: [answer(BERN)] }]);
  agent.hook("run:end", ({ result }) => {
    result.output.city = "changed";
  });
  assert.deepEqual((await agent.send("go")).output, BERN);
});

test("hooks see the call like any other", async (t) => {
  const { agent } = answeringAgent(t, [{ calls: [answer(BERN)] }]);
  const fired = recordHooks(agent);
  await agent.send("go");
  assert.deepEqual(
    fired.map(({ event, call, status }) => [event, call?.name, call?.input, status]),
    [
      ["run:start", undefined, undefined, undefined],
      ["tool:start", "final_answer", BERN, undefined],
      ["tool:end", "final_answer", BERN, "completed"],
      ["run:end", undefined, undefined, "completed"],
    ],
  );
});

test("the stream has the call's events like any other's, and then the turn's end", async (t) => {
  const { events } = await answered(t, [{ calls: [answer(BERN)] }]);
  assert.deepEqual(
    typesOf(events).filter((type) => type !== "permission_decision"),
    [
      "turn_start",
      "model_call_start",
      "model_call_end",
      "message",
      "tool_use",
      "tool_call_start",
      "tool_call_end",
      "tool_result",
      "turn_end",
      "done",
    ],
  );
});

test("text beside the answer is the run's text", async (t) => {
  const { result } = await answered(t, [{ text: "here it is", calls: [answer(BERN)] }]);
  assert.equal(result.text, "here it is");
  assert.deepEqual(result.output, BERN);
});

test("an answer has one result in the conversation, which is no error", async (t) => {
  const { result } = await answered(t, [{ calls: [answer(BERN)] }]);
  assert.ok(!resultFor(result.messages, "answer").isError);
});

test("usage is summed over the run's turns", async (t) => {
  const usage = { inputTokens: 100, outputTokens: 10 };
  const { result } = await answered(t, [
    { calls: [answer({ city: 5 }, "bad")], usage },
    { calls: [answer(BERN)], usage },
  ]);
  assert.deepEqual([result.usage.inputTokens, result.usage.outputTokens], [200, 20]);
});

test("each run has an answer of its own, and none of the run before", async (t) => {
  const { agent } = answeringAgent(t, [
    { calls: [answer(BERN, "one")] },
    { text: "no" },
    { calls: [answer(ROME, "two")] },
  ]);
  assert.deepEqual((await agent.send("first")).output, BERN);
  assert.equal((await agent.send("second")).output, undefined);
  assert.deepEqual((await agent.send("third")).output, ROME);
});

test("runs of different sessions at once have their own answers", async (t) => {
  const cities = Array.from({ length: 10 }, (_, number) => ({ city: `city ${number}`, degrees: number }));
  const model = scriptedModel([
    ({ messages }) => {
      const asked = messages[0].content;
      const text = typeof asked === "string" ? asked : asked[0].text;
      return { calls: [answer(cities[Number(text)])], delayMs: 5 };
    },
  ]);
  const agent = agentFor(t, { model, outputSchema: CITY });
  const results = await Promise.all(cities.map((_, number) => agent.send(`${number}`, { sessionId: `s${number}` })));
  assert.deepEqual(
    results.map(({ output }) => output),
    cities,
  );
});

test("the next run of the session gets a well-formed conversation with the answer in it", async (t) => {
  const { agent, model } = answeringAgent(t, [{ calls: [answer(BERN, "one")] }, { calls: [answer(ROME, "two")] }]);
  await agent.send("first");
  const { messages, output } = await agent.send("second");
  assert.deepEqual(output, ROME);
  assert.deepEqual(
    blocksOf(model.requests[1].messages, "tool_call").map(({ id, input }) => [id, input]),
    [["one", BERN]],
  );
  assert.deepEqual(
    blocksOf(messages, "tool_result").map(({ id }) => id),
    ["one", "two"],
  );
});

test("an agent that resumes the session gets a well-formed conversation", async (t) => {
  const { workdir, home } = await temporaryFolder(t);
  const first = answeringAgent(t, [{ calls: [answer(BERN, "one")] }], { workdir, home });
  await first.agent.send("first", { sessionId: "s" });
  await first.agent.close();
  const second = answeringAgent(t, [{ text: "resumed" }], { workdir, home, outputSchema: undefined });
  assert.equal((await second.agent.send("second", { sessionId: "s" })).text, "resumed");
  assert.deepEqual(
    blocksOf(second.model.requests[0].messages, "tool_call").map(({ input }) => input),
    [BERN],
  );
});

test("the stored answer is what the model wrote", async (t) => {
  const { result, events } = await answered(t, [{ calls: [answer(BERN)] }]);
  const [stored] = blocksOf(result.messages, "tool_call");
  assert.deepEqual(stored.input, BERN);
  assert.deepEqual(eventsOf(events, "tool_use")[0].call, answer(BERN));
});

test("without outputSchema there is no output, not even a member of that name", async (t) => {
  const { result, events } = await answered(t, [{ text: "plain" }], { outputSchema: undefined });
  assert.ok(!("output" in result));
  assert.deepEqual(withoutAnswer(events), []);
});
