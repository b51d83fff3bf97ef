// Results over 16 KiB: whole in the log, short in the conversation, read through `context`. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { policy } from "../../index.js";
import {
  agentFor,
  assertWholeCharacters,
  blocksOf,
  call,
  collect,
  compactingModel,
  contentText,
  eventsOf,
  json,
  plain,
  plainTool,
  recordHooks,
  resultFor,
  runOf,
  SYSTEM,
  temporaryFolder,
  within,
} from "./compacting.mjs";
import { testStore } from "../sessions/storing.mjs";

const LIMIT = 16 * 1024;
const bytes = (text) => Buffer.byteLength(text);
/** A text that tells where one is in it. */
const numbered = (lines, filler = "x".repeat(40)) =>
  Array.from({ length: lines }, (_, line) => `line ${line} ${filler}`).join("\n");

/** One call of a tool with this output; then these turns. */
async function archived(t, output, { turns = [], ...config } = {}) {
  const store = testStore();
  const model = compactingModel([{ calls: [call("big", "work")] }, ...turns, { text: "end" }]);
  const agent = agentFor(t, {
    system: SYSTEM,
    model,
    tools: [plainTool("work", () => output)],
    checkpointer: store.checkpointer,
    ...config,
  });
  const fired = recordHooks(agent, ["tool:end"]);
  const { result, events } = await runOf(agent, "go");
  const short = model.turns.length > 1 ? resultFor(model.turns[1].messages, "big") : undefined;
  const logged = store
    .events(agent.sessionId)
    .find(({ type, result: of }) => type === "tool_result" && of.id === "big");
  return { agent, model, store, fired, result, events, short, logged: logged?.result };
}

/** Asks `context` with each input in turn, made of the request's messages, and gives the answers. */
async function asking(t, output, inputs, config = {}) {
  const answers = [];
  const refOf = (messages) => contentText(resultFor(messages, "big")).match(/"(r\d+)"/)?.[1];
  const turns = inputs.map((input, index) => ({ messages }) => {
    if (index > 0) answers.push(resultFor(messages, `ask${index - 1}`));
    const made = typeof input === "function" ? input(refOf(messages)) : input;
    return { calls: [call(`ask${index}`, "context", made)] };
  });
  const made = await archived(t, output, {
    turns: [
      ...turns,
      ({ messages }) => (answers.push(resultFor(messages, `ask${inputs.length - 1}`)), { text: "end" }),
    ],
    ...config,
  });
  assert.equal(answers.length, inputs.length);
  return { answers, ...made };
}

test("a result of 16 KiB is sent whole, one byte more is not", async (t) => {
  const whole = "y".repeat(LIMIT);
  assert.equal(contentText((await archived(t, whole)).short), whole);
  const { short } = await archived(t, `${whole}y`);
  assert.ok(bytes(contentText(short)) < LIMIT);
});

test("the limit is of bytes, not of letters", async (t) => {
  const whole = "é".repeat(LIMIT / 2);
  assert.equal(contentText((await archived(t, whole)).short), whole);
  assert.notEqual(contentText((await archived(t, `${whole}é`)).short), `${whole}é`);
});

test("request and result.messages hold head, tail and a reference; tool:end and the log hold the whole", async (t) => {
  const text = numbered(2_000);
  const { short, result, fired, logged } = await archived(t, text);
  const shown = contentText(short);
  assert.ok(bytes(shown) < LIMIT);
  assert.ok(shown.startsWith("line 0 ") && shown.endsWith(text.slice(-100)));
  assert.match(shown, /context.*ref/);
  assert.equal(contentText(resultFor(result.messages, "big")), shown);
  assert.equal(fired[0].result.content, text);
  assert.equal(logged.content, text);
});

test("isError is kept", async (t) => {
  const { short, logged, result } = await archived(t, { content: numbered(2_000), isError: true });
  assert.equal(short.isError, true);
  assert.equal(logged.isError, true);
  assert.equal(resultFor(result.messages, "big").isError, true);
});

