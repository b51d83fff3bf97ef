// What blocks what among tasks: told on both sides, and never in a circle. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { taskAgent } from "./tasking.mjs";

/** An agent with this many tasks: "1" and so on. */
async function tasksOf(t, count) {
  const tasks = taskAgent(t);
  await tasks.calls(Array.from({ length: count }, () => ["TaskCreate", { subject: "subject", description: "d" }]));
  return tasks;
}

const saysIsBlocked = (content, by) => new RegExp(`block[^]*\\b${by}\\b`, "i").test(content);

for (const [what, taskId, changes] of [
  ["addBlocks of the one", "8", { addBlocks: ["9"] }],
  ["addBlockedBy of the other", "9", { addBlockedBy: ["8"] }],
]) {
  test(`${what} is told by TaskGet of both`, async (t) => {
    const tasks = await tasksOf(t, 9);
    const { content, isError } = await tasks.update(taskId, changes);
    assert.equal(isError, false, content);
    assert.ok(saysIsBlocked((await tasks.get("8")).content, "9"));
    assert.ok(saysIsBlocked((await tasks.get("9")).content, "8"));
  });
}

test("both ways of saying it are the same", async (t) => {
  const [one, two] = [await tasksOf(t, 9), await tasksOf(t, 9)];
  await one.update("8", { addBlocks: ["9"] });
  await two.update("9", { addBlockedBy: ["8"] });
  assert.equal((await one.get("9")).content.includes("8"), true);
  assert.equal((await two.get("9")).content.includes("8"), true);
  for (const tasks of [one, two]) assert.equal((await tasks.update("9", { addBlocks: ["8"] })).isError, true);
});

test("several may be added at once, and again", async (t) => {
  const tasks = await tasksOf(t, 4);
  assert.equal((await tasks.update("1", { addBlocks: ["2", "3"] })).isError, false);
  assert.equal((await tasks.update("1", { addBlocks: ["2", "4", "4"] })).isError, false);
  const { content } = await tasks.get("1");
  for (const id of ["2", "3", "4"]) assert.ok(saysIsBlocked(content, id), content);
});

for (const [what, steps, last] of [
  ["of one task", [], ["1", { addBlocks: ["1"] }]],
  ["of one task, the other way round", [], ["1", { addBlockedBy: ["1"] }]],
  ["of two", [["1", { addBlocks: ["2"] }]], ["2", { addBlocks: ["1"] }]],
  ["of two, the other way round", [["1", { addBlocks: ["2"] }]], ["1", { addBlockedBy: ["2"] }]],
  ["of two in one update", [], ["1", { addBlocks: ["2"], addBlockedBy: ["2"] }]],
  [
    "of three",
    [
      ["1", { addBlocks: ["2"] }],
      ["2", { addBlocks: ["3"] }],
    ],
    ["3", { addBlocks: ["1"] }],
  ],
  ["of three in one update", [["2", { addBlocks: ["3"] }]], ["1", { addBlocks: ["2"], addBlockedBy: ["3"] }]],
  [
    "of four, through a branch",
    [
      ["1", { addBlocks: ["2", "3"] }],
      ["3", { addBlocks: ["4"] }],
    ],
    ["4", { addBlocks: ["2", "1"] }],
  ],
]) {
  test(`a circle ${what} is a failed result, and changes nothing`, async (t) => {
    const tasks = await tasksOf(t, 4);
    for (const [id, changes] of steps) assert.equal((await tasks.update(id, changes)).isError, false);
    const before = tasks.files();
    const [id, changes] = last;
    const { content, isError } = await tasks.update(id, { ...changes, subject: "changed", status: "in_progress" });
    assert.equal(isError, true);
    assert.match(content, /cycle|circ|itself/i);
    assert.deepEqual(tasks.files(), before);
  });
}

test("a diamond is no circle", async (t) => {
  const tasks = await tasksOf(t, 4);
  for (const [id, changes] of [
    ["1", { addBlocks: ["2", "3"] }],
    ["4", { addBlockedBy: ["2", "3"] }],
    ["1", { addBlocks: ["4"] }],
  ]) {
    const { content, isError } = await tasks.update(id, changes);
    assert.equal(isError, false, content);
  }
});

for (const key of ["addBlocks", "addBlockedBy"]) {
  test(`${key} of a task that there is not is a failed result that names it, and changes nothing`, async (t) => {
    const tasks = await tasksOf(t, 2);
    const before = tasks.files();
    const { content, isError } = await tasks.update("1", { [key]: ["2", "77"], status: "completed" });
    assert.equal(isError, true);
    assert.match(content, /77/);
    assert.deepEqual(tasks.files(), before);
  });

  for (const value of ["2", [2], { 0: "2" }]) {
    test(`${key} ${JSON.stringify(value)} is a failed result that names the field`, async (t) => {
      const tasks = await tasksOf(t, 2);
      const { content, isError } = await tasks.update("1", { [key]: value });
      assert.equal(isError, true);
      assert.match(content, new RegExp(key));
    });
  }
}

test("a task that is deleted blocks nothing any more", async (t) => {
  const tasks = await tasksOf(t, 9);
  await tasks.update("8", { addBlocks: ["9"] });
  await tasks.update("8", { status: "deleted" });
  assert.ok(!saysIsBlocked((await tasks.get("9")).content, "8"));
});

test("a task that is deleted stands in no circle any more", async (t) => {
  const tasks = await tasksOf(t, 3);
  await tasks.update("1", { addBlocks: ["2"] });
  await tasks.update("2", { addBlocks: ["3"] });
  await tasks.update("2", { status: "deleted" });
  const { content, isError } = await tasks.update("3", { addBlocks: ["1"] });
  assert.equal(isError, false, content);
});

test("a long chain is checked at once, and its circle found", async (t) => {
  const tasks = await tasksOf(t, 200);
  const links = Array.from({ length: 199 }, (_, index) => [
    "TaskUpdate",
    { taskId: String(index + 1), addBlocks: [String(index + 2)] },
  ]);
  const answers = await tasks.calls(links);
  assert.ok(answers.every(({ isError }) => !isError));
  assert.equal((await tasks.update("200", { addBlocks: ["1"] })).isError, true);
});

test("of two updates in one turn that would make a circle together, one fails", async (t) => {
  const tasks = await tasksOf(t, 2);
  const answers = await tasks.calls([
    ["TaskUpdate", { taskId: "1", addBlocks: ["2"] }],
    ["TaskUpdate", { taskId: "2", addBlocks: ["1"] }],
  ]);
  assert.deepEqual(answers.map(({ isError }) => isError).sort(), [false, true]);
});
