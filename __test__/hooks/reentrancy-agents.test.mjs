// Two agents that use each other inside their callbacks: the other is always allowed, the way back is refused.
import { test } from "node:test";
import assert from "node:assert/strict";
import {
  agentFor,
  collect,
  deferred,
  hookFailures,
  pause,
  plainTool,
  scriptedModel,
  within,
} from "../support/model.mjs";
import { outcome } from "../support/operations.mjs";

const call = (id = "call-1", name = "work", input = {}) => ({ id, name, input });

test("another agent may be used in a handler at any time, and its close() too", async (t) => {
  const agent = agentFor(t);
  const other = agentFor(t, { model: [{ text: "from the other" }] });
  let text;
  agent.hook("run:end", async () => {
    text = (await other.send("go")).text;
    await collect(other.run("go"));
    await other.awaitIdle();
    await other.close();
  });
  const { events } = await within(collect(agent.run("go")), "the run");
  assert.equal(text, "from the other");
  assert.deepEqual(hookFailures(events), []);
});

test("the way back through another agent's tool is refused", async (t) => {
  const agent = agentFor(t);
  let seen;
  const other = agentFor(t, {
    model: [{ calls: [call()] }, { text: "done" }],
    tools: [
      plainTool("work", async () => {
        seen = await outcome(agent.send("back"));
        return "ok";
      }),
    ],
  });
  agent.hook("run:start", async () => {
    await other.send("go");
  });
  const result = await within(agent.send("go"), "the run");
  assert.equal(seen, "refused");
  assert.equal(result.stopReason, "stop");
});

test("the way back through another agent's hook is refused, for both agents", async (t) => {
  const agent = agentFor(t);
  const other = agentFor(t);
  const seen = [];
  other.hook("run:start", async () => {
    seen.push(await outcome(agent.send("back")));
    seen.push(await outcome(other.send("itself")));
  });
  agent.hook("run:start", async () => {
    await other.send("go");
  });
  await within(agent.send("go"), "the run");
  assert.deepEqual(seen, ["refused", "refused"]);
});

test("the way back through another agent's middleware and provider is refused", async (t) => {
  const agent = agentFor(t);
  const seen = [];
  const other = agentFor(t, {
    model: scriptedModel([{ text: "ok" }], {
      onRequest: async () => {
        seen.push(await outcome(agent.send("back")));
      },
    }),
    use: [
      {
        name: "back",
        beforeAgent: async () => {
          seen.push(await outcome(agent.close()));
        },
      },
    ],
  });
  agent.hook("run:end", async () => {
    await other.send("go");
  });
  await within(agent.send("go"), "the run");
  assert.deepEqual(seen, ["refused", "refused"]);
});

/** An agent whose tool waits for a gate that each run has of its own, and then tries `attemptInTool`. */
function gatedAgent(t, attemptInTool) {
  const gates = new Map();
  const gateOf = (sessionId) => gates.get(sessionId) ?? gates.set(sessionId, deferred()).get(sessionId);
  const agent = agentFor(t, {
    model: scriptedModel([
      ({ messages }) =>
        typeof messages.at(-1).content === "string" || messages.at(-1).content[0].type === "text"
          ? { calls: [call()] }
          : { text: "done" },
    ]),
    tools: [
      plainTool("work", async (_, { sessionId }) => {
        await gateOf(sessionId).promise;
        return outcome(attemptInTool());
      }),
    ],
  });
  return { agent, gateOf };
}
const seenByTool = ({ messages }) =>
  messages
    .flatMap(({ content }) => content)
    .filter(({ type }) => type === "tool_result")
    .map(({ content }) => content);

test("the way back is refused also for a run of the other agent that had to wait for its turn", async (t) => {
  const agent = agentFor(t);
  const { agent: other, gateOf } = gatedAgent(t, () => agent.send("back", { sessionId: "elsewhere" }));
  const first = other.send("from outside", { sessionId: "busy" });
  const queued = deferred();
  let results;
  const remove = agent.hook("run:start", async () => {
    remove();
    const sending = other.send("from the hook", { sessionId: "busy" });
    queued.resolve();
    results = seenByTool(await sending);
  });
  const sending = agent.send("go");
  await queued.promise;
  gateOf("busy").resolve();
  await within(Promise.all([first, sending]), "the runs");
  // Both runs are of one session, so the second has both results: the outside's may call, the hook's may not.
  assert.deepEqual(results, ["allowed", "refused"]);
});

test("a run from outside that goes on because of what a hook did is not in the hook's context", async (t) => {
  const agent = agentFor(t);
  const { agent: other, gateOf } = gatedAgent(t, () => agent.send("back", { sessionId: "elsewhere" }));
  const outside = other.send("from outside", { sessionId: "outside" });
  const remove = agent.hook("run:start", async () => {
    remove();
    gateOf("outside").resolve();
    gateOf("inside").resolve();
    // Entering the other agent's core here makes it work on both of its runs.
    assert.deepEqual(seenByTool(await other.send("from the hook", { sessionId: "inside" })), ["refused"]);
    await outside;
  });
  const { events } = await within(collect(agent.run("go")), "the run");
  assert.deepEqual(
    hookFailures(events).map(({ message }) => message),
    [],
  );
  assert.deepEqual(seenByTool(await outside), ["allowed"]);
});

test("a run from outside that a hook aborts has its listeners called in its own context", async (t) => {
  const agent = agentFor(t);
  const controller = new AbortController();
  const seen = deferred();
  const working = deferred();
  const other = agentFor(t, {
    model: [{ calls: [call()] }, { text: "done" }],
    tools: [
      plainTool("work", (_, { signal }) => {
        working.resolve();
        signal.addEventListener("abort", () => seen.resolve(outcome(agent.send("back", { sessionId: "elsewhere" }))));
        return new Promise(() => {});
      }),
    ],
  });
  const outside = other.send("from outside", { signal: controller.signal });
  await working.promise;
  const remove = agent.hook("run:start", async () => {
    remove();
    controller.abort();
    await pause(5);
  });
  await agent.send("go");
  await outside;
  assert.equal(await within(seen.promise, "the listener"), "allowed");
});

test("after the hook has settled, the other agent's tool may call back", async (t) => {
  const agent = agentFor(t);
  const gate = deferred();
  let seen;
  const other = agentFor(t, {
    model: [{ calls: [call()] }, { text: "done" }],
    tools: [
      plainTool("work", async () => {
        await gate.promise;
        seen = await outcome(agent.send("back"));
        return "ok";
      }),
    ],
  });
  let background;
  const remove = agent.hook("run:start", () => {
    remove();
    background = other.send("go");
  });
  await agent.send("go");
  gate.resolve();
  await within(background, "the other agent's run");
  assert.equal(seen, "allowed");
});
