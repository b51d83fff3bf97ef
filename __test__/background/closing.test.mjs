// What ends background commands with it: close(), deleteSession(), query(). And what does not wait for them. Knows the
// public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { policy, query } from "../../index.js";
import { runChild } from "../support/child.mjs";
import { collect, pause, scriptedModel, temporaryFolder, within } from "../support/model.mjs";
import { childrenOf, gone, marker, processesOf, sleeping } from "../commands/processes.mjs";
import { drivenAgent, RUNNING, stubbornTree } from "./driving.mjs";
import { childScript } from "./hosting.mjs";

const bashCall = (command, id = "1") => ({ id, name: "bash", input: { command, run_in_background: true } });

// -- what does not wait ---------------------------------------------------------------------------------------------------

test("awaitIdle() is not held by a background command", async (t) => {
  const driven = drivenAgent(t);
  const mark = marker();
  const id = await driven.start(`sleep ${mark}`);
  await sleeping(mark);
  await within(driven.agent.awaitIdle(), "awaitIdle()", 5_000);
  assert.equal((await driven.read(id)).ending, RUNNING);
});

test("an idle agent whose background command goes on does not keep Node alive, and the end of it takes the command along", async () => {
  const mark = marker();
  const { code, stdout, stderr, overdue } = await runChild(childScript(stubbornTree(mark)), { limitMs: 30_000 });
  assert.deepEqual([code, stderr, overdue], [0, "", false]);
  assert.match(JSON.parse(stdout), /bg_/);
  await gone(mark);
});

test("a process ends by itself after close(), with a background command that was going on", async () => {
  const mark = marker();
  const script = childScript(stubbornTree(mark), { after: 'await agent.close(); console.log("closed");' });
  const { code, stdout, stderr, overdue } = await runChild(script, { limitMs: 30_000 });
  assert.deepEqual([code, stderr, overdue], [0, "", false]);
  assert.match(stdout, /closed\n$/);
  await gone(mark);
});

test("a command that is over does not keep Node alive either", async () => {
  const { code, overdue } = await runChild(childScript("echo x"), { limitMs: 30_000 });
  assert.deepEqual([code, overdue], [0, false]);
});

// -- close() --------------------------------------------------------------------------------------------------------------

test("close() resolves only when every process of its background commands is gone", async (t) => {
  const driven = drivenAgent(t);
  const marks = [marker(), marker(), marker()];
  for (const mark of marks) await driven.start(stubbornTree(mark));
  for (const mark of marks) await sleeping(mark, 3);
  await within(driven.agent.close(), "close()");
  for (const mark of marks) await gone(mark, 0);
  assert.deepEqual(childrenOf(), []);
});

test("close() takes the commands of every session along", async (t) => {
  const driven = drivenAgent(t);
  const [mark, other] = [marker(), marker()];
  await driven.start(`sleep ${mark}`, {}, { sessionId: "one" });
  await driven.start(`sleep ${other}`, {}, { sessionId: "two" });
  await within(driven.agent.close(), "close()");
  await gone(mark, 0);
  await gone(other, 0);
});

test("close() at any moment of a background command's life leaves no process", async (t) => {
  for (let delay = 0; delay < 48; delay += 3) {
    const driven = drivenAgent(t);
    const mark = marker();
    // Its result may never have reached the conversation.
    const asking = driven.ask(`setsid sleep ${mark} & sleep ${mark}`).catch(() => {});
    if (delay > 0) await pause(delay);
    await within(driven.agent.close(), `close() after ${delay} ms`);
    assert.deepEqual(childrenOf(), [], `children after ${delay} ms and close()`);
    await gone(mark, 0);
    await Promise.allSettled([asking]);
  }
});

test("close() while KillBackground waits lets both end, with no process left", async (t) => {
  for (const delay of [0, 20, 100, 180, 220]) {
    const driven = drivenAgent(t);
    const mark = marker();
    const id = await driven.start(stubbornTree(mark));
    await sleeping(mark, 3);
    // Interrupted or not: its result may never have reached the conversation.
    const killing = driven.kill(id).catch(() => {});
    if (delay > 0) await pause(delay);
    await within(driven.agent.close(), `close() ${delay} ms after KillBackground`);
    await gone(mark, 0);
    await within(Promise.allSettled([killing]), "KillBackground");
  }
});

