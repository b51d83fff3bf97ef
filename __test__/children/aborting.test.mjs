// A parent's run that is aborted takes its groups along; one that ended by itself leaves them going. Knows the public
// face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { policy } from "../../index.js";
import { aborted, collect, deferred, hookFailures, plainTool, until, within } from "../support/model.mjs";
import { assertConversation, textOf } from "../runs/reading.mjs";
import { gone, marker, sleeping } from "../commands/processes.mjs";
import {
  agentCall,
  answerOf,
  assertPaired,
  call,
  childRunsOf,
  completionEntriesOf,
  completionRunsOf,
  completionsOf,
  familyFor,
  familyTools,
  sectionsOf,
  settled,
  spawning,
  starts,
  task,
} from "./family.mjs";
import { MOMENTS, familyAt } from "./moments.mjs";

/** Checks what holds for every group that its parent's abort took along. */
async function assertCancelled(family) {
  await family.idle();
  await settled();
  assertPaired(family);
  const runs = childRunsOf(family);
  assert.equal(runs.length, family.begun);
  for (const { status, error } of runs) assert.deepEqual([status, error], ["cancelled", undefined]);
  const [completion, ...others] = completionsOf(family);
  assert.deepEqual(others, []);
  assert.deepEqual([completion.status, completion.isError], ["cancelled", true]);
  assert.equal(completionEntriesOf(family)[0].sessionId, family.agent.sessionId);
  const count = Object.keys(family.moment.children).length;
  assert.deepEqual(
    sectionsOf(completion.content).map(({ status }) => status),
    Array(count).fill("cancelled"),
  );
  assert.deepEqual(completionRunsOf(family), [], "no autonomous run");
  assert.deepEqual(hookFailures(family.heard), []);
  const calls = family.model.calls.length;
  family.model.release("parent");
  assert.equal((await family.send("and now?")).text, "started");
  assert.equal(family.model.calls.length, calls + 1, "nothing of the children goes on");
}

for (const name of Object.keys(MOMENTS)) {
  test(`the signal of the parent's run is aborted while ${name}: its child is cancelled, and no autonomous run follows`, async (t) => {
    const controller = new AbortController();
    const family = await familyAt(t, name, { options: { signal: controller.signal } });
    controller.abort(new Error("enough"));
    const result = await family.sent;
    assert.equal(result.stopReason, "aborted");
    assertConversation(result.messages);
    await assertCancelled(family);
    if (family.moment.tool && name === "it is in a tool") assert.equal(family.seen.aborted, true);
    if (family.moment.ready) assert.equal(family.model.callsOf("one").at(-1).signal.aborted, true);
  });
}

for (const name of ["one waits for a place", "it is in its model call", "it is in a tool"]) {
  test(`break out of the parent's stream while ${name} cancels its group`, async (t) => {
    const moment = MOMENTS[name];
    const entered = deferred();
    const seen = {};
    const family = familyFor(t, {
      roles: {
        go: [spawning(...Object.keys(moment.children)), { hold: "parent", text: "started" }],
        ...moment.children,
      },
      ...moment.config?.(entered),
      tools: [...familyTools(), ...(moment.tool ? [plainTool("wait", moment.tool(entered, seen))] : [])],
    });
    const generator = family.agent.run("go");
    const pulling = within(collect(generator), "the stream");
    await family.model.reached("parent");
    await within(moment.ready ? moment.ready(family) : entered.promise, name);
    await within(generator.return(), "return()");
    await pulling;
    await assertCancelled({ ...family, moment, begun: moment.begun ?? Object.keys(moment.children).length });
  });
}

