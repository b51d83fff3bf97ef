// ask_user: questions of the model to the host's onAskUser. (Those of custom tools: children/context-input.test.mjs;
// those of children: children/asking.test.mjs.) Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { ConfigError, ReentrancyError, policy, query } from "../index.js";
import {
  aborted,
  agentFor,
  collect,
  deferred,
  plainTool,
  recordHooks,
  scriptedModel,
  temporaryFolder,
  until,
  within,
} from "./support/model.mjs";
import { outcome } from "./support/operations.mjs";
import { assertConversation, assertOrder, call, contentText, eventsOf, resultFor } from "./runs/reading.mjs";
import { answering, ask, asks, held, inputs } from "./children/questions.mjs";

const named = (request) => (request.tools ?? []).map(({ name }) => name);

test("without onAskUser there is no ask_user, and a call of it is one of an unknown tool", async (t) => {
  const { model, content } = await ask(t, asks("who?"));
  assert.ok(!named(model.requests[0]).includes("ask_user"));
  assert.match(content(), /unknown tool 'ask_user'/);
});

test("with onAskUser the tool is offered, with question, options and multiSelect", async (t) => {
  const { model } = await ask(t, asks("who?"), { onAskUser: answering({ text: "me" }) });
  const { parameters, description } = model.requests[0].tools.find(({ name }) => name === "ask_user");
  assert.ok(description.length > 0);
  assert.deepEqual(Object.keys(parameters.properties).sort(), ["multiSelect", "options", "question"]);
  assert.deepEqual(parameters.required, ["question"]);
});

test("allowedTools and disallowedTools select it by name", async (t) => {
  for (const [config, offered] of [
    [{ disallowedTools: ["ask_user"] }, false],
    [{ allowedTools: [] }, false],
    [{ allowedTools: ["ask_user"] }, true],
  ]) {
    const model = scriptedModel([{ text: "ok" }]);
    await agentFor(t, { model, onAskUser: answering({ text: "x" }), ...config }).send("hi");
    assert.equal(named(model.requests[0]).includes("ask_user"), offered);
  }
});

for (const input of [
  { question: "who?" },
  { question: "which?", options: ["a", "b"] },
  { question: "which?", options: ["a", "b"], multiSelect: true },
]) {
  test(`the handler gets ${JSON.stringify(input)} as it is, and a signal`, async (t) => {
    let seen;
    const request = async (question, signal) => {
      seen = { question: JSON.parse(JSON.stringify(question)), aborted: signal.aborted };
      return { text: "x" };
    };
    await ask(t, asks(input), { onAskUser: { request } });
    assert.deepEqual(seen, { question: input, aborted: false });
  });
}

for (const answer of [
  { text: 'ä😀 "quoted"\nline' },
  { text: "" },
  { selected: ["a"] },
  { selected: ["a", "b"] },
  { text: "and", selected: ["b"] },
]) {
  test(`the answer ${JSON.stringify(answer)} is the result, as JSON text`, async (t) => {
    const { content, failed, events } = await ask(t, asks({ question: "q", options: ["a", "b"], multiSelect: true }), {
      onAskUser: answering(answer),
    });
    assert.deepEqual(JSON.parse(content()), answer);
    assert.ok(!failed());
    assert.deepEqual(eventsOf(events, "input_resolved")[0].answer, answer);
  });
}

test("the handler is called on its object, and may answer without a promise", async (t) => {
  class Asker {
    prefix = "by ";
    request({ question }) {
      return { text: this.prefix + question };
    }
  }
  const { content } = await ask(t, asks("me?"), { onAskUser: new Asker() });
  assert.deepEqual(JSON.parse(content()), { text: "by me?" });
});

test("input_request and input_resolved come within the call, in order, and subscribers hear them", async (t) => {
  const { events } = await ask(t, asks("who?"), { onAskUser: answering({ text: "me" }) });
  assertOrder(events, [
    "tool_use",
    "tool_call_start",
    "permission_decision",
    "input_request",
    "input_resolved",
    "tool_call_end",
    "tool_result",
  ]);
  assert.deepEqual(inputs(events), [
    { type: "input_request", call: asks("who?"), question: { question: "who?" } },
    { type: "input_resolved", id: "ask", answer: { text: "me" } },
  ]);
});

test("input_request is told before the handler is asked", async (t) => {
  const order = [];
  const agent = agentFor(t, {
    model: [{ calls: [asks("who?")] }, { text: "done" }],
    onAskUser: {
      request: async () => {
        order.push("asked");
        return { text: "x" };
      },
    },
  });
  agent.subscribe(({ event }) => event.type.startsWith("input_") && order.push(event.type));
  await agent.send("go");
  assert.deepEqual(order, ["input_request", "asked", "input_resolved"]);
});

