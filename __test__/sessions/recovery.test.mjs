// Sessions whose process died in the middle of a turn: crashRecovery. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { agentFor, collect, plainTool, recordHooks, scriptedModel } from "../support/model.mjs";
import { assertConversation, call, eventsOf, resultFor, textOf, typesOf } from "../runs/reading.mjs";
import { appending, calling, holdOnce, resultOf, said, started, testStore, user } from "./storing.mjs";

const at = { sessionId: "s" };

function crashed(events) {
  const store = testStore();
  store.put("s", events);
  return store;
}

const three = () => [
  user("go"),
  calling(call("a", "work"), call("b", "work"), call("c", "other")),
  started("a", "work"),
  started("b", "work"),
  resultOf("a", "done"),
];

test("every call without a result, started or not, gets a failed one before turn 1", async (t) => {
  const store = crashed(three());
  const ran = [];
  const model = scriptedModel([{ text: "end" }]);
  const agent = agentFor(t, { checkpointer: store.checkpointer, model, tools: [plainTool("work", () => ran.push(1))] });
  const { events, result } = await collect(agent.run("go on", at));
  const recovered = eventsOf(events, "tool_recovered");
  assert.deepEqual(
    recovered.map(({ id, name }) => [id, name]),
    [
      ["b", "work"],
      ["c", "other"],
    ],
  );
  assert.ok(recovered.every(({ turn }) => Number.isInteger(turn)));
  const types = typesOf(events);
  assert.ok(types.lastIndexOf("tool_recovered") < types.indexOf("turn_start"), types.join());
  for (const id of ["b", "c"]) {
    assert.equal(resultFor(result.messages, id).isError, true);
    const [stored] = eventsOf(store.events("s"), "tool_result").filter((event) => event.result.id === id);
    assert.equal(stored.result.isError, true);
  }
  assert.equal(resultFor(result.messages, "a").content, "done");
  assert.notEqual(resultFor(result.messages, "a").isError, true);
  assertConversation(result.messages);
  assert.deepEqual(ran, []);
  assert.deepEqual(model.requests[0].messages[2].content.map(({ type, id }) => [type, id]).slice(0, 3), [
    ["tool_result", "a"],
    ["tool_result", "b"],
    ["tool_result", "c"],
  ]);
});

test("the failed results are stored before the new user message, and once only", async (t) => {
  const store = crashed(three());
  await agentFor(t, { checkpointer: store.checkpointer }).send("go on", at);
  assert.deepEqual(store.types("s").slice(5), ["tool_result", "tool_result", "user", "assistant"]);
  const agent = agentFor(t, { checkpointer: store.checkpointer });
  const { events } = await collect(agent.run("again", at));
  assert.deepEqual(eventsOf(events, "tool_recovered"), []);
  assert.equal(eventsOf(store.events("s"), "tool_result").length, 3);
});

test("recovery goes to subscribers too, and fires no tool hooks", async (t) => {
  const store = crashed(three());
  const agent = agentFor(t, { checkpointer: store.checkpointer });
  const heard = [];
  agent.subscribe(({ event, sessionId }) => event.type === "tool_recovered" && heard.push([sessionId, event.id]));
  const fired = recordHooks(agent);
  await agent.send("go on", at);
  assert.deepEqual(heard, [
    ["s", "b"],
    ["s", "c"],
  ]);
  assert.deepEqual(
    fired.map(({ event }) => event),
    ["run:start", "run:end"],
  );
});

test("an id that two turns use is recovered for the turn that has no result", async (t) => {
  const store = crashed([
    user("one"),
    calling(call("a", "work")),
    started("a", "work"),
    resultOf("a", "first"),
    said("ok"),
    user("two"),
    calling(call("a", "work")),
    started("a", "work"),
  ]);
  const { events, result } = await collect(agentFor(t, { checkpointer: store.checkpointer }).run("go on", at));
  assert.equal(eventsOf(events, "tool_recovered").length, 1);
  assertConversation(result.messages);
});

test("a log that ends in a user message, or in an answer, needs no recovery", async (t) => {
  for (const log of [[user("a")], [user("a"), said("b")], []]) {
    const store = crashed(log);
    const { events } = await collect(agentFor(t, { checkpointer: store.checkpointer }).run("go on", at));
    assert.deepEqual(eventsOf(events, "tool_recovered"), []);
    assert.deepEqual(store.types("s").slice(log.length), ["user", "assistant"]);
  }
});

test('crashRecovery is "safe" unless said otherwise', async (t) => {
  for (const crashRecovery of ["safe", undefined]) {
    const store = crashed(three());
    const { events } = await collect(agentFor(t, { checkpointer: store.checkpointer, crashRecovery }).run("x", at));
    assert.equal(eventsOf(events, "tool_recovered").length, 2);
  }
});