test("children that were over before the abort are told as they were, and nothing is run", async (t) => {
  const family = familyFor(t, {
    roles: {
      go: [spawning("one", "two"), { hold: "parent", text: "x" }],
      one: [{ text: "1" }],
      two: [{ hold: "two", text: "2" }],
    },
  });
  const controller = new AbortController();
  const sent = family.send("go", { signal: controller.signal });
  await family.model.reached("parent");
  await family.model.reached("two");
  await until(() => childRunsOf(family).some(({ status }) => status === "completed"), "the first child is over");
  controller.abort();
  await sent;
  await family.idle();
  await settled();
  const sections = sectionsOf(completionsOf(family)[0].content);
  assert.deepEqual(
    sections.map(({ status }) => status),
    ["completed", "cancelled"],
  );
  assert.equal(sections[0].text, "1");
  assert.deepEqual(completionRunsOf(family), []);
});

test("a group that was over before its parent's run is aborted is still told, with its autonomous run or without, once", async (t) => {
  const family = familyFor(t, {
    roles: { go: [spawning("one"), { hold: "parent", text: "x" }, { text: "over" }], one: [{ text: "1" }] },
  });
  const controller = new AbortController();
  const sent = family.send("go", { signal: controller.signal });
  await family.model.reached("parent");
  await until(() => family.heard.some(({ event }) => event.agentId && event.type === "done"), "the child is done");
  await settled();
  controller.abort();
  assert.equal((await sent).stopReason, "aborted");
  family.model.release("parent");
  await family.idle();
  assertPaired(family);
  assert.equal(completionsOf(family).length, 1);
  assert.equal(childRunsOf(family)[0].status, "completed");
});

test("a signal that is aborted after the run has ended by itself stops nothing", async (t) => {
  const family = familyFor(t, { roles: { go: starts("one"), one: [{ hold: "one", text: "1" }] } });
  const controller = new AbortController();
  await family.send("go", { signal: controller.signal });
  await family.model.reached("one");
  controller.abort();
  await settled();
  family.model.release("one");
  await family.idle();
  assert.equal(childRunsOf(family)[0].status, "completed");
  assert.equal(completionRunsOf(family)[0].status, "completed");
});

test("a stream that is returned after its done stops nothing", async (t) => {
  const family = familyFor(t, { roles: { go: starts("one"), one: [{ hold: "one", text: "1" }] } });
  const generator = family.agent.run("go");
  for await (const event of generator) if (event.type === "done") break;
  await family.model.reached("one");
  await settled();
  family.model.release("one");
  await family.idle();
  assert.equal(childRunsOf(family)[0].status, "completed");
  assert.equal(completionRunsOf(family).length, 1);
});

test("a run that ends at maxTurns leaves its groups going", async (t) => {
  const family = familyFor(t, { roles: { go: starts("one"), one: [{ hold: "one", text: "1" }] } });
  assert.equal((await family.send("go", { maxTurns: 1 })).stopReason, "max_turns");
  await family.model.reached("one");
  family.model.release("one");
  await family.idle();
  assert.equal(childRunsOf(family)[0].status, "completed");
});

test("an abort takes along the groups of that run alone: those of an earlier run go on", async (t) => {
  const family = familyFor(t, {
    roles: {
      go: [
        spawning("one"),
        { text: "started" },
        { calls: [agentCall(["two"], "again")] },
        { hold: "parent", text: "over" },
      ],
      one: [{ hold: "one", text: "1" }],
      two: [{ hold: "two", text: "2" }],
    },
  });
  await family.send();
  const controller = new AbortController();
  const second = family.send("second", { signal: controller.signal });
  await family.model.reached("parent");
  await family.model.reached("two");
  await family.model.reached("one");
  controller.abort();
  await second;
  await until(() => completionsOf(family).length === 1, "the cancelled group is told");
  family.model.release("parent", "one");
  await family.idle();
  assert.deepEqual(
    childRunsOf(family).map(({ input, status }) => [input, status]),
    [
      ["one", "completed"],
      ["two", "cancelled"],
    ],
  );
  assert.deepEqual(
    completionsOf(family).map(({ label, status }) => [label, status]),
    [
      ["two", "cancelled"],
      ["one", "completed"],
    ],
  );
  assert.equal(completionRunsOf(family).length, 1);
});

