// Runs that end without an answer: what they tell, and what they do not. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { contentText, rejectionOf, resultFor, typesOf } from "../runs/reading.mjs";
import { collect, collectUntilError, deferred, plainTool, recordHooks, until, within } from "../support/model.mjs";
import { answer, answered, answeringAgent, BERN, withoutAnswer } from "./answering.mjs";

const glob = (id) => ({ id, name: "glob", input: { pattern: "*" } });

test("a model that stops without an answer: no output, one warning, and the text", async (t) => {
  const { result, events } = await answered(t, [{ text: "just words" }]);
  assert.equal(result.output, undefined);
  assert.deepEqual([result.stopReason, result.text], ["stop", "just words"]);
  const warnings = withoutAnswer(events);
  assert.equal(warnings.length, 1);
  assert.equal(warnings[0].level, "warning");
  assert.match(warnings[0].message, /final_answer/);
});

test("the warning comes before done, and subscribers hear it once", async (t) => {
  const { agent } = answeringAgent(t, [{ text: "just words" }]);
  const heard = [];
  agent.subscribe(({ event }) => heard.push(event));
  const { events } = await collect(agent.run("go"));
  assert.ok(typesOf(events).indexOf("diagnostic") < typesOf(events).indexOf("done"));
  assert.equal(withoutAnswer(heard).length, 1);
});

test("done and run:end have no answer either, and the run is completed", async (t) => {
  const { agent } = answeringAgent(t, [{ text: "just words" }]);
  const fired = recordHooks(agent, ["run:end"]);
  const { events } = await collect(agent.run("go"));
  assert.equal(events.at(-1).result.output, undefined);
  assert.equal(fired[0].status, "completed");
  assert.equal(fired[0].result.output, undefined);
});

test("a model that gives up after a bad answer ends without one", async (t) => {
  const { result, events } = await answered(t, [{ calls: [answer({ city: 5 })] }, { text: "I cannot" }]);
  assert.equal(result.output, undefined);
  assert.equal(withoutAnswer(events).length, 1);
});

test("maxTurns without an answer: stopped as at maxTurns, no output, one warning", async (t) => {
  const turns = Array.from({ length: 5 }, (_, number) => ({ calls: [glob(`g${number}`)] }));
  const { result, events } = await answered(t, turns, { maxTurns: 2 });
  assert.equal(result.stopReason, "max_turns");
  assert.equal(result.output, undefined);
  assert.equal(withoutAnswer(events).length, 1);
});

test("a valid answer in the last allowed turn is an answer, and the run is stopped by it", async (t) => {
  const { result, events } = await answered(t, [{ calls: [glob("g")] }, { calls: [answer(BERN)] }], { maxTurns: 2 });
  assert.deepEqual(result.output, BERN);
  assert.equal(result.stopReason, "stop");
  assert.deepEqual(withoutAnswer(events), []);
});

test("a bad answer in the last allowed turn is none", async (t) => {
  const { result, events } = await answered(t, [{ calls: [answer({})] }], { maxTurns: 1 });
  assert.deepEqual([result.stopReason, result.output], ["max_turns", undefined]);
  assert.equal(resultFor(result.messages, "answer").isError, true);
  assert.equal(withoutAnswer(events).length, 1);
});

test("a run that is aborted in a model call: no output, no warning", async (t) => {
  const { agent, model } = answeringAgent(t, [{ text: "late", wait: new Promise(() => {}) }]);
  const controller = new AbortController();
  const running = collect(agent.run("go", { signal: controller.signal }));
  await until(() => model.requests.length === 1, "the model call");
  controller.abort();
  const { result, events } = await within(running, "the run");
  assert.deepEqual([result.stopReason, result.output], ["aborted", undefined]);
  assert.deepEqual(withoutAnswer(events), []);
});

test("a run that is aborted between a bad answer and its repair: no output, no warning", async (t) => {
  const { agent, model } = answeringAgent(t, [
    { calls: [answer({})] },
    { calls: [answer(BERN)], wait: new Promise(() => {}) },
  ]);
  const controller = new AbortController();
  const running = collect(agent.run("go", { signal: controller.signal }));
  await until(() => model.requests.length === 2, "the second model call");
  controller.abort();
  const { result, events } = await within(running, "the run");
  assert.deepEqual([result.stopReason, result.output], ["aborted", undefined]);
  assert.deepEqual(withoutAnswer(events), []);
});

test("a run that is aborted before it began: no output, no warning", async (t) => {
  const { result, events } = await answered(t, [{ calls: [answer(BERN)] }], {}, { signal: AbortSignal.abort() });
  assert.deepEqual([result.stopReason, result.output], ["aborted", undefined]);
  assert.deepEqual(withoutAnswer(events), []);
});

test("a run that close() ends: no output, no warning", async (t) => {
  const { agent, model } = answeringAgent(t, [{ text: "late", wait: new Promise(() => {}) }]);
  const heard = [];
  agent.subscribe(({ event }) => heard.push(event));
  const running = agent.send("go");
  await until(() => model.requests.length === 1, "the model call");
  await agent.close();
  assert.equal((await running).output, undefined);
  assert.deepEqual(withoutAnswer(heard), []);
});

test("a run that is aborted while a call beside the answer goes on is aborted", async (t) => {
  const begun = deferred();
  const { agent } = answeringAgent(t, [{ calls: [answer(BERN), { id: "w", name: "work", input: {} }] }], {
    tools: [plainTool("work", () => (begun.resolve(), new Promise(() => {})))],
  });
  const controller = new AbortController();
  const running = collect(agent.run("go", { signal: controller.signal }));
  await begun.promise;
  controller.abort();
  const { result, events } = await within(running, "the run");
  assert.equal(result.stopReason, "aborted");
  assert.match(contentText(resultFor(result.messages, "w")), /interrupted/);
  assert.deepEqual(withoutAnswer(events), []);
});

test("a provider that fails is thrown as itself, without a warning", async (t) => {
  const broken = new Error("the provider broke");
  const { agent } = answeringAgent(t, [{ error: broken }]);
  const { events, error } = await collectUntilError(agent.run("go"));
  assert.equal(error, broken);
  assert.deepEqual(withoutAnswer(events), []);
});

test("after a run that failed the next one answers", async (t) => {
  const { agent } = answeringAgent(t, [{ error: new Error("once") }, { calls: [answer(BERN)] }]);
  await rejectionOf(agent.send("first"));
  assert.deepEqual((await agent.send("second")).output, BERN);
});

test("a run that spent its tokens without an answer has no output, and both warnings", async (t) => {
  const usage = { inputTokens: 1_000, outputTokens: 10 };
  const { result, events } = await answered(
    t,
    [{ calls: [glob("g")], usage }, { calls: [answer(BERN)] }],
    {},
    { maxTotalTokens: 500 },
  );
  assert.deepEqual([result.stopReason, result.output], ["max_turns", undefined]);
  const codes = events.filter(({ type }) => type === "diagnostic").map(({ code }) => code);
  assert.deepEqual(codes.sort(), ["no_final_answer", "token_budget"]);
});

test("after a run without an answer the next one of the session is well formed, and may answer", async (t) => {
  const { agent } = answeringAgent(t, [
    { calls: [answer({}, "bad")] },
    { text: "no" },
    { calls: [answer(BERN, "good")] },
  ]);
  assert.equal((await agent.send("first")).output, undefined);
  assert.deepEqual((await agent.send("second")).output, BERN);
});
