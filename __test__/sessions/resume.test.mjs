// A session taken up by a new agent: as if the old one had gone on. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { CheckpointConflictError, memoryCheckpointer, SteerController } from "../../index.js";
import { agentFor, deferred, plainTool, scriptedModel } from "../support/model.mjs";
import { assertConversation, call, textOf } from "../runs/reading.mjs";
import { calling, resultOf, said, started, testStore, user } from "./storing.mjs";

const at = { sessionId: "s" };
const plain = (value) => JSON.parse(JSON.stringify(value));

/**
 * The same inputs to one agent throughout, and to a new agent for each over one store: every request and every result
 * must be the same.
 */
async function assertSameResumed(t, turns, inputs, config = () => ({})) {
  const wholeModel = scriptedModel(turns);
  const whole = agentFor(t, { model: wholeModel, sessions: false, ...config() });
  const wholeResults = [];
  for (const input of inputs) wholeResults.push(await whole.send(input, at));

  const store = testStore();
  const requests = [];
  const results = [];
  for (const input of inputs) {
    const model = scriptedModel(turns.slice(requests.length));
    const agent = agentFor(t, { model, ...config(), checkpointer: store.checkpointer });
    results.push(await agent.send(input, at));
    requests.push(...model.requests);
    await agent.close();
  }
  assert.deepEqual(
    plain(requests.map(({ messages }) => messages)),
    plain(wholeModel.requests.map(({ messages }) => messages)),
  );
  assert.deepEqual(plain(results.map(({ messages }) => messages)), plain(wholeResults.map(({ messages }) => messages)));
  assert.equal(store.stored("s").at(-1).seq, store.stored("s").length);
  return { requests, store };
}

const message = (...content) => ({ content });
const text = (value) => ({ type: "text", text: value });

test("a plain conversation", async (t) => {
  const { requests } = await assertSameResumed(
    t,
    [{ text: "one" }, { text: "two" }, { text: "three" }],
    ["a", "b", "c"],
  );
  assert.deepEqual(requests[2].messages.map(textOf), ["a", "one", "b", "two", "c"]);
});

test("the results of a turn join into one message again", async (t) => {
  const { requests } = await assertSameResumed(
    t,
    [{ calls: [call("a", "work"), call("b", "work"), call("c", "fails")] }, { text: "one" }, { text: "two" }],
    ["hi", "again"],
    () => ({
      maxParallelTools: 1,
      tools: [
        plainTool("work", () => "x"),
        plainTool("fails", () => {
          throw new Error("no");
        }),
      ],
    }),
  );
  const last = requests.at(-1).messages;
  assert.deepEqual(
    last[2].content.map(({ type, id }) => [type, id]),
    [
      ["tool_result", "a"],
      ["tool_result", "b"],
      ["tool_result", "c"],
    ],
  );
});

test("results that came in another order than their calls are in call order again", async (t) => {
  await assertSameResumed(
    t,
    [{ calls: [call("a", "late"), call("b", "early")] }, { text: "one" }, { text: "two" }],
    ["hi", "again"],
    () => {
      const gate = deferred();
      return {
        tools: [
          plainTool("late", async () => {
            await gate.promise;
            // After the other's result has had its way to the store.
            for (let round = 0; round < 20; round += 1) await new Promise(setImmediate);
            return "late";
          }),
          plainTool("early", () => {
            gate.resolve();
            return "early";
          }),
        ],
      };
    },
  );
});

test("native blocks, reasoning with its signature, images and compaction blocks", async (t) => {
  const native = { type: "native", provider: "p", data: { a: [1, 2.5, 1e21, null, "é\u2028"], nested: { deep: {} } } };
  await assertSameResumed(
    t,
    [
      message({ type: "reasoning", text: "hmm", signature: "c2ln" }, native, text("one"), {
        type: "tool_call",
        id: "a",
        name: "shoot",
        input: { n: 0.1 },
      }),
      message({ type: "reasoning", text: "unsigned" }, { type: "compaction", content: null }, text("two")),
      message(text("three")),
    ],
    [
      "hi",
      [
        {
          role: "user",
          content: [text("look"), { type: "image", mediaType: "image/png", data: "iVBORw0KGgo=" }],
        },
      ],
    ],
    () => ({
      tools: [
        plainTool("shoot", () => [text("a picture"), { type: "image", mediaType: "image/jpeg", data: "/9j/4AAQ" }]),
      ],
    }),
  );
});

test("empty text blocks in an answer", async (t) => {
  await assertSameResumed(
    t,
    [
      message(text(""), { type: "tool_call", id: "a", name: "work", input: {} }),
      message(text(""), text("one"), text("")),
      message(text("")),
      message(text("two")),
    ],
    ["hi", "again", "and again"],
    () => ({ tools: [plainTool("work", () => "")] }),
  );
});

