// What a run leaves in its session's log: which events, in which order, holding what. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { foldEvents, policy, query, SteerController } from "../../index.js";
import {
  agentFor,
  collect,
  deferred,
  plainTool,
  recordHooks,
  scriptedModel,
  temporaryFolder,
} from "../support/model.mjs";
import { runChild } from "../support/child.mjs";
import { call, eventsOf, textOf } from "../runs/reading.mjs";
import { testStore } from "./storing.mjs";

const SESSION = "s";
const at = { sessionId: SESSION };
const echo = (name = "echo") => plainTool(name, ({ say = "x" }) => say);

test("a plain run stores the user message and the answer, each as the conversation has it", async (t) => {
  const store = testStore();
  const agent = agentFor(t, { checkpointer: store.checkpointer, model: [{ text: "hello" }] });
  const { messages } = await agent.send("hi", at);
  const events = store.events(SESSION);
  assert.deepEqual(
    events.map(({ type }) => type),
    ["user", "assistant"],
  );
  assert.deepEqual(
    events.map(({ message }) => message),
    JSON.parse(JSON.stringify(messages)),
  );
  assert.equal(events[0].message.role, "user");
  assert.equal(textOf(events[0].message), "hi");
  assert.deepEqual(events[1].message, { role: "assistant", content: [{ type: "text", text: "hello" }] });
});

test("sequence numbers go from 1 without gaps over many runs, and each append expects the head before it", async (t) => {
  const store = testStore();
  const agent = agentFor(t, {
    checkpointer: store.checkpointer,
    tools: [echo()],
    model: [
      ({ messages }) =>
        textOf(messages.at(-1)).startsWith("q") ? { calls: [call(`c${messages.length}`, "echo")] } : { text: "a" },
    ],
  });
  for (let round = 0; round < 5; round += 1) await agent.send(`q${round}`, at);
  const stored = store.stored(SESSION);
  assert.deepEqual(
    stored.map(({ seq, parentSeq }) => [seq, parentSeq]),
    stored.map((_, index) => [index + 1, index === 0 ? null : index]),
  );
  let head = 0;
  for (const { events, expectedHead } of store.appends) {
    assert.equal(expectedHead, head);
    head += events.length;
  }
  assert.equal(head, stored.length);
});

test("a tool call stores user, assistant, tool_started, tool_result, assistant", async (t) => {
  const store = testStore();
  const agent = agentFor(t, {
    checkpointer: store.checkpointer,
    tools: [echo()],
    model: [{ text: "let me", calls: [call("a", "echo", { say: "said" })] }, { text: "end" }],
  });
  await agent.send("hi", at);
  const events = store.events(SESSION);
  assert.deepEqual(
    events.map(({ type }) => type),
    ["user", "assistant", "tool_started", "tool_result", "assistant"],
  );
  assert.deepEqual(events[1].message.content, [
    { type: "text", text: "let me" },
    { type: "tool_call", id: "a", name: "echo", input: { say: "said" } },
  ]);
  assert.deepEqual(events[2], { type: "tool_started", id: "a", name: "echo", turn: 1 });
  assert.equal(events[3].turn, 1);
  assert.equal(events[3].result.type, "tool_result");
  assert.equal(events[3].result.id, "a");
  assert.equal(events[3].result.content, "said");
  assert.notEqual(events[3].result.isError, true);
});

test("the turn of a stored event is the turn of its run", async (t) => {
  const store = testStore();
  const agent = agentFor(t, {
    checkpointer: store.checkpointer,
    tools: [echo()],
    model: [
      { calls: [call("a", "echo")] },
      { calls: [call("b", "echo")] },
      { text: "end" },
      { calls: [call("c", "echo")] },
      { text: "end" },
    ],
  });
  await agent.send("one", at);
  await agent.send("two", at);
  const turns = store
    .events(SESSION)
    .flatMap((event) => (event.type === "tool_started" ? [[event.id, event.turn]] : []));
  assert.deepEqual(turns, [
    ["a", 1],
    ["b", 2],
    ["c", 1],
  ]);
  const results = eventsOf(store.events(SESSION), "tool_result").map(({ result, turn }) => [result.id, turn]);
  assert.deepEqual(results, turns);
});

