// close(): refuses new work, cancels what runs, waits for terminal hooks, leaves nothing. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { ClosedError } from "../../index.js";
import {
  agentFor,
  aborted,
  collect,
  deferred,
  pause,
  plainTool,
  recordHooks,
  scriptedModel,
  until,
  within,
} from "../support/model.mjs";
import { assertConversation, call } from "../runs/reading.mjs";

const never = new Promise(() => {});

test("close() is idempotent, and every call resolves", async (t) => {
  const agent = agentFor(t);
  await agent.send("hi");
  assert.equal(await agent.close(), undefined);
  assert.equal(await agent.close(), undefined);
});

test("closes at once all resolve, and none before the run has ended", async (t) => {
  const agent = agentFor(t, { model: [{ wait: never, text: "x" }] });
  let ended = false;
  agent.hook("run:end", async () => {
    await pause(30);
    ended = true;
  });
  const sent = agent.send("hi");
  await pause(5);
  await within(
    Promise.all(
      [1, 2, 3].map(async () => {
        await agent.close();
        assert.equal(ended, true);
      }),
    ),
    "three closes",
  );
  assert.equal((await sent).stopReason, "aborted");
});

test("close() of an agent that never ran resolves", async (t) => {
  await within(agentFor(t).close(), "close()", 1_000);
});

test("Symbol.asyncDispose closes", async (t) => {
  const agent = agentFor(t);
  assert.equal(typeof agent[Symbol.asyncDispose], "function");
  await agent[Symbol.asyncDispose]();
  await assert.rejects(agent.send("hi"), ClosedError);
});

test("after close() send rejects, run rejects at its first next(), hook throws: ClosedError each", async (t) => {
  const model = scriptedModel([{ text: "ok" }]);
  const agent = agentFor(t, { model });
  const made = agent.run("made before");
  await agent.close();
  await assert.rejects(agent.send("hi"), ClosedError);
  await assert.rejects(agent.run("hi").next(), ClosedError);
  await assert.rejects(made.next(), ClosedError);
  assert.throws(() => agent.hook("run:start", () => {}), ClosedError);
  assert.equal(model.requests.length, 0);
});

test("new work is refused as soon as close() was called", async (t) => {
  const agent = agentFor(t, { model: [{ wait: never, text: "x" }] });
  const running = agent.send("hi");
  const closing = agent.close();
  await assert.rejects(agent.send("more"), ClosedError);
  assert.throws(() => agent.hook("run:start", () => {}), ClosedError);
  await closing;
  await running;
});

test("close() cancels the running and the queued runs, which resolve as aborted", async (t) => {
  const model = scriptedModel([{ wait: never, text: "x" }]);
  const agent = agentFor(t, { model });
  const fired = recordHooks(agent, ["run:start", "run:end"]);
  const sends = [agent.send("a"), agent.send("b"), agent.send("c", { sessionId: "other" })];
  await until(() => model.requests.length === 2, "two model calls");
  await within(agent.close(), "close()", 2_000);
  const results = await within(Promise.all(sends), "the sends", 1_000);
  assert.deepEqual(
    results.map((result) => result.stopReason),
    ["aborted", "aborted", "aborted"],
  );
  assert.equal(model.requests.length, 2);
  assert.ok(model.signals.every((signal) => signal.aborted));
  assert.deepEqual(
    fired.filter((event) => event.event === "run:end").map((event) => event.status),
    ["cancelled", "cancelled"],
  );
});

test("a stream that is being pulled ends with done when its agent is closed", async (t) => {
  const agent = agentFor(t, { model: [{ wait: never, text: "x" }] });
  const collecting = collect(agent.run("hi"));
  await pause(10);
  await within(agent.close(), "close()");
  const { events, result } = await within(collecting, "the stream");
  assert.equal(events.at(-1).type, "done");
  assert.equal(result.stopReason, "aborted");
});

test("close() during a tool aborts its signal and leaves a well-formed conversation", async (t) => {
  const started = deferred();
  let sawAbort = false;
  const agent = agentFor(t, {
    model: [{ calls: [call("a", "wait")] }, { text: "end" }],
    tools: [
      plainTool("wait", async (_, { signal }) => {
        started.resolve();
        await aborted(signal);
        sawAbort = true;
        return "x";
      }),
    ],
  });
  const sent = agent.send("hi");
  await started.promise;
  await agent.close();
  const result = await sent;
  assert.equal(result.stopReason, "aborted");
  assertConversation(result.messages);
  await until(() => sawAbort, "the tool saw the abort");
});

test("close() does not wait for tools, models and middleware that never settle", async (t) => {
  const entered = deferred();
  for (const config of [
    {
      model: [{ calls: [call("a", "deaf")] }],
      tools: [
        plainTool("deaf", () => {
          entered.resolve();
          return never;
        }),
      ],
    },
    {
      model: [{ wait: never, text: "x" }],
      use: [
        {
          name: "m",
          beforeModel() {
            entered.resolve();
            return never;
          },
        },
      ],
    },
    {
      model: {
        id: "deaf",
        stream: () => ({
          [Symbol.asyncIterator]: () => ({
            next: () => {
              entered.resolve();
              return never;
            },
            return: () => never,
          }),
        }),
      },
    },
  ]) {
    const agent = agentFor(t, config);
    const sent = agent.send("hi");
    await entered.promise;
    await within(agent.close(), "close()", 2_000);
    assert.equal((await sent).stopReason, "aborted");
  }
});

test("close() waits for run:end handlers, each bounded by its deadline", async (t) => {
  const agent = agentFor(t, { model: [{ wait: never, text: "x" }] });
  const order = [];
  agent.hook("run:end", async () => {
    await pause(40);
    order.push("slow");
  });
  agent.hook("run:end", () => never, { timeoutMs: 50 });
  agent.hook("run:end", () => {
    order.push("last");
  });
  const sent = agent.send("hi");
  await pause(5);
  await within(agent.close(), "close()", 3_000);
  order.push("closed");
  await sent;
  assert.deepEqual(order, ["slow", "last", "closed"]);
});

test("a run that was made, never pulled, does not hold close() up, and may be returned after it", async (t) => {
  const agent = agentFor(t);
  const generator = agent.run("hi");
  await within(agent.close(), "close()", 1_000);
  assert.deepEqual(await generator.return(), { value: undefined, done: true });
});

test("awaitIdle() that was waiting resolves when close() has ended the run", async (t) => {
  const agent = agentFor(t, { model: [{ wait: never, text: "x" }] });
  const sent = agent.send("hi");
  const idle = agent.awaitIdle();
  await pause(5);
  await agent.close();
  await within(idle, "awaitIdle()", 1_000);
  await sent;
});

test("unsubscribing and unhooking after close() do no harm", async (t) => {
  const agent = agentFor(t);
  const unsubscribe = agent.subscribe(() => {});
  const unhook = agent.hook("run:end", () => {});
  await agent.close();
  unsubscribe();
  unsubscribe();
  unhook();
  unhook();
});

test("one agent's close() leaves another agent alone", async (t) => {
  const gate = deferred();
  const other = agentFor(t, { model: [{ text: "still here", wait: gate.promise }] });
  const sent = other.send("hi");
  const agent = agentFor(t, { model: [{ wait: never, text: "x" }] });
  const gone = agent.send("hi");
  await agent.close();
  await gone;
  gate.resolve();
  assert.equal((await sent).text, "still here");
});
