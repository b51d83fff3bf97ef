// What a child gets of its root's: middleware, turns, the token budget. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { deferred, plainTool, until } from "../support/model.mjs";
import {
  agentCall,
  answerOf,
  assertPaired,
  call,
  childRunsOf,
  completionRunsOf,
  familyFor,
  familyTools,
  runFamily,
  settled,
  sectionsOf,
  completionsOf,
  spawning,
  starts,
} from "./family.mjs";

let count = 0;
/** Turns that call `work` for ever. */
const endless = (usage) => () => ({
  text: "still at it",
  calls: [call("work", `call-${(count += 1)}`)],
  ...(usage && { usage }),
});

// -- middleware -----------------------------------------------------------------------------------------------------------

test("middleware is around a child's run, model calls and tool calls, with the child's session", async (t) => {
  const seen = [];
  const note = (what, { sessionId }) => void seen.push([what, sessionId]);
  const use = [
    {
      name: "notes",
      beforeAgent: (context) => note("beforeAgent", context),
      afterAgent: (context) => note("afterAgent", context),
      beforeModel: (context) => note("beforeModel", context),
      async *wrapModelCall(context, next) {
        note("wrapModelCall", context);
        yield* next();
      },
      async wrapToolCall(context, next) {
        note(`wrapToolCall ${context.call.name}`, context);
        return next();
      },
    },
  ];
  const family = await runFamily(t, { roles: { one: [{ calls: [call("work")] }, { text: "1" }] }, use });
  const [agentId] = answerOf(family.result).agentIds;
  assert.deepEqual(
    seen.filter(([, sessionId]) => sessionId === agentId).map(([what]) => what),
    ["beforeAgent", "beforeModel", "wrapModelCall", "wrapToolCall work", "beforeModel", "wrapModelCall", "afterAgent"],
  );
  const own = seen.filter(([, sessionId]) => sessionId === family.agent.sessionId).map(([what]) => what);
  assert.equal(
    own.filter((what) => what === "beforeAgent").length,
    2,
    "once for the user's run, once for the completion's",
  );
});

test("the first of `use` is the outermost for children, too, and may change what they get", async (t) => {
  const order = [];
  const layer = (name) => ({
    name,
    async wrapToolCall({ call: made }, next) {
      if (made.name === "work") order.push(`${name} in`);
      const result = await next();
      if (made.name === "work") order.push(`${name} out`);
      return made.name === "work" ? { ...result, content: `${name}(${result.content})` } : result;
    },
  });
  const family = await runFamily(t, {
    roles: { one: [{ calls: [call("work")] }, { text: "1" }] },
    use: [layer("outer"), layer("inner")],
  });
  assert.deepEqual(order, ["outer in", "inner in", "inner out", "outer out"]);
  const [{ content }] = family.model.callsOf("one").at(-1).request.messages.at(-1).content;
  assert.equal(content, "outer(inner(worked))");
});

test("the state of middleware is each child's own", async (t) => {
  const states = new Map();
  const use = [
    {
      name: "counting",
      beforeModel({ state, sessionId }) {
        state.set("count", (state.get("count") ?? 0) + 1);
        states.set(sessionId, state.get("count"));
      },
    },
  ];
  const turns = [{ calls: [call("work")] }, { text: "1" }];
  const { result } = await runFamily(t, { roles: { one: turns, two: turns }, use });
  assert.deepEqual(
    answerOf(result).agentIds.map((id) => states.get(id)),
    [2, 2],
  );
});

test("a middleware that fails the Agent call starts nothing", async (t) => {
  const use = [
    {
      name: "refusing",
      async wrapToolCall({ call: made }, next) {
        return made.name === "Agent" ? { id: made.id, name: made.name, content: "Error: no", isError: true } : next();
      },
    },
  ];
  const family = familyFor(t, { roles: { go: starts("one"), one: [{ text: "1" }] }, use });
  const result = await family.send();
  await family.idle();
  assert.equal(answerOf(result).isError, true);
  assert.deepEqual(childRunsOf(family), []);
});

// -- turns and tools at once ----------------------------------------------------------------------------------------------

