// Stores that fail or lie: the run ends with what the host threw or with an error that says what was wrong, never with
// a conversation that is not so. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { AgentError, CheckpointConflictError, ConfigError } from "../../index.js";
import {
  aborted,
  agentFor,
  collect,
  collectUntilError,
  deferred,
  plainTool,
  recordHooks,
  scriptedModel,
  within,
} from "../support/model.mjs";
import { assertConversation, call, eventsOf, rejectionOf, textOf } from "../runs/reading.mjs";
import { appending, said, testStore, user } from "./storing.mjs";

const at = { sessionId: "s" };

function workingAgent(t, store, checkpointer = store.checkpointer) {
  const model = scriptedModel([
    ({ messages }) => (textOf(messages.at(-1)).includes("hi") ? { calls: [call("a", "work")] } : { text: "after" }),
  ]);
  return { model, agent: agentFor(t, { checkpointer, model, tools: [plainTool("work", () => "worked")] }) };
}

for (const type of ["user", "assistant", "tool_started", "tool_result"]) {
  for (const [kind, failure] of Object.entries({
    "an error": new Error("disk full"),
    "a text": "disk full",
    undefined: undefined,
  })) {
    test(`an append of ${type} that rejects with ${kind}: send() rejects with that very thing, the next works`, async (t) => {
      const store = testStore();
      let broken = true;
      store.before = (...given) => {
        if (!broken || !appending(type)(...given)) return;
        broken = false;
        throw failure;
      };
      const { agent } = workingAgent(t, store);
      const fired = recordHooks(agent, ["run:start", "run:end"]);
      const { error } = await rejectionOf(within(agent.send("hi", at), "send()"));
      assert.equal(error, failure);
      assert.deepEqual(
        fired.map(({ event, status }) => [event, status]),
        [
          ["run:start", undefined],
          ["run:end", "failed"],
        ],
      );
      const { messages } = await within(agent.send("go on", at), "the next run");
      assertConversation(messages);
      assert.equal(textOf(messages.at(-1)), "after");
    });
  }
}

test("run() tells of a failed append by an error event, then throws the very error", async (t) => {
  const store = testStore();
  const failure = new Error("disk full");
  store.before = (...given) => {
    if (appending("assistant")(...given)) throw failure;
  };
  const agent = agentFor(t, { checkpointer: store.checkpointer });
  const { events, error } = await collectUntilError(agent.run("hi", at));
  assert.equal(error, failure);
  assert.deepEqual(
    eventsOf(events, "error").map((event) => [event.error, event.fatal]),
    [[failure, true]],
  );
  assert.equal(eventsOf(events, "done").length, 0);
});

test("no model call is made when the user message could not be stored", async (t) => {
  const store = testStore();
  store.before = (...given) => {
    if (appending("user")(...given)) throw new Error("disk full");
  };
  const { agent, model } = workingAgent(t, store);
  await assert.rejects(agent.send("hi", at), /disk full/);
  assert.equal(model.requests.length, 0);
});

test("a message that was not stored is no part of the next conversation", async (t) => {
  const store = testStore();
  let broken = true;
  store.before = (...given) => {
    if (broken && appending("user")(...given)) throw new Error("disk full");
  };
  const agent = agentFor(t, { checkpointer: store.checkpointer });
  await assert.rejects(agent.send("lost", at), /disk full/);
  broken = false;
  const { messages } = await agent.send("kept", at);
  assert.deepEqual(messages.map(textOf), ["kept", "ok"]);
});

test("an append that was stored though it rejected is taken up by the next run", async (t) => {
  const store = testStore();
  const { append } = store.checkpointer;
  let broken = true;
  const checkpointer = {
    ...store.checkpointer,
    async append(...given) {
      const head = await append(...given);
      if (broken) throw new Error("acknowledgement lost");
      return head;
    },
  };
  const agent = agentFor(t, { checkpointer });
  await assert.rejects(agent.send("a", at), /acknowledgement lost/);
  broken = false;
  const { messages } = await agent.send("b", at);
  assert.deepEqual(messages.map(textOf), ["a", "b", "ok"]);
});

