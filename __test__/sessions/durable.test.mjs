// Nothing is reported before the event that stands for it is durable. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { SteerController } from "../../index.js";
import { agentFor, deferred, plainTool, scriptedModel, until, within } from "../support/model.mjs";
import { call, textOf } from "../runs/reading.mjs";
import { appending, calling, holdOnce, started, testStore, user } from "./storing.mjs";

const at = { sessionId: "s" };

/** Lets everything that can go on without a timer of the test go on. */
async function settleDown() {
  for (let round = 0; round < 20; round += 1) await new Promise(setImmediate);
}

/** An agent whose tool, model and events leave their marks in the store's trace. */
function traced(t, store, turns, config = {}) {
  const model = scriptedModel(turns, { onRequest: () => void store.trace.push("model") });
  const agent = agentFor(t, {
    checkpointer: store.checkpointer,
    model,
    tools: [
      plainTool("work", () => {
        store.trace.push("tool");
        return "worked";
      }),
    ],
    ...config,
  });
  agent.subscribe(({ event }) => store.trace.push(`event ${event.type}`));
  return agent;
}

const oneCall = [{ calls: [call("a", "work")] }, { text: "end" }];

test("no model call and no model_call_start before the user message is stored", async (t) => {
  const store = testStore();
  const hold = holdOnce(store, appending("user"));
  const agent = traced(t, store, [{ text: "ok" }]);
  const sent = agent.send("hi", at);
  await hold.entered;
  await settleDown();
  assert.ok(!store.trace.includes("model"), store.trace.join());
  assert.ok(!store.trace.includes("event model_call_start"), store.trace.join());
  hold.release();
  await sent;
  assert.ok(store.trace.indexOf("stored user") < store.trace.indexOf("model"));
});

test("no tool before its tool_started is stored", async (t) => {
  const store = testStore();
  const hold = holdOnce(store, appending("tool_started"));
  const agent = traced(t, store, oneCall);
  const sent = agent.send("hi", at);
  await hold.entered;
  await settleDown();
  assert.ok(!store.trace.includes("tool"), store.trace.join());
  hold.release();
  await sent;
  assert.ok(store.trace.findIndex((entry) => /^stored .*tool_started/.test(entry)) < store.trace.indexOf("tool"));
});

test("no tool before the message that calls it is stored", async (t) => {
  const store = testStore();
  const hold = holdOnce(store, appending("assistant"));
  const agent = traced(t, store, oneCall);
  const sent = agent.send("hi", at);
  await hold.entered;
  await settleDown();
  assert.ok(!store.trace.includes("tool"), store.trace.join());
  assert.ok(!store.trace.includes("event tool_use"), store.trace.join());
  hold.release();
  await sent;
});

test("no next model call before the result is stored", async (t) => {
  const store = testStore();
  const hold = holdOnce(store, appending("tool_result"));
  const agent = traced(t, store, oneCall);
  const sent = agent.send("hi", at);
  await hold.entered;
  await settleDown();
  assert.equal(store.trace.filter((entry) => entry === "model").length, 1);
  hold.release();
  await sent;
  assert.ok(
    store.trace.findIndex((entry) => /^stored .*tool_result/.test(entry)) < store.trace.lastIndexOf("model"),
    store.trace.join(),
  );
});

test("send() does not settle, and run:end does not fire, before the answer is stored", async (t) => {
  const store = testStore();
  const hold = holdOnce(store, appending("assistant"));
  const agent = traced(t, store, [{ text: "ok" }]);
  agent.hook("run:end", () => void store.trace.push("run:end"));
  let settled = false;
  const sent = agent.send("hi", at).then(() => {
    settled = true;
  });
  await hold.entered;
  await settleDown();
  assert.equal(settled, false);
  assert.ok(!store.trace.includes("run:end"));
  assert.ok(!store.trace.includes("event done"));
  hold.release();
  await sent;
});

test("no tool runs before its decision is stored, when decisions are audited", async (t) => {
  const store = testStore();
  const hold = holdOnce(store, appending("permission_decision"));
  const agent = traced(t, store, oneCall, { permissionAudit: true });
  const sent = agent.send("hi", at);
  await hold.entered;
  await settleDown();
  assert.ok(!store.trace.includes("tool"), store.trace.join());
  hold.release();
  await sent;
});

