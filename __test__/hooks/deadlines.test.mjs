// The deadlines of handlers, and the signals that they get.
import { test } from "node:test";
import assert from "node:assert/strict";
import {
  aborted,
  agentFor,
  block,
  collect,
  deferred,
  hookFailures,
  pause,
  plainTool,
  scriptedModel,
  until,
  within,
} from "../support/model.mjs";
import { runChild } from "../support/child.mjs";

const call = (id = "call-1", name = "work", input = {}) => ({ id, name, input });
const working = (calls = [call()], config = {}) => ({
  model: scriptedModel([{ calls }, { text: "done" }]),
  tools: [plainTool("work", () => "worked")],
  ...config,
});
const never = () => new Promise(() => {});
/** Upper bounds are generous: they tell a hang from a deadline, on a machine that does other things as well. */
const SOON_MS = 2_000;

for (const [name, config] of [
  ["run:start", {}],
  ["tool:start", working()],
  ["tool:end", working()],
  ["run:end", {}],
]) {
  test(`a ${name} handler that never settles is left behind at its deadline, with a timeout, and the run goes on`, async (t) => {
    const agent = agentFor(t, {
      ...config,
      ...(config.model ? { model: scriptedModel([{ calls: [call()] }, { text: "done" }]) } : {}),
    });
    const order = [];
    let signal;
    agent.hook(
      name,
      (_, context) => {
        signal = context.signal;
        return never();
      },
      { timeoutMs: 30 },
    );
    agent.hook(name, () => void order.push("next"));
    const { events, result } = await within(collect(agent.run("go")), "the run", SOON_MS);
    assert.equal(result.stopReason, "stop");
    assert.deepEqual(order, ["next"]);
    const [failure, ...others] = hookFailures(events);
    assert.deepEqual(others, []);
    assert.equal(failure.hook.event, name);
    assert.equal(failure.hook.reason, "timeout");
    assert.equal(failure.hook.index, 0);
    assert.ok(failure.hook.durationMs >= 29 && failure.hook.durationMs < SOON_MS, `${failure.hook.durationMs}`);
    assert.equal(signal.aborted, true);
    assert.ok(signal.reason instanceof DOMException);
    assert.equal(signal.reason.name, "TimeoutError");
  });
}

test("at the deadline the signal fires its abort event once, before the dispatch goes on", async (t) => {
  const agent = agentFor(t);
  const order = [];
  agent.hook(
    "run:start",
    (_, { signal }) => {
      signal.addEventListener("abort", (event) => order.push(`abort ${event.type}`));
      signal.onabort = () => order.push("onabort");
      return never();
    },
    { timeoutMs: 20 },
  );
  agent.hook("run:start", () => void order.push("next"));
  await agent.send("go");
  assert.deepEqual(order, ["abort abort", "onabort", "next"]);
});

test("a cooperative handler that stops on its signal is a timeout all the same, once", async (t) => {
  const agent = agentFor(t);
  agent.hook(
    "run:start",
    async (_, { signal }) => {
      await aborted(signal);
    },
    { timeoutMs: 20 },
  );
  agent.hook(
    "run:start",
    async (_, { signal }) => {
      throw await aborted(signal);
    },
    { timeoutMs: 20 },
  );
  const { events } = await collect(agent.run("go"));
  assert.deepEqual(
    hookFailures(events).map(({ hook }) => [hook.index, hook.reason]),
    [
      [0, "timeout"],
      [1, "timeout"],
    ],
  );
});

test("a thenable that never calls back is a timeout", async (t) => {
  const agent = agentFor(t);
  agent.hook("run:start", () => ({ then() {} }), { timeoutMs: 20 });
  const { events } = await within(collect(agent.run("go")), "the run", SOON_MS);
  assert.deepEqual(
    hookFailures(events).map(({ hook }) => hook.reason),
    ["timeout"],
  );
});

