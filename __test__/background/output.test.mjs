// BashOutput: what is new since the last read, filtered or whole, and how the command stands. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { written } from "../commands/bashing.mjs";
import { within } from "../support/model.mjs";
import { drivenAgent, RUNNING, waitFor } from "./driving.mjs";

const numbers = (from, to) => Array.from({ length: to - from + 1 }, (_, index) => `${from + index}\n`).join("");
const touch = ({ workdir }, name) => writeFileSync(join(workdir, name), "");

// -- what is new ----------------------------------------------------------------------------------------------------------

test("each read gives what is new since the last, until the end", async (t) => {
  const driven = drivenAgent(t);
  const id = await driven.start(`echo one; ${waitFor("go")}; echo two; ${waitFor("on")}; echo three`);
  const first = await driven.readUntil(id, (text) => text !== "", "the first line");
  assert.deepEqual([first.text, first.ending], ["one\n", RUNNING]);
  touch(driven, "go");
  const second = await driven.readUntil(id, (text) => text !== "", "the second line");
  assert.deepEqual([second.text, second.ending], ["two\n", RUNNING]);
  touch(driven, "on");
  const { text, ending } = await driven.readToEnd(id);
  assert.deepEqual([text, ending], ["three\n", "[exit code: 0]"]);
});

test("a read with nothing new is the line of the state alone, and no error", async (t) => {
  const driven = drivenAgent(t);
  const id = await driven.start(`${waitFor("go")}`);
  const { content, isError } = await driven.read(id);
  assert.deepEqual([content, isError], [RUNNING, false]);
});

test("reads of a command that is over go on to say how it ended", async (t) => {
  const driven = drivenAgent(t);
  const id = await driven.start("echo once; exit 3");
  assert.equal((await driven.readToEnd(id)).text, "once\n");
  assert.equal((await driven.read(id)).content, "[exit code: 3]");
  assert.equal((await driven.read(id)).content, "[exit code: 3]");
});

test("parts of a line come as they are written", async (t) => {
  const driven = drivenAgent(t);
  const id = await driven.start(`printf 'half '; ${waitFor("go")}; echo whole`);
  const { text } = await driven.readUntil(id, (text) => text.includes("half"), "the first half");
  assert.equal(text.trimEnd(), "half");
  touch(driven, "go");
  assert.equal((await driven.readToEnd(id)).text, "whole\n");
});

test("both streams are in the order in which they were written", async (t) => {
  const driven = drivenAgent(t);
  const id = await driven.start("for i in 1 2 3 4 5; do echo out$i; echo err$i >&2; done");
  const { text } = await driven.readToEnd(id);
  assert.equal(text, [1, 2, 3, 4, 5].map((i) => `out${i}\nerr${i}\n`).join(""));
});

test("two reads in one turn share what is new: nothing comes twice, nothing is lost", async (t) => {
  const driven = drivenAgent(t);
  const id = await driven.start("seq 1 50");
  await driven.completionOf(id);
  const parts = await driven.calls([
    ["BashOutput", { id }],
    ["BashOutput", { id }],
  ]);
  assert.deepEqual(parts.map(({ content }) => written(content)).sort(), ["", numbers(1, 50)]);
});

test("reads of one command leave what is new of another", async (t) => {
  const driven = drivenAgent(t);
  const one = await driven.start("echo one");
  const two = await driven.start("echo two");
  assert.equal((await driven.readToEnd(one)).text, "one\n");
  assert.equal((await driven.readToEnd(two)).text, "two\n");
});

// -- bytes ----------------------------------------------------------------------------------------------------------------

test("a character whose bytes come apart is never torn by a read between them", async (t) => {
  const driven = drivenAgent(t);
  const id = await driven.start(String.raw`printf 'a\342'; ${waitFor("go")}; printf '\200\224.\n'`);
  const first = await driven.readUntil(id, (text) => text.includes("a"), "the letter before it");
  assert.doesNotMatch(first.text, /\uFFFD/);
  touch(driven, "go");
  const rest = await driven.readToEnd(id);
  assert.equal(rest.text, "—.\n");
});

test("bytes that are no UTF-8 come as U+FFFD, and what is around them stays", async (t) => {
  const driven = drivenAgent(t);
  const id = await driven.start(String.raw`printf 'a\377b\n'`);
  assert.equal((await driven.readToEnd(id)).text, "a\uFFFDb\n");
});

