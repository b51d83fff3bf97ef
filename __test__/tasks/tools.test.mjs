// TaskCreate, TaskUpdate, TaskGet and TaskList: what each does, and what it refuses. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { strictPolicy } from "../../index.js";
import { recordHooks } from "../support/model.mjs";
import { taskAgent } from "./tasking.mjs";

const TOOLS = ["TaskCreate", "TaskUpdate", "TaskGet", "TaskList"];

// -- creating -------------------------------------------------------------------------------------------------------------

test("tasks are numbered from 1 in the order in which they are created", async (t) => {
  const tasks = taskAgent(t);
  assert.equal(await tasks.create("plan"), "1");
  assert.equal(await tasks.create("build"), "2");
  assert.equal(await tasks.create("ship"), "3");
});

test("a task is one JSON file, pending at first", async (t) => {
  const tasks = taskAgent(t);
  const id = await tasks.create("plan", "make a plan");
  const file = tasks.of(id);
  assert.deepEqual([file.subject, file.description, file.status], ["plan", "make a plan", "pending"]);
  assert.deepEqual([...tasks.files().keys()], [id]);
});

test("tasks that are created in one turn have ids and files of their own", async (t) => {
  const tasks = taskAgent(t);
  const calls = Array.from({ length: 20 }, () => ["TaskCreate", { subject: "plan", description: "d" }]);
  const answers = await tasks.calls(calls);
  assert.equal(new Set(answers.map(({ content }) => content.match(/\d+/)[0])).size, 20);
  assert.equal(tasks.files().size, 20);
});

for (const [what, input, word] of [
  ["no subject", { description: "d" }, /subject/],
  ["no description", { subject: "s" }, /description/],
  ["a subject that is no string", { subject: 5, description: "d" }, /subject/],
  ["a description that is no string", { subject: "s", description: ["d"] }, /description/],
]) {
  test(`TaskCreate with ${what} is a failed result that names the field, and creates nothing`, async (t) => {
    const tasks = taskAgent(t);
    const { content, isError } = await tasks.call("TaskCreate", input);
    assert.equal(isError, true);
    assert.match(content, word);
    assert.equal(tasks.files().size, 0);
  });
}

test("subjects and descriptions come back as they were written", async (t) => {
  const tasks = taskAgent(t);
  const subject = 'größer "\u{1F600}" \\ \u4e2d';
  const description = "one\ntwo\n\tthree </x>";
  const { content } = await tasks.call("TaskCreate", { subject, description });
  assert.deepEqual([tasks.of("1").subject, tasks.of("1").description], [subject, description], content);
});

// -- getting and listing --------------------------------------------------------------------------------------------------

test("TaskGet tells subject, description and status", async (t) => {
  const tasks = taskAgent(t);
  const { content, isError } = await tasks.get(await tasks.create("plan", "make a plan of it"));
  assert.equal(isError, false);
  for (const part of ["plan", "make a plan of it", "pending"]) assert.ok(content.includes(part), content);
});

test("TaskList tells each task's id, subject and status", async (t) => {
  const tasks = taskAgent(t);
  await tasks.create("plan");
  await tasks.update(await tasks.create("build"), { status: "in_progress" });
  await tasks.update(await tasks.create("ship"), { status: "completed" });
  const { content } = await tasks.list();
  for (const part of ["1", "plan", "pending", "2", "build", "in_progress", "3", "ship", "completed"])
    assert.ok(content.includes(part), `${part} in ${content}`);
});

test("TaskList is in the order of the numbers", async (t) => {
  const tasks = taskAgent(t);
  const subjects = "abcdefghijkl".split("").map((letter) => `subject-${letter}`);
  for (const subject of subjects) await tasks.create(subject);
  const { content } = await tasks.list();
  const places = subjects.map((subject) => content.indexOf(subject));
  assert.ok(places.every((place) => place >= 0));
  assert.deepEqual(
    places,
    [...places].sort((a, b) => a - b),
  );
});

test("TaskList without tasks is no error, and says something", async (t) => {
  const { content, isError } = await taskAgent(t).list();
  assert.equal(isError, false);
  assert.notEqual(content.trim(), "");
});

test("TaskGet changes nothing", async (t) => {
  const tasks = taskAgent(t);
  const id = await tasks.create("plan");
  const before = tasks.of(id);
  await tasks.get(id);
  await tasks.list();
  assert.deepEqual(tasks.of(id), before);
});

// -- updating -------------------------------------------------------------------------------------------------------------

for (const status of ["in_progress", "completed", "pending"]) {
  test(`TaskUpdate sets the status ${status}`, async (t) => {
    const tasks = taskAgent(t);
    const id = await tasks.create("plan");
    const { content, isError } = await tasks.update(id, { status });
    assert.equal(isError, false, content);
    assert.equal(tasks.of(id).status, status);
    assert.ok((await tasks.get(id)).content.includes(status));
  });
}

test("a task that was completed may be opened again", async (t) => {
  const tasks = taskAgent(t);
  const id = await tasks.create("plan");
  await tasks.update(id, { status: "completed" });
  assert.equal((await tasks.update(id, { status: "pending" })).isError, false);
  assert.equal(tasks.of(id).status, "pending");
});

test("the status deleted removes the task and its file", async (t) => {
  const tasks = taskAgent(t);
  const id = await tasks.create("unwanted");
  const staying = await tasks.create("wanted");
  assert.equal((await tasks.update(id, { status: "deleted" })).isError, false);
  assert.deepEqual([...tasks.files().keys()], [staying]);
  assert.ok(!(await tasks.list()).content.includes("unwanted"));
  assert.equal((await tasks.get(id)).isError, true);
});