test("a tool that throws a long message is archived too", async (t) => {
  const text = numbered(2_000);
  const { short, logged } = await archived(t, undefined, {
    tools: [
      plainTool("work", () => {
        throw new Error(text);
      }),
    ],
  });
  assert.ok(bytes(contentText(short)) < LIMIT);
  assert.equal(short.isError, true);
  assert.ok(logged.content.startsWith(`Error: ${text.slice(0, 10_000)}`));
});

test("no character of a long thrown message is cut in half", async (t) => {
  for (const shift of ["", "a"]) {
    const { short, logged } = await archived(t, undefined, {
      tools: [
        plainTool("work", () => {
          throw new Error(shift + "🦊".repeat(20_000));
        }),
      ],
    });
    assertWholeCharacters(logged);
    assertWholeCharacters(short);
  }
});

test("a result of one short block is no failure", async (t) => {
  const { short } = await archived(t, [{ type: "text", text: "hello" }]);
  assert.notEqual(short.isError, true);
  assert.equal(contentText(short), "hello");
});

test("images stay, and long text beside them is shortened", async (t) => {
  const image = { type: "image", mediaType: "image/png", data: Buffer.alloc(30_000, 7).toString("base64") };
  const content = [
    { type: "text", text: numbered(1_000) },
    image,
    { type: "text", text: numbered(1_000, "z".repeat(40)) },
  ];
  const { short, logged, fired, answers } = await asking(t, content, [(ref) => ({ ref, query: "zzz" })]);
  assert.deepEqual(plain(blocksOf([{ content: short.content }], "image")), [image]);
  assert.ok(bytes(contentText(short)) < LIMIT);
  assert.deepEqual(logged.content, content);
  assert.deepEqual(plain(fired[0].result.content), content);
  assert.match(contentText(answers[0]), /zzz/);
});

test("an image alone is no text to shorten", async (t) => {
  const content = [{ type: "image", mediaType: "image/png", data: Buffer.alloc(60_000, 7).toString("base64") }];
  const { short } = await archived(t, content);
  assert.deepEqual(plain(short.content), content);
});

test("many short blocks that together are over the limit are shortened", async (t) => {
  const content = Array.from({ length: 400 }, (_, n) => ({ type: "text", text: `block ${n} ${"x".repeat(50)}` }));
  const { short, logged } = await archived(t, content);
  assert.ok(bytes(contentText(short)) < LIMIT);
  assert.deepEqual(logged.content, content);
});

for (const shift of [0, 1]) {
  test(`no character is cut in half, ${shift} letters in`, async (t) => {
    const { short, model } = await archived(t, "a".repeat(shift) + "🦊".repeat(20_000));
    assertWholeCharacters(short);
    assertWholeCharacters(model.turns);
  });
}

test("without the tool `context` a long result is sent without its middle all the same, and names no tool", async (t) => {
  const text = numbered(3_000);
  const { short, logged, agent, store, model } = await archived(t, text, { allowedTools: ["work"] });
  assert.deepEqual(
    model.turns[0].tools.map(({ name }) => name),
    ["work"],
  );
  const shown = contentText(short);
  assert.ok(bytes(shown) <= LIMIT, `${bytes(shown)} bytes are shown`);
  assert.match(shown, /\[… \d+ of \d+ characters left out …\]/);
  assert.equal(logged.content, text);
  // Read again, it is the same.
  const next = compactingModel([{ text: "seen" }]);
  const tools = [plainTool("work", () => "")];
  const other = agentFor(t, {
    system: SYSTEM,
    model: next,
    tools,
    checkpointer: store.checkpointer,
    allowedTools: ["work"],
  });
  await other.send("and", { sessionId: agent.sessionId });
  assert.equal(contentText(resultFor(next.turns[0].messages, "big")), shown);
});

