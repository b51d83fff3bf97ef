// close() and deleteSession() take every child along, at whatever moment they come. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { ClosedError, memoryCheckpointer, policy, resolveProjectPaths } from "../../index.js";
import { deferred, hookFailures, until, within } from "../support/model.mjs";
import { gone, marker, sleeping } from "../commands/processes.mjs";
import {
  assertPaired,
  call,
  childRunsOf,
  completionRunsOf,
  familyFor,
  runsOf,
  settled,
  spawning,
  starts,
} from "./family.mjs";
import { MOMENTS, familyAt } from "./moments.mjs";

const SOON = 5_000;
const ENDS = {
  "close()": (family) => within(family.agent.close(), "close()", SOON),
  "deleteSession()": (family) => within(family.agent.deleteSession(family.agent.sessionId), "deleteSession()", SOON),
};

/** Checks that all children that had begun were cancelled, and that nothing goes on. */
async function assertOver(family) {
  assertPaired(family);
  const runs = childRunsOf(family);
  assert.equal(runs.length, family.begun);
  for (const { status } of runs) assert.equal(status, "cancelled");
  assert.deepEqual(completionRunsOf(family), []);
  const seen = [family.model.calls.length, family.fired.length];
  await settled();
  assert.deepEqual([family.model.calls.length, family.fired.length], seen, "nothing happens afterwards");
}

for (const [end, perform] of Object.entries(ENDS)) {
  for (const name of Object.keys(MOMENTS)) {
    test(`${end} after the parent's run, while ${name}: resolves soon, the child is cancelled, nothing goes on`, async (t) => {
      const family = await familyAt(t, name, { parentDone: true });
      await perform(family);
      await assertOver(family);
      assert.deepEqual(hookFailures(family.heard), []);
      if (end === "close()") await assert.rejects(family.agent.send("more"), ClosedError);
      else assert.equal((await family.send("go on")).messages.length, 2, "the session begins anew");
    });
  }

  for (const name of ["one waits for a place", "it is in its model call", "it is in a tool"]) {
    test(`${end} during the parent's run, while ${name}: both are cancelled`, async (t) => {
      const family = await familyAt(t, name);
      await perform(family);
      assert.equal((await family.sent).stopReason, "aborted");
      await assertOver(family);
      assert.ok(runsOf(family).every(({ status }) => status === "cancelled"));
    });
  }

  test(`${end} in the completion run cancels it`, async (t) => {
    const family = familyFor(t, {
      roles: {
        go: [...starts("one").slice(0, 2), { hold: "completion", text: "never said" }],
        one: [{ text: "1" }],
      },
    });
    await family.send();
    await family.model.reached("completion");
    await perform(family);
    assertPaired(family);
    assert.deepEqual(
      completionRunsOf(family).map(({ status }) => status),
      ["cancelled"],
    );
    assert.ok(family.model.calls.at(-1).signal.aborted);
  });

  test(`${end} while a completion waits for a run to end: its run never begins`, async (t) => {
    const family = familyFor(t, {
      roles: { go: [spawning("one"), { hold: "parent", text: "x" }, { text: "never said" }], one: [{ text: "1" }] },
    });
    const sent = family.send();
    await family.model.reached("parent");
    await until(() => family.heard.some(({ event }) => event.agentId && event.type === "done"), "the child is done");
    await settled();
    await perform(family);
    assert.equal((await sent).stopReason, "aborted");
    await settled();
    assertPaired(family);
    assert.deepEqual(completionRunsOf(family), []);
  });

  test(`${end} waits for the run:end hooks of the children`, async (t) => {
    const family = await familyAt(t, "it is in its model call", { parentDone: true });
    const gate = deferred();
    const entered = deferred();
    let over = false;
    family.agent.hook("run:end", async ({ agentId }) => {
      if (!agentId) return;
      entered.resolve();
      await gate.promise;
      over = true;
    });
    const ending = perform(family).then(() => over);
    await within(entered.promise, "the child's run:end hook");
    await settled();
    gate.resolve();
    assert.equal(await ending, true);
  });

  test(`${end} does not wait for ever for a run:end hook of a child that never settles`, async (t) => {
    const family = await familyAt(t, "it is in its model call", { parentDone: true });
    family.agent.hook("run:end", ({ agentId }) => (agentId ? new Promise(() => {}) : undefined), { timeoutMs: 100 });
    await perform(family);
    assertPaired(family);
    assert.deepEqual(
      hookFailures(family.heard).map(({ hook }) => hook.reason),
      ["timeout"],
    );
  });

  test(`${end} kills the processes of a child's commands`, async (t) => {
    const mark = marker();
    const command = `sleep ${mark} & setsid sleep ${mark} & sleep ${mark}`;
    const family = familyFor(t, {
      roles: { go: starts("one"), one: [{ calls: [call("bash", "b", { command })] }, { text: "never said" }] },
      permission: policy(),
    });
    await family.send();
    await sleeping(mark, 3);
    await perform(family);
    await gone(mark);
  });

  test(`${end} with many children, some at work and some waiting, ends them all`, async (t) => {
    const names = Array.from({ length: 20 }, (_, index) => `child ${index}`);
    const family = familyFor(t, {
      roles: { go: starts(...names), child: [{ hold: "child", text: "never said" }] },
    });
    await family.send();
    await family.model.reached("child", 5);
    await perform(family);
    await assertOver({ ...family, begun: 5 });
    assert.equal(family.model.calls.length, 2 + 5);
  });
}