test("a sync handler that blocks past its deadline is reported as timed out", async (t) => {
  const agent = agentFor(t);
  const order = [];
  agent.hook("run:start", () => block(80), { timeoutMs: 20 });
  agent.hook("run:start", () => void order.push("next"));
  const { events } = await collect(agent.run("go"));
  const failures = hookFailures(events);
  assert.deepEqual(
    failures.map(({ hook }) => [hook.index, hook.reason]),
    [[0, "timeout"]],
  );
  assert.ok(failures[0].hook.durationMs >= 79, `${failures[0].hook.durationMs}`);
  assert.deepEqual(order, ["next"]);
});

test("a sync handler that blocks for less than its deadline is no failure", async (t) => {
  const agent = agentFor(t);
  agent.hook("run:start", () => block(40), { timeoutMs: 10_000 });
  const { events } = await collect(agent.run("go"));
  assert.deepEqual(hookFailures(events), []);
});

test("an async handler that blocks past its deadline is reported as timed out, before or after its first await", async (t) => {
  const agent = agentFor(t);
  agent.hook(
    "run:start",
    async () => {
      block(80);
    },
    { timeoutMs: 20 },
  );
  agent.hook(
    "run:start",
    async () => {
      await null;
      block(80);
    },
    { timeoutMs: 20 },
  );
  agent.hook(
    "run:start",
    async () => {
      await pause(1);
      block(80);
    },
    { timeoutMs: 20 },
  );
  agent.hook(
    "run:start",
    async () => {
      block(80);
      await pause(1);
    },
    { timeoutMs: 20 },
  );
  const { events } = await collect(agent.run("go"));
  assert.deepEqual(
    hookFailures(events).map(({ hook }) => [hook.index, hook.reason]),
    [
      [0, "timeout"],
      [1, "timeout"],
      [2, "timeout"],
      [3, "timeout"],
    ],
  );
});

test("a handler that blocks past its deadline and throws is one failure", async (t) => {
  const agent = agentFor(t);
  agent.hook(
    "run:start",
    () => {
      block(60);
      throw new Error("late");
    },
    { timeoutMs: 20 },
  );
  const { events } = await collect(agent.run("go"));
  assert.equal(hookFailures(events).length, 1);
});

test("the time that a handler waits for the handlers before it does not count", async (t) => {
  const agent = agentFor(t);
  for (let position = 0; position < 5; position += 1) agent.hook("run:start", () => pause(80), { timeoutMs: 1_000 });
  agent.hook("run:start", () => block(150), { timeoutMs: 1_000 });
  agent.hook("run:start", () => pause(300), { timeoutMs: 600 });
  const { events } = await collect(agent.run("go"));
  assert.deepEqual(hookFailures(events), []);
});

test("of eight calls at once none times out for a hook of 300 ms under a limit of 500 ms", async (t) => {
  const calls = Array.from({ length: 8 }, (_, position) => call(`c${position}`));
  const agent = agentFor(t, working(calls));
  let finished = 0;
  agent.hook(
    "tool:start",
    async () => {
      await pause(300);
      finished += 1;
    },
    { timeoutMs: 500 },
  );
  const { events } = await collect(agent.run("go"));
  assert.deepEqual(hookFailures(events), []);
  assert.equal(finished, 8);
});

test("of eight calls at once none times out for a hook that blocks the thread 100 ms under a limit of 400 ms", async (t) => {
  const calls = Array.from({ length: 8 }, (_, position) => call(`c${position}`));
  const agent = agentFor(t, working(calls));
  let finished = 0;
  agent.hook(
    "tool:start",
    () => {
      block(100);
      finished += 1;
    },
    { timeoutMs: 400 },
  );
  const { events } = await collect(agent.run("go"));
  assert.deepEqual(hookFailures(events), []);
  assert.equal(finished, 8);
});

test("each of eight handlers that block past their deadline at once is reported", async (t) => {
  const calls = Array.from({ length: 8 }, (_, position) => call(`c${position}`));
  const agent = agentFor(t, working(calls));
  agent.hook("tool:start", () => block(40), { timeoutMs: 10 });
  const { events, result } = await collect(agent.run("go"));
  assert.deepEqual(
    hookFailures(events).map(({ hook }) => hook.reason),
    Array(8).fill("timeout"),
  );
  assert.equal(result.stopReason, "stop");
});

