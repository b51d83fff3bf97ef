// One list in several processes: under a lock, whole at every moment, and free again when its holder dies. Knows the public
// face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { runChild } from "../support/child.mjs";
import { until, within } from "../support/model.mjs";
import { taskAgent, taskFiles } from "./tasking.mjs";

const packageAddress = new URL("../../index.js", import.meta.url).href;
const supportAddress = new URL("../support/model.mjs", import.meta.url).href;
const long = process.env.LITE_AGENT_LONG === "1";

/** What `runChild` puts before a script itself. */
const imports = `
  import * as lite from ${JSON.stringify(packageAddress)};
  import * as support from ${JSON.stringify(supportAddress)};`;

/** A script, in the folders of `tasks`, whose agent makes the calls that `calls` (JavaScript) gives, once or for ever. */
const script = ({ workdir, home }, calls, { forEver = false } = {}) => `
  const calls = ${calls};
  let turn = 0;
  const model = support.scriptedModel([() => ((turn += 1) % 2 === 1 ? { calls } : { text: "ok" })]);
  const agent = lite.createLiteAgent({ workdir: ${JSON.stringify(workdir)}, home: ${JSON.stringify(home)},
    sessions: false, taskListId: "shared", model });
  do {
    const { messages } = await agent.send("go", { sessionId: "s" + turn });
    for (const { isError, content } of messages[2].content) if (isError) console.log(content);
  } while (${forEver});
  await agent.close();`;

const creating = (count, subject) =>
  `Array.from({ length: ${count} }, (_, index) => ({ id: String(index), name: "TaskCreate",
    input: { subject: ${JSON.stringify(subject)} + index, description: "d".repeat(2_000) } }))`;

test("three processes that create at the same time lose nothing and number each task once", async (t) => {
  const tasks = taskAgent(t, { taskListId: "shared" });
  const outcomes = await Promise.all(
    ["a", "b", "c"].map((name) => runChild(script(tasks, creating(30, name)), { limitMs: 120_000 })),
  );
  for (const { code, stdout, stderr } of outcomes) assert.deepEqual([code, stdout, stderr], [0, "", ""]);
  const files = taskFiles(tasks.tasksDir, "shared");
  assert.deepEqual(
    [...files.keys()].map(Number).sort((a, b) => a - b),
    Array.from({ length: 90 }, (_, index) => index + 1),
  );
  assert.equal(new Set([...files.values()].map(({ subject }) => subject)).size, 90);
});

test("tasks of another process are here at once", async (t) => {
  const tasks = taskAgent(t, { taskListId: "shared" });
  await tasks.create("of this one");
  const { code } = await runChild(script(tasks, creating(1, "of the other ")));
  assert.equal(code, 0);
  const { content } = await tasks.list();
  assert.ok(content.includes("of this one") && content.includes("of the other"), content);
});

test("two processes cannot make a circle together", async (t) => {
  const tasks = taskAgent(t, { taskListId: "shared" });
  const count = 20;
  await tasks.calls(Array.from({ length: 2 * count }, () => ["TaskCreate", { subject: "s", description: "d" }]));
  const linking = (from, to) =>
    `Array.from({ length: ${count} }, (_, index) => ({ id: String(index), name: "TaskUpdate",
      input: { taskId: String(2 * index + ${from}), addBlocks: [String(2 * index + ${to})] } }))`;
  const outcomes = await Promise.all([runChild(script(tasks, linking(1, 2))), runChild(script(tasks, linking(2, 1)))]);
  const refusals = outcomes.flatMap(({ stdout }) => stdout.split("\n").filter((line) => line.startsWith("Error: ")));
  assert.equal(refusals.length, count);
});

test("a process that is killed in the middle of its work leaves whole tasks and no lock", async (t) => {
  for (let round = 0; round < (long ? 50 : 5); round += 1) {
    const tasks = taskAgent(t, { taskListId: "shared" });
    const { NODE_TEST_CONTEXT: _, NODE_OPTIONS: __, ...env } = process.env;
    const text = imports + script(tasks, creating(10, "s"), { forEver: true });
    const other = spawn(process.execPath, ["--input-type=module", "--eval", text], { env, stdio: "ignore" });
    t.after(() => other.kill("SIGKILL"));
    const exited = once(other, "exit");
    await until(() => taskFiles(tasks.tasksDir, "shared").size > 3 + round, "tasks of the other process", 30_000);
    other.kill("SIGKILL");
    await within(exited, "its end");
    const before = taskFiles(tasks.tasksDir, "shared").size;
    await within(tasks.create("after it"), "a task after it", 10_000);
    assert.equal(taskFiles(tasks.tasksDir, "shared").size, before + 1);
  }
});
