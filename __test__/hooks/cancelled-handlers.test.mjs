// Cancellation while handlers are pending: start handlers are abandoned, end handlers have their time.
import { test } from "node:test";
import assert from "node:assert/strict";
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

const call = (id = "call-1", name = "work", input = {}) => ({ id, name, input });
const working = (calls = [call()], config = {}) => ({
  model: scriptedModel([{ calls }, { text: "done" }]),
  tools: [plainTool("work", () => "worked")],
  ...config,
});
const never = () => new Promise(() => {});
/** An upper bound that tells a hang from a deadline, on a machine that does other things as well. */
const SOON_MS = 2_000;

for (const [name, config] of [
  ["run:start", () => ({})],
  ["tool:start", () => working()],
]) {
  test(`an abort while a ${name} handler is pending aborts its signal with the caller's reason, and the run ends at once`, async (t) => {
    const controller = new AbortController();
    const reason = new Error("the user changed their mind");
    const agent = agentFor(t, config());
    const fired = recordHooks(agent, ["run:end"]);
    const invoked = deferred();
    let signal;
    agent.hook(name, (_, context) => {
      signal = context.signal;
      invoked.resolve();
      return never();
    });
    agent.hook(name, () => assert.fail("a handler that had not begun was not skipped"));
    const pulling = collect(agent.run("go", { signal: controller.signal }));
    await invoked.promise;
    assert.equal(signal.aborted, false);
    controller.abort(reason);
    const { events, result } = await within(pulling, "the aborted run", 1_000);
    assert.equal(result.stopReason, "aborted");
    assert.equal(signal.aborted, true);
    assert.equal(signal.reason, reason);
    assert.deepEqual(hookFailures(events), []);
    assert.deepEqual(
      fired.map(({ status }) => status),
      ["cancelled"],
    );
  });

  test(`without a reason of the caller's, a pending ${name} handler's signal is aborted with an AbortError`, async (t) => {
    const agent = agentFor(t, config());
    const invoked = deferred();
    let signal;
    agent.hook(name, (_, context) => {
      signal = context.signal;
      invoked.resolve();
      return never();
    });
    const sending = agent.send("go");
    await invoked.promise;
    await within(agent.close(), "close()", 1_000);
    assert.equal((await sending).stopReason, "aborted");
    assert.equal(signal.aborted, true);
    assert.equal(signal.reason.name, "AbortError");
  });
}

test("break while a tool:start handler is pending aborts its signal with an AbortError", async (t) => {
  const agent = agentFor(t, working());
  const fired = recordHooks(agent, ["tool:end", "run:end"]);
  let signal;
  agent.hook("tool:start", (_, context) => {
    signal = context.signal;
    return never();
  });
  for await (const { type } of agent.run("go")) {
    if (type !== "tool_call_start") continue;
    await until(() => signal);
    break;
  }
  assert.equal(signal.aborted, true);
  assert.equal(signal.reason.name, "AbortError");
  assert.deepEqual(
    fired.map(({ event, status }) => [event, status]),
    [
      ["tool:end", "cancelled"],
      ["run:end", "cancelled"],
    ],
  );
});

test("a start handler that rejects because its signal was aborted by a cancellation is no failure", async (t) => {
  const controller = new AbortController();
  const agent = agentFor(t);
  const heard = [];
  agent.subscribe((entry) => heard.push(entry));
  agent.hook("run:start", async (_, { signal }) => {
    queueMicrotask(() => controller.abort());
    throw await aborted(signal);
  });
  await within(agent.send("go", { signal: controller.signal }), "the aborted run", 1_000);
  await pause(5);
  assert.deepEqual(hookFailures(heard), []);
});

for (const [name, config] of [
  ["run:start", () => ({})],
  ["tool:start", () => working()],
]) {
  test(`a ${name} handler that aborts the run before its first await sees its signal aborted, and may then use the agent`, async (t) => {
    const controller = new AbortController();
    const reason = new Error("mine");
    const agent = agentFor(t, config());
    const seen = deferred();
    const remove = agent.hook(name, async (_, { signal }) => {
      remove();
      controller.abort(reason);
      await pause(5);
      seen.resolve({
        aborted: signal.aborted,
        reason: signal.reason,
        sent: await agent.send("later", { sessionId: "other" }).then(() => true, String),
      });
    });
    assert.equal(
      (await within(agent.send("go", { signal: controller.signal }), "the aborted run", 1_000)).stopReason,
      "aborted",
    );
    assert.deepEqual(await within(seen.promise, "the handler"), { aborted: true, reason, sent: true });
  });
}

