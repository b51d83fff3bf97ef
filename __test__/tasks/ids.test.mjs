// Ids of lists and of tasks that try to leave their folder, and files that are not what they should be. Knows the public
// face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runChild } from "../support/child.mjs";
import { taskAgent } from "./tasking.mjs";

const REFUSED = ["a/b", "../a", "..", ".", "", "a b", "a.b", "é", "a\n", "a\0", "x".repeat(129), 5, null, {}];
for (const taskListId of REFUSED) {
  test(`taskListId ${JSON.stringify(taskListId).slice(0, 20)} is refused by name`, (t) => {
    assert.throws(
      () => taskAgent(t, { taskListId }),
      (error) => /Config|Type/.test(error.name) && error.message.includes("taskListId"),
    );
  });
}

test("a taskListId of 128 characters of every kind that is allowed is fine", async (t) => {
  const taskListId = `Az09_-${"x".repeat(122)}`;
  const tasks = taskAgent(t, { taskListId });
  await tasks.create("plan");
  assert.equal(tasks.of("1").subject, "plan");
});

const HOSTILE = [
  "../secret",
  "../other/1",
  "..",
  ".",
  "",
  "/etc/passwd",
  "1/../2",
  "./1",
  "1\0",
  "1.json",
  "01",
  "+1",
  " 1",
  "1e0",
  "0",
  "-1",
  "x".repeat(5_000),
  "9".repeat(400),
  "__proto__",
];
for (const taskId of HOSTILE) {
  test(`the taskId ${JSON.stringify(taskId).slice(0, 20)} reaches no task and no file`, async (t) => {
    const tasks = taskAgent(t, { taskListId: "list" });
    await tasks.create("first");
    await tasks.create("second");
    // What it could reach: a file beside the list, and another list's task.
    const secret = join(tasks.tasksDir, "secret.json");
    const text = readFileSync(join(tasks.tasksDir, "list", "1.json"), "utf8").replace("first", "hidden");
    writeFileSync(secret, text);
    mkdirSync(join(tasks.tasksDir, "other"));
    writeFileSync(join(tasks.tasksDir, "other", "1.json"), text);
    const before = tasks.files();
    const entries = readdirSync(tasks.tasksDir);

    const got = await tasks.get(taskId);
    assert.equal(got.isError, true);
    assert.ok(!got.content.includes("hidden") && !got.content.includes("first"), got.content.slice(0, 200));
    assert.ok(got.content.length < 8_000);
    for (const changes of [{ status: "deleted" }, { subject: "changed" }, { status: "completed" }])
      assert.equal((await tasks.update(taskId, changes)).isError, true);
    for (const key of ["addBlocks", "addBlockedBy"])
      assert.equal((await tasks.update("1", { [key]: [taskId] })).isError, true);

    assert.deepEqual(tasks.files(), before);
    assert.equal(readFileSync(secret, "utf8"), text);
    assert.equal(readFileSync(join(tasks.tasksDir, "other", "1.json"), "utf8"), text);
    assert.deepEqual(readdirSync(tasks.tasksDir), entries);
  });
}

// -- LITE_AGENT_TASK_LIST_ID ----------------------------------------------------------------------------------------------

/** A script that creates a task in a process of its own and prints the lists that there are, before close() and after. */
const creating = (config = "{}") => `
  const { existsSync, readdirSync } = await import("node:fs");
  const input = { subject: "plan", description: "d" };
  const agent = makeAgent({ sessions: false, ...${config},
    model: support.scriptedModel([{ calls: [{ id: "1", name: "TaskCreate", input }] }, { text: "ok" }]) });
  const { tasksDir } = lite.resolveProjectPaths({ workdir: work, home: join(work, "home") });
  const entries = () => (existsSync(tasksDir) ? readdirSync(tasksDir, { withFileTypes: true }) : []);
  const lists = () => entries().filter((entry) => entry.isDirectory()).map(({ name }) => name);
  await agent.send("go", { sessionId: "session" });
  const before = lists();
  await agent.close();
  console.log(JSON.stringify([before, lists()]));`;

