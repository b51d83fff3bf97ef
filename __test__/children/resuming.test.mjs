// `resume`: a child's conversation goes on, under the same agentId; and whose may not. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { memoryCheckpointer } from "../../index.js";
import { contentText, textOf } from "../runs/reading.mjs";
import {
  agentCall,
  answerOf,
  assertPaired,
  call,
  childRunsOf,
  completionsOf,
  definition,
  familyFolder,
  familyFor,
  sectionsOf,
  settled,
  spawning,
  task,
  toolNames,
} from "./family.mjs";

/**
 * The turns of a root whose first run starts `one`, and whose second (after the completion) makes the call that `next()`
 * gives.
 */
const twice = (next, first = "one") => [
  spawning(first),
  { text: "started" },
  { text: "heard" },
  () => next(),
  { text: "again" },
  { text: "over" },
];
const resuming = (resume, prompt = "and further?", more = {}) => ({
  calls: [agentCall([task(prompt, { resume, ...more })], "again")],
});

/** A family whose child `one` was run once and is then resumed once. */
async function resumed(t, { roles, ...config } = {}) {
  let id;
  const family = familyFor(t, {
    roles: { go: twice(() => resuming(id)), one: [{ text: "first" }, { text: "second" }], ...roles },
    ...config,
  });
  [id] = answerOf(await family.send()).agentIds;
  await family.idle();
  const result = await family.send("resume it");
  await family.idle();
  return { ...family, id, result };
}

/** Checks that a call, or the child in it, was refused, and that no model was asked for it. */
function assertRefused(family, result, requests) {
  const answer = answerOf(result, "again");
  if (!answer.isError) {
    const [section] = sectionsOf(completionsOf(family).at(-1).content);
    assert.equal(section.status, "failed");
    assert.match(section.text, /^Error: \S/);
  }
  const asked = family.model.calls.filter(({ role }) => !role.startsWith("go"));
  assert.equal(asked.length, requests, "no child's model was asked");
}

test("the conversation goes on: what was said before is there, then the new prompt", async (t) => {
  const family = await resumed(t);
  const [, { request }] = family.model.callsOf("one");
  assert.deepEqual(request.messages.map(textOf), ["one", "first", "and further?"]);
});

test("the agentId stays the same, in the answer, the events, the hooks and the completion", async (t) => {
  const family = await resumed(t);
  assert.deepEqual(answerOf(family.result, "again").agentIds, [family.id]);
  const contents = completionsOf(family).map(({ content }) => sectionsOf(content)[0]);
  assert.deepEqual(
    contents.map(({ agentId, text }) => [agentId, text]),
    [
      [family.id, "first"],
      [family.id, "second"],
    ],
  );
  assert.ok(childRunsOf(family).every(({ agentId, sessionId }) => agentId === family.id && sessionId === family.id));
  assert.ok(family.heard.every(({ event }) => !event.agentId || event.agentId === family.id));
});

test("the second run of a child has a runId of its own, and pairs of its own", async (t) => {
  const family = await resumed(t);
  assertPaired(family);
  const runs = childRunsOf(family);
  assert.deepEqual(
    runs.map(({ input, status }) => [input, status]),
    [
      ["one", "completed"],
      ["and further?", "completed"],
    ],
  );
  assert.notEqual(runs[0].runId, runs[1].runId);
});

test("the second completion is a group of its own", async (t) => {
  const family = await resumed(t);
  const [first, second] = completionsOf(family);
  assert.notEqual(first.id, second.id);
  assert.equal(second.label, "and further?");
});

test("calls and results of the first run are in the conversation of the second", async (t) => {
  const family = await resumed(t, {
    roles: { one: [{ text: "looking", calls: [call("work")] }, { text: "first" }, { text: "second" }] },
  });
  const { messages } = family.model.callsOf("one").at(-1).request;
  assert.deepEqual(
    messages.map(({ role }) => role),
    ["user", "assistant", "user", "assistant", "user"],
  );
  assert.equal(contentText(messages[2].content[0]), "worked");
});

