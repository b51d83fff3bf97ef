// A consumer that does not pull: the run goes on until 1,024 events wait, then pauses. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { agentFor, pause, plainTool, scriptedModel, within } from "../support/model.mjs";
import { call } from "./reading.mjs";

const LIMIT = 1024;
// What is on its way when the limit is reached (one chunk in the pump, one event in the making) may come on top.
const SLACK = 16;

/** Resolves with the value of `read` once it has not changed for a while. */
async function settledValue(read) {
  let last = read();
  for (let still = 0; still < 10;) {
    await pause(10);
    const now = read();
    still = now === last ? still + 1 : 0;
    last = now;
  }
  return last;
}

/** A model that streams `count` deltas, each its number, and counts what was pulled from it. */
function countingModel(count) {
  const state = { produced: 0 };
  const model = {
    id: "counting",
    async *stream(_, signal) {
      try {
        for (let index = 0; index < count; index += 1) {
          signal.throwIfAborted();
          state.produced += 1;
          yield { type: "text_delta", text: `${index} ` };
        }
        yield {
          type: "message_done",
          message: { role: "assistant", content: [{ type: "text", text: "end" }] },
          usage: { inputTokens: 1, outputTokens: 1 },
        };
      } finally {
        state.ended = true;
      }
    },
  };
  return { model, state };
}

test("a run whose deltas nobody takes pauses when 1,024 events wait", async (t) => {
  const { model, state } = countingModel(20_000);
  const generator = agentFor(t, { model }).run("hi");
  await generator.next();
  const produced = await settledValue(() => state.produced);
  assert.ok(produced >= LIMIT - SLACK && produced <= LIMIT + SLACK, `paused after ${produced} deltas`);
  await generator.return();
});

test("a paused run goes on as the consumer pulls, one for one, and loses nothing", async (t) => {
  const { model, state } = countingModel(5_000);
  const generator = agentFor(t, { model }).run("hi");
  await generator.next();
  const before = await settledValue(() => state.produced);
  const texts = [];
  const take = async () => {
    const { value, done } = await generator.next();
    if (value?.type === "text_delta") texts.push(value.text);
    return done;
  };
  for (let count = 0; count < 500; count += 1) await take();
  const after = await settledValue(() => state.produced);
  assert.ok(after >= before + 500 - SLACK && after <= before + 500 + SLACK, `${after - before} more after 500 pulls`);
  while (!(await take()));
  assert.deepEqual(
    texts,
    Array.from({ length: 5_000 }, (_, index) => `${index} `),
  );
});

test("a consumer that never falls behind gets every one of 20,000 deltas in order", async (t) => {
  const { model } = countingModel(20_000);
  let expected = 0;
  for await (const event of agentFor(t, { model }).run("hi")) {
    if (event.type !== "text_delta") continue;
    assert.equal(event.text, `${expected} `);
    expected += 1;
  }
  assert.equal(expected, 20_000);
});

test("turns and tools wait too: nobody pulls, so the model is not asked for ever", async (t) => {
  let calls = 0;
  const model = scriptedModel([() => ({ calls: [call(`c${calls}`, "count")] })]);
  const agent = agentFor(t, {
    model,
    maxTurns: 100_000,
    tools: [
      plainTool("count", () => {
        calls += 1;
        return "x";
      }),
    ],
  });
  const generator = agent.run("hi");
  await generator.next();
  const turns = await settledValue(() => model.requests.length);
  assert.ok(turns > 20 && turns < 300, `${turns} turns with 7 events or more each`);
  assert.ok(calls <= turns);
  await within(generator.return(), "return() of a paused run");
});

test("send() has no consumer and never pauses", async (t) => {
  const { model, state } = countingModel(20_000);
  const result = await within(agentFor(t, { model }).send("hi"), "send() of 20,000 deltas", 30_000);
  assert.equal(result.text, "end");
  assert.equal(state.produced, 20_000);
});

test("a subscriber does not lift the limit, and hears in order what the stream holds", async (t) => {
  const { model, state } = countingModel(20_000);
  const agent = agentFor(t, { model });
  let heard = 0;
  agent.subscribe(({ event }) => {
    if (event.type === "text_delta") heard += 1;
  });
  const generator = agent.run("hi");
  await generator.next();
  const produced = await settledValue(() => state.produced);
  assert.ok(produced <= LIMIT + SLACK, `${produced} produced`);
  assert.ok(heard <= produced);
  await generator.return();
});

test("return() of a paused run ends it and its model's stream", async (t) => {
  const { model, state } = countingModel(20_000);
  const agent = agentFor(t, { model });
  const generator = agent.run("hi");
  await generator.next();
  await settledValue(() => state.produced);
  await within(generator.return(), "return() of a paused run");
  assert.ok(state.produced <= LIMIT + SLACK);
  assert.deepEqual(await generator.next(), { value: undefined, done: true });
  await within(agent.awaitIdle(), "awaitIdle() after return()");
});

test("a paused run that is aborted frees its session, though nobody pulls", async (t) => {
  const { model, state } = countingModel(20_000);
  let asked = 0;
  const other = {
    id: "m",
    stream: (request, signal) =>
      (asked += 1) === 1 ? model.stream(request, signal) : scriptedModel([{ text: "free" }]).stream(request, signal),
  };
  const agent = agentFor(t, { model: other });
  const controller = new AbortController();
  const generator = agent.run("hi", { signal: controller.signal });
  await generator.next();
  await settledValue(() => state.produced);
  controller.abort();
  assert.equal((await within(agent.send("next"), "send() after the abort of a paused run")).text, "free");
  let last;
  for await (const event of generator) last = event;
  assert.equal(last.type, "done");
  assert.equal(last.reason, "aborted");
});

test("close() ends a paused run that nobody pulls", async (t) => {
  const { model, state } = countingModel(20_000);
  const agent = agentFor(t, { model });
  const generator = agent.run("hi");
  await generator.next();
  await settledValue(() => state.produced);
  await within(agent.close(), "close() with a paused run");
});

test("5,000 events that a tool emits at one go all arrive, in order", async (t) => {
  const agent = agentFor(t, {
    model: [{ calls: [call("a", "busy")] }, { text: "end" }],
    tools: [
      plainTool("busy", (_, context) => {
        for (let progress = 0; progress < 5_000; progress += 1)
          context.emit({ type: "tool_progress", id: "a", name: "busy", progress });
        return "x";
      }),
    ],
  });
  let expected = 0;
  for await (const event of agent.run("hi")) {
    if (event.type !== "tool_progress") continue;
    assert.equal(event.progress, expected);
    expected += 1;
  }
  assert.equal(expected, 5_000);
});

test("a slow consumer of 3,000 deltas gets them all and the result", async (t) => {
  const { model } = countingModel(3_000);
  let count = 0;
  const generator = agentFor(t, { model }).run("hi");
  for (;;) {
    const { value, done } = await generator.next();
    if (done) {
      assert.equal(value.text, "end");
      break;
    }
    count += value.type === "text_delta" ? 1 : 0;
    if (count % 100 === 0) await new Promise(setImmediate);
  }
  assert.equal(count, 3_000);
});