test("the call has its hooks like any other", async (t) => {
  const { fired } = await ask(t, asks("who?"), { onAskUser: answering({ text: "me" }) });
  const tools = fired.filter(({ event }) => event.startsWith("tool:"));
  assert.deepEqual(
    tools.map(({ event, call: { name }, status }) => [event, name, status]),
    [
      ["tool:start", "ask_user", undefined],
      ["tool:end", "ask_user", "completed"],
    ],
  );
  assert.deepEqual(JSON.parse(contentText(tools[1].result)), { text: "me" });
});

for (const [name, input, words] of [
  ["no question", {}, /question/],
  ["a question that is no text", { question: 5 }, /question/],
  ["options that are no list", { question: "q", options: "a" }, /options/],
  ["an option that is no text", { question: "q", options: ["a", 5] }, /options/],
  ["multiSelect that is no yes or no", { question: "q", multiSelect: "yes" }, /multiSelect/],
]) {
  test(`a call with ${name} is a failed result that names it, and nobody is asked`, async (t) => {
    let asked = 0;
    const { content, failed, events } = await ask(t, asks(input), {
      onAskUser: { request: async () => ((asked += 1), { text: "x" }) },
    });
    assert.equal(failed(), true);
    assert.match(content(), words);
    assert.equal(asked, 0);
    assert.deepEqual(inputs(events), []);
  });
}

// -- what may go wrong ----------------------------------------------------------------------------------------------------

for (const [name, request] of Object.entries({
  throws() {
    throw new Error("nobody here");
  },
  rejects: () => Promise.reject(new Error("nobody here")),
})) {
  test(`a handler that ${name} is a failed result with its message, and the run goes on`, async (t) => {
    const { content, failed, result, events } = await ask(t, asks("who?"), { onAskUser: { request } });
    assert.equal(content(), "Error: nobody here");
    assert.equal(failed(), true);
    assert.equal(result.text, "done");
    assert.equal(eventsOf(events, "input_request").length, 1);
    assert.equal(eventsOf(events, "input_resolved").length, 0);
  });
}

test("a handler that throws what is no Error is a failed result, too", async (t) => {
  for (const thrown of ["plain words", undefined, null, { code: 1 }]) {
    const { content, failed } = await ask(t, asks("who?"), { onAskUser: { request: () => Promise.reject(thrown) } });
    assert.equal(failed(), true);
    assert.match(content(), /^Error: /);
    if (typeof thrown === "string") assert.match(content(), /plain words/);
  }
});

for (const answer of [
  undefined,
  null,
  "yes",
  5,
  true,
  [],
  ["a"],
  {},
  { answer: "a" },
  { text: 5 },
  { text: null },
  { selected: "a" },
  { selected: ["a", 5] },
  { selected: { 0: "a" } },
  { text: "x", selected: 5 },
]) {
  test(`an answer that is none, ${JSON.stringify(answer)}, is a failed result, and the run goes on`, async (t) => {
    const { content, failed, result } = await ask(t, asks("who?"), { onAskUser: answering(answer) });
    assert.equal(failed(), true);
    assert.match(content(), /^Error: \S/);
    assert.equal(result.text, "done");
  });
}

test("an answer whose fields throw when they are read is a failed result", async (t) => {
  const answer = {
    get text() {
      throw new Error("boobytrapped");
    },
  };
  const { failed, result } = await ask(t, asks("who?"), { onAskUser: answering(answer) });
  assert.equal(failed(), true);
  assert.equal(result.text, "done");
});

test("an answer that its handler changes afterwards is the one that was given", async (t) => {
  const answer = { text: "given" };
  const agent = agentFor(t, {
    model: [{ calls: [asks("who?")] }, { text: "done" }],
    onAskUser: answering(answer),
  });
  agent.subscribe(({ event }) => {
    if (event.type !== "input_resolved") return;
    answer.text = "changed";
    event.answer.text = "forged";
  });
  const { messages } = await agent.send("go");
  assert.deepEqual(JSON.parse(contentText(resultFor(messages, "ask"))), { text: "given" });
});

test("an onAskUser that is none is a config mistake that names it", (t) => {
  for (const onAskUser of [5, "x", {}, { request: 5 }, null, () => ({ text: "x" })]) {
    assert.throws(
      () => agentFor(t, { onAskUser }),
      (error) => (error instanceof ConfigError || error instanceof TypeError) && error.message.includes("onAskUser"),
      JSON.stringify(onAskUser),
    );
  }
});

