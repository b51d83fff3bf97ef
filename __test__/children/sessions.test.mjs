// Children's sessions: stored like any, listed by none, gone with their parent's. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { memoryCheckpointer, policy, resolveProjectPaths } from "../../index.js";
import { plainTool } from "../support/model.mjs";
import { textOf } from "../runs/reading.mjs";
import {
  agentCall,
  answerOf,
  assertPaired,
  call,
  childRunsOf,
  completionsOf,
  familyFolder,
  familyFor,
  familyTools,
  runFamily,
  sectionsOf,
  spawning,
  starts,
  task,
} from "./family.mjs";

const working = [{ text: "looking", calls: [call("work")] }, { text: "1" }];
const storedOf = async (checkpointer, id) => {
  const events = [];
  for await (const { event } of checkpointer.read(id)) events.push(event);
  return events;
};
const idsOf = async (checkpointer) => (await checkpointer.list()).map(({ id }) => id);

test("a child's conversation is stored under its agentId, as any session's is", async (t) => {
  const checkpointer = memoryCheckpointer();
  const { result } = await runFamily(t, { roles: { one: working }, checkpointer });
  const [id] = answerOf(result).agentIds;
  const events = await storedOf(checkpointer, id);
  assert.deepEqual(
    events.map(({ type }) => type),
    ["user", "assistant", "tool_started", "tool_result", "assistant"],
  );
  assert.equal(textOf(events[0].message), "one");
});

test("the parent's log has nothing of what its children said but the completion", async (t) => {
  const checkpointer = memoryCheckpointer();
  const { agent, completion } = await runFamily(t, { roles: { one: working }, checkpointer });
  const events = await storedOf(checkpointer, agent.sessionId);
  assert.ok(!JSON.stringify(events).includes("looking"));
  assert.deepEqual(
    events.map(({ type }) => type),
    ["user", "assistant", "tool_started", "tool_result", "assistant", "user", "assistant"],
  );
  assert.ok(textOf(events[5].message).includes(completion.content));
});

test("a child's prompt is stored before its model is asked", async (t) => {
  const checkpointer = memoryCheckpointer();
  const seen = [];
  const one = async () => {
    const [id] = (await idsOf(checkpointer)).filter((each) => each.startsWith("agent-"));
    seen.push(...(await storedOf(checkpointer, id)).map(({ type }) => type));
    return { text: "1" };
  };
  await runFamily(t, { roles: { one: [one] }, checkpointer });
  assert.deepEqual(seen, ["user"]);
});

test("listSessions() lists the parent's session, and none of its children's", async (t) => {
  for (const config of [{}, { checkpointer: memoryCheckpointer() }]) {
    const { agent } = await runFamily(t, { roles: { one: working, two: [{ text: "2" }] }, ...config });
    assert.deepEqual(
      (await agent.listSessions()).map(({ id }) => id),
      [agent.sessionId],
    );
  }
});

test("a session of the host's own whose name begins like a child's is listed", async (t) => {
  const family = familyFor(t, { roles: { go: [{ text: "ok" }] } });
  for (const sessionId of ["agent-1", "agent", "agent-of-mine"]) await family.send("go", { sessionId });
  assert.deepEqual((await family.agent.listSessions()).map(({ id }) => id).sort(), [
    "agent",
    "agent-1",
    "agent-of-mine",
  ]);
});

test("listSessions() hides children that an agent before this one had", async (t) => {
  const folder = familyFolder(t);
  const before = await runFamily(t, { roles: { one: working }, folder });
  await before.close();
  const after = familyFor(t, { roles: { go: [{ text: "ok" }] }, folder });
  assert.deepEqual(
    (await after.agent.listSessions()).map(({ id }) => id),
    [before.agent.sessionId],
  );
});

test("deleteSession() deletes the children's logs, too, resumed ones and those of all groups", async (t) => {
  const checkpointer = memoryCheckpointer();
  let id;
  const family = familyFor(t, {
    roles: {
      go: [
        spawning("one", "two"),
        { text: "started" },
        { text: "heard" },
        () => ({ calls: [agentCall([task("more", { resume: id }), task("three")], "again")] }),
        { text: "again" },
        { text: "over" },
      ],
      one: working,
      two: [{ text: "2" }],
      three: [{ text: "3" }],
    },
    checkpointer,
  });
  [id] = answerOf(await family.send()).agentIds;
  await family.idle();
  await family.send("more");
  await family.idle();
  assert.equal((await idsOf(checkpointer)).length, 4);
  await family.agent.deleteSession(family.agent.sessionId);
  assert.deepEqual(await idsOf(checkpointer), []);
});

test("deleteSession() of one session leaves another's children stored, and they can be resumed", async (t) => {
  const checkpointer = memoryCheckpointer();
  let id;
  const family = familyFor(t, {
    roles: {
      "go a": starts("one"),
      "go b": [
        spawning("two"),
        { text: "started" },
        { text: "heard" },
        () => ({ calls: [agentCall([task("more", { resume: id })], "again")] }),
        { text: "again" },
        { text: "over" },
      ],
      one: working,
      two: [{ text: "2" }, { text: "2 again" }],
    },
    checkpointer,
  });
  await family.send("go a", { sessionId: "a" });
  [id] = answerOf(await family.send("go b", { sessionId: "b" })).agentIds;
  await family.idle("a");
  await family.idle("b");
  await family.agent.deleteSession("a");
  assert.deepEqual((await idsOf(checkpointer)).sort(), ["b", id].sort());
  await family.send("more", { sessionId: "b" });
  await family.idle("b");
  assert.equal(sectionsOf(completionsOf(family).at(-1).content)[0].text, "2 again");
});

