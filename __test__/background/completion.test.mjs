// The end of a background command as an event: what it tells, that it comes once, and that it starts nothing. Knows the
// public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { marker, sleeping } from "../commands/processes.mjs";
import { recordHooks, within } from "../support/model.mjs";
import { drivenAgent } from "./driving.mjs";

const of = ({ completions }, id) => completions.filter((completion) => completion.id === id);

test("the end of a command is one background_completed, which awaitIdle() does not wait for", async (t) => {
  const driven = drivenAgent(t);
  const id = await driven.start("echo hello");
  const completion = await driven.completionOf(id);
  assert.deepEqual(
    [completion.id, completion.label, completion.status, completion.isError, completion.awaitIdle],
    [id, "echo hello", "completed", false, false],
  );
  assert.equal(completion.sessionId, driven.agent.sessionId);
  await driven.readToEnd(id);
  assert.equal(of(driven, id).length, 1);
});

test("its content is the end of the output and how the command ended", async (t) => {
  const driven = drivenAgent(t);
  const { content } = await driven.completionOf(await driven.start("echo first; echo last; exit 0"));
  assert.match(content, /last/);
  assert.match(content, /exit code: 0/);
});

test("a command that fails is an error, with its exit code in the content", async (t) => {
  const driven = drivenAgent(t);
  const { status, isError, content } = await driven.completionOf(await driven.start("echo wrong; exit 3"));
  assert.deepEqual([status, isError], ["failed", true]);
  assert.match(content, /wrong/);
  assert.match(content, /exit code: 3/);
});

test("a command that timed out is an error, with its limit in the content", async (t) => {
  const driven = drivenAgent(t);
  const id = await driven.start(`sleep ${marker()}`, { timeoutMs: 50 });
  const { status, isError, content } = await driven.completionOf(id);
  assert.deepEqual([status, isError], ["failed", true]);
  assert.match(content, /timed out after 50 ms/);
});

test("a command that was killed is not completed, and is told once", async (t) => {
  const driven = drivenAgent(t);
  const mark = marker();
  const id = await driven.start(`sleep ${mark}`);
  await sleeping(mark);
  await driven.kill(id);
  const { status, isError, content } = await driven.completionOf(id);
  assert.ok(status === "cancelled" || status === "failed", status);
  assert.equal(isError, true);
  assert.match(content, /killed/);
  await driven.kill(id);
  assert.equal(of(driven, id).length, 1);
});

test("a long command is cut in the label", async (t) => {
  const driven = drivenAgent(t);
  const command = `: ${"x".repeat(500)}`;
  const { label } = await driven.completionOf(await driven.start(command));
  assert.ok(label.length >= 70 && label.length <= 83, `${label.length} characters`);
  assert.ok(command.startsWith(label.replace(/(…|\.\.\.)$/, "")), label);
});

test("no character of the label is torn where it is cut", async (t) => {
  const driven = drivenAgent(t);
  const { label } = await driven.completionOf(await driven.start(`: ${"\u{1F600}".repeat(100)}`));
  assert.ok(label.isWellFormed?.() ?? !/[\ud800-\udbff](?![\udc00-\udfff])/.test(label));
});

test("what was read before is no reason to leave the end of the output out", async (t) => {
  const driven = drivenAgent(t);
  const id = await driven.start("echo read; touch ready; until [ -e go ]; do sleep 0.02; done");
  await driven.readUntil(id, (text) => text.includes("read"), "the line");
  await driven.call("bash", { command: "touch go" });
  assert.match((await driven.completionOf(id)).content, /exit code: 0/);
});

test("the completion does not consume the output", async (t) => {
  const driven = drivenAgent(t);
  const id = await driven.start("echo still there");
  await driven.completionOf(id);
  assert.equal((await driven.read(id)).text, "still there\n");
});

test("the content of a command that floods stays small", async (t) => {
  const driven = drivenAgent(t);
  const { content } = await driven.completionOf(await driven.start("seq 1 200000"));
  assert.ok(content.length < 128 * 1024, `${content.length} characters`);
  assert.match(content, /200000\n/);
});

test("the end of a command starts no run", async (t) => {
  const driven = drivenAgent(t);
  const fired = recordHooks(driven.agent, ["run:start"]);
  await driven.completionOf(await driven.start("echo over"));
  await within(driven.agent.awaitIdle(), "awaitIdle()");
  const { messages } = await driven.agent.send("next");
  assert.deepEqual(
    fired.map(({ source }) => source),
    ["user", "user"],
  );
  assert.ok(!JSON.stringify(messages).includes("background-task-completed"));
});

test("every listener hears it, and one that throws changes nothing", async (t) => {
  const driven = drivenAgent(t);
  const heard = [];
  driven.agent.subscribe(({ event }) => {
    if (event.type !== "background_completed") return;
    heard.push(event.completion.id);
    throw new Error("the listener broke");
  });
  const ids = [await driven.start("true"), await driven.start("true")];
  for (const id of ids) await driven.completionOf(id);
  assert.deepEqual(heard.sort(), ids.sort());
  assert.equal((await driven.agent.send("again")).text, "done");
});

test("commands that close() ends are not told", async (t) => {
  const driven = drivenAgent(t);
  const mark = marker();
  await driven.start(`sleep ${mark}`);
  await sleeping(mark);
  await driven.close();
  assert.deepEqual(driven.completions, []);
});
