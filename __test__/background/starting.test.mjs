// bash with run_in_background: an answer at once, and a command that runs as any other. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { existsSync, realpathSync, rmSync } from "node:fs";
import { join } from "node:path";
import { drivenAgent, idIn, RUNNING } from "./driving.mjs";
import { gone, marker, sleeping } from "../commands/processes.mjs";

const toolNamed = ({ model }, name) => model.requests[0].tools.find((tool) => tool.name === name);

test("the call answers while the command goes on, with a bg_ id of 16 hexadecimal digits", async (t) => {
  const driven = drivenAgent(t);
  const mark = marker();
  const { content, isError } = await driven.ask(`sleep ${mark}`);
  assert.equal(isError, false);
  assert.match(content, /^Started in the background: bg_[0-9a-f]{16}\b/);
  await sleeping(mark);
  assert.equal((await driven.read(idIn(content))).ending, RUNNING);
});

test("the model is shown the flag, and the tools that read and end a command", async (t) => {
  const driven = drivenAgent(t);
  await driven.agent.send("go");
  assert.equal(toolNamed(driven, "bash").parameters.properties.run_in_background.type, "boolean");
  const reads = toolNamed(driven, "BashOutput").parameters;
  assert.deepEqual(Object.keys(reads.properties).sort(), ["filter", "id"]);
  assert.deepEqual(reads.required, ["id"]);
  assert.deepEqual(toolNamed(driven, "KillBackground").parameters.required, ["id"]);
});

test("every command has an id of its own", async (t) => {
  const driven = drivenAgent(t);
  const answers = await driven.calls(
    Array.from({ length: 10 }, () => ["bash", { command: "true", run_in_background: true }]),
  );
  assert.equal(new Set(answers.map(({ content }) => idIn(content))).size, 10);
});

test("run_in_background: false is a command that is waited for", async (t) => {
  const driven = drivenAgent(t);
  const { content } = await driven.call("bash", { command: "sleep 0.2; echo late", run_in_background: false });
  assert.match(content, /^late\n/);
});

test("the command runs in the workdir, and what it changes there is there", async (t) => {
  const driven = drivenAgent(t);
  const id = await driven.start("pwd -P; touch here");
  assert.equal((await driven.readToEnd(id)).text, `${realpathSync(driven.workdir)}\n`);
  assert.ok(existsSync(join(driven.workdir, "here")));
});

test("the command has bash.env for its environment", async (t) => {
  const driven = drivenAgent(t, { bash: { env: { PATH: process.env.PATH, ONE: "1" } } });
  const id = await driven.start("echo $ONE-$HOME-");
  assert.equal((await driven.readToEnd(id)).text, "1--\n");
});

test("no variable of the host but the six comes along", async (t) => {
  process.env.LITE_AGENT_TEST_SECRET = "secret";
  t.after(() => delete process.env.LITE_AGENT_TEST_SECRET);
  const driven = drivenAgent(t);
  const id = await driven.start("echo ${PATH:+path}-$LITE_AGENT_TEST_SECRET-");
  assert.equal((await driven.readToEnd(id)).text, "path--\n");
});

test("standard input is at its end, and no descriptor above 2 is open", async (t) => {
  const driven = drivenAgent(t);
  const id = await driven.start(
    "cat; for f in /proc/$$/fd/*; do n=${f##*/}; [ $n -le 2 ] || readlink $f; done; echo over",
  );
  const { text } = await driven.readToEnd(id);
  assert.equal(text.replace(/^\/proc\/\d+\/fd\n/, ""), "over\n");
});

for (const [name, input, word] of [
  ["a flag that is no boolean", { command: "touch ran", run_in_background: "yes" }, /run_in_background/],
  ["no command", { run_in_background: true }, /command/],
  ["timeoutMs 0", { command: "touch ran", run_in_background: true, timeoutMs: 0 }, /timeoutMs/],
  ["timeoutMs 1.5", { command: "touch ran", run_in_background: true, timeoutMs: 1.5 }, /timeoutMs/],
  ["timeoutMs as a string", { command: "touch ran", run_in_background: true, timeoutMs: "5" }, /timeoutMs/],
  ["an unknown field", { command: "touch ran", runInBackground: true }, /runInBackground/],
]) {
  test(`${name}: a failed result that names the field, and nothing is started`, async (t) => {
    const driven = drivenAgent(t);
    const { content, isError } = await driven.call("bash", input);
    assert.equal(isError, true);
    assert.match(content, word);
    await driven.close();
    assert.equal(existsSync(join(driven.workdir, "ran")), false);
  });
}

test("a workdir that is gone is a failure that names it, told at the start or at the end", async (t) => {
  const driven = drivenAgent(t);
  rmSync(driven.workdir, { recursive: true });
  const { content, isError } = await driven.ask("true");
  const told = isError ? content : await driven.readToEnd(idIn(content)).then(({ text, ending }) => text + ending);
  assert.ok(told.includes(driven.workdir), told);
});

test("a run does not wait for its background commands, and neither does send()", async (t) => {
  const driven = drivenAgent(t);
  const mark = marker();
  await driven.start(`sleep ${mark}`);
  await sleeping(mark);
  assert.equal((await driven.agent.send("again")).text, "done");
  await driven.close();
  await gone(mark, 0);
});
