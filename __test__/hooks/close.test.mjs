// close(): what it waits for, what it refuses afterwards, and what it lets go of.
import { test } from "node:test";
import assert from "node:assert/strict";
import { ClosedError } from "../../index.js";
import {
  aborted,
  agentFor,
  collect,
  deferred,
  hookFailures,
  pause,
  plainTool,
  recordHooks,
  scriptedModel,
  until,
  within,
} from "../support/model.mjs";
import { runChild } from "../support/child.mjs";

const call = (id = "call-1", name = "work", input = {}) => ({ id, name, input });
const never = () => new Promise(() => {});

test("close() of an idle agent resolves, any number of times, and fires nothing", async (t) => {
  const agent = agentFor(t);
  const fired = recordHooks(agent);
  assert.equal(await agent.close(), undefined);
  await Promise.all([agent.close(), agent.close(), agent[Symbol.asyncDispose]()]);
  assert.deepEqual(fired, []);
});

test("close() waits for the run:end handlers of the run that it cancels", async (t) => {
  const agent = agentFor(t, { model: [{ wait: never() }] });
  const gate = deferred();
  const invoked = deferred();
  const started = deferred();
  agent.hook("run:start", () => void started.resolve());
  agent.hook("run:end", ({ status }) => {
    invoked.resolve(status);
    return gate.promise;
  });
  const sending = agent.send("go");
  await started.promise;
  let closed = false;
  const closing = agent.close().then(() => {
    closed = true;
  });
  assert.equal(await invoked.promise, "cancelled");
  await pause(10);
  assert.equal(closed, false);
  gate.resolve();
  await within(closing, "close()");
  assert.equal((await sending).stopReason, "aborted");
});

test("close() waits for the tool:end handlers of the call that it cancels", async (t) => {
  const started = deferred();
  const agent = agentFor(t, {
    model: [{ calls: [call()] }],
    tools: [
      plainTool("work", (_, { signal }) => {
        started.resolve();
        return aborted(signal);
      }),
    ],
  });
  const order = [];
  agent.hook("tool:end", async ({ status }) => {
    await pause(15);
    order.push(`tool:end ${status}`);
  });
  agent.hook("run:end", async ({ status }) => {
    await pause(15);
    order.push(`run:end ${status}`);
  });
  const sending = agent.send("go");
  await started.promise;
  await agent.close();
  order.push("closed");
  await sending;
  assert.deepEqual(order, ["tool:end cancelled", "run:end cancelled", "closed"]);
});

test("close() waits for the run:end handlers of a run that has completed by itself", async (t) => {
  const agent = agentFor(t);
  const gate = deferred();
  const invoked = deferred();
  agent.hook("run:end", ({ status }, { signal }) => {
    invoked.resolve([status, signal]);
    return gate.promise;
  });
  const sending = agent.send("go");
  const [status, signal] = await invoked.promise;
  let closed = false;
  const closing = agent.close().then(() => {
    closed = true;
  });
  await pause(10);
  assert.equal(closed, false);
  assert.equal(status, "completed");
  assert.equal(signal.aborted, false);
  gate.resolve();
  await within(closing, "close()");
  assert.equal((await sending).stopReason, "stop");
});

test("every call of close() resolves only when the first does", async (t) => {
  const agent = agentFor(t, { model: [{ wait: never() }] });
  const gate = deferred();
  const started = deferred();
  agent.hook("run:start", () => void started.resolve());
  agent.hook("run:end", () => gate.promise);
  const sending = agent.send("go");
  await started.promise;
  let closed = 0;
  const closings = [agent.close(), agent.close(), agent[Symbol.asyncDispose]()].map((closing) =>
    closing.then(() => {
      closed += 1;
    }),
  );
  await pause(10);
  assert.equal(closed, 0);
  gate.resolve();
  await within(Promise.all(closings), "close()");
  await sending;
});

