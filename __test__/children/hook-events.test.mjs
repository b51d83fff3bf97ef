// Hooks of a family: who each event is of, and that each fires once. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { policy, tool } from "../../index.js";
import { aborted, deferred, hookFailures, plainTool, within } from "../support/model.mjs";
import { blocksOf } from "../runs/reading.mjs";
import {
  UUID,
  agentCall,
  answerOf,
  assertPaired,
  call,
  childRunsOf,
  completionRunsOf,
  familyFor,
  familyTools,
  runFamily,
  runsOf,
  spawning,
  starts,
} from "./family.mjs";

const two = { one: [{ calls: [call("work")] }, { text: "1" }], two: [{ text: "2" }] };
const keys = (object) => Object.keys(object).sort();

test("a child's events carry its agentId, which is its session's id as well, a run of its own, and source user", async (t) => {
  const family = await runFamily(t, { roles: two });
  const { agentIds } = answerOf(family.result);
  const runs = childRunsOf(family);
  assert.deepEqual(
    runs.map(({ input, agentId, sessionId, source }) => [input, agentId, sessionId, source]).sort(),
    [
      ["one", agentIds[0], agentIds[0], "user"],
      ["two", agentIds[1], agentIds[1], "user"],
    ].sort(),
  );
  for (const { runId } of runsOf(family)) assert.match(runId, UUID);
  assert.equal(new Set(runsOf(family).map(({ runId }) => runId)).size, 4);
});

test("a child's run:start has exactly the keys of any run:start, and agentId; its input is the prompt", async (t) => {
  const { fired } = await runFamily(t, { roles: { one: [{ text: "1" }] } });
  const start = fired.find(({ event, agentId }) => event === "run:start" && agentId);
  assert.deepEqual(keys(start), ["agentId", "event", "input", "runId", "sessionId", "source"]);
  assert.equal(start.input, "one");
  assert.ok(Object.isFrozen(start));
});

test("a child's run:end has its result: text, usage, stop reason", async (t) => {
  const { fired } = await runFamily(t, {
    roles: { one: [{ text: "1", usage: { inputTokens: 7, outputTokens: 3 } }] },
  });
  const end = fired.find(({ event, agentId }) => event === "run:end" && agentId);
  assert.deepEqual(keys(end), ["agentId", "event", "result", "runId", "sessionId", "source", "status"]);
  assert.deepEqual(keys(end.result), ["stopReason", "text", "usage"]);
  assert.deepEqual([end.result.text, end.result.stopReason, end.status], ["1", "stop", "completed"]);
  assert.equal(end.result.usage.inputTokens, 7);
});

test("the root's events and those of completion runs have no agentId", async (t) => {
  const family = await runFamily(t, { roles: two });
  const own = family.fired.filter((event) => !("agentId" in event));
  assert.deepEqual(
    own.map(({ event, source, sessionId }) => [event, source, sessionId === family.agent.sessionId]),
    [
      ["run:start", "user", true],
      ["tool:start", "user", true],
      ["tool:end", "user", true],
      ["run:end", "user", true],
      ["run:start", "background", true],
      ["run:end", "background", true],
    ],
  );
});

test("a completion run has a run of its own, source background, and its session is the parent's", async (t) => {
  const family = await runFamily(t, { roles: two });
  const [run, ...others] = completionRunsOf(family);
  assert.deepEqual(others, []);
  assert.ok(!runsOf(family).some((other) => other.runId === run.runId && other.source !== "background"));
  assert.equal(run.sessionId, family.agent.sessionId);
  assert.deepEqual([run.status, run.result.text], ["completed", "over"]);
});

