// KillBackground: the whole tree of a command is gone when it answers. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { childrenOf, gone, marker, processesOf, sleeping } from "../commands/processes.mjs";
import { until } from "../support/model.mjs";
import { drivenAgent, RUNNING, stubbornTree } from "./driving.mjs";

const TREES = {
  "a command alone": [1, (mark) => `exec sleep ${mark}`],
  "a shell and its child": [1, (mark) => `sleep ${mark}; true`],
  "a pipeline": [2, (mark) => `sleep ${mark} | sleep ${mark}`],
  "a shell that ignores TERM": [1, (mark) => `trap '' TERM; sleep ${mark}; sleep ${mark}`],
  "a child in its own session": [2, (mark) => `setsid sleep ${mark} & sleep ${mark}`],
  "a daemon that forked twice": [2, (mark) => `(setsid sh -c 'sleep ${mark} & wait' &) ; sleep ${mark}`],
  "all of these, with TERM ignored": [3, stubbornTree],
  // Which may be stopped before it is a `sleep`.
  "a stopped child": [1, (mark) => `sleep ${mark} & kill -STOP $!; sleep ${mark}`],
};
for (const [name, [count, command]] of Object.entries(TREES)) {
  test(`${name} is gone when KillBackground answers`, async (t) => {
    const driven = drivenAgent(t);
    const mark = marker();
    const id = await driven.start(command(mark));
    await sleeping(mark, count);
    const { content, isError } = await driven.kill(id);
    await gone(mark, 0);
    assert.equal(isError, false, content);
    assert.deepEqual(childrenOf(), []);
  });
}

test("after it the command counts as killed", async (t) => {
  const driven = drivenAgent(t);
  const mark = marker();
  const id = await driven.start(`sleep ${mark}`);
  await sleeping(mark);
  await driven.kill(id);
  assert.match((await driven.read(id)).ending, /^\[killed.*\]$/);
});

test("what was not read before it can be read after it", async (t) => {
  const driven = drivenAgent(t);
  const mark = marker();
  const id = await driven.start(`echo before; sleep ${mark}`);
  await sleeping(mark);
  await driven.kill(id);
  assert.equal((await driven.read(id)).text, "before\n");
});

test("a command may clean up at TERM, and what it writes then is kept", async (t) => {
  const driven = drivenAgent(t);
  const id = await driven.start("trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.02; done");
  await driven.readUntil(id, (text) => text.includes("ready"), "the trap");
  const { content } = await driven.kill(id);
  assert.ok(`${content}\n${(await driven.read(id)).text}`.includes("bye"));
});

test("a command that is over already is no error, and the answer says so", async (t) => {
  const driven = drivenAgent(t);
  const id = await driven.start("exit 4");
  await driven.completionOf(id);
  const { content, isError } = await driven.kill(id);
  assert.equal(isError, false);
  assert.match(content, /over|already|ended|exit/i);
  assert.equal((await driven.read(id)).ending, "[exit code: 4]");
});

test("a second KillBackground is no error", async (t) => {
  const driven = drivenAgent(t);
  const mark = marker();
  const id = await driven.start(`sleep ${mark}`);
  await driven.kill(id);
  assert.equal((await driven.kill(id)).isError, false);
});

test("two at once both answer when it is over", async (t) => {
  const driven = drivenAgent(t);
  const mark = marker();
  const id = await driven.start(`trap '' TERM; sleep ${mark}; sleep ${mark}`);
  await sleeping(mark);
  const answers = await driven.calls([
    ["KillBackground", { id }],
    ["KillBackground", { id }],
  ]);
  await gone(mark, 0);
  assert.deepEqual(
    answers.map(({ isError }) => isError),
    [false, false],
  );
});

test("it leaves other commands alone", async (t) => {
  const driven = drivenAgent(t);
  const [mark, other] = [marker(), marker()];
  const id = await driven.start(`sleep ${mark}`);
  const staying = await driven.start(`sleep ${other}`);
  await sleeping(mark);
  await sleeping(other);
  await driven.kill(id);
  assert.equal((await driven.read(staying)).ending, RUNNING);
  assert.ok(processesOf(other).length > 0);
});

for (const [name, deed] of [
  ["killed its parent", "kill -KILL $PPID"],
  ["stopped its parent", "kill -STOP $PPID"],
]) {
  test(`a command that ${name} is gone with KillBackground all the same, and so is what it started`, async (t) => {
    const driven = drivenAgent(t);
    const mark = marker();
    const id = await driven.start(`setsid sleep ${mark} >/dev/null 2>&1 & sleep ${mark} & ${deed}; sleep ${mark}`);
    await until(
      async () => processesOf(mark).length > 0 || (await driven.read(id)).ending !== RUNNING,
      "the command or its end",
    );
    assert.equal((await driven.kill(id)).isError, false);
    await gone(mark);
  });
}

test("the run that kills a command goes on, and the next starts another", async (t) => {
  const driven = drivenAgent(t);
  const mark = marker();
  await driven.kill(await driven.start(`sleep ${mark}`));
  const id = await driven.start("echo again");
  assert.equal((await driven.readToEnd(id)).text, "again\n");
});