for (const letters of [5_500, 6_000, 8_000, 9_000, 9_500]) {
  test(`a shortened result is shorter, and says how much is left out: ${letters} wide letters`, async (t) => {
    const text = Array.from({ length: letters }, (_, n) => String.fromCharCode(0x4e00 + (n % 10_000))).join("");
    const { short } = await archived(t, text);
    const shown = contentText(short);
    assert.ok(!/ -\d/.test(shown), shown.match(/.{0,20} -\d.{0,40}/)?.[0]);
    assert.ok(bytes(shown) < bytes(text), `${bytes(shown)} bytes in place of ${bytes(text)}`);
    assert.ok(bytes(shown) <= LIMIT, `${bytes(shown)} bytes are shown`);
  });
}

const PAGED = {
  ASCII: numbered(3_000),
  emoji: `x${"🦊".repeat(15_000)}`,
  CJK: Array.from({ length: 30_000 }, (_, n) => String.fromCharCode(0x4e00 + (n % 10_000))).join(""),
};
for (const [name, text] of Object.entries(PAGED)) {
  test(`pages put together are the whole: ${name}, by the offsets that the pages name`, async (t) => {
    let joined = "";
    let offset = 0;
    const next = ({ messages }) => {
      const ref = contentText(resultFor(messages, "big")).match(/"(r\d+)"/)[1];
      const last = messages.at(-1).content.at(-1);
      if (last.id !== "big") {
        const page = contentText(last);
        const note = page.match(/\n\[characters (\d+) to (\d+) of \d+; offset (\d+) goes on\]$/);
        joined += note ? page.slice(0, note.index) : page;
        if (!note) return { text: "end" };
        assert.ok(Number(note[3]) > offset, "goes on");
        offset = Number(note[3]);
      }
      return { calls: [call(`page${offset}`, "context", { ref, offset })] };
    };
    const { result } = await archived(t, text, { turns: Array(40).fill(next), maxTurns: 60 });
    assert.equal(result.text, "end");
    let same = 0;
    while (same < text.length && joined[same] === text[same]) same += 1;
    assert.ok(joined === text, `${joined.length} letters of ${text.length}, the same up to ${same}`);
  });
}

test("a page as small as can be makes headway, also in a pair of surrogates", async (t) => {
  const { answers } = await asking(t, "🦊".repeat(10_000), [
    (ref) => ({ ref, offset: 0, limit: 1 }),
    (ref) => ({ ref, offset: 1, limit: 1 }),
  ]);
  for (const answer of answers) {
    assertWholeCharacters(answer);
    assert.match(contentText(answer), /🦊/);
  }
});

test("offset and limit count from where the note says", async (t) => {
  const text = numbered(2_000);
  const { answers } = await asking(t, text, [
    (ref) => ({ ref, offset: 100, limit: 50 }),
    (ref) => ({ ref, offset: text.length - 5 }),
    (ref) => ({ ref, offset: text.length + 500 }),
  ]);
  assert.ok(contentText(answers[0]).startsWith(text.slice(100, 150)));
  assert.equal(contentText(answers[1]), text.slice(-5));
  assert.notEqual(answers[2].isError, undefined === answers[2].isError ? 1 : true);
});

test("without a reference it lists what there is", async (t) => {
  const { answers } = await asking(t, numbered(2_000), [{}]);
  assert.match(contentText(answers[0]), /r\d+: work, \d+ characters/);
});

test("it searches one result, and all", async (t) => {
  const { answers } = await asking(t, numbered(2_000), [
    (ref) => ({ ref, query: "line 1500 " }),
    { query: "line 1500 " },
    (ref) => ({ ref, query: "not there" }),
    { query: "not there either" },
  ]);
  assert.match(contentText(answers[0]), /line 1500 x/);
  assert.match(contentText(answers[1]), /line 1500 x/);
  assert.ok(!contentText(answers[2]).includes("line 1"));
  for (const { isError } of answers) assert.notEqual(isError, true);
});

