// Runs on a store that are aborted or closed, at every moment. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { agentFor, aborted, collectUntilError, deferred, plainTool, scriptedModel, within } from "../support/model.mjs";
import { assertConversation, call, eventsOf, textOf } from "../runs/reading.mjs";
import { appending, holdOnce, said, testStore, user } from "./storing.mjs";

// "Within about a second": a little more, as the machine may be busy.
const SOON = 2_000;
const never = new Promise(() => {});
const at = { sessionId: "s" };

async function assertGoesOn(t, store, agent) {
  const { messages, stopReason } = await within(agent.send("go on", at), "the next run", 5_000);
  assert.equal(stopReason, "stop");
  assertConversation(messages);
  const stored = store.stored("s");
  assert.deepEqual(
    stored.map(({ seq }) => seq),
    stored.map((_, index) => index + 1),
  );
  // A new agent sees the same conversation.
  const model = scriptedModel([{ text: "seen" }]);
  const next = await agentFor(t, { checkpointer: store.checkpointer, model }).send("and", at);
  assert.deepEqual(
    JSON.parse(JSON.stringify(next.messages.slice(0, messages.length))),
    JSON.parse(JSON.stringify(messages)),
  );
  return messages;
}

test("an abort in the middle of a model call leaves the user message stored", async (t) => {
  const store = testStore();
  const asked = deferred();
  const agent = agentFor(t, {
    checkpointer: store.checkpointer,
    model: [
      () => {
        asked.resolve();
        return { wait: never };
      },
      { text: "after" },
    ],
  });
  const controller = new AbortController();
  const sent = agent.send("hi", { ...at, signal: controller.signal });
  await asked.promise;
  controller.abort();
  assert.equal((await within(sent, "send()", SOON)).stopReason, "aborted");
  assert.deepEqual(store.types("s"), ["user"]);
  const messages = await assertGoesOn(t, store, agent);
  assert.deepEqual(messages.map(textOf), ["hi", "go on", "after"]);
});

test("an abort in the middle of tools stores failed results of all open calls", async (t) => {
  const store = testStore();
  const entered = deferred();
  const agent = agentFor(t, {
    checkpointer: store.checkpointer,
    maxParallelTools: 1,
    model: [{ calls: [call("a", "quick"), call("b", "slow"), call("c", "slow")] }, { text: "after" }],
    tools: [
      plainTool("quick", () => "quick"),
      plainTool("slow", () => {
        entered.resolve();
        return never;
      }),
    ],
  });
  const controller = new AbortController();
  const sent = agent.send("hi", { ...at, signal: controller.signal });
  await entered.promise;
  controller.abort();
  const { stopReason, messages } = await within(sent, "send()", SOON);
  assert.equal(stopReason, "aborted");
  assertConversation(messages);
  const results = Object.fromEntries(
    eventsOf(store.events("s"), "tool_result").map(({ result }) => [result.id, result]),
  );
  assert.deepEqual(Object.keys(results).sort(), ["a", "b", "c"]);
  assert.equal(results.a.content, "quick");
  for (const id of ["b", "c"]) {
    assert.equal(results[id].isError, true);
    assert.match(results[id].content, /interrupted/);
  }
  assert.deepEqual(
    eventsOf(store.events("s"), "tool_started").map(({ id }) => id),
    ["a", "b"],
  );
  await assertGoesOn(t, store, agent);
});

for (const type of ["user", "assistant", "tool_started", "tool_result"]) {
  for (const [later, fate] of Object.entries({
    "it lands later": ({ release }) => release(),
    "it fails later": ({ fail }) => fail(new Error("lost")),
    "it never answers": () => {},
  })) {
    test(`an abort while the append of ${type} hangs settles soon; ${later}, and the next run reads the log again`, async (t) => {
      const store = testStore();
      const hold = holdOnce(store, appending(type));
      const model = scriptedModel([
        ({ messages }) =>
          textOf(messages.at(-1)) === "hi" ? { text: "one", calls: [call("a", "work")] } : { text: "after" },
      ]);
      const agent = agentFor(t, {
        checkpointer: store.checkpointer,
        model,
        tools: [plainTool("work", () => "worked")],
      });
      const ends = [];
      agent.hook("run:end", ({ status }) => void ends.push(status));
      const controller = new AbortController();
      const sent = agent.send("hi", { ...at, signal: controller.signal });
      await hold.entered;
      controller.abort();
      assert.equal((await within(sent, "send()", SOON)).stopReason, "aborted");
      assert.deepEqual(ends, ["cancelled"]);
      fate(hold);
      await assertGoesOn(t, store, agent);
    });
  }
}

