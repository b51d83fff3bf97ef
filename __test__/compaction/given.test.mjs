// Results inside a conversation that a host gives: what compaction puts a reference in the place of is read through
// `context`, or stays. And results whose ids come again. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import {
  call,
  compactingAgent,
  compactingModel,
  contentText,
  json,
  kindsOf,
  resultFor,
  runOf,
  words,
  workTool,
} from "./compacting.mjs";
import { testStore } from "../sessions/storing.mjs";

const at = { sessionId: "s" };
const MAKES_ROOM = { context: { windowTokens: 5_000 } };

/** A conversation in which `work` was called so often, as a host has it from elsewhere. */
function given(count, idOf = (index) => `g${index}`) {
  const messages = [{ role: "user", content: "from elsewhere" }];
  for (let index = 0; index < count; index += 1) {
    const id = idOf(index);
    messages.push(
      { role: "assistant", content: [{ type: "tool_call", id, name: "work", input: {} }] },
      {
        role: index % 2 === 0 ? "user" : "tool",
        content: [{ type: "tool_result", id, content: `given ${index} ${words(700, index)}` }],
      },
    );
  }
  return [...messages, { role: "user", content: "and now?" }];
}

/** Reads what stands behind the references of a request, one turn a reference; then "end". */
function reader(read, ids) {
  return ids.map((id) => ({ messages }) => {
    const shown = contentText(resultFor(messages, id));
    const ref = shown.match(/context with ref "(r[\d.]+)"/)?.[1];
    if (ref === undefined) {
      read.push([id, shown]);
      return { calls: [call(`nothing-${id}`, "work", { n: 0 })] };
    }
    read.push([id, ref]);
    return { calls: [call(`read-${id}`, "context", { ref, limit: 40 })] };
  });
}

function answersOf({ turns }, ids) {
  return ids.map((id) => contentText(resultFor(turns.at(-1).messages, `read-${id}`)));
}

test("results in a given conversation become references that `context` reads", async (t) => {
  const ids = ["g0", "g1", "g2"];
  const read = [];
  const model = compactingModel([...reader(read, ids), { text: "end" }]);
  const { agent, fired } = compactingAgent(t, {
    model,
    tools: [workTool(5)],
    checkpointer: testStore().checkpointer,
    ...MAKES_ROOM,
  });
  await runOf(agent, given(6), at);
  assert.ok(kindsOf(fired).includes("micro"));
  answersOf(model, ids).forEach((answer, index) => assert.ok(answer.startsWith(`given ${index} `), answer));
  assert.equal(new Set(read.map(([, ref]) => ref)).size, ids.length);
});

test("a new agent on the session reads them too, and those that it makes references of itself", async (t) => {
  const store = testStore();
  const one = compactingAgent(t, {
    model: compactingModel([{ text: "ok" }]),
    checkpointer: store.checkpointer,
    context: false,
  });
  await runOf(one.agent, given(6), at);
  await one.agent.close();
  const ids = ["g0", "g1", "g2"];
  for (let round = 0; round < 2; round += 1) {
    const model = compactingModel([...reader([], ids), { text: "end" }]);
    const { agent, fired } = compactingAgent(t, {
      model,
      tools: [workTool(5)],
      checkpointer: store.checkpointer,
      ...MAKES_ROOM,
    });
    await runOf(agent, "go on", at);
    assert.equal(kindsOf(fired).includes("micro"), round === 0);
    answersOf(model, ids).forEach((answer, index) => assert.ok(answer.startsWith(`given ${index} `), answer));
    await agent.close();
    // The next reads the same references, out of the summary; its calls need other ids.
    ids.forEach((id) => renameCalls(store, `read-${id}`, `earlier-${id}`));
  }
});

function renameCalls(store, from, to) {
  const { events } = store.sessions.get("s");
  for (const stored of events) stored.event = JSON.parse(json(stored.event).replaceAll(`"${from}"`, `"${to}"`));
}

test("they are listed and searched by their references", async (t) => {
  const model = compactingModel([
    { calls: [call("list", "context"), call("find", "context", { query: "given 3 " })] },
    { text: "end" },
  ]);
  const { agent } = compactingAgent(t, { model, checkpointer: testStore().checkpointer, context: false });
  await runOf(agent, given(4), at);
  const { messages } = model.turns.at(-1);
  const lines = contentText(resultFor(messages, "list")).split("\n");
  assert.equal(lines.length, 4);
  for (const line of lines) assert.match(line, /^r\d+\.\d+: work, \d+ characters$/);
  const [ref] = lines[3].split(":");
  assert.ok(contentText(resultFor(messages, "find")).startsWith(`${ref} at 0: given 3 `));
});

