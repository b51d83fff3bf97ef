// Whose a background command is: its session's, children's commands the root's. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { createLiteAgent, policy } from "../../index.js";
import { blocksOf, contentText } from "../runs/reading.mjs";
import { scriptedModel, within } from "../support/model.mjs";
import { childrenOf, gone, marker, sleeping } from "../commands/processes.mjs";
import { drivenAgent, idIn, RUNNING } from "./driving.mjs";

for (const name of ["BashOutput", "KillBackground"]) {
  test(`${name} does not know the ids of another session, and leaves its command alone`, async (t) => {
    const driven = drivenAgent(t);
    const mark = marker();
    const id = await driven.start(`echo secret; sleep ${mark}`, {}, { sessionId: "theirs" });
    await sleeping(mark);
    const { content, isError } = await driven.call(name, { id }, { sessionId: "mine" });
    assert.equal(isError, true);
    assert.ok(content.includes(id) && !content.includes("secret"), content);
    const { text, ending } = await driven.read(id, { sessionId: "theirs" });
    assert.deepEqual([text, ending], ["secret\n", RUNNING]);
  });
}

test("an id of another session reads as one that there never was", async (t) => {
  const driven = drivenAgent(t);
  const id = await driven.start("true", {}, { sessionId: "theirs" });
  const unknown = "bg_0123456789abcdef";
  const theirs = await driven.read(id, { sessionId: "mine" });
  const none = await driven.read(unknown, { sessionId: "mine" });
  assert.equal(theirs.content.replaceAll(id, "ID"), none.content.replaceAll(unknown, "ID"));
});

test("after clear() a command goes on in its session, and resume() finds it again", async (t) => {
  const driven = drivenAgent(t);
  const old = driven.agent.sessionId;
  const mark = marker();
  const id = await driven.start(`echo kept; sleep ${mark}`);
  await sleeping(mark);
  driven.agent.clear();
  assert.equal((await driven.read(id)).isError, true);
  driven.agent.resume(old);
  const { text, ending } = await driven.read(id);
  assert.deepEqual([text, ending], ["kept\n", RUNNING]);
});

test("the completion names the session that the command is of", async (t) => {
  const driven = drivenAgent(t);
  const id = await driven.start("true", {}, { sessionId: "named" });
  assert.equal((await driven.completionOf(id)).sessionId, "named");
});

test("an agent that resumes a session does not know the ids of the one that was closed", async (t) => {
  const driven = drivenAgent(t, { sessions: true });
  const { sessionId } = driven.agent;
  const id = await driven.start("true");
  await driven.close();
  const model = scriptedModel([{ calls: [{ id: "1", name: "BashOutput", input: { id } }] }, { text: "done" }]);
  const next = createLiteAgent({ workdir: driven.workdir, home: driven.home, permission: policy(), model });
  t.after(() => next.close());
  const { messages } = await next.send("again", { sessionId });
  const result = blocksOf(messages, "tool_result").at(-1);
  assert.equal(result.isError, true);
  assert.ok(contentText(result).includes(id));
});

test("restore() of the conversation leaves the commands alone", async (t) => {
  const driven = drivenAgent(t, { sessions: true });
  const mark = marker();
  const id = await driven.start(`sleep ${mark}`);
  await sleeping(mark);
  await driven.agent.restore(driven.agent.sessionId, 0, { files: false });
  assert.equal((await driven.read(id)).ending, RUNNING);
});

// -- children -------------------------------------------------------------------------------------------------------------

const agentCall = ["Agent", { tasks: [{ display_name: "one", subagent_type: "general-purpose", prompt: "child" }] }];

/** An agent whose child starts this command in the background and ends; `started` gives the command's id. */
function withChild(t, command, config = {}) {
  const input = { command, run_in_background: true };
  const child = ({ messages }) =>
    messages.length === 1 ? { calls: [{ id: "of-child", name: "bash", input }] } : { text: "child done" };
  const driven = drivenAgent(t, { child, ...config });
  const results = [];
  driven.agent.subscribe(({ event }) => {
    if (event.type === "tool_result" && event.agentId !== undefined) results.push(event.result);
  });
  const started = async () => {
    await driven.call(...agentCall);
    await within(driven.agent.awaitIdle(), "the child and its completion run");
    assert.equal(results.length, 1);
    return idIn(contentText(results[0]));
  };
  return { driven, started };
}

test("a child's command outlives the child, and the parent's session reads it", async (t) => {
  const mark = marker();
  const { driven, started } = withChild(t, `echo of the child; sleep ${mark}`);
  const id = await started();
  await sleeping(mark);
  const { text, ending } = await driven.read(id);
  assert.deepEqual([text, ending], ["of the child\n", RUNNING]);
});

test("the parent ends a child's command", async (t) => {
  const mark = marker();
  const { driven, started } = withChild(t, `sleep ${mark}`);
  const id = await started();
  await sleeping(mark);
  assert.equal((await driven.kill(id)).isError, false);
  await gone(mark, 0);
});

test("close() takes a child's command along", async (t) => {
  const mark = marker();
  const { driven, started } = withChild(t, `sleep ${mark}`);
  await started();
  await sleeping(mark);
  await driven.close();
  await gone(mark, 0);
  assert.deepEqual(childrenOf(), []);
});

test("subagentPermission holds for a child's command in the background", async (t) => {
  const { driven, started } = withChild(t, "touch ran", { subagentPermission: policy({ deny: ["bash"] }) });
  await assert.rejects(started(), /one id in/);
  await driven.close();
  assert.equal(existsSync(join(driven.workdir, "ran")), false);
});