test("every handler has its own deadline", async (t) => {
  const agent = agentFor(t);
  agent.hook("run:start", never, { timeoutMs: 60 });
  agent.hook("run:start", () => pause(20), { timeoutMs: 5_000 });
  agent.hook("run:start", never, { timeoutMs: 1 });
  agent.hook("run:start", never, { timeoutMs: 15 });
  const { events } = await collect(agent.run("go"));
  const failures = hookFailures(events).map(({ hook }) => hook);
  assert.deepEqual(
    failures.map(({ index }) => index),
    [0, 2, 3],
  );
  assert.ok(failures[0].durationMs >= 59);
  assert.ok(failures[2].durationMs >= 14);
});

test("the dispatch goes on within 50 ms of a deadline", async (t) => {
  const agent = agentFor(t);
  const over = [];
  let invoked;
  agent.hook(
    "run:start",
    () => {
      invoked = performance.now();
      return never();
    },
    { timeoutMs: 30 },
  );
  agent.hook("run:start", () => void over.push(performance.now() - invoked - 30));
  for (let round = 0; round < 15; round += 1) await agent.send("go");
  // A busy machine can hold any one of them up, but not all.
  assert.ok(Math.min(...over) < 50, `${over}`);
});

test("the deadline is 10 seconds where none is given", async (t) => {
  const agent = agentFor(t);
  agent.hook("run:start", never);
  const { events } = await within(collect(agent.run("go")), "the run", 15_000);
  const [failure] = hookFailures(events);
  assert.equal(failure.hook.reason, "timeout");
  assert.ok(failure.hook.durationMs >= 9_990 && failure.hook.durationMs < 12_000, `${failure.hook.durationMs}`);
});

test("a handler that settled in time never sees its signal aborted", async (t) => {
  const controller = new AbortController();
  const agent = agentFor(t, {
    model: scriptedModel([
      { calls: [call()] },
      () => {
        controller.abort();
        return { wait: never() };
      },
    ]),
    tools: [plainTool("work", () => "ok")],
  });
  const signals = [];
  for (const name of ["run:start", "tool:start", "tool:end", "run:end"]) {
    agent.hook(
      name,
      (_, { signal }) => {
        signals.push(signal);
      },
      { timeoutMs: 25 },
    );
    agent.hook(
      name,
      async (_, { signal }) => {
        signals.push(signal);
        await pause(1);
      },
      { timeoutMs: 500 },
    );
    agent.hook(
      name,
      async (_, { signal }) => {
        signals.push(signal);
        throw new Error("failed in time");
      },
      { timeoutMs: 500 },
    );
  }
  const result = await agent.send("go", { signal: controller.signal });
  assert.equal(result.stopReason, "aborted");
  await agent.close();
  await pause(50);
  assert.equal(signals.length, 12);
  for (const signal of signals) assert.equal(signal.aborted, false);
});

test("a signal that is first looked at after the handler settled is not aborted, nor later", async (t) => {
  const agent = agentFor(t);
  const contexts = [];
  agent.hook(
    "run:start",
    (_, context) => {
      contexts.push(context);
    },
    { timeoutMs: 20 },
  );
  await agent.send("go");
  await agent.close();
  await pause(40);
  assert.equal(contexts[0].signal.aborted, false);
});

test("a signal that is first looked at after the deadline is aborted with a TimeoutError", async (t) => {
  const agent = agentFor(t);
  let context;
  agent.hook(
    "run:start",
    (_, given) => {
      context = given;
      return never();
    },
    { timeoutMs: 20 },
  );
  await agent.send("go");
  assert.equal(context.signal.aborted, true);
  assert.equal(context.signal.reason.name, "TimeoutError");
  assert.equal(context.signal, context.signal);
});

