// deleteSession() of a session whose children were talked to themselves, and have children in turn: all that is below goes,
// and nothing beside it. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { memoryCheckpointer, policy, resolveProjectPaths } from "../../index.js";
import { plainTool, within } from "../support/model.mjs";
import {
  answerOf,
  assertPaired,
  call,
  childRunsOf,
  completionEntriesOf,
  completionRunsOf,
  familyFolder,
  familyFor,
  familyTools,
  settled,
  spawning,
  starts,
} from "./family.mjs";

const SOON = 5_000;
/** A child that is over, and starts one of its own when a host talks to it. */
const ROLES = {
  go: starts("one"),
  one: [{ text: "1" }, spawning("two"), { text: "started" }, { text: "over" }],
  two: [{ hold: "two", text: "2" }, spawning("three"), { text: "started" }, { text: "over" }],
  three: [{ hold: "three", text: "3" }],
};
const idsOf = async (checkpointer) => (await checkpointer.list()).map(({ id }) => id).sort();
const statusesOf = (family) => completionEntriesOf(family).map(({ event }) => event.completion.status);
const deleting = (family, id = family.agent.sessionId) =>
  within(family.agent.deleteSession(id), "deleteSession()", SOON);

/** The session's child, which is over. */
async function childOf(family, options) {
  const result = await family.send("go", options);
  await family.idle(options?.sessionId);
  return answerOf(result).agentIds[0];
}

/** A child of the child, which is at work. */
async function grandchildOf(family, child) {
  const result = await family.send("again", { sessionId: child });
  await family.model.reached("two");
  return answerOf(result).agentIds[0];
}

test("a group that a child's own session started is cancelled and told so, and all of it is deleted", async (t) => {
  const checkpointer = memoryCheckpointer();
  const family = familyFor(t, { roles: ROLES, checkpointer });
  const child = await childOf(family);
  const grandchild = await grandchildOf(family, child);
  assert.deepEqual(await idsOf(checkpointer), [family.agent.sessionId, child, grandchild].sort());
  await deleting(family);
  assert.deepEqual(await idsOf(checkpointer), []);
  assert.deepEqual(statusesOf(family), ["completed", "cancelled"]);
  assert.deepEqual(
    childRunsOf(family).map(({ input, status }) => [input, status]),
    [
      ["one", "completed"],
      ["two", "cancelled"],
    ],
  );
  await settled();
  assertPaired(family);
  assert.equal(completionRunsOf(family).length, 1, "that of the first group alone");
  assert.deepEqual(await idsOf(checkpointer), []);
});

test("so it is at any depth", async (t) => {
  const checkpointer = memoryCheckpointer();
  const family = familyFor(t, { roles: ROLES, checkpointer });
  const child = await childOf(family);
  const grandchild = await grandchildOf(family, child);
  family.model.release("two");
  await family.idle(child);
  await family.send("again", { sessionId: grandchild });
  await family.model.reached("three");
  assert.equal((await idsOf(checkpointer)).length, 4);
  await deleting(family);
  assert.deepEqual(await idsOf(checkpointer), []);
  assert.equal(statusesOf(family).at(-1), "cancelled");
  await settled();
  assertPaired(family);
});

test("a run in a child's own session is cancelled, and its session deleted", async (t) => {
  const checkpointer = memoryCheckpointer();
  const roles = { ...ROLES, one: [{ text: "1" }, { hold: "one", text: "never said" }] };
  const family = familyFor(t, { roles, checkpointer });
  const child = await childOf(family);
  const sent = family.agent.send("again", { sessionId: child });
  await family.model.reached("one");
  await deleting(family);
  assert.equal((await within(sent, "send()")).stopReason, "aborted");
  assert.deepEqual(await idsOf(checkpointer), []);
});