test("an answer without any block", async (t) => {
  await assertSameResumed(t, [message(), message(text("two"))], ["hi", "again"]);
});

test("a steered message lies between the results and the next answer", async (t) => {
  const store = testStore();
  const steer = new SteerController();
  const first = agentFor(t, {
    checkpointer: store.checkpointer,
    model: [{ calls: [call("a", "nudge")] }, { text: "one" }],
    tools: [
      plainTool("nudge", () => {
        steer.steer("left");
        return "nudged";
      }),
    ],
  });
  const { messages } = await first.send("hi", { ...at, steer });
  const model = scriptedModel([{ text: "two" }]);
  const next = await agentFor(t, { checkpointer: store.checkpointer, model }).send("again", at);
  assert.deepEqual(plain(next.messages.slice(0, messages.length)), plain(messages));
  assert.deepEqual(next.messages.map(textOf), ["hi", "", "", "left", "one", "again", "two"]);
  assertConversation(next.messages);
});

test("an input of messages with tool results, and messages of the role tool", async (t) => {
  await assertSameResumed(
    t,
    [{ text: "one" }, { text: "two" }],
    [
      [
        { role: "user", content: "q" },
        { role: "assistant", content: [{ type: "tool_call", id: "a", name: "gone", input: {} }] },
        { role: "tool", content: [{ type: "tool_result", id: "a", content: "r" }] },
      ],
      "again",
    ],
  );
  await assertSameResumed(
    t,
    [{ text: "one" }, { text: "two" }],
    [
      [
        { role: "user", content: "q" },
        {
          role: "assistant",
          content: [
            { type: "tool_call", id: "a", name: "gone", input: {} },
            { type: "tool_call", id: "b", name: "gone", input: {} },
          ],
        },
        {
          role: "user",
          content: [
            { type: "tool_result", id: "a", content: [text("r")], isError: true },
            { type: "tool_result", id: "b", content: "s" },
            text("and so?"),
          ],
        },
      ],
      "again",
    ],
  );
});

test("two user messages in a row, after a run that failed", async (t) => {
  const store = testStore();
  const failing = agentFor(t, { checkpointer: store.checkpointer, model: [{ error: new Error("down") }] });
  await assert.rejects(failing.send("a", at), /down/);
  const model = scriptedModel([{ text: "up" }]);
  const { messages } = await agentFor(t, { checkpointer: store.checkpointer, model }).send("b", at);
  assert.deepEqual(messages.map(textOf), ["a", "b", "up"]);
  assertConversation(messages);
});

test("text of every kind: emoji, NUL, line separators, a key named __proto__", async (t) => {
  const odd = '\u{1f600} \0 \u2028 \u2029 \u0085 \ufeff é e\u0301 \\u0041 "quoted" \r\n';
  const input = JSON.parse('{"__proto__": {"polluted": true}, "constructor": 1}');
  const { store } = await assertSameResumed(
    t,
    [{ text: odd, calls: [call("a", "work", input)] }, { text: "one" }, { text: "two" }],
    [odd, "again"],
    () => ({ tools: [plainTool("work", () => odd)] }),
  );
  assert.equal(store.events("s")[1].message.content[0].text, odd);
  assert.equal({}.polluted, undefined);
});

test("through memoryCheckpointer as well", async (t) => {
  const checkpointer = memoryCheckpointer();
  const first = await agentFor(t, { checkpointer, model: [{ text: "one" }] }).send("a", at);
  const model = scriptedModel([{ text: "two" }]);
  const second = await agentFor(t, { checkpointer, model }).send("b", at);
  assert.deepEqual(plain(second.messages.slice(0, 2)), plain(first.messages));
  assert.deepEqual(model.requests[0].messages.map(textOf), ["a", "one", "b"]);
});

test("resume() takes up a session of the store that this agent has never seen", async (t) => {
  const store = testStore();
  store.put("old", [user("a"), said("one")]);
  const model = scriptedModel([{ text: "two" }]);
  const agent = agentFor(t, { checkpointer: store.checkpointer, model });
  assert.equal(agent.resume("old"), undefined);
  assert.equal(agent.sessionId, "old");
  const { messages } = await agent.send("b");
  assert.deepEqual(messages.map(textOf), ["a", "one", "b", "two"]);
  assert.deepEqual(store.types("old"), ["user", "assistant", "user", "assistant"]);
});

test("a log with a summary: it replaces all before it", async (t) => {
  const store = testStore();
  store.put("s", [
    user("a"),
    said("one"),
    { type: "summary", messages: [{ role: "user", content: "in short" }], throughSeq: 2, before: 100, after: 10 },
    said("well"),
  ]);
  const model = scriptedModel([{ text: "two" }]);
  await agentFor(t, { checkpointer: store.checkpointer, model }).send("b", at);
  assert.deepEqual(model.requests[0].messages.map(textOf), ["in short", "well", "b"]);
});

