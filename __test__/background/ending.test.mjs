// How a background command ends by itself, and what it leaves behind: nothing. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { childrenOf, gone, marker } from "../commands/processes.mjs";
import { until } from "../support/model.mjs";
import { drivenAgent, RUNNING, waitFor } from "./driving.mjs";

for (const code of [0, 1, 3, 127, 255]) {
  test(`exit ${code} is told as the exit code`, async (t) => {
    const driven = drivenAgent(t);
    const id = await driven.start(`echo out; exit ${code}`);
    const { text, ending } = await driven.readToEnd(id);
    assert.deepEqual([text, ending], ["out\n", `[exit code: ${code}]`]);
  });
}

for (const [name, number] of [
  ["KILL", 9],
  ["TERM", 15],
  ["SEGV", 11],
]) {
  test(`a command that ends itself with SIG${name} is over, and the signal is told`, async (t) => {
    const driven = drivenAgent(t);
    const id = await driven.start(`echo before; kill -${name} $$; sleep 5`);
    const { text, ending } = await driven.readToEnd(id);
    assert.equal(text, "before\n");
    assert.match(ending, new RegExp(`^\\[.*(\\b${number}\\b|${name}|\\b${128 + number}\\b).*\\]$`));
  });
}

test("a syntax error ends the command with what bash says", async (t) => {
  const driven = drivenAgent(t);
  const id = await driven.start("if then");
  const { text, ending } = await driven.readToEnd(id);
  assert.match(text, /syntax error/);
  assert.match(ending, /^\[exit code: [1-9]\d*\]$/);
});

test("a command is running until its main process has ended, also with its output closed", async (t) => {
  const driven = drivenAgent(t);
  const id = await driven.start(`exec >&- 2>&-; touch closed; ${waitFor("go")}`);
  await until(async () => (await driven.call("glob", { pattern: "closed" })).content.includes("closed"), "its output");
  assert.equal((await driven.read(id)).ending, RUNNING);
  writeFileSync(join(driven.workdir, "go"), "");
  assert.equal((await driven.readToEnd(id)).ending, "[exit code: 0]");
});

const LEFT_BEHIND = {
  "a child that holds the output": (mark) => `sleep ${mark} &`,
  "a child that holds nothing": (mark) => `sleep ${mark} >/dev/null 2>&1 </dev/null &`,
  "a child in its own session": (mark) => `setsid sleep ${mark} >/dev/null 2>&1 &`,
  "a daemon that forked twice, with TERM ignored": (mark) =>
    `(setsid sh -c 'trap "" TERM HUP; sleep ${mark} & sleep ${mark}' >/dev/null 2>&1 &) ;`,
  "a stopped child": (mark) => `sleep ${mark} & kill -STOP $!;`,
  "a nohup child": (mark) => `nohup sleep ${mark} >/dev/null 2>&1 &`,
};
for (const [name, command] of Object.entries(LEFT_BEHIND)) {
  test(`${name} does not hold the end of a command, and is gone with it`, async (t) => {
    const driven = drivenAgent(t);
    const mark = marker();
    const id = await driven.start(`${command(mark)} echo over; exit 5`);
    const { text, ending } = await driven.readToEnd(id);
    assert.deepEqual([text, ending], ["over\n", "[exit code: 5]"]);
    await gone(mark);
  });
}

test("commands that are over leave no child of the host", async (t) => {
  const driven = drivenAgent(t);
  for (const command of ["true", "exit 1", "kill -KILL $$", "sleep 50 &"]) {
    await driven.completionOf(await driven.start(command));
  }
  await until(() => childrenOf().length === 0, "no child of the host");
});

test("more memory than bash.memoryBytes ends a background command, and the reason is told", async (t) => {
  const driven = drivenAgent(t, { bash: { memoryBytes: 150_000_000 } });
  const mark = marker();
  // No Node: newer ones do not even start where so little memory may be asked for.
  const hog = "x=$(head -c 300000000 /dev/zero | tr '\\0' x)";
  const id = await driven.start(`(${hog}); sleep ${mark}`);
  assert.match((await driven.readToEnd(id)).ending, /memory/);
  await gone(mark);
});