test("a resumed child has the system prompt and tools of its type", async (t) => {
  const helper = definition({ name: "helper", description: "helps", tools: "work" }, "You are the helper.");
  const one = task("one", { subagent_type: "helper" });
  let id;
  const family = familyFor(t, {
    roles: {
      go: twice(() => resuming(id, "and further?", { subagent_type: "helper" }), one),
      one: [{ text: "first" }, { text: "second" }],
    },
    definitions: { "helper.md": helper },
  });
  [id] = answerOf(await family.send()).agentIds;
  await family.idle();
  await family.send("resume it");
  await family.idle();
  for (const { request } of family.model.callsOf("one")) {
    assert.equal(request.system.trim(), "You are the helper.");
    assert.deepEqual(toolNames(request), ["work"]);
  }
});

test("a child that failed can be resumed", async (t) => {
  let broken = true;
  const turn = () => (broken ? { error: new Error("down") } : { text: "well again" });
  let id;
  const family = familyFor(t, { roles: { go: twice(() => resuming(id)), one: [turn] } });
  [id] = answerOf(await family.send()).agentIds;
  await family.idle();
  broken = false;
  await family.send("resume it");
  await family.idle();
  assert.deepEqual(
    completionsOf(family).map(({ status }) => status),
    ["failed", "completed"],
  );
});

test("a child that ran out of turns can be resumed", async (t) => {
  let count = 0;
  const family = await resumed(t, {
    roles: {
      one: [
        () => ({ text: "x", calls: [call("work", `c${(count += 1)}`)] }),
        () => ({ text: "y", calls: [call("work", `c${(count += 1)}`)] }),
        { text: "at last" },
      ],
    },
    maxTurns: 2,
  });
  const [first, second] = completionsOf(family).map(({ content }) => sectionsOf(content)[0]);
  assert.equal(first.status, "max_turns");
  assert.deepEqual([second.status, second.text], ["completed", "at last"]);
});

test("a resumed child may be one of several in its group", async (t) => {
  let id;
  const family = familyFor(t, {
    roles: {
      go: twice(() => ({ calls: [agentCall([task("new one"), task("further", { resume: id })], "again")] })),
      one: [{ text: "first" }, { text: "second" }],
      "new one": [{ text: "fresh" }],
    },
  });
  [id] = answerOf(await family.send()).agentIds;
  await family.idle();
  const { agentIds } = answerOf(await family.send("resume it"), "again");
  await family.idle();
  assert.equal(agentIds[1], id);
  assert.notEqual(agentIds[0], id);
  assert.deepEqual(
    sectionsOf(completionsOf(family)[1].content).map(({ text }) => text),
    ["fresh", "second"],
  );
});

test("a child of another session is refused", async (t) => {
  let id;
  const family = familyFor(t, {
    roles: {
      "go a": [spawning("one"), { text: "started" }, { text: "over" }],
      "go b": [() => resuming(id), { text: "again" }, { text: "over" }],
      one: [{ text: "first" }, { text: "stolen" }],
    },
  });
  [id] = answerOf(await family.send("go a", { sessionId: "a" })).agentIds;
  await family.idle("a");
  const result = await family.send("go b", { sessionId: "b" });
  await family.idle("b");
  assertRefused(family, result, 1);
});

test("a child that is still at work is refused, and goes on undisturbed", async (t) => {
  let id;
  const family = familyFor(t, {
    roles: {
      go: [spawning("one"), { text: "started" }, () => resuming(id), { text: "again" }, { text: "over" }],
      one: [{ hold: "one", text: "first" }, { text: "second" }],
    },
  });
  [id] = answerOf(await family.send()).agentIds;
  await family.model.reached("one");
  const result = await family.send("resume it");
  await settled();
  if (answerOf(result, "again").isError) assert.match(answerOf(result, "again").text, new RegExp(id));
  family.model.release("one");
  await family.idle();
  assert.equal(family.model.callsOf("one").length, 1);
  const sections = completionsOf(family).map(({ content }) => sectionsOf(content)[0]);
  assert.ok(sections.some(({ status, text }) => status === "completed" && text === "first"));
  assert.ok(!sections.some(({ text }) => text === "second"));
  assertPaired(family);
});

test("a child that still waits for its place is refused as well", async (t) => {
  let id;
  const family = familyFor(t, {
    roles: {
      go: [spawning("one", "two"), { text: "started" }, () => resuming(id), { text: "again" }, { text: "over" }],
      one: [{ hold: "one", text: "1" }],
      two: [{ text: "first" }, { text: "second" }],
    },
    maxParallelSubagents: 1,
  });
  [, id] = answerOf(await family.send()).agentIds;
  await family.model.reached("one");
  await family.send("resume it");
  family.model.release("one");
  await family.idle();
  assert.equal(family.model.callsOf("two").length, 1);
});

