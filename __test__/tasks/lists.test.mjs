// Which list an agent's tasks are in, who shares it, and when it goes. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { within } from "../support/model.mjs";
import { reminderIn, taskAgent, taskFiles } from "./tasking.mjs";

/** The lists that there are; a lock beside them is none. */
const listsIn = ({ tasksDir }) =>
  entriesIn(tasksDir)
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .sort();
const entriesIn = (folder) => (existsSync(folder) ? readdirSync(folder, { withFileTypes: true }) : []);

// -- of a session ---------------------------------------------------------------------------------------------------------

test("a session's tasks are in the list of its id", async (t) => {
  const tasks = taskAgent(t, { sessions: true });
  await tasks.create("plan", "d", { sessionId: "named" });
  assert.equal(tasks.of("1", "named").subject, "plan");
  assert.deepEqual(listsIn(tasks), ["named"]);
});

test("sessions have lists of their own, each numbered from 1", async (t) => {
  const tasks = taskAgent(t);
  assert.equal(await tasks.create("plan", "d", { sessionId: "one" }), "1");
  assert.equal(await tasks.create("build", "d", { sessionId: "two" }), "1");
  assert.ok(!(await tasks.list({ sessionId: "two" })).content.includes("plan"));
});

test("clear() begins a session without tasks, and resume() finds those of the old one", async (t) => {
  const tasks = taskAgent(t);
  const old = tasks.agent.sessionId;
  await tasks.create("plan");
  tasks.agent.clear();
  assert.ok(!(await tasks.list()).content.includes("plan"));
  assert.equal(reminderIn(tasks.model.requests.at(-1)), undefined);
  tasks.agent.resume(old);
  assert.ok((await tasks.list()).content.includes("plan"));
});

test("an agent that resumes a session has its tasks, and is reminded of them at once", async (t) => {
  const first = taskAgent(t, { sessions: true });
  await first.create("plan");
  await first.close();
  const { workdir, home } = first;
  const second = taskAgent(t, { sessions: true, workdir, home });
  const options = { sessionId: first.agent.sessionId };
  const { content } = await second.list(options);
  assert.ok(content.includes("plan"));
  assert.match(reminderIn(second.model.requests[0]), /plan/);
  assert.equal(await second.create("build", "d", options), "2");
});

test("looking for tasks creates none", async (t) => {
  const tasks = taskAgent(t, { sessions: true });
  await tasks.list();
  await tasks.get("1");
  assert.equal(tasks.files().size, 0);
});

// -- when it goes ---------------------------------------------------------------------------------------------------------

test("deleteSession() removes the session's list, and no other", async (t) => {
  const tasks = taskAgent(t, { sessions: true });
  await tasks.create("plan", "d", { sessionId: "gone" });
  await tasks.create("build", "d", { sessionId: "stays" });
  await tasks.deleteSession("gone");
  assert.deepEqual(listsIn(tasks), ["stays"]);
});

test("after deleteSession() a new session of the name begins without tasks", async (t) => {
  const tasks = taskAgent(t, { sessions: true });
  const options = { sessionId: "again" };
  await tasks.create("plan", "d", options);
  await tasks.deleteSession("again");
  assert.ok(!(await tasks.list(options)).content.includes("plan"));
  assert.equal(await tasks.create("build", "d", options), "1");
});

test("deleteSession() leaves a list that has a name of its own", async (t) => {
  const tasks = taskAgent(t, { sessions: true, taskListId: "shared" });
  await tasks.create("plan");
  await tasks.deleteSession(tasks.agent.sessionId);
  assert.equal(tasks.of("1", "shared").subject, "plan");
});

test("with sessions: false nothing of the list is left after close()", async (t) => {
  const tasks = taskAgent(t, { sessions: false });
  await tasks.create("plan");
  await tasks.create("build", "d", { sessionId: "other" });
  await tasks.close();
  assert.deepEqual(entriesIn(tasks.tasksDir), []);
});

test("with sessions: false a list that has a name of its own stays", async (t) => {
  const tasks = taskAgent(t, { sessions: false, taskListId: "shared" });
  await tasks.create("plan");
  await tasks.close();
  assert.equal(tasks.of("1", "shared").subject, "plan");
});

test("with sessions the list stays after close()", async (t) => {
  const tasks = taskAgent(t, { sessions: true });
  await tasks.create("plan");
  await tasks.close();
  assert.equal(tasks.of("1").subject, "plan");
});