for (const name of ["run:start", "tool:start"]) {
  test(`a ${name} handler that never settles does not hold close() up`, async (t) => {
    const agent = agentFor(t, {
      model: [{ calls: [call()] }, { text: "done" }],
      tools: [plainTool("work", () => "ok")],
    });
    const invoked = deferred();
    agent.hook(
      name,
      () => {
        invoked.resolve();
        return never();
      },
      { timeoutMs: 120_000 },
    );
    const sending = agent.send("go");
    await invoked.promise;
    await within(agent.close(), "close()", 1_000);
    assert.equal((await sending).stopReason, "aborted");
  });
}

for (const name of ["tool:end", "run:end"]) {
  test(`a ${name} handler that never settles holds close() up until its deadline`, async (t) => {
    const agent = agentFor(t, {
      model: [{ calls: [call()] }, { text: "done" }],
      tools: [plainTool("work", () => "ok")],
    });
    const invoked = deferred();
    const heard = [];
    agent.subscribe((entry) => heard.push(entry));
    agent.hook(
      name,
      () => {
        invoked.resolve();
        return never();
      },
      { timeoutMs: 60 },
    );
    const sending = agent.send("go");
    await invoked.promise;
    await within(agent.close(), "close()", 3_000);
    await sending;
    assert.deepEqual(
      hookFailures(heard).map(({ hook: { event, reason } }) => [event, reason]),
      [[name, "timeout"]],
    );
  });
}

test("a tool, model or middleware that never settles does not hold close() up", async (t) => {
  for (const config of [
    { model: [{ calls: [call()] }], tools: [plainTool("work", never)] },
    { model: scriptedModel([{ wait: never() }], { honoursAbort: false }) },
    { use: [{ name: "m", beforeAgent: never }] },
    { use: [{ name: "m", beforeModel: never }] },
    { use: [{ name: "m", afterAgent: never }] },
  ]) {
    const agent = agentFor(t, config);
    const fired = recordHooks(agent);
    const sending = agent.send("go");
    await until(() => fired.length > 0);
    await pause(10);
    await within(agent.close(), "close()", 1_000);
    assert.equal((await sending).stopReason, "aborted");
    assert.deepEqual(
      fired.filter(({ event }) => event.startsWith("run:")).map(({ status }) => status),
      [undefined, "cancelled"],
    );
  }
});

test("after close() and from its call on, send and run are refused with a ClosedError", async (t) => {
  const agent = agentFor(t);
  const closing = agent.close();
  const during = [agent.send("go"), agent.run("go").next()];
  await Promise.all(during.map((promise) => assert.rejects(promise, ClosedError)));
  await closing;
  await assert.rejects(agent.send("go"), ClosedError);
  await assert.rejects(agent.run("go").next(), ClosedError);
});

test("a run() made before close() and pulled after it is refused with a ClosedError", async (t) => {
  const agent = agentFor(t);
  const fired = recordHooks(agent);
  const run = agent.run("go");
  await agent.close();
  await assert.rejects(run.next(), ClosedError);
  assert.deepEqual(fired, []);
});

test("close() settles the runs that wait for their turn, and pairs whatever they fire", async (t) => {
  const model = scriptedModel([{ wait: never() }]);
  const agent = agentFor(t, { model });
  const fired = recordHooks(agent);
  const sends = [agent.send("one"), agent.send("two"), agent.send("three")];
  await until(() => model.requests.length === 1);
  await within(agent.close(), "close()");
  const settled = await within(Promise.allSettled(sends), "the sends");
  assert.equal(settled[0].value.stopReason, "aborted");
  for (const { status, value, reason } of settled.slice(1)) {
    assert.ok(status === "fulfilled" ? value.stopReason === "aborted" : reason instanceof ClosedError);
  }
  const starts = fired.filter(({ event }) => event === "run:start").map(({ runId }) => runId);
  const ends = fired.filter(({ event }) => event === "run:end").map(({ runId }) => runId);
  assert.deepEqual(ends.sort(), starts.sort());
  assert.equal(model.requests.length, 1);
});