test("the message event comes after the message is stored, the tool_result event after the result is", async (t) => {
  for (const [type, reported] of [
    ["assistant", "event message"],
    ["tool_result", "event tool_result"],
  ]) {
    const store = testStore();
    const hold = holdOnce(store, appending(type));
    const agent = traced(t, store, oneCall);
    const sent = agent.send("hi", at);
    await hold.entered;
    await settleDown();
    assert.ok(!store.trace.includes(reported), store.trace.join());
    hold.release();
    await sent;
    assert.ok(store.trace.includes(reported));
  }
});

test("no model call before a steered message is stored", async (t) => {
  const store = testStore();
  const steer = new SteerController();
  steer.steer("left");
  const hold = holdOnce(
    store,
    (operation, _id, events = []) => operation === "append" && JSON.stringify(events).includes("left"),
  );
  const agent = traced(t, store, [{ text: "ok" }]);
  const sent = agent.send("hi", { ...at, steer });
  await hold.entered;
  await settleDown();
  assert.ok(!store.trace.includes("model"), store.trace.join());
  hold.release();
  await sent;
});

test("recovered results are stored before the model call", async (t) => {
  const store = testStore();
  store.put("s", [user("go"), calling(call("a", "work")), started("a", "work")]);
  const hold = holdOnce(store, appending("tool_result"));
  const agent = traced(t, store, [{ text: "ok" }]);
  const sent = agent.send("hi", at);
  await hold.entered;
  await settleDown();
  assert.ok(!store.trace.includes("model"), store.trace.join());
  assert.ok(!store.trace.includes("event tool_recovered"), store.trace.join());
  hold.release();
  await sent;
});

test("several appends at once are one: a slow store is asked little, never twice at a time, and order is kept", async (t) => {
  const store = testStore();
  let open = 0;
  let most = 0;
  const { append } = store.checkpointer;
  const checkpointer = {
    ...store.checkpointer,
    async append(...given) {
      open += 1;
      most = Math.max(most, open);
      try {
        // Slow in turns of the event loop, so that no clock decides.
        await settleDown();
        return await append(...given);
      } finally {
        open -= 1;
      }
    },
  };
  const ids = Array.from({ length: 20 }, (_, index) => `c${index}`);
  const all = deferred();
  let running = 0;
  const agent = agentFor(t, {
    checkpointer,
    maxParallelTools: 20,
    model: [{ calls: ids.map((id) => call(id, "together", { id })) }, { text: "end" }],
    tools: [
      plainTool("together", async ({ id }) => {
        running += 1;
        if (running === ids.length) all.resolve();
        await all.promise;
        return id;
      }),
    ],
  });
  const { messages } = await within(agent.send("hi", at), "the run");
  assert.equal(most, 1);
  const events = store.events("s");
  assert.equal(events.length, 3 + 2 * ids.length);
  // 43 events; one append each would be 43 appends.
  assert.ok(store.appends.length <= 15, `${store.appends.length} appends`);
  assert.deepEqual(
    events.filter(({ type }) => type === "tool_started").map(({ id }) => id),
    ids,
  );
  assert.deepEqual(
    messages.at(-2).content.map(({ id }) => id),
    ids,
  );
});

test("a slow store of one session does not hold up another session", async (t) => {
  const store = testStore();
  const hold = holdOnce(store, (operation, id) => operation === "append" && id === "slow");
  const agent = agentFor(t, { checkpointer: store.checkpointer });
  const slow = agent.send("hi", { sessionId: "slow" });
  await hold.entered;
  assert.equal((await within(agent.send("hi", { sessionId: "fast" }), "the other session")).text, "ok");
  hold.release();
  await slow;
});

test("runs of one session wait for each other, with a store as without", async (t) => {
  const store = testStore();
  const gate = deferred();
  const model = scriptedModel([{ text: "one", wait: gate.promise }, { text: "two" }]);
  const agent = agentFor(t, { checkpointer: store.checkpointer, model });
  const first = agent.send("a", at);
  const second = agent.send("b", at);
  await until(() => model.requests.length === 1, "the first model call");
  await settleDown();
  assert.deepEqual(store.types("s"), ["user"]);
  gate.resolve();
  await first;
  assert.deepEqual((await second).messages.map(textOf), ["a", "one", "b", "two"]);
  assert.deepEqual(store.types("s"), ["user", "assistant", "user", "assistant"]);
});

test("a session is read once, however many runs it has", async (t) => {
  const store = testStore();
  const agent = agentFor(t, { checkpointer: store.checkpointer });
  for (let round = 0; round < 10; round += 1) await agent.send("hi", at);
  assert.ok(store.reads.length <= 1, `${store.reads.length} reads`);
});
