// A run of nothing but promises must not starve the event loop: timers and aborts by timers still come.
// Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { agentFor, plainTool, within } from "../support/model.mjs";

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