test("half a character at the very end is U+FFFD", async (t) => {
  const driven = drivenAgent(t);
  const id = await driven.start(String.raw`printf 'end\342\200'`);
  await driven.completionOf(id);
  assert.match((await driven.read(id)).text, /^end\uFFFD+\n?$/);
});

test("a zero byte in the output does not end it", async (t) => {
  const driven = drivenAgent(t);
  const id = await driven.start(String.raw`printf 'a\000b\n'`);
  assert.equal((await driven.readToEnd(id)).text, "a\0b\n");
});

test("a line of the command that looks like an end is not taken for one", async (t) => {
  const driven = drivenAgent(t);
  const id = await driven.start(`echo '[exit code: 0]'; ${waitFor("go")}`);
  const { text, ending } = await driven.readUntil(id, (text) => text !== "", "the line");
  assert.deepEqual([text, ending], ["[exit code: 0]\n", RUNNING]);
});

// -- filter ---------------------------------------------------------------------------------------------------------------

test("a filter gives the lines that match, anywhere in them", async (t) => {
  const driven = drivenAgent(t);
  const id = await driven.start("printf 'an error\\nfine\\nerror: two\\nERROR\\n'");
  await driven.completionOf(id);
  const { text, ending } = await driven.read(id, { filter: "error" });
  assert.deepEqual([text, ending], ["an error\nerror: two\n", "[exit code: 0]"]);
});

test("lines that a filter leaves out are read as well", async (t) => {
  const driven = drivenAgent(t);
  const id = await driven.start("seq 1 20");
  await driven.completionOf(id);
  assert.equal((await driven.read(id, { filter: "^1.$" })).text, numbers(10, 19));
  assert.equal((await driven.read(id)).text, "");
});

test("a filter that matches nothing is no error, and still says how the command stands", async (t) => {
  const driven = drivenAgent(t);
  const id = await driven.start("seq 1 20");
  await driven.completionOf(id);
  const { content, isError } = await driven.read(id, { filter: "nothing of the kind" });
  assert.deepEqual([content, isError], ["[exit code: 0]", false]);
});

test("a filter is a regular expression with flags of its own", async (t) => {
  const driven = drivenAgent(t);
  const id = await driven.start("printf 'Warning\\nnote\\nWARN\\n'");
  await driven.completionOf(id);
  assert.equal((await driven.read(id, { filter: "(?i)^warn(ing)?$" })).text, "Warning\nWARN\n");
});

test("a filter that does not compile is a failed result that names it, and reads nothing", async (t) => {
  const driven = drivenAgent(t);
  const id = await driven.start("echo kept");
  await driven.completionOf(id);
  const { content, isError } = await driven.read(id, { filter: "(" });
  assert.equal(isError, true);
  assert.match(content, /filter/);
  assert.equal((await driven.read(id)).text, "kept\n");
});

test("a filter that would backtrack for ever answers at once", async (t) => {
  const driven = drivenAgent(t);
  const id = await driven.start("printf 'a%.0s' $(seq 5000); echo b");
  await driven.completionOf(id);
  const { text } = await within(driven.read(id, { filter: "^(a+)+$" }), "the read", 5_000);
  assert.equal(text, "");
});

// -- ids ------------------------------------------------------------------------------------------------------------------

for (const name of ["BashOutput", "KillBackground"]) {
  for (const id of ["bg_0123456789abcdef", "bg_", "", "../x", "x".repeat(5_000)]) {
    test(`${name} of ${JSON.stringify(id.slice(0, 24))}, which there is not, is a failed result that is not long`, async (t) => {
      const { content, isError } = await drivenAgent(t).call(name, { id });
      assert.equal(isError, true);
      assert.ok(content.length < 8_000, `${content.length} characters`);
    });
  }

  test(`${name} of an unknown id names it`, async (t) => {
    const { content } = await drivenAgent(t).call(name, { id: "bg_0123456789abcdef" });
    assert.match(content, /^Error: .*bg_0123456789abcdef/);
  });

  for (const [what, input] of [
    ["no id", {}],
    ["an id that is no string", { id: 5 }],
  ]) {
    test(`${name} with ${what} is a failed result that names the field`, async (t) => {
      const { content, isError } = await drivenAgent(t).call(name, input);
      assert.equal(isError, true);
      assert.match(content, /\bid\b/);
    });
  }
}

test("a filter that is no string is a failed result that names the field", async (t) => {
  const driven = drivenAgent(t);
  const id = await driven.start("true");
  const { content, isError } = await driven.read(id, { filter: 5 });
  assert.equal(isError, true);
  assert.match(content, /filter/);
});