test("what a search shows has whole characters, and stays below the limit", async (t) => {
  const text = `${"🦊".repeat(9_000)}needle${"🦊".repeat(9_000)}`;
  const { answers } = await asking(t, text, [{ query: "needle" }, { query: "🦊" }]);
  answers.forEach(assertWholeCharacters);
  assert.match(contentText(answers[0]), /needle/);
});

for (const ref of ["r0", "r1", "r999", "x", "", "r-1", "r1e3", "__proto__", "../x", "r99999999999999999999"]) {
  test(`a reference to no result is a failed result: ${json(ref)}`, async (t) => {
    const { answers, result } = await asking(t, "short", [{ ref }]);
    assert.equal(answers[0].isError, true);
    assert.equal(result.text, "end");
  });
}

for (const input of [
  { limit: 0 },
  { offset: -1 },
  { limit: 1e9 },
  { offset: 1.5 },
  { ref: 5 },
  { query: "" },
  { what: 1 },
]) {
  test(`an input that context does not take is a failed result: ${json(input)}`, async (t) => {
    const { answers } = await asking(t, "short", [input]);
    assert.equal(answers[0].isError, true);
  });
}

test("a store that cannot be read makes a failed result, not a failed run", async (t) => {
  const store = testStore();
  let used = 0;
  store.before = (operation) => {
    if (operation === "read" && (used += 1) > 1) throw new Error("cannot read");
  };
  const { answers } = await asking(t, numbered(2_000), [(ref) => ({ ref })], { checkpointer: store.checkpointer });
  assert.equal(answers[0].isError, true);
});

test("the results of built-in tools are archived as well", async (t) => {
  const { workdir, home } = await temporaryFolder(t);
  const text = numbered(2_000);
  await writeFile(join(workdir, "long.txt"), text);
  const store = testStore();
  let page;
  const model = compactingModel([
    { calls: [call("big", "bash", { command: "cat long.txt" })] },
    ({ messages }) => {
      const ref = contentText(resultFor(messages, "big")).match(/"(r\d+)"/)[1];
      return { calls: [call("page", "context", { ref, query: "line 1234 " })] };
    },
    ({ messages }) => ((page = contentText(resultFor(messages, "page"))), { text: "end" }),
  ]);
  const permission = policy();
  const agent = agentFor(t, { system: SYSTEM, model, workdir, home, permission, checkpointer: store.checkpointer });
  const fired = recordHooks(agent, ["tool:end"]);
  await runOf(agent, "go");
  assert.ok(bytes(contentText(resultFor(model.turns[1].messages, "big"))) < LIMIT);
  assert.match(page, /line 1234 x/);
  assert.ok(fired[0].result.content.includes(text));
  const logged = store.events(agent.sessionId).find(({ type }) => type === "tool_result");
  assert.ok(logged.result.content.includes(text));
});

test("results of one turn are told apart, whatever order they ended in", async (t) => {
  const store = testStore();
  const answers = {};
  const names = ["a", "b", "c", "d"];
  const refs = (messages) =>
    Object.fromEntries(names.map((name) => [name, contentText(resultFor(messages, name)).match(/"(r\d+)"/)[1]]));
  const model = compactingModel([
    { calls: names.map((name, n) => call(name, "work", { name, n })) },
    ({ messages }) => ({
      calls: names.map((name) => call(`read-${name}`, "context", { ref: refs(messages)[name], limit: 10 })),
    }),
    ({ messages }) => {
      for (const name of names) answers[name] = contentText(resultFor(messages, `read-${name}`)).slice(0, 10);
      return { text: "end" };
    },
  ]);
  const work = plainTool("work", async ({ name, n }) => {
    for (let turns = 0; turns < 8 - 2 * n; turns += 1) await new Promise(setImmediate);
    return name.repeat(20_000);
  });
  const agent = agentFor(t, { system: SYSTEM, model, tools: [work], checkpointer: store.checkpointer });
  await runOf(agent, "go");
  assert.deepEqual(answers, Object.fromEntries(names.map((name) => [name, name.repeat(10)])));
});