test("a prompt whose append never answers, in a session with a history, leaves the session usable", async (t) => {
  const store = testStore();
  const agent = agentFor(t, { checkpointer: store.checkpointer });
  await agent.send("before", at);
  const hold = holdOnce(store, appending("user"));
  const controller = new AbortController();
  const sent = agent.send("stuck", { ...at, signal: controller.signal });
  await hold.entered;
  controller.abort();
  assert.equal((await within(sent, "send()", SOON)).stopReason, "aborted");
  const messages = await assertGoesOn(t, store, agent);
  assert.deepEqual(messages.map(textOf), ["before", "ok", "go on", "ok"]);
});

test("an abort while the log is being read settles soon, and the next run reads it", async (t) => {
  const store = testStore();
  store.put("s", [user("a"), said("one")]);
  const hold = holdOnce(store, (operation) => operation === "read" || operation === "head");
  const model = scriptedModel([{ text: "two" }]);
  const agent = agentFor(t, { checkpointer: store.checkpointer, model });
  const controller = new AbortController();
  const sent = agent.send("lost", { ...at, signal: controller.signal });
  await within(hold.entered, "a read");
  controller.abort();
  assert.equal((await within(sent, "send()", SOON)).stopReason, "aborted");
  const { messages } = await within(agent.send("b", at), "the next run", 5_000);
  assert.deepEqual(messages.map(textOf), ["a", "one", "b", "two"]);
  hold.release();
});

test("break while an append hangs resolves soon", async (t) => {
  const store = testStore();
  const hold = holdOnce(store, appending("assistant"));
  const agent = agentFor(t, { checkpointer: store.checkpointer });
  const generator = agent.run("hi", at);
  const first = await generator.next();
  assert.equal(first.done, false);
  await hold.entered;
  await within(generator.return(), "return()", SOON);
  hold.release();
  await within(agent.send("again", at), "the next run", 5_000);
});

for (const operation of ["append", "read"]) {
  test(`close() while a store's ${operation} hangs resolves soon, and so does the run`, async (t) => {
    const store = testStore();
    const hold = holdOnce(store, (name) => name === operation || (operation === "read" && name === "head"));
    const agent = agentFor(t, { checkpointer: store.checkpointer });
    const outcome = agent.send("hi", at).then(
      ({ stopReason }) => stopReason,
      (error) => error.name,
    );
    await within(hold.entered, operation);
    await within(agent.close(), "close()", SOON);
    assert.ok(["aborted", "ClosedError"].includes(await within(outcome, "send()", SOON)));
    hold.release();
  });
}

test("close() in the middle of a tool stores its failed result", async (t) => {
  const store = testStore();
  const entered = deferred();
  const agent = agentFor(t, {
    checkpointer: store.checkpointer,
    model: [{ calls: [call("a", "slow")] }],
    tools: [
      plainTool("slow", async (_, { signal }) => {
        entered.resolve();
        await aborted(signal);
        return "too late";
      }),
    ],
  });
  const sent = agent.send("hi", at);
  sent.catch(() => {});
  await entered.promise;
  await within(agent.close(), "close()", SOON);
  const [stored] = eventsOf(store.events("s"), "tool_result");
  assert.equal(stored.result.isError, true);
  assert.match(stored.result.content, /interrupted/);
});

test("nothing is stored after close() has resolved", async (t) => {
  const store = testStore();
  const gate = deferred();
  const agent = agentFor(t, {
    checkpointer: store.checkpointer,
    model: [{ calls: [call("a", "deaf")] }, { text: "end" }],
    tools: [plainTool("deaf", () => gate.promise)],
  });
  const events = collectUntilError(agent.run("hi", at));
  await within(
    new Promise((resolve) => agent.subscribe(({ event }) => event.type === "tool_call_start" && resolve())),
    "the tool",
  );
  await within(agent.close(), "close()", SOON);
  await events;
  const { length } = store.appends;
  gate.resolve("late");
  for (let round = 0; round < 20; round += 1) await new Promise(setImmediate);
  assert.equal(store.appends.length, length);
});