async function listsOf(config, listId) {
  const env = listId === undefined ? {} : { LITE_AGENT_TASK_LIST_ID: listId };
  const { code, stdout, stderr } = await runChild(creating(config), { env });
  assert.deepEqual([code, stderr], [0, ""]);
  return JSON.parse(stdout);
}

test("LITE_AGENT_TASK_LIST_ID names the list, which stays after close()", async () => {
  assert.deepEqual(await listsOf("{}", "of-the-environment"), [["of-the-environment"], ["of-the-environment"]]);
});

test("taskListId counts over LITE_AGENT_TASK_LIST_ID", async () => {
  assert.deepEqual(await listsOf('{ taskListId: "of-the-config" }', "of-the-environment"), [
    ["of-the-config"],
    ["of-the-config"],
  ]);
});

test("without either the list is the session's, and with sessions: false goes with close()", async () => {
  assert.deepEqual(await listsOf("{}"), [["session"], []]);
});

for (const hostile of ["../outside", "a/b", "..", "a b", "x".repeat(129)]) {
  test(`LITE_AGENT_TASK_LIST_ID ${JSON.stringify(hostile).slice(0, 20)} is a ConfigError that names the variable`, async () => {
    const script = `
      try { makeAgent(); } catch (error) { console.log(JSON.stringify([error.name, error.message])); }`;
    const { stdout } = await runChild(script, { env: { LITE_AGENT_TASK_LIST_ID: hostile } });
    const [name, message] = JSON.parse(stdout);
    assert.equal(name, "ConfigError");
    assert.match(message, /LITE_AGENT_TASK_LIST_ID/);
  });
}

test("with tasks: false LITE_AGENT_TASK_LIST_ID makes no list", async () => {
  assert.deepEqual(await listsOf("{ tasks: false }", "of-the-environment"), [[], []]);
});

// -- files that are not what they should be -------------------------------------------------------------------------------

for (const [what, content] of [
  ["empty", ""],
  ["no JSON", "{"],
  ["JSON of another kind", "[1, 2]"],
  ["an object of another kind", '{ "subject": 5 }'],
  ["not UTF-8", Buffer.from([0xff, 0xfe])],
]) {
  test(`a task's file that is ${what} does not break runs, and is not overwritten in silence`, async (t) => {
    const tasks = taskAgent(t, { taskListId: "list" });
    await tasks.create("fine");
    const file = join(tasks.tasksDir, "list", "2.json");
    writeFileSync(file, content);
    assert.equal((await tasks.agent.send("go")).text, "done");
    await tasks.list();
    assert.equal((await tasks.get("2")).isError, true);
    await tasks.call("TaskCreate", { subject: "next", description: "d" });
    assert.deepEqual(readFileSync(file), Buffer.from(content));
  });
}

test("other files in a list's folder are no tasks, and are left alone", async (t) => {
  const tasks = taskAgent(t, { taskListId: "list" });
  await tasks.create("plan");
  for (const name of ["notes.txt", "x.json", ".hidden.json"])
    writeFileSync(join(tasks.tasksDir, "list", name), '{"subject":"stranger"}');
  const { content, isError } = await tasks.list();
  assert.equal(isError, false);
  assert.ok(!content.includes("stranger"));
  assert.ok(existsSync(join(tasks.tasksDir, "list", "notes.txt")));
});

test("a task whose file was removed meanwhile is one that there is not", async (t) => {
  const tasks = taskAgent(t, { taskListId: "list" });
  const id = await tasks.create("plan");
  rmSync(join(tasks.tasksDir, "list", `${id}.json`));
  assert.equal((await tasks.get(id)).isError, true);
  assert.equal((await tasks.agent.send("go")).text, "done");
});