test("a child that a completion run starts has source background, as its own completion's run has", async (t) => {
  const family = familyFor(t, {
    roles: {
      go: [
        spawning("one"),
        { text: "started" },
        { calls: [agentCall(["two"], "again")] },
        { text: "more" },
        { text: "end" },
      ],
      one: [{ text: "1" }],
      two: [{ calls: [call("work")] }, { text: "2" }],
    },
  });
  await family.send();
  await family.idle();
  assertPaired(family);
  assert.deepEqual(
    childRunsOf(family).map(({ input, source }) => [input, source]),
    [
      ["one", "user"],
      ["two", "background"],
    ],
  );
  assert.deepEqual(
    completionRunsOf(family).map(({ result }) => result.text),
    ["more", "end"],
  );
  const tools = family.fired.filter(({ event, call }) => event.startsWith("tool:") && call.name === "work");
  assert.deepEqual(
    tools.map(({ source }) => source),
    ["background", "background"],
  );
});

test("every run of a family has exactly one run:start and one run:end, whatever became of it", async (t) => {
  let count = 0;
  const family = await runFamily(t, {
    roles: {
      good: [{ text: "fine" }],
      bad: [{ error: new Error("down") }],
      endless: [() => ({ text: "x", calls: [call("work", `c${(count += 1)}`)] })],
      silent: [{ content: [{ type: "reasoning", text: "hm" }] }],
    },
    maxTurns: 3,
  });
  assertPaired(family);
  const counts = family.fired.filter(({ event }) => event.startsWith("run:")).length;
  assert.equal(counts, 2 * (1 + 4 + 1));
});

test("run:start of a child comes before its first request, run:end before its completion is told", async (t) => {
  const family = familyFor(t, { roles: { go: starts("one"), one: [{ text: "1" }] } });
  const order = [];
  family.agent.hook("run:start", async ({ agentId }) => {
    if (!agentId) return;
    await new Promise(setImmediate);
    order.push("run:start", family.model.callsOf("one").length);
  });
  family.agent.hook("run:end", async ({ agentId }) => {
    if (!agentId) return;
    await new Promise(setImmediate);
    order.push("run:end");
  });
  family.agent.subscribe(({ event }) => event.type === "background_completed" && order.push("completed"));
  await family.send();
  await family.idle();
  assert.deepEqual(order, ["run:start", 0, "run:end", "completed"]);
});

test("tool:start and tool:end fire once for every call that the children's models made", async (t) => {
  const calls = [
    call("work", "a"),
    call("denied", "b"),
    call("nobody", "c"),
    call("strict", "d", { count: "many" }),
    call("broken", "e"),
    call("Agent", "f", { tasks: [] }),
    call("slow", "g"),
  ];
  const tools = [
    ...familyTools(),
    plainTool("denied", () => "never"),
    plainTool("broken", () => {
      throw new Error("x");
    }),
    plainTool("slow", () => new Promise(() => {}), { timeoutMs: 20 }),
    tool("strict", "wants a number", { type: "object", properties: { count: { type: "number" } } }, () => "never"),
  ];
  const one = [{ calls }, { calls: calls.map((one) => ({ ...one, id: `${one.id}2` })) }, { text: "1" }];
  const family = await runFamily(t, {
    roles: { one, two: one },
    tools,
    permission: policy({ deny: ["denied"] }),
  });
  assertPaired(family);
  for (const { agentId } of childRunsOf(family)) {
    const mine = family.fired.filter((event) => event.event.startsWith("tool:") && event.agentId === agentId);
    for (const moment of ["tool:start", "tool:end"]) {
      const fired = mine.filter(({ event }) => event === moment).map(({ call: { id } }) => id);
      assert.deepEqual(fired.sort(), calls.flatMap(({ id }) => [id, `${id}2`]).sort(), moment);
    }
    const statuses = Object.fromEntries(
      mine
        .filter(({ event }) => event === "tool:end")
        .map(({ call: { id }, status, error }) => [id, [status, !!error]]),
    );
    assert.deepEqual(statuses.a, ["completed", false]);
    assert.deepEqual(statuses.b, ["failed", false]);
    assert.deepEqual(statuses.c, ["failed", false]);
    assert.deepEqual(statuses.d, ["failed", false]);
    assert.deepEqual(statuses.e, ["failed", true]);
    assert.equal(statuses.f[0], "failed");
    assert.equal(statuses.g[0], "failed");
  }
});

