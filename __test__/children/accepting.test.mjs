// The Agent tool: what it is offered as, what it answers and when, and what it refuses. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { policy } from "../../index.js";
import {
  AGENT_ID,
  agentCall,
  agentIdsIn,
  answerOf,
  call,
  childRunsOf,
  completionsOf,
  definition,
  familyFor,
  runFamily,
  sectionsOf,
  settled,
  spawning,
  starts,
  task,
} from "./family.mjs";

const held = (text) => [{ hold: "children", text }];

test("the call is answered at once: the run goes on and ends while the children are still at work", async (t) => {
  const family = familyFor(t, { roles: { go: starts("one", "two"), one: held("1"), two: held("2") } });
  const result = await family.send();
  assert.equal(result.text, "started");
  assert.equal(answerOf(result).isError, false);
  assert.deepEqual(completionsOf(family), []);
  await family.model.reached("children", 2);
  family.model.release("children");
  await family.idle();
  assert.equal(completionsOf(family).length, 1);
});

test("the answer has each child's agentId, in the order of the tasks, and the group's id", async (t) => {
  const roles = { one: [{ text: "1" }], two: [{ text: "2" }], three: [{ text: "3" }] };
  const { result, sections, completion } = await runFamily(t, { roles });
  const { agentIds, groupId } = answerOf(result);
  assert.equal(agentIds.length, 3);
  for (const id of agentIds) assert.match(id, AGENT_ID);
  assert.deepEqual(
    sections.map(({ name, agentId }) => [name, agentId]),
    ["one", "two", "three"].map((name, index) => [name, agentIds[index]]),
  );
  assert.equal(groupId, completion.id);
});

test("the first half of an agentId is its session's, the second half its own", async (t) => {
  const roles = { "go a": starts("one", "two"), "go b": starts("one"), one: [{ text: "1" }], two: [{ text: "2" }] };
  const family = familyFor(t, { roles });
  const ids = [];
  for (const name of ["a", "b"]) ids.push(...answerOf(await family.send(`go ${name}`, { sessionId: name })).agentIds);
  const [first, second, third] = ids.map((id) => id.split("-"));
  assert.equal(first[1], second[1]);
  assert.notEqual(first[1], third[1]);
  assert.equal(new Set([first[2], second[2], third[2]]).size, 3);
  for (const name of ["a", "b"]) await family.idle(name);
});

test("two calls of one turn are two groups, each answered with its own ids", async (t) => {
  const family = familyFor(t, {
    roles: {
      go: [
        { calls: [agentCall(["one"], "first"), agentCall(["two"], "second")] },
        { text: "started" },
        { text: "over" },
      ],
      one: held("1"),
      two: held("2"),
    },
  });
  const result = await family.send();
  const answers = [answerOf(result, "first"), answerOf(result, "second")];
  assert.deepEqual(
    answers.map(({ agentIds }) => agentIds.length),
    [1, 1],
  );
  assert.notEqual(answers[0].agentIds[0], answers[1].agentIds[0]);
  assert.notEqual(answers[0].groupId, answers[1].groupId);
  family.model.release("children");
  await family.idle();
});

test("the same task twice in a group is two children", async (t) => {
  const { result, sections } = await runFamily(t, { tasks: ["one", "one"], roles: { one: [{ text: "1" }] } });
  assert.equal(answerOf(result).agentIds.length, 2);
  assert.deepEqual(
    sections.map(({ text }) => text),
    ["1", "1"],
  );
});

test("the tool is offered with its bounds, and its description lists every definition", async (t) => {
  const family = familyFor(t, {
    roles: { go: [{ text: "ok" }] },
    definitions: {
      "a.md": definition({ name: "reviewer", description: "reads what others wrote" }),
      "b.md": definition({ name: "searcher", description: "finds things" }),
    },
  });
  await family.send();
  const { tools } = family.model.calls[0].request;
  const { description, parameters } = tools.find(({ name }) => name === "Agent");
  assert.ok(description.includes("reviewer: reads what others wrote"), description);
  assert.ok(description.includes("searcher: finds things"), description);
  assert.match(description, /general-purpose: \S/);
  assert.equal(parameters.additionalProperties, false);
  assert.deepEqual(parameters.required, ["tasks"]);
  const { tasks } = parameters.properties;
  assert.deepEqual([tasks.minItems, tasks.maxItems], [1, 64]);
  assert.deepEqual([...tasks.items.required].sort(), ["display_name", "prompt", "subagent_type"]);
  assert.deepEqual(Object.keys(tasks.items.properties).sort(), [
    "display_name",
    "model",
    "prompt",
    "resume",
    "subagent_type",
  ]);
});

test("64 tasks are accepted", async (t) => {
  const prompts = Array.from({ length: 64 }, (_, index) => `task ${index}`);
  const { sections } = await runFamily(t, { tasks: prompts, roles: { task: [{ text: "done" }] } });
  assert.deepEqual(
    sections.map(({ name }) => name),
    prompts,
  );
});