test("parallel calls: one tool_started before its tool_result for each, all results before the next answer", async (t) => {
  const store = testStore();
  const gates = { a: deferred(), b: deferred(), c: deferred() };
  const order = ["c", "b", "a"];
  const model = scriptedModel([{ calls: ["a", "b", "c"].map((id) => call(id, "wait", { id })) }, { text: "end" }]);
  const agent = agentFor(t, {
    checkpointer: store.checkpointer,
    model,
    tools: [
      plainTool("wait", async ({ id }) => {
        if (id === "c") gates.c.resolve();
        await gates[id].promise;
        gates[order[order.indexOf(id) + 1]]?.resolve();
        return `result ${id}`;
      }),
    ],
  });
  const { messages } = await agent.send("hi", at);
  const events = store.events(SESSION);
  assert.equal(events.length, 9);
  assert.deepEqual([events[0].type, events[1].type, events[8].type], ["user", "assistant", "assistant"]);
  for (const id of ["a", "b", "c"]) {
    const begun = events.flatMap((event, index) => (event.type === "tool_started" && event.id === id ? [index] : []));
    const done = events.flatMap((event, index) =>
      event.type === "tool_result" && event.result.id === id ? [index] : [],
    );
    assert.equal(begun.length, 1, `one tool_started of ${id}`);
    assert.equal(done.length, 1, `one tool_result of ${id}`);
    assert.ok(begun[0] < done[0]);
    assert.equal(events[done[0]].result.content, `result ${id}`);
  }
  // Whatever order they finished in, the conversation and what is folded from the log have them in call order.
  const ids = (list) => list.at(-2).content.map(({ id }) => id);
  assert.deepEqual(ids(messages), ["a", "b", "c"]);
  assert.deepEqual(JSON.parse(JSON.stringify(messages)), foldEvents(events));
});

test("what is folded from the log is the result's messages", async (t) => {
  const store = testStore();
  const agent = agentFor(t, {
    checkpointer: store.checkpointer,
    tools: [echo()],
    model: [
      { calls: [call("a", "echo"), call("b", "nothing")] },
      { text: "end" },
      { calls: [call("a", "echo")] },
      { text: "end" },
    ],
  });
  for (const input of ["one", "two"]) {
    const { messages } = await agent.send(input, at);
    assert.deepEqual(foldEvents(store.events(SESSION)), JSON.parse(JSON.stringify(messages)));
  }
});

test("a failed result is stored as one; a call that never ran has no tool_started", async (t) => {
  const store = testStore();
  const agent = agentFor(t, {
    checkpointer: store.checkpointer,
    permission: policy({ deny: ["denied"] }),
    tools: [
      echo("denied"),
      plainTool("broken", () => {
        throw new Error("out of paper");
      }),
    ],
    model: [{ calls: [call("a", "denied"), call("b", "broken"), call("c", "unknown")] }, { text: "end" }],
  });
  await agent.send("hi", at);
  const events = store.events(SESSION);
  assert.deepEqual(
    eventsOf(events, "tool_started").map(({ id, name }) => [id, name]),
    [["b", "broken"]],
  );
  const results = Object.fromEntries(eventsOf(events, "tool_result").map(({ result }) => [result.id, result]));
  assert.match(results.a.content, /blocked by policy/);
  assert.match(results.b.content, /out of paper/);
  assert.match(results.c.content, /unknown tool/);
  for (const id of ["a", "b", "c"]) assert.equal(results[id].isError, true);
});

test("steered messages and follow-ups are stored as user messages, after the results of the turn before", async (t) => {
  const store = testStore();
  const steer = new SteerController();
  const agent = agentFor(t, {
    checkpointer: store.checkpointer,
    tools: [
      plainTool("nudge", () => {
        steer.steer("look left");
        steer.steer({ role: "user", content: [{ type: "text", text: "and right" }] });
        steer.followUp("now what");
        return "result";
      }),
    ],
    model: [{ calls: [call("a", "nudge")] }, { text: "looked" }, { text: "end" }],
  });
  const { messages } = await agent.send("hi", { ...at, steer });
  const events = store.events(SESSION);
  assert.deepEqual(
    events.map(({ type, message }) => (type === "user" ? textOf(message) : type)),
    ["hi", "assistant", "tool_started", "tool_result", "look left", "and right", "assistant", "now what", "assistant"],
  );
  assert.deepEqual(foldEvents(events), JSON.parse(JSON.stringify(messages)));
});