test("close() while a command is read lets both end", async (t) => {
  const driven = drivenAgent(t);
  const mark = marker();
  const id = await driven.start(`yes ${mark}`);
  const reading = driven.read(id).catch(() => {});
  await within(driven.agent.close(), "close()");
  await within(Promise.allSettled([reading]), "BashOutput");
  await gone(mark, 0);
});

test("the end of one agent leaves the background commands of another alone", async (t) => {
  const [one, two] = [drivenAgent(t), drivenAgent(t)];
  const [mark, other] = [marker(), marker()];
  await one.start(`sleep ${mark}`);
  const id = await two.start(`sleep ${other}`);
  await sleeping(other);
  await one.agent.close();
  await gone(mark, 0);
  assert.equal((await two.read(id)).ending, RUNNING);
});

// -- deleteSession() ------------------------------------------------------------------------------------------------------

test("deleteSession() takes the session's background commands along", async (t) => {
  const driven = drivenAgent(t);
  const mark = marker();
  await driven.start(stubbornTree(mark), {}, { sessionId: "gone" });
  await sleeping(mark, 3);
  await within(driven.agent.deleteSession("gone"), "deleteSession()");
  await gone(mark);
  assert.deepEqual(childrenOf(), []);
});

test("deleteSession() leaves the commands of other sessions alone", async (t) => {
  const driven = drivenAgent(t);
  const [mark, other] = [marker(), marker()];
  await driven.start(`sleep ${mark}`, {}, { sessionId: "gone" });
  const id = await driven.start(`sleep ${other}`, {}, { sessionId: "stays" });
  await sleeping(other);
  await driven.agent.deleteSession("gone");
  await gone(mark);
  assert.ok(processesOf(other).length > 0);
  assert.equal((await driven.read(id, { sessionId: "stays" })).ending, RUNNING);
});

test("after deleteSession() the ids of its commands are unknown", async (t) => {
  const driven = drivenAgent(t);
  const id = await driven.start("echo x", {}, { sessionId: "gone" });
  await driven.completionOf(id);
  await driven.agent.deleteSession("gone");
  const { content, isError } = await driven.read(id, { sessionId: "gone" });
  assert.equal(isError, true);
  assert.ok(content.includes(id), content);
});

test("places of a deleted session's commands are free", async (t) => {
  const driven = drivenAgent(t, { backgroundLimits: { maxDetached: 1 } });
  await driven.start(`sleep ${marker()}`, {}, { sessionId: "gone" });
  await driven.agent.deleteSession("gone");
  assert.equal((await driven.ask("true", {}, { sessionId: "next" })).isError, false);
});

// -- query() --------------------------------------------------------------------------------------------------------------

const asking = ({ workdir, home }, command) => ({
  prompt: "go",
  cwd: workdir,
  home,
  sessions: false,
  permission: policy(),
  model: scriptedModel([{ calls: [bashCall(command)] }, { text: "answer" }]),
});

test("query() does not wait for a background command, and takes it along", async (t) => {
  const folder = await temporaryFolder(t);
  const mark = marker();
  const { events, result } = await within(collect(query(asking(folder, stubbornTree(mark)))), "query()");
  await gone(mark, 0);
  assert.equal(result.text, "answer");
  assert.equal(events.at(-1).type, "done");
});

test("a break out of query() takes a background command along before it resolves", async (t) => {
  const folder = await temporaryFolder(t);
  const mark = marker();
  for await (const event of query(asking(folder, stubbornTree(mark)))) {
    if (event.type !== "tool_call_end") continue;
    await sleeping(mark, 3);
    break;
  }
  await gone(mark, 0);
});

test("query() whose run fails takes a background command along before it throws", async (t) => {
  const folder = await temporaryFolder(t);
  const mark = marker();
  const broken = new Error("the provider broke");
  const model = scriptedModel([{ calls: [bashCall(`sleep ${mark}`)] }, { error: broken }]);
  const options = { ...asking(folder, ""), model };
  await assert.rejects(within(collect(query(options)), "query()"), (error) => error === broken);
  await gone(mark, 0);
});

// -- abort ----------------------------------------------------------------------------------------------------------------

test("a run that is aborted while it starts a command does not start it later", async (t) => {
  const driven = drivenAgent(t);
  const controller = new AbortController();
  driven.agent.hook("tool:start", () => controller.abort());
  const asking = driven.ask("touch ran", {}, { signal: controller.signal });
  await Promise.allSettled([asking]);
  await driven.agent.close();
  assert.equal(existsSync(join(driven.workdir, "ran")), false);
});