test("a child has as many turns as its parent's run: those of the config, or those of the run", async (t) => {
  for (const [config, options, turns] of [
    [{ maxTurns: 3 }, undefined, 3],
    [{ maxTurns: 3 }, { maxTurns: 5 }, 5],
    [{ maxTurns: 5 }, { maxTurns: 2 }, 2],
  ]) {
    const family = await runFamily(t, { roles: { one: [endless()] }, ...config }, options);
    assert.equal(family.model.callsOf("one").length, turns);
    assert.equal(family.sections[0].status, "max_turns");
  }
});

test("maxParallelTools holds in each child", async (t) => {
  const gate = deferred();
  let inside = 0;
  let most = 0;
  const tools = [
    plainTool("work", async () => {
      inside += 1;
      most = Math.max(most, inside);
      await gate.promise;
      inside -= 1;
      return "worked";
    }),
  ];
  const calls = Array.from({ length: 6 }, (_, index) => call("work", `c${index}`));
  const family = familyFor(t, {
    roles: { go: starts("one"), one: [{ calls }, { text: "1" }] },
    tools,
    maxParallelTools: 2,
  });
  await family.send();
  await until(() => inside === 2, "two calls at once");
  await settled();
  gate.resolve();
  await family.idle();
  assert.equal(most, 2);
});

test("a tool's timeoutMs holds in a child", async (t) => {
  const tools = [...familyTools(), plainTool("slow", () => new Promise(() => {}), { timeoutMs: 20 })];
  const family = await runFamily(t, { roles: { one: [{ calls: [call("slow")] }, { text: "1" }] }, tools });
  const [{ content }] = family.model.callsOf("one").at(-1).request.messages.at(-1).content;
  assert.match(content, /timed out after 20 ms/);
});

// -- tokens ---------------------------------------------------------------------------------------------------------------

const of = (total) => ({ inputTokens: total, outputTokens: 0 });

test("what children use counts against the parent's maxTotalTokens: over it they stop like at maxTurns", async (t) => {
  const family = familyFor(t, {
    roles: {
      go: [{ ...spawning("one"), usage: of(50) }, { text: "started", usage: of(50) }, { text: "over" }],
      one: [endless(of(400))],
    },
  });
  await family.send("go", { maxTotalTokens: 1_000 });
  await family.idle();
  assertPaired(family);
  assert.equal(family.model.callsOf("one").length, 3);
  const [{ status }] = sectionsOf(completionsOf(family)[0].content);
  assert.equal(status, "max_turns");
  const budgets = family.heard.filter(({ event }) => event.type === "diagnostic" && event.code === "token_budget");
  assert.ok(budgets.some(({ event }) => event.agentId && /1000|1,000|1_000/.test(event.message)));
});

test("several children share it: together they do not use what each may use alone", async (t) => {
  const family = familyFor(t, {
    roles: {
      go: [{ ...spawning("one", "two"), usage: of(10) }, { text: "started", usage: of(10) }, { text: "over" }],
      one: [endless(of(100))],
      two: [endless(of(100))],
    },
  });
  await family.send("go", { maxTotalTokens: 1_000 });
  await family.idle();
  const calls = family.model.callsOf("one").length + family.model.callsOf("two").length;
  assert.ok(calls >= 10 && calls <= 11, `${calls} calls of 100 tokens`);
});

test("what a child used counts against the run that goes on", async (t) => {
  const family = familyFor(t, {
    roles: {
      go: [
        { ...spawning("one"), usage: of(10) },
        { hold: "parent", calls: [call("work")], usage: of(10) },
        { text: "one turn too many" },
      ],
      one: [{ text: "1", usage: of(5_000) }],
    },
  });
  const sent = family.send("go", { maxTotalTokens: 1_000 });
  await family.model.reached("parent");
  await until(() => family.heard.some(({ event }) => event.agentId && event.type === "done"), "the child is done");
  family.model.release("parent");
  const result = await sent;
  assert.equal(result.stopReason, "max_turns");
  assert.notEqual(result.text, "one turn too many");
});

test("a completion run counts against it, too", async (t) => {
  const family = familyFor(t, {
    roles: {
      go: [{ ...spawning("one"), usage: of(50) }, { text: "started", usage: of(50) }, endless(of(200))],
      one: [{ text: "1", usage: of(400) }],
    },
  });
  await family.send("go", { maxTotalTokens: 1_000 });
  await family.idle();
  const [run] = completionRunsOf(family);
  assert.equal(run.status, "max_turns");
  assert.ok(family.model.callsOf("go").length <= 2 + 3, `${family.model.callsOf("go").length} calls`);
});