test("the tool events of a whole family are as many as the calls that its models made", async (t) => {
  const names = Array.from({ length: 10 }, (_, index) => `child ${index}`);
  const turns = (index) => [
    ...Array.from({ length: index % 4 }, (_, turn) => ({
      calls: [call("work", `w${turn}`), call("other", `o${turn}`)],
    })),
    { text: "end" },
  ];
  const family = await runFamily(t, { roles: Object.fromEntries(names.map((name, index) => [name, turns(index)])) });
  assertPaired(family);
  const made = names.flatMap((name) => {
    const { messages } = family.model.callsOf(name).at(-1).request;
    return blocksOf(messages, "tool_call");
  }).length;
  assert.equal(made, 2 * names.reduce((sum, _, index) => sum + (index % 4), 0));
  for (const moment of ["tool:start", "tool:end"]) {
    assert.equal(family.fired.filter(({ event, agentId }) => event === moment && agentId).length, made);
  }
});

test("different children are in hooks at the same time", async (t) => {
  const family = familyFor(t, { roles: { go: starts("one", "two"), one: [{ text: "1" }], two: [{ text: "2" }] } });
  const both = deferred();
  let inside = 0;
  family.agent.hook("run:start", async ({ agentId }) => {
    if (!agentId) return;
    inside += 1;
    if (inside === 2) both.resolve();
    await both.promise;
  });
  await family.send();
  await family.idle();
  assert.equal(inside, 2);
  assert.deepEqual(hookFailures(family.heard), []);
});

test("a hook of one child does not hold up the other, nor the root", async (t) => {
  const family = familyFor(t, { roles: { go: starts("one", "two"), one: [{ text: "1" }], two: [{ text: "2" }] } });
  const gate = deferred();
  family.agent.hook("run:start", async ({ input }) => {
    if (input === "one") await gate.promise;
  });
  assert.equal((await family.send()).text, "started");
  while (family.model.callsOf("two").length === 0) await new Promise(setImmediate);
  assert.equal(family.model.callsOf("one").length, 0);
  gate.resolve();
  await family.idle();
});

test("a handler that throws in a child: a diagnostic with the child's agentId, and the child goes on", async (t) => {
  const family = familyFor(t, { roles: { go: starts("one"), one: [{ text: "1" }] } });
  family.agent.hook("run:start", ({ agentId }) => {
    if (agentId) throw new Error("not now");
  });
  const result = await family.send();
  await family.idle();
  const [failure, ...others] = hookFailures(family.heard);
  assert.deepEqual(others, []);
  assert.deepEqual(
    [failure.agentId, failure.hook.event, failure.hook.reason],
    [answerOf(result).agentIds[0], "run:start", "error"],
  );
  assert.equal(childRunsOf(family)[0].status, "completed");
});

test("the signal of a child's start hook follows the parent's abort, with its reason", async (t) => {
  const family = familyFor(t, {
    roles: { go: [spawning("one"), { hold: "parent", text: "x" }], one: [{ text: "1" }] },
  });
  const reason = new Error("enough");
  const controller = new AbortController();
  const entered = deferred();
  let seen;
  family.agent.hook("run:start", async ({ agentId }, { signal }) => {
    if (!agentId) return;
    entered.resolve();
    seen = await aborted(signal);
  });
  const sent = family.send("go", { signal: controller.signal });
  await within(entered.promise, "the child's hook");
  controller.abort(reason);
  assert.equal((await sent).stopReason, "aborted");
  await family.idle();
  assert.ok(seen === reason, `the reason is ${seen?.name}: ${seen?.message}`);
  assert.equal(family.model.callsOf("one").length, 0);
  assertPaired(family);
});

test("a hook that is registered while children run covers what comes after it", async (t) => {
  const family = familyFor(t, { roles: { go: starts("one"), one: [{ hold: "one", text: "1" }] } });
  await family.send();
  await family.model.reached("one");
  const late = [];
  const remove = family.agent.hook("run:end", ({ agentId }) => void late.push(typeof agentId));
  family.model.release("one");
  await family.idle();
  remove();
  assert.deepEqual(late, ["string", "undefined"]);
});