test("an input of messages is stored message by message, blocks and all", async (t) => {
  const store = testStore();
  const agent = agentFor(t, { checkpointer: store.checkpointer, model: [{ text: "end" }] });
  const input = [
    { role: "user", content: "first" },
    { role: "assistant", content: [{ type: "tool_call", id: "a", name: "gone", input: { deep: [1, { two: null }] } }] },
    { role: "user", content: [{ type: "tool_result", id: "a", content: "found", isError: false }] },
    { role: "assistant", content: [{ type: "text", text: "well" }] },
    {
      role: "user",
      content: [
        { type: "text", text: "look" },
        { type: "image", mediaType: "image/png", data: "iVBORw0KGgo=" },
      ],
    },
  ];
  const { messages } = await agent.send(input, at);
  const events = store.events(SESSION);
  assert.deepEqual(foldEvents(events), JSON.parse(JSON.stringify(messages)));
  assert.deepEqual(JSON.parse(JSON.stringify(messages.slice(0, 5))), input);
  assert.deepEqual(events[0], { type: "user", message: input[0] });
  assert.equal(events.at(-1).type, "assistant");
});

test("events are plain JSON data, which the store may keep as they are", async (t) => {
  const store = testStore();
  const agent = agentFor(t, {
    checkpointer: store.checkpointer,
    permissionAudit: true,
    tools: [echo()],
    model: [{ calls: [call("a", "echo", { say: "é \u{1f600} \u2028 \0" })] }, { text: "\ud800 lone" }],
  });
  await agent.send("hi", at);
  const given = store.appends.flatMap(({ events }) => events);
  assert.ok(given.length >= 6);
  assert.deepEqual(given, JSON.parse(JSON.stringify(given)));
});

test("a store that writes to what it was given changes nothing of the run", async (t) => {
  const store = testStore();
  const { append } = store.checkpointer;
  const model = scriptedModel([{ calls: [call("a", "echo")] }, { text: "end" }]);
  const agent = agentFor(t, {
    model,
    tools: [echo()],
    checkpointer: {
      ...store.checkpointer,
      async append(id, events, expectedHead) {
        const head = await append(id, events, expectedHead);
        try {
          for (const event of events) if (event.message) event.message.content = "forged";
          events.length = 0;
        } catch {
          // Frozen is as good.
        }
        return head;
      },
    },
  });
  const { messages } = await agent.send("hi", at);
  assert.ok(!JSON.stringify([messages, model.requests]).includes("forged"));
});

test("run:start comes before the user message is stored, tool:end before the result is", async (t) => {
  const store = testStore();
  const agent = agentFor(t, {
    checkpointer: store.checkpointer,
    tools: [echo()],
    model: [{ calls: [call("a", "echo")] }, { text: "end" }],
  });
  agent.hook("run:start", () => void store.trace.push("run:start"));
  agent.hook("tool:start", () => void store.trace.push("tool:start"));
  agent.hook("tool:end", () => void store.trace.push("tool:end"));
  agent.hook("run:end", () => void store.trace.push("run:end"));
  await agent.send("hi", at);
  const place = (entry) => store.trace.indexOf(entry);
  assert.equal(place("run:start"), 0);
  assert.ok(place("tool:start") < place("append tool_started"));
  assert.ok(place("tool:end") > place("stored tool_started"));
  assert.ok(place("tool:end") < place("append tool_result"));
  assert.equal(store.trace.at(-1), "run:end");
});

test("what beforeModel leaves in context.messages is not stored", async (t) => {
  const store = testStore();
  const agent = agentFor(t, {
    checkpointer: store.checkpointer,
    use: [
      {
        name: "sneaks",
        beforeModel(context) {
          context.messages = [{ role: "user", content: "instead" }];
        },
      },
    ],
  });
  await agent.send("hi", at);
  assert.ok(!JSON.stringify(store.events(SESSION)).includes("instead"));
});

test("a provider error leaves the user message stored, and the next run follows it", async (t) => {
  const store = testStore();
  const failure = new Error("down");
  const agent = agentFor(t, { checkpointer: store.checkpointer, model: [{ error: failure }, { text: "up" }] });
  await assert.rejects(agent.send("one", at), (error) => error === failure);
  assert.deepEqual(store.types(SESSION), ["user"]);
  await agent.send("two", at);
  assert.deepEqual(store.types(SESSION), ["user", "user", "assistant"]);
});