test('with crashRecovery "off" nothing is recovered and nothing made up is stored', async (t) => {
  const store = crashed(three());
  // A model that takes whatever it is sent.
  const model = {
    id: "lenient",
    async *stream() {
      yield {
        type: "message_done",
        message: { role: "assistant", content: [{ type: "text", text: "end" }] },
        usage: { inputTokens: 1, outputTokens: 1 },
      };
    },
  };
  const agent = agentFor(t, { checkpointer: store.checkpointer, crashRecovery: "off", model });
  const { events } = await collect(agent.run("go on", at));
  assert.deepEqual(eventsOf(events, "tool_recovered"), []);
  assert.deepEqual(store.types("s").slice(5), ["user", "assistant"]);
});

test("a run that is aborted while recovery is being stored leaves the rest to the next run", async (t) => {
  const store = crashed(three());
  const hold = holdOnce(store, appending("tool_result"));
  const agent = agentFor(t, { checkpointer: store.checkpointer });
  const controller = new AbortController();
  const sent = agent.send("go on", { ...at, signal: controller.signal });
  await hold.entered;
  controller.abort();
  assert.equal((await sent).stopReason, "aborted");
  hold.release();
  const { messages } = await agent.send("again", at);
  assertConversation(messages);
  for (const id of ["a", "b", "c"]) {
    assert.equal(eventsOf(store.events("s"), "tool_result").filter(({ result }) => result.id === id).length, 1, id);
  }
});

test("calls that a failed store left without a result are recovered by the next run of the same agent", async (t) => {
  const store = testStore();
  const lost = new Error("disk full");
  let broken = true;
  store.before = (operation, _id, events) => {
    if (broken && appending("tool_result")(operation, _id, events)) throw lost;
  };
  const agent = agentFor(t, {
    checkpointer: store.checkpointer,
    model: [{ calls: [call("a", "work")] }, { text: "end" }],
    tools: [plainTool("work", () => "worked")],
  });
  await assert.rejects(agent.send("hi", at), (error) => error === lost);
  broken = false;
  const { events, result } = await collect(agent.run("again", at));
  assert.deepEqual(
    eventsOf(events, "tool_recovered").map(({ id }) => id),
    ["a"],
  );
  assertConversation(result.messages);
  assert.ok(result.messages.map(textOf).includes("again"));
});

test("calls that a later prompt has left behind without a result are recovered too", async (t) => {
  // What a run with crashRecovery "off" leaves, or another program.
  const store = crashed([user("go"), calling(call("a", "work")), started("a", "work"), user("again"), said("ok")]);
  const { result } = await collect(agentFor(t, { checkpointer: store.checkpointer }).run("go on", at));
  assertConversation(result.messages);
});

/** Two runs of a new agent on the session; the model refuses requests that are not well formed. */
async function goesOn(t, store, recovered) {
  for (const expected of [recovered, []]) {
    const before = store.events("s").length;
    const agent = agentFor(t, { checkpointer: store.checkpointer });
    const { events, result } = await collect(agent.run("go on", at));
    assert.deepEqual(
      eventsOf(events, "tool_recovered").map(({ id }) => id),
      expected,
    );
    assert.deepEqual(eventsOf(events, "diagnostic"), []);
    assert.equal(store.events("s").length, before + expected.length + 2);
    assertConversation(result.messages);
    await agent.close();
  }
}

const blockOf = (id, content) => ({ type: "tool_result", id, content });
const given = () => [
  user("from elsewhere").message,
  calling(call("x", "work")).message,
  { role: "user", content: [blockOf("x", "given")] },
  said("well").message,
  user("hi").message,
];
const called = () => [calling(call("x", "work")), started("x", "work"), resultOf("x", "done"), said("end")];

test("a call whose result a summary took over is not recovered when its id comes again", async (t) => {
  const messages = given().slice(0, 4);
  const summary = { type: "summary", messages, throughSeq: 1, before: 10, after: 5 };
  await goesOn(t, crashed([user("a"), summary, user("b"), ...called()]), []);
});

for (const where of ["before", "after"]) {
  test(`a call whose result a host gave is not recovered when its id comes ${where} it`, async (t) => {
    const store = testStore();
    const model = scriptedModel([
      ({ messages }) => (textOf(messages.at(-1)) === "work" ? { calls: [call("x", "work")] } : { text: "end" }),
    ]);
    const agent = agentFor(t, { checkpointer: store.checkpointer, model, tools: [plainTool("work", () => "done")] });
    for (const input of where === "before" ? ["work", given()] : [given(), "work"]) await agent.send(input, at);
    await agent.close();
    await goesOn(t, store, []);
  });
}

test("a call without a result is recovered beside others of its id that have theirs", async (t) => {
  const messages = given().slice(0, 4);
  const summary = { type: "summary", messages, throughSeq: 1, before: 10, after: 5 };
  const store = crashed([summary, user("b"), ...called(), user("c"), calling(call("x", "work")), started("x", "work")]);
  await goesOn(t, store, ["x"]);
});

test("calls of one id that have no result get one each, once", async (t) => {
  await goesOn(t, crashed([user("a"), calling(call("x", "one")), user("b"), calling(call("x", "two"))]), ["x", "x"]);
});