test("deleteSession() by an agent that was made anew deletes the children of before", async (t) => {
  const checkpointer = memoryCheckpointer();
  const before = await runFamily(t, { roles: { one: working }, checkpointer });
  await before.close();
  const after = familyFor(t, { roles: { go: [{ text: "ok" }] }, checkpointer });
  await after.agent.deleteSession(before.agent.sessionId);
  assert.deepEqual(await idsOf(checkpointer), []);
});

test("in the default store, too, nothing of the children is left", async (t) => {
  const { agent, workdir, home, result } = await runFamily(t, { roles: { one: working } });
  const { sessionsDir } = resolveProjectPaths({ workdir, home });
  const [id] = answerOf(result).agentIds;
  const left = () => readdirSync(sessionsDir).filter((name) => name.includes(id) || name.includes(agent.sessionId));
  assert.ok(left().length >= 2);
  await agent.deleteSession(agent.sessionId);
  assert.deepEqual(left(), []);
});

test("a session that begins anew under a deleted one's name cannot resume the children of before", async (t) => {
  let id;
  const family = familyFor(t, {
    roles: {
      go: starts("one"),
      "go again": [() => spawning(task("more", { resume: id })), { text: "again" }, { text: "over" }],
      one: [{ text: "1" }, { text: "a ghost" }],
      more: [{ text: "a ghost" }],
    },
  });
  [id] = answerOf(await family.send("go", { sessionId: "mine" })).agentIds;
  await family.idle("mine");
  await family.agent.deleteSession("mine");
  await family.send("go again", { sessionId: "mine" });
  await family.idle("mine");
  assert.equal(family.model.callsOf("one").length + family.model.callsOf("more").length, 1);
});

test("with sessions: false children run, are told, and can be resumed while the agent lives", async (t) => {
  let id;
  const family = familyFor(t, {
    roles: {
      go: [
        spawning("one"),
        { text: "started" },
        { text: "heard" },
        () => ({ calls: [agentCall([task("more", { resume: id })], "again")] }),
        { text: "again" },
        { text: "over" },
      ],
      one: [{ text: "first" }, { text: "second" }],
    },
    sessions: false,
  });
  [id] = answerOf(await family.send()).agentIds;
  await family.idle();
  await family.send("more");
  await family.idle();
  assertPaired(family);
  assert.deepEqual(family.model.callsOf("one")[1].request.messages.map(textOf), ["one", "first", "more"]);
  assert.deepEqual(
    completionsOf(family).map(({ content }) => sectionsOf(content)[0].text),
    ["first", "second"],
  );
  assert.ok(!readdirSync(family.home).includes("projects"), "nothing is written");
});

test("with sessions: false deleteSession() forgets the children, too", async (t) => {
  let id;
  const family = familyFor(t, {
    roles: {
      go: starts("one"),
      "go again": [() => spawning(task("more", { resume: id })), { text: "again" }, { text: "over" }],
      one: [{ text: "1" }, { text: "a ghost" }],
      more: [{ text: "a ghost" }],
    },
    sessions: false,
  });
  [id] = answerOf(await family.send("go", { sessionId: "mine" })).agentIds;
  await family.idle("mine");
  await family.agent.deleteSession("mine");
  await family.send("go again", { sessionId: "mine" });
  await family.idle("mine");
  assert.equal(family.model.callsOf("one").length + family.model.callsOf("more").length, 1);
});

test("permissionAudit stores a child's decisions in the child's own log", async (t) => {
  const checkpointer = memoryCheckpointer();
  const { agent, result } = await runFamily(t, {
    roles: { one: working },
    checkpointer,
    permission: policy({ rules: [{ id: "no-work", tool: "work", effect: "deny" }] }),
    permissionAudit: true,
  });
  const decisions = async (id) =>
    (await storedOf(checkpointer, id))
      .filter(({ type }) => type === "permission_decision")
      .map(({ call: { name }, decision, ruleId }) => [name, decision, ruleId]);
  assert.deepEqual(await decisions(answerOf(result).agentIds[0]), [["work", "deny", "no-work"]]);
  assert.deepEqual(await decisions(agent.sessionId), [["Agent", "allow", undefined]]);
});

test("what a child's tool records of a file is in the child's log", async (t) => {
  const checkpointer = memoryCheckpointer();
  const tools = [
    ...familyTools().filter(({ name }) => name !== "work"),
    plainTool("work", async (_, { recordSnapshot }) => {
      await recordSnapshot("file.txt", "before");
      return "worked";
    }),
  ];
  const { result } = await runFamily(t, { roles: { one: working }, checkpointer, tools });
  const [snapshot] = (await storedOf(checkpointer, answerOf(result).agentIds[0])).filter(
    ({ type }) => type === "file_snapshot",
  );
  assert.deepEqual([snapshot.path, snapshot.before], ["file.txt", "before"]);
});

test("a store that fails for a child fails that child alone", async (t) => {
  const inner = memoryCheckpointer();
  const failing = {
    append: async (id, events, head) => {
      if (id.startsWith("agent-") && JSON.stringify(events).includes("two")) throw new Error("disk full");
      return inner.append(id, events, head);
    },
    read: (id, options) => inner.read(id, options),
    head: (id) => inner.head(id),
    list: () => inner.list(),
    delete: (id) => inner.delete(id),
  };
  const family = await runFamily(t, { roles: { one: [{ text: "1" }], two: [{ text: "2" }] }, checkpointer: failing });
  assertPaired(family);
  assert.deepEqual(
    family.sections.map(({ status }) => status),
    ["completed", "failed"],
  );
  assert.match(family.sections[1].text, /disk full/);
  assert.equal(childRunsOf(family).length, 2);
});