test("sessions below that another agent has written are deleted, with what their runs kept", async (t) => {
  const folder = familyFolder(t);
  const tasked = { calls: [call("TaskCreate", "t", { subject: "s", description: "d" })] };
  const roles = { ...ROLES, one: [{ text: "1" }, tasked, spawning("two"), { text: "started" }, { text: "over" }] };
  const first = familyFor(t, { roles, folder, permission: policy() });
  const child = await childOf(first);
  await grandchildOf(first, child);
  first.model.release("two");
  await first.idle(child);
  await first.close();
  const { sessionsDir, tasksDir } = resolveProjectPaths({ workdir: folder.workdir, home: folder.home });
  const filesIn = (path) => (existsSync(path) ? readdirSync(path, { recursive: true }) : []);
  const lists = () => filesIn(tasksDir).filter((name) => /\.json$/.test(name));
  assert.equal(filesIn(sessionsDir).filter((name) => /\.jsonl$/.test(name)).length, 3);
  assert.ok(lists().length > 0, `a list of tasks in ${join(tasksDir)}`);
  const second = familyFor(t, { roles, folder });
  await deleting(second, first.agent.sessionId);
  assert.deepEqual(filesIn(sessionsDir), []);
  assert.deepEqual(lists(), []);
});

test("another session, and what is below it, is left alone", async (t) => {
  const checkpointer = memoryCheckpointer();
  const family = familyFor(t, { roles: ROLES, checkpointer });
  const ours = await childOf(family, { sessionId: "ours" });
  const theirs = await childOf(family, { sessionId: "theirs" });
  await grandchildOf(family, ours);
  const grandchild = answerOf(await family.send("again", { sessionId: theirs })).agentIds[0];
  await family.model.reached("two", 2);
  await deleting(family, "ours");
  family.model.release("two");
  await family.idle(theirs);
  assert.deepEqual(await idsOf(checkpointer), ["theirs", theirs, grandchild].sort());
  assert.deepEqual(statusesOf(family).sort(), ["cancelled", "completed", "completed", "completed"]);
});

test("a child's session alone is deleted with what is below it, and its parent's stays", async (t) => {
  const checkpointer = memoryCheckpointer();
  const family = familyFor(t, { roles: ROLES, checkpointer });
  const child = await childOf(family);
  await grandchildOf(family, child);
  await deleting(family, child);
  assert.deepEqual(await idsOf(checkpointer), [family.agent.sessionId]);
});

test("deletions of a session and of one below it, at once, all resolve", async (t) => {
  const checkpointer = memoryCheckpointer();
  const family = familyFor(t, { roles: ROLES, checkpointer });
  const child = await childOf(family);
  const grandchild = await grandchildOf(family, child);
  const ids = [grandchild, family.agent.sessionId, child, family.agent.sessionId, grandchild];
  await Promise.all(ids.map((id) => deleting(family, id)));
  assert.deepEqual(await idsOf(checkpointer), []);
});

test("a run in a child's session that comes meanwhile begins anew", async (t) => {
  const checkpointer = memoryCheckpointer();
  const roles = { ...ROLES, later: [{ text: "anew" }] };
  const family = familyFor(t, { roles, checkpointer });
  const child = await childOf(family);
  await grandchildOf(family, child);
  const deleted = deleting(family);
  await deleted;
  const { messages, text } = await family.send("later", { sessionId: child });
  assert.deepEqual([messages.length, text], [2, "anew"]);
});

test("without stored sessions the groups below are cancelled as well", async (t) => {
  const family = familyFor(t, { roles: ROLES, sessions: false });
  const child = await childOf(family);
  await grandchildOf(family, child);
  await deleting(family);
  assert.deepEqual(statusesOf(family), ["completed", "cancelled"]);
  await settled();
  assertPaired(family);
});

test("a callback of a run below would wait for itself: it is refused", async (t) => {
  const roles = { ...ROLES, one: [{ text: "1" }, { calls: [call("delete")] }, { text: "end" }] };
  const refused = [];
  let root;
  const tools = [
    ...familyTools(),
    plainTool("delete", async () => {
      await family.agent.deleteSession(root).catch((error) => refused.push(error.name));
      return "x";
    }),
  ];
  const family = familyFor(t, { roles, tools });
  root = family.agent.sessionId;
  const child = await childOf(family);
  assert.equal((await family.send("again", { sessionId: child })).text, "end");
  assert.deepEqual(refused, ["ReentrancyError"]);
});