for (const ref of ["r3.1", "r3.", "r3.00", "r03.0", "r2.0", "r3.0.0"]) {
  test(`a reference to no block is a failed result: ${ref}`, async (t) => {
    const model = compactingModel([{ calls: [call("a", "context", { ref })] }, { text: "end" }]);
    const { agent } = compactingAgent(t, { model, checkpointer: testStore().checkpointer, context: false });
    await runOf(agent, given(2), at);
    assert.equal(resultFor(model.turns.at(-1).messages, "a").isError, true);
  });
}

test("results that a host's compactor gave back, whole or new, stay readable or stay whole", async (t) => {
  const store = testStore();
  const invented = [
    { role: "assistant", content: [{ type: "tool_call", id: "new", name: "work", input: {} }] },
    { role: "user", content: [{ type: "tool_result", id: "new", content: `invented ${words(700)}` }] },
  ];
  const compactor = {
    maybeCompact: async (messages) => ({
      messages: [messages[0], ...invented, ...JSON.parse(json(messages.slice(1)))],
    }),
  };
  const one = compactingAgent(t, {
    model: compactingModel([{ text: "ok" }]),
    compactor,
    checkpointer: store.checkpointer,
  });
  await runOf(one.agent, given(5), at);
  await one.agent.close();
  const ids = ["g0", "g1"];
  const model = compactingModel([...reader([], ids), { text: "end" }]);
  const { agent, fired } = compactingAgent(t, {
    model,
    tools: [workTool(5)],
    checkpointer: store.checkpointer,
    ...MAKES_ROOM,
  });
  await runOf(agent, "go on", at);
  assert.ok(kindsOf(fired).includes("micro"));
  answersOf(model, ids).forEach((answer, index) => assert.ok(answer.startsWith(`given ${index} `), answer));
  assert.ok(contentText(resultFor(model.turns[0].messages, "new")).startsWith("invented "));
});

test("where ids come again, a reference reads the very result, also in a session that was summed up and taken up", async (t) => {
  const store = testStore();
  // As local models do: each turn's call has the same id.
  const turns = Array.from({ length: 7 }, (_, n) => ({ calls: [call("call_0", "work", { n })] }));
  const one = compactingAgent(t, {
    model: compactingModel([...turns, { text: "end" }]),
    tools: [workTool(600)],
    checkpointer: store.checkpointer,
    ...MAKES_ROOM,
  });
  await runOf(one.agent, "do it", at);
  assert.ok(kindsOf(one.fired).includes("micro"));
  await one.agent.close();
  const places = new Map(
    store
      .stored("s")
      .flatMap(({ seq, event }) => (event.type === "tool_result" ? [[`r${seq}`, event.result.content]] : [])),
  );
  // Taken up, and made to make references of the rest.
  const answers = [];
  const model = compactingModel([
    { calls: Array.from({ length: 4 }, (_, n) => call(`more${n}`, "work", { n: 90 + n })) },
    ...Array.from({ length: 3 }, (_, n) => ({ calls: [call(`later${n}`, "work", { n: 80 + n })] })),
    ({ messages }) => {
      const shown = messages.flatMap(({ content }) =>
        Array.isArray(content) ? content.filter(({ type, id }) => type === "tool_result" && id === "call_0") : [],
      );
      answers.push(...shown.map(contentText));
      return { text: "end" };
    },
  ]);
  const { agent } = compactingAgent(t, {
    model,
    tools: [workTool(600)],
    checkpointer: store.checkpointer,
    context: { windowTokens: 7_000 },
  });
  await runOf(agent, "go on", at);
  const refs = answers.map((shown) => shown.match(/ref "(r\d+)"/)?.[1]).filter(Boolean);
  assert.ok(refs.length >= 5, `${refs.length} references of ${answers.length} results`);
  refs.forEach((ref, n) => assert.ok(places.get(ref).startsWith(`<r${n}>`), `${ref} is not result ${n}`));
});

test("without the tool that reads references, results stay whole or are summed up", async (t) => {
  const model = compactingModel([{ text: "end" }]);
  const { agent, fired } = compactingAgent(t, {
    model,
    checkpointer: testStore().checkpointer,
    disallowedTools: ["context"],
    ...MAKES_ROOM,
  });
  await runOf(agent, given(6), at);
  assert.deepEqual(kindsOf(fired), ["auto"]);
  assert.ok(!json(model.turns[0].messages).includes("was left out"));
  assert.ok(json(model.summaries[0].messages).includes("given 0 "));
});
