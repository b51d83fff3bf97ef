// A run of nothing but promises must not starve the event loop: timers and aborts by timers still come.
// Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { agentFor, block, plainTool, recordHooks, scriptedModel, within } from "../support/model.mjs";

/** A stream without an end and without a turn of the event loop in it. */
const endlessDeltas = () => ({
  id: "endless",
  async *stream() {
    for (;;) yield { type: "text_delta", text: "x" };
  },
});

/** Calls without an end, answered at once. */
function endlessCalls() {
  let count = 0;
  return {
    id: "endless",
    async *stream() {
      count += 1;
      yield {
        type: "message_done",
        usage: { inputTokens: 1, outputTokens: 1 },
        message: { role: "assistant", content: [{ type: "tool_call", id: `c${count}`, name: "echo", input: {} }] },
      };
    },
  };
}

/** Endless work of one kind, stopped by a timer. */
async function stoppedByTimer(agent, pull) {
  const controller = new AbortController();
  setTimeout(() => controller.abort(), 30);
  return within(pull(agent, controller.signal), "the run", 5_000);
}
const bySend = (agent, signal) => agent.send("hi", { signal });
async function byRun(agent, signal) {
  const generator = agent.run("hi", { signal });
  for (;;) {
    const { value, done } = await generator.next();
    if (done) return value;
  }
}

for (const [name, pull] of [
  ["send()", bySend],
  ["run()", byRun],
]) {
  test(`a timer's abort reaches a ${name} whose model streams without a pause`, async (t) => {
    assert.equal((await stoppedByTimer(agentFor(t, { model: endlessDeltas() }), pull)).stopReason, "aborted");
  });

  test(`a timer's abort reaches a ${name} whose turns go on without a pause`, async (t) => {
    const agent = agentFor(t, { model: endlessCalls(), maxTurns: 1_000_000, tools: [plainTool("echo", () => "x")] });
    assert.equal((await stoppedByTimer(agent, pull)).stopReason, "aborted");
  });
}

test("a second session gets its turn beside a run that never pauses", async (t) => {
  let busy = true;
  const model = {
    id: "both",
    async *stream(request) {
      if (JSON.stringify(request.messages).includes("busy")) while (busy) yield { type: "text_delta", text: "x" };
      yield {
        type: "message_done",
        usage: { inputTokens: 1, outputTokens: 1 },
        message: { role: "assistant", content: [{ type: "text", text: "done" }] },
      };
    },
  };
  const agent = agentFor(t, { model });
  const first = agent.send("busy", { sessionId: "one" });
  assert.equal((await within(agent.send("quick", { sessionId: "two" }), "the other session", 5_000)).text, "done");
  busy = false;
  await first;
});

test("a streamed delta is not held back: the consumer has it before the model goes on to its next wait", async (t) => {
  let release;
  const gate = new Promise((resolve) => {
    release = resolve;
  });
  const model = {
    id: "slow",
    async *stream() {
      yield { type: "text_delta", text: "now" };
      await gate;
      yield {
        type: "message_done",
        usage: { inputTokens: 1, outputTokens: 1 },
        message: { role: "assistant", content: [{ type: "text", text: "now" }] },
      };
    },
  };
  const generator = agentFor(t, { model }).run("hi");
  let event;
  do event = (await within(generator.next(), "the first delta", 2_000)).value;
  while (event.type !== "text_delta");
  assert.equal(event.text, "now");
  release();
  await generator.return();
});

/** How many turns the event loop has while `work` goes on. */
async function loopTurns(work) {
  let turns = 0;
  let going = true;
  const turn = () => {
    turns += 1;
    if (going) setImmediate(turn);
  };
  setImmediate(turn);
  await work();
  going = false;
  return turns;
}
/** Of so many steps of a millisecond each, several slices can be made. */
const STEPS = 60;
const FEWEST_TURNS = 4;

test("the event loop has its turns while a host sends one message after another to a model that is always ready", async (t) => {
  const agent = agentFor(t, { model: { id: "ready", stream: () => (block(1), ready()) } });
  const turns = await loopTurns(async () => {
    for (let count = 0; count < STEPS; count += 1) await agent.send("hi", { sessionId: `s${count}` });
  });
  assert.ok(turns >= FEWEST_TURNS, `${turns} turns`);
});

test("the event loop has its turns while many sessions that began at once go on", async (t) => {
  const agent = agentFor(t, { model: { id: "ready", stream: ready } });
  agent.hook("run:end", () => block(1));
  const sends = [];
  for (let count = 0; count < STEPS; count += 1) sends.push(agent.send("hi", { sessionId: `s${count}` }));
  const turns = await loopTurns(() => Promise.all(sends));
  assert.ok(turns >= FEWEST_TURNS, `${turns} turns`);
});

for (const [name, execute] of [
  ["at once", () => (block(1), "ok")],
  ["with a promise", async () => (block(1), "ok")],
]) {
  test(`the event loop has its turns between the calls of one message, whose tool answers ${name}`, async (t) => {
    const calls = Array.from({ length: STEPS }, (_, index) => ({ id: `c${index}`, name: "work", input: {} }));
    const model = scriptedModel([{ calls }, { text: "done" }]);
    const agent = agentFor(t, { model, tools: [plainTool("work", execute)] });
    const fired = recordHooks(agent);
    const turns = await loopTurns(() => within(agent.send("hi"), "the run"));
    assert.ok(turns >= FEWEST_TURNS, `${turns} turns`);
    assert.equal(fired.length, 2 + 2 * STEPS);
    // In call order, whatever order they were run in.
    const results = model.requests[1].messages.at(-1).content.map(({ id }) => id);
    assert.deepEqual(
      results,
      calls.map(({ id }) => id),
    );
  });
}

for (const [name, handler] of [
  ["return at once", () => block(1)],
  ["return promises", async () => block(1)],
]) {
  test(`the event loop has its turns between the handlers of one event, which ${name}`, async (t) => {
    const agent = agentFor(t);
    const order = [];
    for (let count = 0; count < STEPS; count += 1) {
      agent.hook("run:start", () => {
        order.push(count);
        return handler();
      });
    }
    const turns = await loopTurns(() => within(agent.send("hi"), "the run"));
    assert.ok(turns >= FEWEST_TURNS, `${turns} turns`);
    assert.deepEqual(
      order,
      Array.from({ length: STEPS }, (_, index) => index),
    );
  });
}

test("an abort between the calls of one message stops those that had not begun", async (t) => {
  const controller = new AbortController();
  const calls = Array.from({ length: 500 }, (_, index) => ({ id: `c${index}`, name: "work", input: {} }));
  let ran = 0;
  const work = () => {
    ran += 1;
    if (ran === 1) setImmediate(() => controller.abort());
    block(1);
    return "ok";
  };
  const agent = agentFor(t, { model: scriptedModel([{ calls }]), tools: [plainTool("work", work)] });
  const fired = recordHooks(agent);
  const result = await within(agent.send("hi", { signal: controller.signal }), "the run");
  assert.equal(result.stopReason, "aborted");
  assert.ok(ran < calls.length, `${ran} ran`);
  const count = (name) => fired.filter(({ event }) => event === name).length;
  assert.equal(count("tool:start"), count("tool:end"));
  assert.equal(count("run:end"), 1);
});

/** One answer, without a turn of the event loop in it. */
async function* ready() {
  yield {
    type: "message_done",
    usage: { inputTokens: 1, outputTokens: 1 },
    message: { role: "assistant", content: [{ type: "text", text: "done" }] },
  };
}