test("several close() at once with children at work all resolve", async (t) => {
  const family = await familyAt(t, "it is in its model call", { parentDone: true });
  await within(Promise.all([family.agent.close(), family.agent.close(), family.agent.close()]), "three closes", SOON);
  await assertOver(family);
});

const marked = marker();
for (const [name, { calls = [], times = 1 }] of Object.entries({
  "children at work": {},
  "children and a list of tasks": { calls: [call("TaskCreate", "t", { subject: "s", description: "d" })] },
  "children and a background command": {
    calls: [call("bash", "b", { command: `sleep ${marked}`, run_in_background: true })],
  },
  "children, deleted twice at once": { times: 2 },
})) {
  test(`deleteSession() before close(), with ${name}: it is done before the store is closed`, async (t) => {
    const spawn = spawning("one", "two");
    const family = familyFor(t, {
      roles: {
        go: [{ calls: [...spawn.calls, ...calls] }, { text: "started" }],
        one: [{ hold: "child", text: "never said" }],
        two: [{ hold: "child", text: "never said" }],
      },
      permission: policy(),
    });
    await family.send();
    await family.model.reached("child", 2);
    const { sessionsDir } = resolveProjectPaths({ workdir: family.workdir, home: family.home });
    assert.equal(readdirSync(sessionsDir).filter((file) => file.endsWith(".jsonl")).length, 3);
    const { sessionId } = family.agent;
    const deletions = Array.from({ length: times }, () => family.agent.deleteSession(sessionId));
    await within(Promise.all([...deletions, family.agent.close()]), "close()", SOON);
    assert.deepEqual(readdirSync(sessionsDir), []);
    await gone(marked);
    assertPaired(family);
    const codes = family.heard.map(({ event }) => event).filter(({ type }) => type === "diagnostic");
    assert.deepEqual(codes, []);
  });
}

test("awaitIdle() that waits for a group settles when the agent is closed", async (t) => {
  const family = await familyAt(t, "it is in its model call", { parentDone: true });
  const waiting = family.agent.awaitIdle().catch((error) => assert.ok(error instanceof ClosedError, error.stack));
  await family.close();
  await within(waiting, "awaitIdle()", 1_000);
});

test("awaitIdle() that waits for a group resolves when its session is deleted", async (t) => {
  const family = await familyAt(t, "it is in its model call", { parentDone: true });
  const waiting = family.agent.awaitIdle();
  await ENDS["deleteSession()"](family);
  await within(waiting, "awaitIdle()", 1_000);
});

test("deleteSession() of one session leaves the children of another alone", async (t) => {
  const family = familyFor(t, {
    roles: {
      "go a": starts("one"),
      "go b": starts("two"),
      one: [{ hold: "one", text: "1" }],
      two: [{ hold: "two", text: "2" }],
    },
  });
  for (const name of ["a", "b"]) await family.send(`go ${name}`, { sessionId: name });
  await family.model.reached("one");
  await family.model.reached("two");
  await within(family.agent.deleteSession("a"), "deleteSession()", SOON);
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
  assert.equal(completionRunsOf(family).length, 1);
});

test("nothing of a deleted session comes back: neither its log nor those of its children", async (t) => {
  const checkpointer = memoryCheckpointer();
  const family = await familyAt(t, "it is in a tool", { parentDone: true, checkpointer });
  assert.equal((await checkpointer.list()).length, 2);
  await ENDS["deleteSession()"](family);
  await settled();
  assert.deepEqual(await checkpointer.list(), []);
});

test("a child's tool that ignores its signal and answers late disturbs nobody", async (t) => {
  const late = deferred();
  const entered = deferred();
  const family = familyFor(t, {
    roles: { go: starts("one"), one: [{ calls: [call("slow")] }, { text: "never said" }] },
    tools: [
      {
        name: "slow",
        description: "slow",
        schema: { type: "object" },
        execute() {
          entered.resolve();
          return late.promise;
        },
      },
    ],
  });
  await family.send();
  await within(entered.promise, "the tool");
  await family.close();
  late.reject(new Error("too late"));
  await settled();
  assertPaired(family);
  assert.equal(family.model.callsOf("one").length, 1);
});