test("a store that throws at once instead of rejecting is the same", async (t) => {
  const store = testStore();
  const failure = new Error("at once");
  for (const operation of ["append", "read", "head"]) {
    const checkpointer = {
      ...store.checkpointer,
      [operation]() {
        throw failure;
      },
    };
    const agent = agentFor(t, { checkpointer });
    const sent = await within(
      agent.send("hi", at).then(
        () => "not asked",
        (error) => error,
      ),
      operation,
    );
    if (operation === "append") assert.equal(sent, failure);
    else assert.ok(sent === failure || sent === "not asked", String(sent));
  }
});

test("a read that fails in the middle: the very error, no model call, and the next send works", async (t) => {
  const store = testStore();
  store.put("s", [user("a"), said("one")]);
  const failure = new Error("unreadable");
  let broken = true;
  const { read } = store.checkpointer;
  const model = scriptedModel([{ text: "two" }]);
  const agent = agentFor(t, {
    model,
    checkpointer: {
      ...store.checkpointer,
      async *read(...given) {
        for await (const stored of read(...given)) {
          yield stored;
          if (broken) throw failure;
        }
      },
    },
  });
  const { error } = await rejectionOf(agent.send("b", at));
  assert.equal(error, failure);
  assert.equal(model.requests.length, 0);
  broken = false;
  const { messages } = await agent.send("c", at);
  assert.deepEqual(messages.map(textOf), ["a", "one", "c", "two"]);
});

test("a store whose append answers a wrong head is refused in words", async (t) => {
  for (const answer of [99, 0, -1, 1.5, Number.NaN, "1", null, undefined, {}, 1n]) {
    const store = testStore();
    const { append } = store.checkpointer;
    const model = scriptedModel([{ text: "ok" }]);
    const agent = agentFor(t, {
      model,
      checkpointer: {
        ...store.checkpointer,
        async append(...given) {
          await append(...given);
          return answer;
        },
      },
    });
    const { error } = await rejectionOf(within(agent.send("hi", at), `send() on ${String(answer)}`));
    assert.ok(error instanceof AgentError, `${String(answer)}: ${error?.stack}`);
    assert.match(error.message, /append/);
    assert.match(error.message, /\bs\b/);
    assert.equal(model.requests.length, 0);
  }
});

const stored = (seq, event, other = {}) => ({
  seq,
  sessionId: "s",
  parentSeq: seq === 1 ? null : seq - 1,
  ts: "2026-01-01T00:00:00.000Z",
  event,
  ...other,
});
const RUBBISH = {
  "a gap": [stored(1, user("a")), stored(3, said("one"))],
  "a first event that is not 1": [stored(2, user("a"))],
  "the same number twice": [stored(1, user("a")), stored(1, said("one"))],
  "numbers backwards": [stored(1, user("a")), stored(2, said("one")), stored(1, user("b"))],
  "a number that is none": [stored("1", user("a"))],
  "an event of another session": [stored(1, user("a")), stored(2, said("one"), { sessionId: "other" })],
  null: [null],
  "a text": ["event"],
  "an event without its event": [{ ...stored(1), event: undefined }],
  "an event of an unknown type": [stored(1, { type: "usr", message: { role: "user", content: "a" } })],
  "an event type of Object.prototype": [stored(1, { type: "toString" })],
  "a user event without a message": [stored(1, { type: "user" })],
  "a message that is a text": [stored(1, { type: "user", message: "a" })],
  "a message with content of a wrong type": [stored(1, { type: "user", message: { role: "user", content: 5 } })],
  "a block that is none": [stored(1, { type: "user", message: { role: "user", content: ["text"] } })],
  "a tool_result without a result": [stored(1, user("a")), stored(2, { type: "tool_result", turn: 1 })],
  "a summary without messages": [stored(1, { type: "summary", throughSeq: 1, before: 1, after: 1 })],
};
for (const [what, log] of Object.entries(RUBBISH)) {
  test(`a log with ${what} is refused in words, and no model is asked`, async (t) => {
    const store = testStore();
    const model = scriptedModel([{ text: "ok" }]);
    const agent = agentFor(t, {
      model,
      checkpointer: {
        ...store.checkpointer,
        head: async () => log.length,
        async *read() {
          yield* log;
        },
      },
    });
    const fired = recordHooks(agent, ["run:start", "run:end"]);
    const { error } = await rejectionOf(within(agent.send("hi", at), "send()"));
    assert.ok(error instanceof AgentError, String(error?.stack));
    assert.ok(!(error instanceof CheckpointConflictError));
    assert.match(error.message, /\bs\b/);
    assert.equal(model.requests.length, 0);
    assert.equal(store.appends.length, 0);
    assert.equal(fired.at(-1)?.status ?? "failed", "failed");
    // Another session of the agent is not affected by it.
    await agent.close();
  });
}