test("the same child twice in one group is not run twice at once", async (t) => {
  let id;
  const family = familyFor(t, {
    roles: {
      go: twice(() => ({ calls: [agentCall([task("x", { resume: id }), task("y", { resume: id })], "again")] })),
      one: [{ text: "first" }, { text: "second" }],
    },
  });
  [id] = answerOf(await family.send()).agentIds;
  await family.idle();
  await family.send("resume it");
  await family.idle();
  assertPaired(family);
  assert.ok(family.model.callsOf("one").length <= 2);
  assert.equal(family.model.most, 1);
});

for (const id of ["agent-0123456789abcdef-0123456789abcdef", "agent-1", "../../etc/passwd", "nobody"]) {
  test(`an id that is no child's, ${JSON.stringify(id)}, is refused`, async (t) => {
    const family = familyFor(t, {
      roles: { go: [resuming(id), { text: "again" }, { text: "over" }], "and further?": [{ text: "who?" }] },
    });
    const result = await family.send();
    await family.idle();
    assertRefused(family, result, 0);
  });
}

test("the id of the session itself is refused: a child is no way into the conversation of its parent", async (t) => {
  const family = familyFor(t, {
    roles: { go: [resuming("mine"), { text: "again" }, { text: "over" }], "and further?": [{ text: "who?" }] },
  });
  const result = await family.send("go", { sessionId: "mine" });
  await family.idle("mine");
  assertRefused(family, result, 0);
});

test("an id that has the session's half, but was never given to a child, is refused", async (t) => {
  let id;
  const family = familyFor(t, {
    roles: { go: twice(() => resuming(id)), one: [{ text: "first" }, { text: "second" }] },
  });
  const [given] = answerOf(await family.send()).agentIds;
  id = `${given.slice(0, -16)}${"0".repeat(16)}`;
  await family.idle();
  const result = await family.send("resume it");
  await family.idle();
  assertRefused(family, result, 1);
});

for (const [store, config] of Object.entries({
  "the default store": () => ({}),
  "a checkpointer of the host's": () => ({ checkpointer: memoryCheckpointer() }),
})) {
  test(`after the agent was made anew over ${store}, its children can be resumed`, async (t) => {
    const folder = familyFolder(t);
    const given = config();
    let id;
    const roles = { go: twice(() => resuming(id)), one: [{ text: "first" }, { text: "second" }] };
    const before = familyFor(t, { roles, folder, ...given });
    [id] = answerOf(await before.send("go", { sessionId: "mine" })).agentIds;
    await before.idle("mine");
    await before.close();
    const after = familyFor(t, { roles, folder, ...given });
    const result = await after.send("resume it", { sessionId: "mine" });
    await after.idle("mine");
    assert.deepEqual(answerOf(result, "again").agentIds, [id]);
    assert.deepEqual(after.model.callsOf("one")[0].request.messages.map(textOf), ["one", "first", "and further?"]);
    assert.equal(sectionsOf(completionsOf(after)[0].content)[0].text, "second");
    assert.deepEqual(
      childRunsOf(after).map(({ agentId }) => agentId),
      [id],
    );
  });
}

test("a child whose agent was closed while it was at work can be resumed by the next", async (t) => {
  const folder = familyFolder(t);
  let id;
  const roles = {
    go: [spawning("one"), { text: "started" }, () => resuming(id), { text: "again" }, { text: "over" }],
    one: [
      { text: "looking", calls: [call("work")] },
      { hold: "one", text: "went on" },
    ],
  };
  const before = familyFor(t, { roles, folder });
  [id] = answerOf(await before.send("go", { sessionId: "mine" })).agentIds;
  await before.model.reached("one");
  await before.close();
  const after = familyFor(t, { roles, folder });
  after.model.release("one");
  await after.send("resume it", { sessionId: "mine" });
  await after.idle("mine");
  const { messages } = after.model.callsOf("one")[0].request;
  assert.equal(textOf(messages[0]), "one");
  assert.ok(JSON.stringify(messages).includes("and further?"));
  assert.equal(sectionsOf(completionsOf(after)[0].content)[0].text, "went on");
});