/** Runs one call with this input, which must be refused whole: nothing of it starts. */
async function refused(t, input, config = {}) {
  const family = familyFor(t, {
    roles: { go: [{ calls: [{ id: "spawn", name: "Agent", input }] }, { text: "end" }], good: [{ text: "x" }] },
    ...config,
  });
  const result = await family.send();
  assert.equal(result.text, "end");
  await family.idle();
  await settled();
  const answer = answerOf(result);
  assert.equal(answer.isError, true, answer.text);
  assert.deepEqual(answer.agentIds, []);
  assert.deepEqual(childRunsOf(family), []);
  assert.deepEqual(completionsOf(family), []);
  assert.equal(family.model.calls.length, 2);
  return answer.text;
}

const without = (key) => Object.fromEntries(Object.entries(task("good")).filter(([name]) => name !== key));
for (const [name, input, words] of [
  ["no tasks", {}, /tasks/],
  ["an empty list of tasks", { tasks: [] }, /tasks/],
  ["65 tasks", { tasks: Array(65).fill(task("good")) }, /tasks/],
  ["tasks that are no list", { tasks: task("good") }, /tasks/],
  ["a field that there is not", { tasks: [task("good")], wait: true }, /wait/],
  ["a task without a display name", { tasks: [task("good"), without("display_name")] }, /display_name/],
  ["a task without a type", { tasks: [task("good"), without("subagent_type")] }, /subagent_type/],
  ["a task without a prompt", { tasks: [task("good"), without("prompt")] }, /prompt/],
  ["a prompt that is no text", { tasks: [task("good", { prompt: 5 })] }, /prompt/],
  ["a task that is none", { tasks: [task("good"), "good"] }, /tasks/],
]) {
  test(`a call with ${name} is a failed result that names it, and nothing starts`, async (t) => {
    assert.match(await refused(t, input), words);
  });
}

test("an unknown type fails the whole call with the near miss, and nothing starts", async (t) => {
  const input = { tasks: [task("good"), task("good", { subagent_type: "reviever" })] };
  const definitions = { "reviewer.md": definition({ name: "reviewer", description: "reads" }) };
  const text = await refused(t, input, { definitions });
  assert.match(text, /reviever/);
  assert.match(text, /reviewer/);
});

test("an unknown type that resembles none fails the call as well, and is named", async (t) => {
  const text = await refused(t, { tasks: [task("good", { subagent_type: "zzzzqqqq" })] });
  assert.match(text, /zzzzqqqq/);
});

test("types are told apart by letter case", async (t) => {
  assert.match(await refused(t, { tasks: [task("good", { subagent_type: "General-Purpose" })] }), /general-purpose/);
});

test("a call that the policy denies starts nothing", async (t) => {
  assert.match(
    await refused(t, { tasks: [task("good")] }, { permission: policy({ deny: ["Agent"] }) }),
    /blocked by policy/,
  );
});

test("a call that was refused can be repaired in the same run", async (t) => {
  const family = familyFor(t, {
    roles: {
      go: [
        { calls: [agentCall([task("good", { subagent_type: "nobody" })], "bad")] },
        spawning("good"),
        { text: "started" },
        { text: "over" },
      ],
      good: [{ text: "fine" }],
    },
  });
  const result = await family.send();
  await family.idle();
  assert.equal(answerOf(result, "bad").isError, true);
  assert.equal(answerOf(result).isError, false);
  assert.equal(sectionsOf(completionsOf(family)[0].content)[0].text, "fine");
});

for (const [name, config] of Object.entries({
  "agents: false": { agents: false },
  "disallowedTools: ['Agent']": { disallowedTools: ["Agent"] },
  "allowedTools without it": { allowedTools: ["work"] },
})) {
  test(`with ${name} the tool is not offered, and a call of it is one of an unknown tool`, async (t) => {
    const family = familyFor(t, { roles: { go: [spawning("one"), { text: "end" }], one: [{ text: "1" }] }, ...config });
    const result = await family.send();
    await family.idle();
    const { tools = [] } = family.model.calls[0].request;
    assert.ok(!tools.some((tool) => tool.name === "Agent"));
    assert.match(answerOf(result).text, /unknown tool 'Agent'/);
    assert.deepEqual(childRunsOf(family), []);
  });
}

test("the call goes through hooks, events and permission like any other", async (t) => {
  const { fired, heard, result } = await runFamily(t, { roles: { one: [{ text: "1" }] } });
  const tools = fired.filter(({ event, agentId }) => event.startsWith("tool:") && agentId === undefined);
  assert.deepEqual(
    tools.map(({ event, call: { name }, status }) => [event, name, status]),
    [
      ["tool:start", "Agent", undefined],
      ["tool:end", "Agent", "completed"],
    ],
  );
  assert.deepEqual(agentIdsIn(JSON.stringify(tools[1].result.content)), answerOf(result).agentIds);
  const decision = heard.find(({ event }) => event.type === "permission_decision" && event.call.name === "Agent");
  assert.equal(decision.event.decision, "allow");
});

test("other calls of the same turn run as always", async (t) => {
  const family = familyFor(t, {
    roles: {
      go: [{ calls: [call("work"), agentCall(["one"]), call("other")] }, { text: "started" }, { text: "over" }],
      one: [{ text: "1" }],
    },
  });
  const { messages } = await family.send();
  await family.idle();
  assert.deepEqual(
    messages[2].content.map(({ id }) => id),
    ["call-work", "spawn", "call-other"],
  );
});