test("a run that was aborted before it began stores nothing", async (t) => {
  const store = testStore();
  const agent = agentFor(t, { checkpointer: store.checkpointer });
  const { stopReason } = await agent.send("hi", { ...at, signal: AbortSignal.abort() });
  assert.equal(stopReason, "aborted");
  assert.deepEqual(store.appends, []);
});

test("an input that is nested too deeply is not in the log, nor is its stand-in lost on resuming", async (t) => {
  const store = testStore();
  let deep = {};
  for (let level = 0; level < 5_000; level += 1) deep = { deep };
  const agent = agentFor(t, {
    checkpointer: store.checkpointer,
    permissionAudit: true,
    tools: [echo()],
    model: [{ calls: [call("a", "echo", deep)] }, { text: "end" }],
  });
  const { messages } = await agent.send("hi", at);
  const events = store.events(SESSION);
  assert.equal(events[1].message.content[0].input, "[nested too deeply]");
  assert.equal(eventsOf(events, "tool_result")[0].result.isError, true);
  assert.deepEqual(foldEvents(events), JSON.parse(JSON.stringify(messages)));
});

test("a run that ends at maxTurns has the results of its last calls stored", async (t) => {
  const store = testStore();
  const agent = agentFor(t, {
    checkpointer: store.checkpointer,
    maxTurns: 2,
    tools: [echo()],
    model: [{ calls: [call("a", "echo")] }, { calls: [call("b", "echo")] }],
  });
  const { stopReason, messages } = await agent.send("hi", at);
  assert.equal(stopReason, "max_turns");
  assert.deepEqual(
    eventsOf(store.events(SESSION), "tool_result").map(({ result }) => result.id),
    ["a", "b"],
  );
  assert.deepEqual(foldEvents(store.events(SESSION)), JSON.parse(JSON.stringify(messages)));
});

test("query() stores in its sessionId, and takes up what is there", async (t) => {
  const store = testStore();
  const { workdir, home } = await temporaryFolder(t);
  for (const prompt of ["one", "two"]) {
    const model = scriptedModel([{ text: `answer ${prompt}` }]);
    const { result } = await collect(
      query({ prompt, model, cwd: workdir, home, checkpointer: store.checkpointer, sessionId: SESSION }),
    );
    assert.equal(result.messages.length, prompt === "one" ? 2 : 4);
  }
  assert.deepEqual(
    store.events(SESSION).map(({ message }) => textOf(message)),
    ["one", "answer one", "two", "answer two"],
  );
  assert.equal(store.closed, 0);
});

test("a run whose store waits keeps the process alive; an idle agent with a store does not", async () => {
  const outcome = await runChild(
    `
    const inner = lite.memoryCheckpointer();
    const slow = () => new Promise((resolve) => setTimeout(resolve, 60).unref());
    const checkpointer = {
      async append(...given) { await slow(); return inner.append(...given); },
      async *read(...given) { await slow(); yield* inner.read(...given); },
      async head(...given) { await slow(); return inner.head(...given); },
      list: () => inner.list(),
      async delete(...given) { await slow(); return inner.delete(...given); },
    };
    const agent = makeAgent({ checkpointer });
    agent.send("hi", { sessionId: "s" }).then(() => agent.deleteSession("s")).then(() => console.log("end"));
  `,
    { limitMs: 20_000 },
  );
  assert.equal(outcome.overdue, false, "the process did not end");
  assert.equal(outcome.code, 0, outcome.stderr);
  assert.equal(outcome.stdout.trim(), "end");
});

test("hooks and subscribers hear a run with a store as they hear one without", async (t) => {
  const heard = [];
  for (const checkpointer of [undefined, testStore().checkpointer]) {
    const agent = agentFor(t, {
      checkpointer,
      sessions: false,
      tools: [echo()],
      model: [{ calls: [call("a", "echo")] }, { text: "end" }],
    });
    const fired = recordHooks(agent);
    const { events } = await collect(agent.run("hi", at));
    heard.push([fired.map(({ event }) => event), events.map(({ type }) => type)]);
  }
  assert.deepEqual(heard[1], heard[0]);
});