test("a queued run that is aborted takes no group along", async (t) => {
  const family = familyFor(t, {
    roles: {
      go: [spawning("one"), { hold: "parent", text: "started" }, { text: "over" }],
      one: [{ hold: "one", text: "1" }],
    },
  });
  const first = family.send();
  await family.model.reached("parent");
  const controller = new AbortController();
  const queued = family.send("queued", { signal: controller.signal });
  controller.abort();
  assert.equal((await queued).stopReason, "aborted");
  family.model.release("parent", "one");
  await first;
  await family.idle();
  assert.equal(childRunsOf(family)[0].status, "completed");
});

test("the abort of one session's run leaves the children of another's alone", async (t) => {
  const family = familyFor(t, {
    roles: {
      "go a": [spawning("one"), { hold: "parent", text: "x" }],
      "go b": starts("two"),
      one: [{ hold: "one", text: "1" }],
      two: [{ hold: "two", text: "2" }],
    },
  });
  const controller = new AbortController();
  const a = family.send("go a", { sessionId: "a", signal: controller.signal });
  await family.send("go b", { sessionId: "b" });
  await family.model.reached("one");
  await family.model.reached("two");
  controller.abort();
  await a;
  await family.idle("a");
  family.model.release("two");
  await family.idle("b");
  assert.deepEqual(
    childRunsOf(family)
      .map(({ input, status }) => [input, status])
      .sort(),
    [
      ["one", "cancelled"],
      ["two", "completed"],
    ],
  );
});

test("an abort kills the processes of a child's commands", async (t) => {
  const mark = marker();
  const family = familyFor(t, {
    roles: {
      go: [spawning("one"), { hold: "parent", text: "x" }],
      one: [{ calls: [call("bash", "b", { command: `sleep ${mark} & sleep ${mark}` })] }, { text: "never said" }],
    },
    permission: policy(),
  });
  const controller = new AbortController();
  const sent = family.send("go", { signal: controller.signal });
  await family.model.reached("parent");
  await sleeping(mark, 2);
  controller.abort();
  await sent;
  await family.idle();
  await gone(mark);
  const end = family.fired.find(({ event, agentId }) => event === "tool:end" && agentId);
  assert.equal(end.status, "cancelled");
});

test("an abort with a child's approval outstanding settles it as denied", async (t) => {
  const controller = new AbortController();
  const family = await familyAt(t, "it waits for an approval", { options: { signal: controller.signal } });
  controller.abort();
  await family.sent;
  await family.idle();
  const [resolved] = family.heard.filter(({ event }) => event.type === "approval_resolved");
  assert.equal(resolved.event.decision, "deny");
  assert.equal(typeof resolved.event.agentId, "string");
});

test("a child that was cancelled can be resumed: what it had said is there, and every call has a result", async (t) => {
  const controller = new AbortController();
  const entered = deferred();
  const tools = [
    ...familyTools(),
    plainTool("wait", async (_, { signal }) => {
      entered.resolve();
      await aborted(signal);
      return "left";
    }),
  ];
  let resuming;
  const family = familyFor(t, {
    roles: {
      go: [
        spawning("one"),
        () => resuming ?? { hold: "parent", text: "never said" },
        { text: "started" },
        { text: "over" },
      ],
      one: [{ text: "looking", calls: [call("wait"), call("work")] }, { text: "went on" }],
    },
    tools,
  });
  const sent = family.send("go", { signal: controller.signal });
  await family.model.reached("parent");
  await within(entered.promise, "the child's tool");
  controller.abort();
  const [id] = answerOf(await sent).agentIds;
  await family.idle();
  resuming = spawning(task("and further?", { resume: id }));
  resuming.calls[0].id = "again";
  await family.send("once more");
  await family.idle();
  assert.deepEqual(
    childRunsOf(family).map(({ agentId, status }) => [agentId, status]),
    [
      [id, "cancelled"],
      [id, "completed"],
    ],
  );
  const { messages } = family.model.callsOf("one").at(-1).request;
  assertConversation(messages);
  assert.equal(textOf(messages[1]), "looking");
  assert.equal(sectionsOf(completionsOf(family).at(-1).content)[0].text, "went on");
});