test("a damaged session leaves the other sessions of the agent alone", async (t) => {
  const store = testStore();
  store.put("bad", [user("a")]);
  store.sessions.get("bad").events[0].seq = 7;
  const agent = agentFor(t, { checkpointer: store.checkpointer });
  await assert.rejects(agent.send("hi", { sessionId: "bad" }), AgentError);
  assert.equal((await agent.send("hi", { sessionId: "good" })).text, "ok");
});

test("a read that is no async iterable is refused in words", async (t) => {
  for (const answer of [undefined, null, 5, {}, async () => {}]) {
    const store = testStore();
    const checkpointer = { ...store.checkpointer, truncate: async () => {}, head: async () => 1, read: () => answer };
    const agent = agentFor(t, { checkpointer });
    for (const attempt of [() => agent.send("hi", at), () => agent.listCheckpoints("s"), () => agent.restore("s", 0)]) {
      const { error } = await rejectionOf(within(attempt(), String(attempt)));
      assert.ok(error instanceof AgentError, `${String(attempt)}: ${error?.stack}`);
      assert.equal(error.code, "store_invalid");
      assert.match(error.message, /the checkpointer's read\(\) must return an async iterable, got /);
    }
  }
});

test("a read that is a promise is refused in words that name the slip, and a rejection of it is nobody's", async (t) => {
  const unheard = [];
  const listener = (error) => unheard.push(error);
  process.on("unhandledRejection", listener);
  t.after(() => process.off("unhandledRejection", listener));
  for (const read of [
    async () => [],
    async () => {
      throw new Error("offline");
    },
    // A thenable that is no promise.
    () => ({ then: (_resolve, reject) => reject(new Error("offline")) }),
  ]) {
    const checkpointer = { ...testStore().checkpointer, read };
    const { error } = await rejectionOf(within(agentFor(t, { checkpointer }).send("hi", at), "send()"));
    assert.ok(error instanceof AgentError, error?.stack);
    assert.match(error.message, /the checkpointer's read\(\) .*got a promise.* \* /);
  }
  for (let round = 0; round < 5; round += 1) await new Promise(setImmediate);
  assert.deepEqual(unheard, []);
});

test("an object without the methods of a checkpointer is a ConfigError that names them", (t) => {
  const { checkpointer } = testStore();
  for (const method of ["append", "read", "head", "list", "delete"]) {
    for (const value of [undefined, 5]) {
      assert.throws(
        () => agentFor(t, { checkpointer: { ...checkpointer, [method]: value } }),
        (error) =>
          error instanceof ConfigError && error.message.includes("checkpointer") && error.message.includes(method),
      );
    }
  }
  for (const value of [5, "memory", [], true]) {
    assert.throws(() => agentFor(t, { checkpointer: value }), ConfigError);
  }
});

test("truncate and close of a checkpointer may be absent, but not be something else", (t) => {
  const { checkpointer } = testStore();
  agentFor(t, { checkpointer: { ...checkpointer, truncate: undefined, close: undefined } });
  for (const method of ["truncate", "close"]) {
    assert.throws(() => agentFor(t, { checkpointer: { ...checkpointer, [method]: 5 } }), ConfigError);
  }
});

test("listSessions, listCheckpoints and deleteSession reject with the very error of the store", async (t) => {
  const failure = new Error("offline");
  const store = testStore();
  store.put("s", [user("a")]);
  store.before = () => {
    throw failure;
  };
  const agent = agentFor(t, { checkpointer: store.checkpointer });
  for (const attempt of [
    () => agent.listSessions(),
    () => agent.listCheckpoints("s"),
    () => agent.deleteSession("s"),
  ]) {
    let promise;
    assert.doesNotThrow(() => {
      promise = attempt();
    });
    const { error } = await rejectionOf(within(promise, String(attempt)));
    assert.equal(error, failure, String(attempt));
  }
  store.before = () => {};
  assert.equal((await collect(agent.run("b", at))).result.messages.length, 3);
});

test("an append that fails beside a running tool ends the run: the tool's signal fires, the error is the store's", async (t) => {
  const store = testStore();
  const failure = new Error("disk full");
  const slowIsIn = deferred();
  let slowSignal;
  let broken = true;
  store.before = (...given) => {
    if (broken && appending("tool_result")(...given)) throw failure;
  };
  const agent = agentFor(t, {
    checkpointer: store.checkpointer,
    model: [{ calls: [call("a", "slow"), call("b", "quick")] }, { text: "after" }],
    tools: [
      plainTool("slow", async (_, { signal }) => {
        slowSignal = signal;
        slowIsIn.resolve();
        await aborted(signal);
        return "left";
      }),
      plainTool("quick", async () => {
        await slowIsIn.promise;
        return "quick";
      }),
    ],
  });
  const fired = recordHooks(agent, ["tool:start", "tool:end", "run:end"]);
  const { error } = await rejectionOf(within(agent.send("hi", at), "send()", 5_000));
  assert.equal(error, failure);
  assert.equal(slowSignal.aborted, true);
  assert.deepEqual(fired.map(({ event }) => event).sort(), [
    "run:end",
    "tool:end",
    "tool:end",
    "tool:start",
    "tool:start",
  ]);
  assert.equal(fired.at(-1).event, "run:end");
  assert.equal(fired.at(-1).status, "failed");
  broken = false;
  const { messages } = await within(agent.send("go on", at), "the next run");
  assertConversation(messages);
});

test("no further tool runs, and no model is asked, once an append has failed", async (t) => {
  for (const type of ["tool_started", "tool_result"]) {
    const store = testStore();
    const failure = new Error("disk full");
    store.before = (...given) => {
      if (appending(type)(...given)) throw failure;
    };
    const ran = [];
    const model = scriptedModel([{ calls: ["a", "b", "c"].map((id) => call(id, "work", { id })) }, { text: "end" }]);
    const agent = agentFor(t, {
      checkpointer: store.checkpointer,
      model,
      maxParallelTools: 1,
      tools: [plainTool("work", ({ id }) => void ran.push(id) ?? "worked")],
    });
    const { error } = await rejectionOf(within(agent.send("hi", at), "send()"));
    assert.equal(error, failure);
    assert.deepEqual(ran, type === "tool_started" ? [] : ["a"]);
    assert.equal(model.requests.length, 1);
  }
});

test("listCheckpoints() of a damaged log is refused in words", async (t) => {
  for (const what of ["null", "an event without its event", "a user event without a message"]) {
    const store = testStore();
    const checkpointer = {
      ...store.checkpointer,
      async *read() {
        yield* RUBBISH[what];
      },
    };
    const { error } = await rejectionOf(agentFor(t, { checkpointer }).listCheckpoints("s"));
    assert.ok(error instanceof AgentError, `${what}: ${error?.stack}`);
  }
});