test("awaitIdle() resolves when close() has ended the run", async (t) => {
  const agent = agentFor(t, { model: [{ wait: never() }] });
  const started = deferred();
  agent.hook("run:start", () => void started.resolve());
  const sending = agent.send("go");
  await started.promise;
  const idle = agent.awaitIdle();
  await agent.close();
  await within(idle, "awaitIdle()");
  await sending;
});

test("close() inside a tool resolves, the tool's signal fires, and its later result is dropped", async (t) => {
  let agent;
  let signalAborted;
  const closed = deferred();
  agent = agentFor(t, {
    model: [{ calls: [call()] }, { text: "done" }],
    tools: [
      plainTool("work", async (_, { signal }) => {
        await agent.close();
        signalAborted = signal.aborted;
        closed.resolve();
        return "late";
      }),
    ],
  });
  const fired = recordHooks(agent);
  const result = await within(agent.send("go"), "the run", 3_000);
  await within(closed.promise, "close() inside the tool");
  assert.equal(result.stopReason, "aborted");
  assert.equal(signalAborted, true);
  assert.deepEqual(
    fired.map(({ event, status }) => [event, status]),
    [
      ["run:start", undefined],
      ["tool:start", undefined],
      ["tool:end", "cancelled"],
      ["run:end", "cancelled"],
    ],
  );
});

test("await using closes the agent", async (t) => {
  let kept;
  {
    // `await using` itself needs a newer Node than the oldest that we support; this is what it does.
    const agent = agentFor(t);
    kept = agent;
    await agent.send("go");
    await agent[Symbol.asyncDispose]();
  }
  await assert.rejects(kept.send("go"), ClosedError);
});

test("the generator of a closed run ends", async (t) => {
  const agent = agentFor(t, { model: [{ wait: never() }] });
  const started = deferred();
  agent.hook("run:start", () => void started.resolve());
  const pulling = collect(agent.run("go"));
  await started.promise;
  await agent.close();
  const { events, result } = await within(pulling, "the generator");
  assert.equal(result.stopReason, "aborted");
  assert.equal(events.at(-1).type, "done");
  assert.equal(events.at(-1).reason, "aborted");
});

test("closing one agent leaves the others alone", async (t) => {
  const gate = deferred();
  const staying = agentFor(t, { model: [{ text: "ok", wait: gate.promise }] });
  const leaving = agentFor(t, { model: [{ wait: never() }] });
  const fired = recordHooks(staying);
  const sends = [staying.send("go"), leaving.send("go")];
  await until(() => fired.length === 1);
  await leaving.close();
  gate.resolve();
  assert.deepEqual(
    (await Promise.all(sends)).map(({ stopReason }) => stopReason),
    ["stop", "aborted"],
  );
});

test("close() lets go of the registrations, and a remover of its own, so that handlers can be collected", async () => {
  const { code, stdout, stderr } = await runChild(
    `
    const agent = makeAgent();
    const other = makeAgent();
    const collected = new Set();
    const registry = new FinalizationRegistry((name) => collected.add(name));
    await (async () => {
      for (const name of ["run:start", "run:end"]) {
        const handler = () => {};
        registry.register(handler, "closed " + name);
        agent.hook(name, handler);
        const removed = () => {};
        registry.register(removed, "removed " + name);
        other.hook(name, removed)();
      }
      await agent.send("go");
      await other.send("go");
      await agent.close();
    })();
    await support.until(async () => { gc(); await new Promise(setImmediate); return collected.size === 4; }, "collection of " + 4, 5000).catch(() => {});
    console.log(JSON.stringify([...collected].sort()));
    await other.close();
    if (!agent || !other) throw new Error();
  `,
    { flags: ["--expose-gc", "--unhandled-rejections=strict"] },
  );
  assert.equal(stderr, "");
  assert.equal(code, 0);
  assert.deepEqual(JSON.parse(stdout), ["closed run:end", "closed run:start", "removed run:end", "removed run:start"]);
});