// -- one at a time --------------------------------------------------------------------------------------------------------

test("the questions of one turn are asked one at a time, in call order; other calls go on meanwhile", async (t) => {
  const handler = held();
  const worked = deferred();
  const agent = agentFor(t, {
    model: [{ calls: [asks("a", "1"), asks("b", "2"), call("w", "work"), asks("c", "3")] }, { text: "done" }],
    tools: [plainTool("work", () => (worked.resolve(), "worked"))],
    onAskUser: handler,
  });
  const sent = within(agent.send("go"), "the run");
  await within(worked.promise, "the other call");
  for (let count = 0; count < 3; count += 1) await handler.answerNext();
  const { messages } = await sent;
  assert.equal(handler.most, 1);
  assert.deepEqual(handler.asked, ["a", "b", "c"]);
  assert.deepEqual(
    ["1", "2", "3"].map((id) => JSON.parse(contentText(resultFor(messages, id))).text),
    ["to a", "to b", "to c"],
  );
});

test("the questions of two sessions are asked one at a time, first come first served", async (t) => {
  const handler = held();
  const agent = agentFor(t, {
    model: scriptedModel([
      ({ messages }) => (messages.length === 1 ? { calls: [asks(`of ${messages[0].content}`)] } : { text: "done" }),
    ]),
    onAskUser: handler,
  });
  const first = agent.send("first", { sessionId: "one" });
  await until(() => handler.asked.length === 1, "the first question");
  const second = agent.send("second", { sessionId: "two" });
  await handler.answerNext();
  await handler.answerNext();
  await Promise.all([first, second]);
  assert.deepEqual(handler.asked, ["of first", "of second"]);
  assert.equal(handler.most, 1);
});

test("two agents ask at the same time", async (t) => {
  const both = deferred();
  let inside = 0;
  const onAskUser = {
    async request() {
      inside += 1;
      if (inside === 2) both.resolve();
      await both.promise;
      return { text: "x" };
    },
  };
  const agents = [1, 2].map(() => agentFor(t, { model: [{ calls: [asks("q")] }, { text: "done" }], onAskUser }));
  await within(Promise.all(agents.map((agent) => agent.send("go"))), "both runs");
});

test("a question that fails lets the next be asked", async (t) => {
  const asked = [];
  const { content } = await ask(t, [asks("a", "1"), asks("b", "2")], {
    onAskUser: {
      request: async ({ question }) => {
        asked.push(question);
        if (question === "a") throw new Error("no");
        return { text: "yes" };
      },
    },
  });
  assert.deepEqual(asked, ["a", "b"]);
  assert.equal(content("1"), "Error: no");
  assert.deepEqual(JSON.parse(content("2")), { text: "yes" });
});

// -- ending ---------------------------------------------------------------------------------------------------------------

for (const [how, end] of Object.entries({
  "its signal": ({ controller }) => controller.abort(new Error("enough")),
  "close()": ({ agent }) => agent.close(),
})) {
  test(`${how} while a question is open: the handler's signal fires, the run is over soon, what waited is not asked`, async (t) => {
    const entered = deferred();
    const asked = [];
    let signal;
    const agent = agentFor(t, {
      model: [{ calls: [asks("a", "1"), asks("b", "2")] }, { text: "never said" }],
      onAskUser: {
        request({ question }, given) {
          asked.push(question);
          signal = given;
          entered.resolve();
          return new Promise(() => {});
        },
      },
    });
    const fired = recordHooks(agent, ["tool:end", "run:end"]);
    const controller = new AbortController();
    const sent = agent.send("go", { signal: controller.signal });
    await within(entered.promise, "the question");
    assert.equal(signal.aborted, false);
    const ending = end({ agent, controller });
    const result = await within(sent, "the run", 2_000);
    await ending;
    assert.equal(result.stopReason, "aborted");
    assert.equal(signal.aborted, true);
    assertConversation(result.messages);
    assert.deepEqual(asked, ["a"]);
    assert.equal(fired.at(-1).status, "cancelled");
  });
}

test("after an abort the next run's question is asked: nobody waits for the one that was left", async (t) => {
  const entered = deferred();
  let count = 0;
  const agent = agentFor(t, {
    model: [{ calls: [asks("a", "1")] }, { calls: [asks("b", "2")] }, { text: "done" }],
    onAskUser: {
      async request(_, signal) {
        count += 1;
        if (count > 1) return { text: "answered" };
        entered.resolve();
        await aborted(signal);
        return new Promise(() => {});
      },
    },
  });
  const controller = new AbortController();
  const sent = agent.send("go", { signal: controller.signal });
  await within(entered.promise, "the question");
  controller.abort();
  await sent;
  assert.equal((await within(agent.send("again"), "the next run")).text, "done");
  assert.equal(count, 2);
});