const budgetsOf = ({ heard }) =>
  heard.filter(({ event }) => event.type === "diagnostic" && event.code === "token_budget");

test("a call of Agent in the turn that goes over it starts nothing, and the run is the last", async (t) => {
  const family = familyFor(t, {
    roles: { go: [() => ({ ...spawning("one"), usage: of(100) })], one: [{ text: "1" }] },
  });
  const result = await family.send("go", { maxTotalTokens: 50 });
  await family.idle();
  const { isError, text } = answerOf(result);
  assert.equal(isError, true);
  assert.match(text, /^Error: no agents were started.*100.*maxTotalTokens of 50/);
  assert.deepEqual([family.model.calls.length, childRunsOf(family).length], [1, 0]);
  assert.deepEqual(completionsOf(family), []);
});

test("a child that would begin over it makes no model call, and is max_turns with a diagnostic", async (t) => {
  const family = familyFor(t, {
    roles: {
      go: [
        { ...spawning("one", "two"), usage: of(10) },
        { text: "started", usage: of(10) },
      ],
      one: [{ text: "1", usage: of(5_000) }],
      two: [{ text: "2" }],
    },
    maxParallelSubagents: 1,
  });
  await family.send("go", { maxTotalTokens: 1_000 });
  await family.idle();
  assertPaired(family);
  assert.equal(family.model.callsOf("two").length, 0);
  const sections = sectionsOf(completionsOf(family)[0].content);
  assert.deepEqual(
    sections.map(({ status, text }) => [status, text]),
    [
      ["completed", "1"],
      ["max_turns", ""],
    ],
  );
  const [told] = budgetsOf(family).filter(({ event }) => event.agentId === sections[1].agentId);
  assert.match(told.event.message, /did not begin.*5020.*1000/);
});

test("a completion over it is told and kept, and its run makes no model call", async (t) => {
  const family = familyFor(t, {
    roles: {
      go: [{ ...spawning("one"), usage: of(10) }, { text: "started", usage: of(10) }, { text: "next" }],
      one: [{ text: "1", usage: of(5_000) }],
    },
  });
  await family.send("go", { maxTotalTokens: 1_000 });
  await family.idle();
  assertPaired(family);
  assert.equal(completionsOf(family).length, 1);
  assert.deepEqual(
    completionRunsOf(family).map(({ status }) => status),
    ["max_turns"],
  );
  assert.equal(family.model.callsOf("go").length, 2);
  const { messages, text } = await family.send("and now?");
  assert.equal(text, "next");
  assert.ok(JSON.stringify(messages).includes("<background-task-completed "), "the next run sees it");
});

test("a chain of completion runs that start children for ever ends with it", async (t) => {
  let groups = 0;
  const family = familyFor(t, {
    roles: {
      go: [() => ({ calls: [agentCall(["one"], `spawn-${(groups += 1)}`)], usage: of(100) })],
      one: [{ text: "1", usage: of(100) }],
    },
  });
  await family.send("go", { maxTotalTokens: 2_000 });
  await family.idle();
  assert.ok(family.model.calls.length <= 21 + 1, `${family.model.calls.length} calls of 100 tokens`);
});

test("the budget is that of one run: another run of the session has its own", async (t) => {
  const family = familyFor(t, {
    roles: {
      go: [
        { ...spawning("one"), usage: of(10) },
        { text: "started", usage: of(10) },
        { text: "over", usage: of(10) },
        { calls: [call("work")], usage: of(10) },
        { text: "fine", usage: of(10) },
      ],
      one: [{ text: "1", usage: of(5_000) }],
    },
  });
  await family.send("go", { maxTotalTokens: 10_000 });
  await family.idle();
  const result = await family.send("more", { maxTotalTokens: 1_000 });
  assert.deepEqual([result.stopReason, result.text], ["stop", "fine"]);
});

test("a run's own usage is its own: what its children used is not in its result", async (t) => {
  const family = await runFamily(t, {
    roles: { one: [{ text: "1", usage: { inputTokens: 1_000, outputTokens: 500 } }] },
  });
  assert.deepEqual({ ...family.result.usage }, { inputTokens: 20, outputTokens: 10 });
});
