// What the bash tool answers: the exit code, the signal, and both streams. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { realpathSync } from "node:fs";
import { toolResultBlock } from "../../index.js";
import { bash, bashAgent, ending, written } from "./bashing.mjs";
import { collect, within } from "../support/model.mjs";

for (const code of [0, 1, 3, 126, 127, 128, 255]) {
  test(`exit ${code} is ${code === 0 ? "a success" : "a failed result"} that tells the code`, async (t) => {
    const { content, isError, status, end } = await bash(t, `echo out; exit ${code}`);
    assert.equal(written(content), "out\n");
    assert.match(ending(content), new RegExp(`\\b${code}$`));
    assert.equal(isError ?? false, code !== 0);
    assert.equal(status, code === 0 ? "completed" : "failed");
    assert.equal(end.error, undefined, "nothing was thrown");
  });
}

for (const [name, number] of [
  ["KILL", 9],
  ["TERM", 15],
  ["SEGV", 11],
  ["PIPE", 13],
  ["INT", 2],
]) {
  test(`a command that ends itself with SIG${name} is a failed result that tells the signal`, async (t) => {
    const { content, isError, status } = await bash(t, `echo before; kill -${name} $$; sleep 5`);
    assert.match(content, /^before\n/);
    assert.match(ending(content), new RegExp(`\\b(${number}|SIG${name})\\b`));
    assert.equal(isError, true);
    assert.equal(status, "failed");
  });
}

test("both streams are in the order in which they were written", async (t) => {
  const command = "for i in 1 2 3 4 5 6 7 8 9; do echo out$i; echo err$i >&2; done";
  const { content } = await bash(t, command);
  const expected = [1, 2, 3, 4, 5, 6, 7, 8, 9].map((i) => `out${i}\nerr${i}\n`).join("");
  assert.equal(written(content), expected);
});

test("what comes without a line break at its end stays apart from the exit code", async (t) => {
  const { content } = await bash(t, "printf abc; printf def >&2; exit 4");
  assert.equal(content.split("\n")[0], "abcdef");
  assert.match(ending(content), /\b4$/);
});

test("a command without output answers with its exit code alone, and the block is not empty", async (t) => {
  const quiet = await bash(t, "true");
  assert.equal(quiet.content.split("\n").length, 1);
  assert.match(quiet.content, /\b0$/);
  const failing = await bash(t, "false");
  assert.match(failing.content, /\b1$/);
  assert.equal(failing.isError, true);
});

test("bytes that are no UTF-8 come as U+FFFD, and what is around them stays", async (t) => {
  const { content } = await bash(t, String.raw`printf 'a\377\376b\342\200'; exit 0`);
  assert.match(content, /^a\uFFFD\uFFFDb\uFFFD+/);
});

test("a character whose bytes come apart is one character", async (t) => {
  const { content } = await bash(t, String.raw`printf '\342'; sleep 0.1; printf '\200'; sleep 0.1; printf '\224.\n'`);
  assert.equal(written(content), "—.\n");
});

test("a zero byte in the output does not end it", async (t) => {
  const { content } = await bash(t, String.raw`printf 'a\000b\n'`);
  assert.equal(written(content), "a\0b\n");
});

test("what the model is given next is what tool:end saw", async (t) => {
  const { content, model } = await bash(t, "echo 'ä \u{1F600} \"quoted\" \\\\'; exit 2");
  assert.deepEqual(model.requests[1].messages.at(-1).content, [toolResultBlock("call-1", content, true)]);
});

test("a command is bash where there is one: arrays, process substitution, pipefail", async (t) => {
  const { content } = await bash(t, "a=(x y); set -o pipefail; false | cat <(echo ${a[1]}); echo $?");
  assert.equal(written(content), "y\n1\n");
});

test("a syntax error is a failed result that says what bash says", async (t) => {
  const { content, isError } = await bash(t, "if then");
  assert.equal(isError, true);
  assert.match(content, /syntax error/);
});

test("a command of many lines, here documents and all, runs as it is written", async (t) => {
  const { content } = await bash(t, "cat <<'END'\n$HOME `id` 'x'\nEND\necho \"$((6 * 7))\"\n");
  assert.equal(written(content), "$HOME `id` 'x'\n42\n");
});

test("the command runs in the workdir, and what it changes there is there", async (t) => {
  const { content, workdir } = await bash(t, "pwd -P; cd /; pwd");
  assert.equal(written(content), `${realpathSync(workdir)}\n/\n`);
});

test("commands share nothing but the files: neither folder nor variables", async (t) => {
  const { agent, ends } = await bashAgent(t, ["cd /; X=1; export X"]);
  await within(collect(agent.run("go")), "the run");
  assert.equal(ends[0].status, "completed");
  const next = await bash(t, "echo x=$X; [ $PWD != / ]");
  assert.equal(written(next.content), "x=\n");
  assert.equal(next.status, "completed");
});

test("calls of one turn run at the same time, and their results are in the order of the calls", async (t) => {
  // Each waits for the other's file: one after another neither would end.
  const meet = (mine, other) =>
    `touch ${mine}; for i in $(seq 500); do [ -e ${other} ] && exec echo ${mine}; sleep 0.02; done; exit 9`;
  const { agent, model } = await bashAgent(t, [meet("a", "b"), meet("b", "a")]);
  await within(collect(agent.run("go")), "the run", 30_000);
  const contents = model.requests[1].messages.at(-1).content.map(({ content }) => written(content));
  assert.deepEqual(contents, ["a\n", "b\n"]);
});

for (const [name, input, word] of [
  ["no command", {}, /command/],
  ["a command that is no string", { command: ["ls"] }, /command/],
  ["an unknown field", { command: "true", timeout: 5 }, /timeout/],
  ["timeoutMs 0", { command: "true", timeoutMs: 0 }, /timeoutMs/],
  ["timeoutMs -1", { command: "true", timeoutMs: -1 }, /timeoutMs/],
  ["timeoutMs 1.5", { command: "true", timeoutMs: 1.5 }, /timeoutMs/],
  ["timeoutMs as a string", { command: "true", timeoutMs: "5" }, /timeoutMs/],
  ["timeoutMs 1e300", { command: "true", timeoutMs: 1e300 }, /timeoutMs/],
]) {
  test(`${name}: a failed result that names the field, and the run goes on`, async (t) => {
    const { content, isError, result } = await bash(t, input);
    assert.equal(isError, true);
    assert.match(content, word);
    assert.equal(result.text, "done");
  });
}

test("a command with a zero byte in it is a failed result, and nothing is started", async (t) => {
  const { content, isError } = await bash(t, "touch ran\0; touch ran");
  assert.equal(isError, true);
  assert.match(content, /zero|null|NUL/i);
});

test("a command longer than the system takes is a failed result that says so", async (t) => {
  const { content, isError } = await bash(t, `: ${"x".repeat(3_000_000)}`);
  assert.equal(isError, true);
  assert.match(content, /too long/i);
  assert.ok(content.length < 2_000, "it does not repeat the command");
});
