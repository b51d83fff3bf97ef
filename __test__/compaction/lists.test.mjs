// What `context` lists: so much at a time, and it says how to see the rest. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import {
  assertWholeCharacters,
  call,
  compactingAgent,
  compactingModel,
  contentText,
  resultFor,
  runOf,
} from "./compacting.mjs";
import { resultOf, said, testStore, user } from "../sessions/storing.mjs";

const at = { sessionId: "s" };

/** An agent on a session with these results; `ask(input)` is one call of `context`. */
function session(t, contents) {
  const store = testStore();
  const turns = contents.flatMap((content, index) => [
    {
      type: "assistant",
      message: {
        role: "assistant",
        content: [{ type: "tool_call", id: `c${index}`, name: `tool${index}`, input: {} }],
      },
    },
    resultOf(`c${index}`, content, index + 1),
  ]);
  store.put("s", [user("go"), ...turns, said("done")]);
  let asked;
  let count = 0;
  const model = compactingModel(
    Array(500).fill(({ messages }) => {
      if (messages.at(-1).content.at(-1).type === "tool_result") return { text: "end" };
      count += 1;
      return { calls: [call(`ask${count}`, "context", asked)] };
    }),
  );
  const { agent } = compactingAgent(t, { model, checkpointer: store.checkpointer, context: false });
  return async (input) => {
    asked = input;
    await runOf(agent, "look", at);
    const result = resultFor(model.turns.at(-1).messages, `ask${count}`);
    assert.notEqual(result.isError, true);
    const lines = contentText(result).split("\n");
    const note = /^\[(results|matches) .*\]$/.test(lines.at(-1)) ? lines.pop() : undefined;
    return { lines, note, next: note?.match(/offset (\d+)/)?.[1], result };
  };
}

/** Everything that a search gives, page for page, by the offsets that it names. */
async function allPages(ask, input) {
  let all = [];
  let offset;
  for (let page = 0; page < 100; page += 1) {
    const { lines, note, next } = await ask(offset === undefined ? input : { ...input, offset });
    all = [...all, ...lines];
    if (note === undefined || next === undefined) return all;
    assert.ok(Number(next) > (offset ?? 0), note);
    offset = Number(next);
  }
  assert.fail("the pages never end");
}

test("50 results are listed whole, and nothing more is said", async (t) => {
  const ask = session(t, Array(50).fill("short"));
  const { lines, note } = await ask({});
  assert.deepEqual([lines.length, note], [50, undefined]);
});

test("of 120 results the newest 50 are listed, and it says so and how to see the rest", async (t) => {
  const ask = session(
    t,
    Array.from({ length: 120 }, (_, n) => "x".repeat(n)),
  );
  const { lines, note } = await ask({});
  assert.equal(lines.length, 50);
  assert.match(lines.at(-1), /^r\d+: tool119, 119 characters$/);
  assert.equal(note, "[results 71 to 120 of 120; offset 50 shows those before them]");
  const again = await ask({ offset: 50, limit: 10 });
  assert.deepEqual(
    [again.lines.length, again.note],
    [10, "[results 61 to 70 of 120; offset 60 shows those before them]"],
  );
  assert.match(again.lines.at(-1), /tool69/);
  const last = await ask({ offset: 100, limit: 16_000 });
  assert.deepEqual([last.lines.length, last.note], [20, "[results 1 to 20 of 120]"]);
  assert.match((await ask({ offset: 500 })).lines[0], /no results before the newest 120/);
});

test("all matches of a search are found page for page, each once", async (t) => {
  const contents = Array.from({ length: 40 }, (_, n) => `needle ${n} a\nhay\nneedle ${n} b\nneedle ${n} c`);
  const ask = session(t, contents);
  const first = await ask({ query: "needle" });
  assert.deepEqual([first.lines.length, first.note], [50, "[matches 1 to 50, and there are more; offset 50 goes on]"]);
  // Results of `context` that were searched for hold it too, behind all others.
  const found = (await allPages(ask, { query: "needle" })).filter((line) => /: needle/.test(line));
  const told = found.map((line) => line.match(/: (needle \d+ [abc])$/)[1]);
  assert.deepEqual(
    told,
    contents.flatMap((content) => content.split("\n").filter((line) => line !== "hay")),
  );
});

test("matches in one result go on by offset too, and the end is told", async (t) => {
  const ask = session(t, [Array.from({ length: 130 }, (_, n) => `line ${n} needle`).join("\n")]);
  const input = { ref: "r3", query: "needle" };
  const all = await allPages(ask, input);
  assert.deepEqual(
    all.map((line) => line.match(/line \d+/)[0]),
    Array.from({ length: 130 }, (_, n) => `line ${n}`),
  );
  assert.deepEqual((await ask({ ...input, offset: 130 })).lines, ["no line of r3 holds it after the first 130"]);
  assert.deepEqual((await ask({ ...input, limit: 2 })).note, "[matches 1 to 2, and there are more; offset 2 goes on]");
});

test("a page of long lines is no result that is shortened itself, and loses none", async (t) => {
  const long = (n) => `${"🦊".repeat(300)}needle${n}${"漢".repeat(300)}`;
  const ask = session(t, [Array.from({ length: 60 }, (_, n) => `${n % 2 === 0 ? "" : "x"}${long(n)}`).join("\n")]);
  const input = { ref: "r3", query: "needle" };
  const { result, lines } = await ask(input);
  assert.ok(lines.length > 5 && lines.length < 50, `${lines.length} lines`);
  assert.ok(Buffer.byteLength(contentText(result)) < 16 * 1024);
  assertWholeCharacters(contentText(result));
  const all = await allPages(ask, input);
  assert.deepEqual(
    all.map((line) => Number(line.match(/needle(\d+)/)[1])),
    Array.from({ length: 60 }, (_, n) => n),
  );
});