test("a handler that aborts the run itself and then settles lets the run end as cancelled, and no handler follows", async (t) => {
  const controller = new AbortController();
  const agent = agentFor(t);
  const fired = recordHooks(agent, ["run:end"]);
  agent.hook("run:start", async () => {
    controller.abort();
  });
  agent.hook("run:start", () => assert.fail("not skipped"));
  const { events, result } = await collect(agent.run("go", { signal: controller.signal }));
  assert.equal(result.stopReason, "aborted");
  assert.deepEqual(hookFailures(events), []);
  assert.deepEqual(
    fired.map(({ status }) => status),
    ["cancelled"],
  );
});

test("the handlers of several calls that are pending at an abort are all abandoned", async (t) => {
  const controller = new AbortController();
  const agent = agentFor(t, working([call("1"), call("2"), call("3")]));
  const fired = recordHooks(agent, ["tool:end"]);
  const signals = [];
  agent.hook("tool:start", (_, { signal }) => {
    signals.push(signal);
    return never();
  });
  const sending = agent.send("go", { signal: controller.signal });
  await until(() => signals.length === 3);
  controller.abort("stop");
  await within(sending, "the aborted run", 1_000);
  assert.deepEqual(
    signals.map(({ reason }) => reason),
    ["stop", "stop", "stop"],
  );
  assert.deepEqual(
    fired.map(({ status }) => status),
    ["cancelled", "cancelled", "cancelled"],
  );
});

test("end handlers run to their end after an abort, with a signal that the abort does not touch", async (t) => {
  const controller = new AbortController();
  const agent = agentFor(t, {
    model: [{ calls: [call()] }],
    tools: [
      plainTool("work", (_, { signal }) => {
        controller.abort();
        return aborted(signal);
      }),
    ],
  });
  const order = [];
  for (const name of ["tool:end", "run:end"]) {
    agent.hook(name, async ({ status }, { signal }) => {
      assert.equal(signal.aborted, false);
      await pause(10);
      assert.equal(signal.aborted, false);
      order.push(`${name} ${status}`);
    });
    agent.hook(name, () => void order.push(`${name} second`));
  }
  const { events } = await within(collect(agent.run("go", { signal: controller.signal })), "the run");
  assert.deepEqual(hookFailures(events), []);
  assert.deepEqual(order, ["tool:end cancelled", "tool:end second", "run:end cancelled", "run:end second"]);
});

test("an abort while a tool:end handler is pending leaves it its time, and run:end comes after it", async (t) => {
  const controller = new AbortController();
  const agent = agentFor(t, working());
  const order = [];
  agent.hook("tool:end", async (_, { signal }) => {
    controller.abort();
    await pause(20);
    order.push(`tool:end ${signal.aborted}`);
  });
  agent.hook("run:end", ({ status }) => void order.push(`run:end ${status}`));
  const result = await agent.send("go", { signal: controller.signal });
  assert.equal(result.stopReason, "aborted");
  assert.deepEqual(order, ["tool:end false", "run:end cancelled"]);
});

test("an end handler that never settles ends at its deadline after an abort too, with a TimeoutError", async (t) => {
  const controller = new AbortController();
  const agent = agentFor(t, { model: [{ wait: never() }] });
  const heard = [];
  agent.subscribe((entry) => heard.push(entry));
  let signal;
  agent.hook(
    "run:end",
    (_, context) => {
      signal = context.signal;
      return never();
    },
    { timeoutMs: 30 },
  );
  agent.hook("run:start", () => {
    setImmediate(() => controller.abort());
  });
  await within(agent.send("go", { signal: controller.signal }), "the run", SOON_MS);
  assert.equal(signal.reason.name, "TimeoutError");
  assert.deepEqual(
    hookFailures(heard).map(({ hook }) => [hook.event, hook.reason]),
    [["run:end", "timeout"]],
  );
});

test("an abort at the very moment of a deadline ends the run once", async (t) => {
  const agent = agentFor(t);
  for (let round = 0; round < 20; round += 1) {
    const controller = new AbortController();
    let ends = 0;
    const removers = [
      agent.hook(
        "run:start",
        () => {
          setTimeout(() => controller.abort(), 5);
          return never();
        },
        { timeoutMs: 5 },
      ),
      agent.hook("run:start", () => pause(10)),
      agent.hook("run:end", () => {
        ends += 1;
      }),
    ];
    const result = await within(agent.send("go", { signal: controller.signal }), "the run", SOON_MS);
    assert.equal(result.stopReason, "aborted");
    assert.equal(ends, 1);
    for (const remove of removers) remove();
  }
});