test("the end of one agent with sessions: false leaves the lists of another", async (t) => {
  const one = taskAgent(t, { sessions: true });
  await one.create("plan");
  const { workdir, home } = one;
  const two = taskAgent(t, { sessions: false, workdir, home });
  await two.create("build");
  await two.close();
  assert.deepEqual(listsIn(one), [one.agent.sessionId]);
});

// -- shared ---------------------------------------------------------------------------------------------------------------

test("two agents with one taskListId share their tasks", async (t) => {
  const one = taskAgent(t, { taskListId: "shared" });
  const { workdir, home } = one;
  const two = taskAgent(t, { taskListId: "shared", workdir, home });
  assert.equal(await one.create("plan"), "1");
  assert.equal(await two.create("build"), "2");
  await two.update("1", { status: "in_progress" });
  const { content } = await one.list();
  for (const part of ["plan", "in_progress", "build"]) assert.ok(content.includes(part), content);
});

test("what another agent does to a shared list is in the next reminder", async (t) => {
  const one = taskAgent(t, { taskListId: "shared" });
  const { workdir, home } = one;
  const two = taskAgent(t, { taskListId: "shared", workdir, home });
  const id = await one.create("plan");
  await two.agent.send("go");
  assert.match(reminderIn(two.model.requests.at(-1)), /plan/);
  await one.update(id, { status: "completed" });
  await two.agent.send("go");
  assert.equal(reminderIn(two.model.requests.at(-1)), undefined);
});

test("all sessions of an agent share the list that taskListId names", async (t) => {
  const tasks = taskAgent(t, { taskListId: "shared" });
  await tasks.create("plan", "d", { sessionId: "one" });
  assert.ok((await tasks.list({ sessionId: "two" })).content.includes("plan"));
  assert.deepEqual(listsIn(tasks), ["shared"]);
});

test("two agents that create at the same time have numbers of their own", async (t) => {
  const one = taskAgent(t, { taskListId: "shared" });
  const { workdir, home, tasksDir } = one;
  const two = taskAgent(t, { taskListId: "shared", workdir, home });
  const calls = Array.from({ length: 20 }, () => ["TaskCreate", { subject: "s", description: "d" }]);
  await Promise.all([one.calls(calls), two.calls(calls)]);
  assert.deepEqual(
    [...taskFiles(tasksDir, "shared").keys()].map(Number).sort((a, b) => a - b),
    Array.from({ length: 40 }, (_, index) => index + 1),
  );
});

test("two agents that update one task at the same time lose nothing of each other", async (t) => {
  const one = taskAgent(t, { taskListId: "shared" });
  const { workdir, home } = one;
  const two = taskAgent(t, { taskListId: "shared", workdir, home });
  const taskId = await one.create("plan");
  for (let round = 0; round < 10; round += 1) {
    await Promise.all([
      one.update(taskId, { subject: `subject of ${round}` }),
      two.update(taskId, { description: `description of ${round}` }),
    ]);
    const { subject, description } = one.of(taskId);
    assert.deepEqual([subject, description], [`subject of ${round}`, `description of ${round}`]);
  }
});

test("two projects with one taskListId share nothing", async (t) => {
  const [one, two] = [taskAgent(t, { taskListId: "shared" }), taskAgent(t, { taskListId: "shared" })];
  await one.create("plan");
  assert.ok(!(await two.list()).content.includes("plan"));
});

// -- children -------------------------------------------------------------------------------------------------------------

test("a child shares its root's list: its tasks are the parent's, and it is reminded of them", async (t) => {
  const requests = [];
  const child = (request) => {
    requests.push(request);
    if (requests.length > 1) return { text: "child done" };
    return { calls: [{ id: "c", name: "TaskCreate", input: { subject: "of the child", description: "d" } }] };
  };
  const tasks = taskAgent(t, { child });
  await tasks.create("of the parent");
  await tasks.call("Agent", {
    tasks: [{ display_name: "one", subagent_type: "general-purpose", prompt: "child" }],
  });
  await within(tasks.agent.awaitIdle(), "the child and its completion run");
  assert.match(reminderIn(requests[0]), /of the parent/);
  assert.match(reminderIn(requests[1]), /of the child/);
  const { content } = await tasks.list();
  assert.ok(content.includes("of the parent") && content.includes("of the child"));
  assert.deepEqual([...tasks.files().keys()].sort(), ["1", "2"]);
});