test("a handler's signal is an AbortSignal that others can build on", async (t) => {
  const agent = agentFor(t);
  let combined;
  let thrown;
  agent.hook(
    "run:start",
    async (_, { signal }) => {
      assert.ok(signal instanceof AbortSignal);
      assert.equal(signal.aborted, false);
      signal.throwIfAborted();
      combined = AbortSignal.any([signal, new AbortController().signal]);
      const { setTimeout: delay } = await import("node:timers/promises");
      await delay(60_000, undefined, { signal }).catch((error) => {
        thrown = error;
      });
    },
    { timeoutMs: 50 },
  );
  const { events } = await within(collect(agent.run("go")), "the run", SOON_MS);
  assert.deepEqual(
    hookFailures(events).map(({ hook }) => hook.reason),
    ["timeout"],
  );
  await until(() => thrown);
  assert.equal(thrown.name, "AbortError");
  assert.equal(combined.aborted, true);
});

test("what settles after its deadline is dropped: no second diagnostic, no change of order", async (t) => {
  const agent = agentFor(t);
  const late = [deferred(), deferred()];
  agent.hook("run:start", () => late[0].promise, { timeoutMs: 15 });
  agent.hook("run:start", () => late[1].promise, { timeoutMs: 15 });
  const gate = deferred();
  const inThird = deferred();
  agent.hook("run:start", () => {
    inThird.resolve();
    return gate.promise;
  });
  const pulling = collect(agent.run("go"));
  await inThird.promise;
  late[0].resolve("late");
  late[1].reject(new Error("late"));
  await pause(5);
  gate.resolve();
  const { events } = await pulling;
  assert.deepEqual(
    hookFailures(events).map(({ hook }) => [hook.index, hook.reason]),
    [
      [0, "timeout"],
      [1, "timeout"],
    ],
  );
});

test("a rejection after the deadline, after the run, after close() or after an abort leaves no unhandled rejection", async () => {
  const { code, stdout, stderr, overdue } = await runChild(`
    const { pause, plainTool, scriptedModel, block } = support;
    const call = { id: "1", name: "work", input: {} };
    const rejectAfter = (ms) => new Promise((_, reject) => setTimeout(() => reject(new Error("late")), ms));
    const failing = async (ms) => { await pause(ms); throw undefined; };
    const agent = makeAgent({
      model: scriptedModel([{ calls: [call] }, { text: "done" }, { calls: [{ ...call, id: "2" }] }, { text: "done" }, { text: "done" }]),
      tools: [plainTool("work", () => rejectAfter(60), { timeoutMs: 10 })],
    });
    for (const name of ["run:start", "tool:start", "tool:end", "run:end"]) {
      agent.hook(name, () => rejectAfter(100), { timeoutMs: 10 });
      agent.hook(name, () => failing(50), { timeoutMs: 10 });
      agent.hook(name, () => ({ then(_, reject) { setTimeout(reject, 40); } }), { timeoutMs: 10 });
      agent.hook(name, () => { const late = rejectAfter(15); block(30); return late; }, { timeoutMs: 10 });
      agent.hook(name, () => { block(20); return Promise.reject(new Error("at once, but late")); }, { timeoutMs: 10 });
    }
    await agent.send("go");
    await agent.send("go");
    const abort = new AbortController();
    const remove = agent.hook("run:start", () => { setTimeout(() => abort.abort(), 5); return rejectAfter(50); });
    const other = makeAgent({ model: scriptedModel([{ calls: [call] }]), tools: [plainTool("work", () => { abort2.abort(); return rejectAfter(30); })] });
    const abort2 = new AbortController();
    other.hook("run:end", () => rejectAfter(60), { timeoutMs: 10 });
    const results = await Promise.all([agent.send("go", { signal: abort.signal }), other.send("go", { signal: abort2.signal })]);
    const third = makeAgent({ model: { id: "late", async *stream() { await rejectAfter(40); } } });
    third.hook("run:end", () => rejectAfter(60), { timeoutMs: 10 });
    const pending = third.send("go");
    await pause(5);
    await Promise.all([agent.close(), other.close(), third.close()]);
    const last = await pending;
    await pause(200);
    console.log(JSON.stringify([...results, last].map(({ stopReason }) => stopReason)));
  `);
  assert.equal(stderr, "");
  assert.equal(overdue, false);
  assert.equal(code, 0);
  assert.equal(stdout.trim(), '["aborted","aborted","aborted"]');
});
