// ask_user in children: their parent's handler is asked, one question at a time in a family. Knows the public face
// only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { policy } from "../../index.js";
import { aborted, deferred, plainTool, until } from "../support/model.mjs";
import { contentText, resultFor } from "../runs/reading.mjs";
import {
  answerOf,
  assertPaired,
  call,
  childRunsOf,
  definition,
  familyFor,
  familyTools,
  runFamily,
  settled,
  spawning,
  starts,
  task,
  toolNames,
} from "./family.mjs";

const asks = (question, id = "ask") => call("ask_user", id, { question });
const inputs = ({ heard }) => heard.map(({ event }) => event).filter(({ type }) => type.startsWith("input_"));

test("a child has ask_user where its parent has, and its question is asked of the parent's handler", async (t) => {
  const asked = [];
  const family = await runFamily(t, {
    roles: { one: [{ calls: [asks("which one?")] }, { text: "1" }] },
    onAskUser: { request: async (question) => (asked.push(question), { text: "the first" }) },
  });
  assert.ok(toolNames(family.model.callsOf("one")[0].request).includes("ask_user"));
  assert.deepEqual(asked, [{ question: "which one?" }]);
  const result = resultFor(family.model.callsOf("one")[1].request.messages, "ask");
  assert.deepEqual(JSON.parse(contentText(result)), { text: "the first" });
});

test("the events of a child's question carry its agentId", async (t) => {
  const family = await runFamily(t, {
    roles: { one: [{ calls: [asks("which one?")] }, { text: "1" }] },
    onAskUser: { request: async () => ({ text: "x" }) },
  });
  const [agentId] = answerOf(family.result).agentIds;
  assert.deepEqual(inputs(family), [
    { type: "input_request", agentId, call: asks("which one?"), question: { question: "which one?" } },
    { type: "input_resolved", agentId, id: "ask", answer: { text: "x" } },
  ]);
});

test("a definition's tools may leave it out", async (t) => {
  const family = await runFamily(t, {
    tasks: [task("one", { subagent_type: "helper" })],
    roles: { one: [{ text: "1" }] },
    definitions: { "helper.md": definition({ name: "helper", description: "helps", tools: "work" }) },
    onAskUser: { request: async () => ({ text: "x" }) },
  });
  assert.deepEqual(toolNames(family.model.callsOf("one")[0].request), ["work"]);
});

test("questions of several children and sessions are asked one at a time, in the order in which they came", async (t) => {
  const names = ["one", "two", "three"];
  const gates = [];
  const asked = [];
  const family = familyFor(t, {
    roles: {
      go: starts(...names),
      "go other": [{ calls: [asks("other?")] }, { text: "done" }],
      ...Object.fromEntries(names.map((name) => [name, [{ hold: name, calls: [asks(`${name}?`)] }, { text: name }]])),
    },
    onAskUser: {
      async request({ question }) {
        asked.push(question);
        const gate = deferred();
        gates.push(gate);
        await gate.promise;
        return { text: question };
      },
    },
    // Nothing is written, so that a question has come as soon as its call has begun and all has settled.
    sessions: false,
  });
  await family.send();
  for (const name of names) {
    await family.model.reached(name);
    family.model.release(name);
    await until(() =>
      family.fired.some(({ event, call: made }) => event === "tool:start" && made.input.question === `${name}?`),
    );
    await settled();
  }
  const other = family.send("go other", { sessionId: "other" });
  const expected = ["one?", "two?", "three?", "other?"];
  for (let index = 0; index < expected.length; index += 1) {
    await until(() => gates.length === index + 1, `question ${index + 1}`);
    await settled();
    assert.deepEqual(asked, expected.slice(0, index + 1));
    gates[index].resolve();
  }
  await other;
  await family.idle();
  for (const name of names) {
    const result = resultFor(family.model.callsOf(name)[1].request.messages, "ask");
    assert.deepEqual(JSON.parse(contentText(result)), { text: `${name}?` });
  }
});

test("an abort of the parent's run with a child's question outstanding: the handler's signal fires, and the next is asked", async (t) => {
  let signal;
  const asked = [];
  const family = familyFor(t, {
    roles: {
      go: [spawning("one", "two"), { hold: "parent", text: "x" }],
      "go other": [{ calls: [asks("other?")] }, { text: "done" }],
      one: [{ calls: [asks("one?")] }, { text: "1" }],
      two: [{ calls: [asks("two?")] }, { text: "2" }],
    },
    onAskUser: {
      async request({ question }, given) {
        asked.push(question);
        if (question === "other?") return { text: "yes" };
        signal = given;
        await aborted(given);
        return new Promise(() => {});
      },
    },
  });
  const controller = new AbortController();
  const sent = family.send("go", { signal: controller.signal });
  await family.model.reached("parent");
  await until(() => asked.length === 1, "the first question");
  controller.abort();
  await sent;
  await family.idle();
  assert.equal(signal.aborted, true);
  assert.equal(asked.length, 1, "the question that waited was never asked");
  assert.deepEqual(
    childRunsOf(family).map(({ status }) => status),
    ["cancelled", "cancelled"],
  );
  assertPaired(family);
  assert.equal((await family.send("go other", { sessionId: "other" })).text, "done");
});

test("subagentPermission may keep children from asking; their parent may", async (t) => {
  const asked = [];
  const family = familyFor(t, {
    roles: {
      go: [{ calls: [...spawning("one").calls, asks("root?", "own")] }, { text: "started" }, { text: "over" }],
      one: [{ calls: [asks("child?")] }, { text: "1" }],
    },
    onAskUser: { request: async ({ question }) => (asked.push(question), { text: "x" }) },
    subagentPermission: policy({ deny: ["ask_user"] }),
  });
  await family.send();
  await family.idle();
  assert.deepEqual(asked, ["root?"]);
  assert.match(
    contentText(resultFor(family.model.callsOf("one")[1].request.messages, "ask")),
    /^Error: blocked by policy/,
  );
});

test("context.input of a child's tool is the parent's handler, too", async (t) => {
  const tools = [
    ...familyTools().filter(({ name }) => name !== "work"),
    plainTool("work", async (_, { input }) => (await input.request({ question: "from a tool?" })).text),
  ];
  const family = await runFamily(t, {
    roles: { one: [{ calls: [call("work")] }, { text: "1" }] },
    tools,
    onAskUser: { request: async ({ question }) => ({ text: `answer to ${question}` }) },
  });
  const result = resultFor(family.model.callsOf("one")[1].request.messages, "call-work");
  assert.equal(contentText(result), "answer to from a tool?");
  const [agentId] = answerOf(family.result).agentIds;
  assert.deepEqual(
    inputs(family).map((event) => [event.type, event.agentId]),
    [
      ["input_request", agentId],
      ["input_resolved", agentId],
    ],
  );
});