test("file snapshots and decisions in a log are no part of the conversation", async (t) => {
  const store = testStore();
  store.put("s", [
    user("a"),
    calling(call("1", "work")),
    {
      type: "permission_decision",
      call: { id: "1", name: "work", input: {} },
      decision: "allow",
      by: "policy",
      turn: 1,
    },
    started("1", "work"),
    { type: "file_snapshot", path: "x", before: null, turn: 1 },
    resultOf("1", "worked"),
    said("one"),
  ]);
  const model = scriptedModel([{ text: "two" }]);
  await agentFor(t, { checkpointer: store.checkpointer, model }).send("b", at);
  assert.deepEqual(
    model.requests[0].messages.map(({ role }) => role),
    ["user", "assistant", "user", "assistant", "user"],
  );
});

test("a checkpointer wins over sessions: false", async (t) => {
  const store = testStore();
  await agentFor(t, { checkpointer: store.checkpointer, sessions: false }).send("hi", at);
  assert.deepEqual(store.types("s"), ["user", "assistant"]);
});

test("close() leaves a checkpointer alone that the host made", async (t) => {
  const store = testStore();
  const agent = agentFor(t, { checkpointer: store.checkpointer });
  await agent.send("hi", at);
  await agent.close();
  assert.equal(store.closed, 0);
  await agentFor(t, { checkpointer: store.checkpointer }).send("hi", at);
});

test("the methods of a checkpointer are called as its methods", async (t) => {
  class Store {
    #inner = memoryCheckpointer();
    append(...given) {
      return this.#inner.append(...given);
    }
    read(...given) {
      return this.#inner.read(...given);
    }
    head(...given) {
      return this.#inner.head(...given);
    }
    list() {
      return this.#inner.list();
    }
    delete(...given) {
      return this.#inner.delete(...given);
    }
  }
  const agent = agentFor(t, { checkpointer: new Store() });
  await agent.send("hi", at);
  assert.deepEqual(
    (await agent.listSessions()).map(({ id }) => id),
    ["s"],
  );
  assert.equal((await agent.listCheckpoints("s")).length, 1);
  await agent.deleteSession("s");
  assert.deepEqual(await agent.listSessions(), []);
});

// -- two agents, one session ----------------------------------------------------------------------------------------------

test("a second agent's events are a conflict for the first, and its next send takes them up", async (t) => {
  const store = testStore();
  const model = scriptedModel([{ text: "one" }, { text: "three" }]);
  const first = agentFor(t, { checkpointer: store.checkpointer, model });
  const second = agentFor(t, { checkpointer: store.checkpointer, model: [{ text: "two" }] });
  await first.send("a", at);
  await second.send("b", at);
  const ends = [];
  first.hook("run:end", ({ status, error }) => void ends.push([status, error?.name]));
  await assert.rejects(first.send("c", at), (error) => {
    assert.ok(error instanceof CheckpointConflictError, String(error?.stack));
    assert.deepEqual([error.sessionId, error.expected, error.actual], ["s", 2, 4]);
    return true;
  });
  assert.deepEqual(ends, [["failed", "CheckpointConflictError"]]);
  assert.equal(store.stored("s").length, 4);
  const { messages } = await first.send("d", at);
  assert.deepEqual(messages.map(textOf), ["a", "one", "b", "two", "d", "three"]);
  assert.equal(model.requests.length, 2);
});

test("a conflict in the middle of a run ends it, and nothing of it is written over the other's", async (t) => {
  const store = testStore();
  const other = agentFor(t, { checkpointer: store.checkpointer, model: [{ text: "elsewhere" }] });
  let meddle = true;
  const agent = agentFor(t, {
    checkpointer: store.checkpointer,
    model: [{ text: "thinking", calls: [call("a", "work")] }, { text: "end" }],
    tools: [
      plainTool("work", async () => {
        if (meddle) await other.send("meanwhile", at);
        meddle = false;
        return "worked";
      }),
    ],
  });
  const ends = [];
  agent.hook("run:end", ({ status }) => void ends.push(status));
  await assert.rejects(agent.send("hi", at), CheckpointConflictError);
  assert.deepEqual(ends, ["failed"]);
  assert.deepEqual(store.types("s"), ["user", "assistant", "tool_started", "tool_result", "user", "assistant"]);
  const { messages } = await agent.send("next", at);
  assert.deepEqual(messages.map(textOf), ["hi", "thinking", "", "meanwhile", "elsewhere", "next", "end"]);
  assertConversation(messages);
});