test("an answer that comes after the abort is dropped, and so is a late rejection", async (t) => {
  for (const settle of [(late) => late.resolve({ text: "late" }), (late) => late.reject(new Error("late"))]) {
    const entered = deferred();
    const late = deferred();
    const agent = agentFor(t, {
      model: [{ calls: [asks("a")] }, { text: "done" }],
      onAskUser: {
        request() {
          entered.resolve();
          return late.promise;
        },
      },
    });
    const events = [];
    agent.subscribe(({ event }) => events.push(event));
    const controller = new AbortController();
    const sent = agent.send("go", { signal: controller.signal });
    await within(entered.promise, "the question");
    controller.abort();
    const { messages } = await sent;
    settle(late);
    for (let round = 0; round < 20; round += 1) await new Promise(setImmediate);
    assert.equal(resultFor(messages, "ask").isError, true);
    assert.deepEqual(eventsOf(events, "input_resolved"), []);
  }
});

// -- permission and re-entrancy -------------------------------------------------------------------------------------------

test("the defaults allow it; a policy may deny it, and then nobody is asked", async (t) => {
  let asked = 0;
  const onAskUser = { request: async () => ((asked += 1), { text: "x" }) };
  await ask(t, asks("who?"), { onAskUser });
  assert.equal(asked, 1);
  const { content } = await ask(t, asks("who?"), { onAskUser, permission: policy({ deny: ["ask_user"] }) });
  assert.match(content(), /^Error: blocked by policy/);
  assert.equal(asked, 1);
});

test("a handler that awaits an operation on its own session is refused; on another it may", async (t) => {
  const seen = {};
  let agent;
  agent = agentFor(t, {
    model: scriptedModel([
      ({ messages }) =>
        messages.length === 1 && messages[0].content === "go" ? { calls: [asks("who?")] } : { text: "done" },
    ]),
    onAskUser: {
      async request() {
        seen.send = await outcome(agent.send("x"));
        seen.awaitIdle = await outcome(agent.awaitIdle());
        seen.other = await outcome(agent.send("x", { sessionId: "other" }));
        return { text: "x" };
      },
    },
  });
  const result = await within(agent.send("go"), "the run");
  assert.deepEqual(seen, { send: "refused", awaitIdle: "refused", other: "allowed" });
  assert.equal(result.text, "done");
});

test("a refusal that the handler does not catch is the failed result", async (t) => {
  let agent;
  let error;
  agent = agentFor(t, {
    model: [{ calls: [asks("who?")] }, { text: "done" }],
    onAskUser: {
      request: () =>
        agent.awaitIdle().catch((reason) => {
          error = reason;
          throw reason;
        }),
    },
  });
  const { messages } = await within(agent.send("go"), "the run");
  assert.ok(error instanceof ReentrancyError);
  assert.equal(resultFor(messages, "ask").isError, true);
});

test("a run that a handler waits for, and that asks itself, is not left hanging", async (t) => {
  let inner;
  const asked = [];
  let agent;
  agent = agentFor(t, {
    model: scriptedModel([
      ({ messages }) => (messages.length === 1 ? { calls: [asks(`of ${messages[0].content}`)] } : { text: "done" }),
    ]),
    onAskUser: {
      async request({ question }) {
        asked.push(question);
        inner ??= await agent.send("inner", { sessionId: "other" });
        return { text: "x" };
      },
    },
  });
  const outer = await within(agent.send("outer"), "the outer run");
  assert.equal(outer.text, "done");
  assert.equal(inner.text, "done");
  assert.deepEqual(asked, ["of outer"], "it was not asked inside itself");
  assert.equal(resultFor(inner.messages, "ask").isError, true);
});

// -- query -----------------------------------------------------------------------------------------------------------------

test("query() takes onAskUser, too", async (t) => {
  const { workdir, home } = await temporaryFolder(t);
  const model = scriptedModel([{ calls: [asks("who?")] }, { text: "done" }]);
  const options = { prompt: "go", cwd: workdir, home, model, onAskUser: answering({ text: "me" }) };
  const { result } = await within(collect(query(options)), "the query");
  assert.deepEqual(JSON.parse(contentText(resultFor(result.messages, "ask"))), { text: "me" });
});