test("a new agent on the session sends the same short result, and reads the whole", async (t) => {
  const text = numbered(2_000);
  const { store, agent, short } = await archived(t, text);
  const { sessionId } = agent;
  await agent.close();
  let page;
  const model = compactingModel([
    ({ messages }) => ({
      calls: [
        call("page", "context", {
          ref: contentText(resultFor(messages, "big")).match(/"(r\d+)"/)[1],
          offset: 50_000,
          limit: 20,
        }),
      ],
    }),
    ({ messages }) => ((page = contentText(resultFor(messages, "page"))), { text: "end" }),
  ]);
  const again = agentFor(t, { system: SYSTEM, model, checkpointer: store.checkpointer });
  await runOf(again, "on", { sessionId });
  assert.deepEqual(plain(resultFor(model.turns[0].messages, "big")), plain(short));
  assert.ok(page.startsWith(text.slice(50_000, 50_020)));
});

test("one session's references read nothing of another's", async (t) => {
  const secret = numbered(2_000, "SECRET");
  const { agent, short, store } = await archived(t, secret);
  const [, ref] = contentText(short).match(/"(r\d+)"/);
  await agent.close();
  const model = compactingModel([{ calls: [call("page", "context", { ref })] }, { text: "end" }]);
  const other = agentFor(t, { system: SYSTEM, model, checkpointer: store.checkpointer });
  await runOf(other, "on", { sessionId: "another" });
  const answer = resultFor(model.turns[1].messages, "page");
  assert.equal(answer.isError, true);
  assert.ok(!contentText(answer).includes("SECRET"));
});

test("sessions: false: results go whole, and there is no tool `context`", async (t) => {
  const text = numbered(2_000);
  const { short, model } = await archived(t, text, { checkpointer: undefined, sessions: false });
  assert.equal(contentText(short), text);
  assert.ok(!model.turns[0].tools.some(({ name }) => name === "context"));
});

test("with sessions there is a tool `context`, and disallowedTools takes it away", async (t) => {
  const has = ({ model }) => model.turns[0].tools.some(({ name }) => name === "context");
  assert.ok(has(await archived(t, "x")));
  assert.ok(!has(await archived(t, "x", { disallowedTools: ["context"] })));
});

test("without the tool that reads it, a long result is not left without its middle", async (t) => {
  const text = numbered(2_000);
  const { short } = await archived(t, text, { disallowedTools: ["context"] });
  const shown = contentText(short);
  assert.ok(shown === text || !/context with ref/.test(shown), "a reference that nothing reads");
});

test("the stream's tool_result and tool_call_end come as for any result", async (t) => {
  const { events } = await archived(t, numbered(2_000));
  assert.equal(eventsOf(events, "tool_result").length, 1);
  assert.equal(eventsOf(events, "tool_call_end").length, 1);
});

test("a permission policy is asked about context like about any tool", async (t) => {
  const asked = [];
  const permission = { check: ({ name }) => (asked.push(name), name === "context" ? "deny" : "allow") };
  const { answers } = await asking(t, numbered(2_000), [{}], { permission });
  assert.ok(asked.includes("context"));
  assert.equal(answers[0].isError, true);
});

test("a host's own tool named context is the host's", async (t) => {
  const model = compactingModel([{ calls: [call("a", "context")] }, { text: "end" }]);
  const agent = agentFor(t, { system: SYSTEM, model, tools: [plainTool("context", () => "MINE")] });
  const { result } = await within(collect(agent.run("go")), "the run");
  assert.equal(resultFor(result.messages, "a").content, "MINE");
});
