// What became of a child, and of its group. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { plainTool } from "../support/model.mjs";
import { textOf } from "../runs/reading.mjs";
import { call, childRunsOf, completionRunsOf, familyTools, runFamily } from "./family.mjs";

const silence = { content: [{ type: "reasoning", text: "hm" }] };
let count = 0;
const endless = () => ({ text: "still at it", calls: [call("work", `call-${(count += 1)}`)] });

/** Children by what becomes of them: their turns, their status, their text. */
const CHILDREN = {
  good: { turns: [{ text: "fine" }], status: "completed", text: /^fine$/ },
  throws: { turns: [{ error: new Error("down") }], status: "failed", text: /^Error: down$/ },
  late: {
    turns: [{ text: "looking", calls: [call("work")] }, { error: new Error("down later") }],
    status: "failed",
    text: /^Error: down later$/,
  },
  silent: { turns: [silence], status: "failed", text: /^Error: \S/ },
  trailing: { turns: [{ text: "looking", calls: [call("work")] }, silence], status: "failed", text: /^Error: \S/ },
  endless: { turns: [endless], status: "max_turns", text: /^still at it$/ },
};
const rolesOf = (names) => Object.fromEntries(names.map((name) => [name, CHILDREN[name].turns]));

for (const [name, { status, text }] of Object.entries(CHILDREN)) {
  test(`a child that is ${name} has status ${status} in its section`, async (t) => {
    const { sections, result } = await runFamily(t, { tasks: [name], roles: rolesOf([name]), maxTurns: 4 });
    assert.equal(result.text, "started");
    assert.equal(sections[0].status, status);
    assert.match(sections[0].text, text);
  });
}

for (const [names, status] of [
  [["good"], "completed"],
  [["good", "good"], "completed"],
  [["good", "throws"], "partial"],
  [["silent", "good"], "partial"],
  [["endless", "good", "throws"], "partial"],
  [["throws"], "failed"],
  [["silent"], "failed"],
  [["endless"], "failed"],
  [["throws", "endless", "silent"], "failed"],
]) {
  test(`a group of ${names.join(", ")} is ${status}`, async (t) => {
    const family = await runFamily(t, { tasks: names, roles: rolesOf([...new Set(names)]), maxTurns: 4 });
    const { completion, sections } = family;
    assert.equal(completion.status, status);
    assert.equal(completion.isError, status !== "completed");
    assert.deepEqual(
      sections.map((section) => section.status),
      names.map((name) => CHILDREN[name].status),
    );
    const prompt = textOf(family.model.callsOf("go").at(-1).request.messages.at(-1));
    assert.ok(prompt.split("\n")[0].endsWith(` status="${status}">`), prompt.split("\n")[0]);
  });
}

test("a group that failed is told like any other: its autonomous run answers", async (t) => {
  const family = await runFamily(t, { roles: { one: [{ error: new Error("down") }] } });
  const [run] = completionRunsOf(family);
  assert.deepEqual([run.status, run.result.text], ["completed", "over"]);
});

test("the run:end of each child has the status of its run", async (t) => {
  const names = ["good", "throws", "endless"];
  const family = await runFamily(t, { tasks: names, roles: rolesOf(names), maxTurns: 4 });
  const runs = childRunsOf(family);
  assert.deepEqual(
    names.map((name) => runs.find(({ input }) => input === name).status),
    ["completed", "failed", "max_turns"],
  );
  const failed = runs.find(({ input }) => input === "throws");
  assert.deepEqual(failed.error, { name: "Error", message: "down" });
  assert.equal(failed.result, undefined);
  assert.equal(runs.find(({ input }) => input === "good").result.text, "fine");
});

test("a child's provider error is no error of its parent: neither send() nor the stream fails", async (t) => {
  const family = await runFamily(t, { roles: { one: [{ error: new Error("down") }] } });
  const errors = family.heard.filter(({ event }) => event.type === "error");
  assert.equal(errors.length, 1);
  assert.equal(typeof errors[0].event.agentId, "string");
  assert.equal(family.result.stopReason, "stop");
});

test("what is thrown that is no Error is told in words, too", async (t) => {
  for (const [error, words] of [
    ["plain words", /plain words/],
    [undefined, /^Error: \S/],
    [null, /^Error: \S/],
    [{ message: "an object" }, /an object/],
  ]) {
    const { sections } = await runFamily(t, { roles: { one: [{ error }] } });
    assert.equal(sections[0].status, "failed");
    assert.match(sections[0].text, words);
  }
});

test("a tool of a child that throws is the child's failed result, and the child may still complete", async (t) => {
  const tools = [
    ...familyTools(),
    plainTool("broken", () => {
      throw new Error("no such thing");
    }),
  ];
  const { sections, model } = await runFamily(t, {
    roles: { one: [{ calls: [call("broken")] }, { text: "did without" }] },
    tools,
  });
  assert.deepEqual([sections[0].status, sections[0].text], ["completed", "did without"]);
  const [{ content, isError }] = model.callsOf("one")[1].request.messages.at(-1).content;
  assert.deepEqual([content, isError], ["Error: no such thing", true]);
});

test("middleware that throws in a child fails that child alone", async (t) => {
  const use = [
    {
      name: "picky",
      beforeModel({ messages }) {
        if (JSON.stringify(messages[0]).includes("two")) throw new Error("not this one");
      },
    },
  ];
  const { sections, completion } = await runFamily(t, { roles: { one: [{ text: "1" }], two: [{ text: "2" }] }, use });
  assert.deepEqual(
    sections.map(({ status }) => status),
    ["completed", "failed"],
  );
  assert.match(sections[1].text, /not this one/);
  assert.equal(completion.status, "partial");
});