test("TaskUpdate changes subject and description, and leaves the rest", async (t) => {
  const tasks = taskAgent(t);
  const id = await tasks.create("plan", "first");
  await tasks.update(id, { status: "in_progress" });
  await tasks.update(id, { subject: "replan" });
  await tasks.update(id, { description: "second" });
  const { subject, description, status } = tasks.of(id);
  assert.deepEqual([subject, description, status], ["replan", "second", "in_progress"]);
});

test("one update may change several things", async (t) => {
  const tasks = taskAgent(t);
  const id = await tasks.create("plan");
  await tasks.update(id, { subject: "replan", description: "second", status: "completed" });
  const { subject, description, status } = tasks.of(id);
  assert.deepEqual([subject, description, status], ["replan", "second", "completed"]);
});

test("updates of one task in one turn all count", async (t) => {
  const tasks = taskAgent(t);
  const id = await tasks.create("plan");
  await tasks.calls([
    ["TaskUpdate", { taskId: id, subject: "replan" }],
    ["TaskUpdate", { taskId: id, description: "second" }],
    ["TaskUpdate", { taskId: id, status: "in_progress" }],
  ]);
  const { subject, description, status } = tasks.of(id);
  assert.deepEqual([subject, description, status], ["replan", "second", "in_progress"]);
});

for (const status of ["done", "Completed", "", 5, null]) {
  test(`the status ${JSON.stringify(status)} is a failed result that names the field, and changes nothing`, async (t) => {
    const tasks = taskAgent(t);
    const id = await tasks.create("plan");
    const { content, isError } = await tasks.update(id, { status, subject: "changed" });
    assert.equal(isError, true);
    assert.match(content, /status/);
    assert.deepEqual([tasks.of(id).status, tasks.of(id).subject], ["pending", "plan"]);
  });
}

for (const name of ["TaskGet", "TaskUpdate"]) {
  test(`${name} of a task that there is not is a failed result that names it`, async (t) => {
    const tasks = taskAgent(t);
    await tasks.create("plan");
    const { content, isError } = await tasks.call(name, {
      taskId: "77",
      ...(name === "TaskUpdate" && { subject: "x" }),
    });
    assert.equal(isError, true);
    assert.match(content, /^Error: .*77/);
  });

  for (const [what, input] of [
    ["no taskId", {}],
    ["a taskId that is no string", { taskId: 1 }],
  ]) {
    test(`${name} with ${what} is a failed result that names the field`, async (t) => {
      const tasks = taskAgent(t);
      await tasks.create("plan");
      const { content, isError } = await tasks.call(name, input);
      assert.equal(isError, true);
      assert.match(content, /taskId/);
    });
  }
}

// -- as any tool ----------------------------------------------------------------------------------------------------------

test("all four are offered by default, and none with tasks: false", async (t) => {
  for (const [config, expected] of [
    [{}, TOOLS],
    [{ tasks: true }, TOOLS],
    [{ tasks: false }, []],
  ]) {
    const tasks = taskAgent(t, config);
    await tasks.agent.send("go");
    const names = tasks.model.requests[0].tools.map(({ name }) => name);
    assert.deepEqual(names.filter((name) => name.startsWith("Task")).sort(), [...expected].sort());
  }
});

test("with tasks: false a call of them is of an unknown tool", async (t) => {
  const { content } = await taskAgent(t, { tasks: false }).list();
  assert.match(content, /unknown tool 'TaskList'/);
});

test("the default permission allows them without asking", async (t) => {
  const onApproval = { request: () => assert.fail("asked") };
  const tasks = taskAgent(t, { permission: undefined, onApproval });
  const id = await tasks.create("plan");
  for (const answer of [await tasks.update(id, { status: "completed" }), await tasks.get(id), await tasks.list()])
    assert.equal(answer.isError, false);
});

test("a strict policy holds for them", async (t) => {
  const tasks = taskAgent(t, { permission: strictPolicy({ allow: ["TaskList"] }) });
  const { content } = await tasks.call("TaskCreate", { subject: "s", description: "d" });
  assert.match(content, /blocked by policy/);
  assert.equal(tasks.files().size, 0);
  assert.equal((await tasks.list()).isError, false);
});

test("hooks see their calls", async (t) => {
  const tasks = taskAgent(t);
  const fired = recordHooks(tasks.agent, ["tool:start", "tool:end"]);
  await tasks.create("plan", "d");
  await tasks.get("77");
  assert.deepEqual(
    fired.map(({ event, call, status }) => [event, call.name, call.input, status]),
    [
      ["tool:start", "TaskCreate", { subject: "plan", description: "d" }, undefined],
      ["tool:end", "TaskCreate", { subject: "plan", description: "d" }, "completed"],
      ["tool:start", "TaskGet", { taskId: "77" }, undefined],
      ["tool:end", "TaskGet", { taskId: "77" }, "failed"],
    ],
  );
});

for (const value of ["yes", 1, null, {}]) {
  test(`tasks: ${JSON.stringify(value)} is refused by name`, (t) => {
    assert.throws(
      () => taskAgent(t, { tasks: value }),
      (error) => /Config|Type/.test(error.name) && error.message.includes("tasks"),
    );
  });
}

test("a status that there is none of is answered with all that there are", async (t) => {
  const tasks = taskAgent(t);
  const { content, isError } = await tasks.update(await tasks.create("plan"), { status: "done" });
  assert.equal(isError, true);
  assert.ok(content.includes('"done" is not one of "pending", "in_progress", "completed" or "deleted"'), content);
});
