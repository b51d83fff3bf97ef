// context.input: what a custom tool may ask the user, by the same handler and in the same queue as ask_user. Knows the
// public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { aborted, agentFor, deferred, plainTool, within } from "../support/model.mjs";
import { call, contentText, resultFor } from "../runs/reading.mjs";
import { answering, ask, asks, held, inputs } from "./questions.mjs";

test("a custom tool has context.input where there is onAskUser, and none where there is not", async (t) => {
  for (const [onAskUser, expected] of [
    [undefined, "undefined"],
    [answering({ text: "x" }), "function"],
  ]) {
    const tools = [plainTool("probe", (_, { input }) => typeof input?.request)];
    const { content } = await ask(t, call("p", "probe"), { tools, onAskUser });
    assert.equal(content("p"), expected);
  }
});

test("context.input asks the same handler, with the events of that tool's call, and gives its answer", async (t) => {
  let seen;
  const question = { question: "sure?", options: ["yes", "no"], multiSelect: false };
  const tools = [
    plainTool("careful", async (_, { input }) => {
      const answer = await input.request(question);
      return `user said ${answer.selected}`;
    }),
  ];
  const { content, events } = await ask(t, call("c", "careful", { x: 1 }), {
    tools,
    onAskUser: {
      request: async (given, signal) => {
        seen = [JSON.parse(JSON.stringify(given)), signal instanceof AbortSignal];
        return { selected: ["yes"] };
      },
    },
  });
  assert.equal(content("c"), "user said yes");
  assert.deepEqual(seen, [question, true]);
  assert.deepEqual(inputs(events), [
    { type: "input_request", call: call("c", "careful", { x: 1 }), question },
    { type: "input_resolved", id: "c", answer: { selected: ["yes"] } },
  ]);
});

test("a custom tool may ask several times, one after another or at once: one at a time they are asked", async (t) => {
  const handler = held();
  const tools = [
    plainTool("curious", async (_, { input }) => {
      const first = await input.request({ question: "a" });
      const more = await Promise.all(["b", "c"].map((question) => input.request({ question })));
      return [first, ...more].map(({ text }) => text).join(", ");
    }),
  ];
  const agent = agentFor(t, {
    model: [{ calls: [call("q", "curious")] }, { text: "done" }],
    tools,
    onAskUser: handler,
  });
  const sent = within(agent.send("go"), "the run");
  for (let count = 0; count < 3; count += 1) await handler.answerNext();
  const { messages } = await sent;
  assert.equal(contentText(resultFor(messages, "q")), "to a, to b, to c");
  assert.equal(handler.most, 1);
});

test("ask_user and context.input share the queue", async (t) => {
  const handler = held();
  const tools = [plainTool("curious", async (_, { input }) => (await input.request({ question: "tool" })).text)];
  const agent = agentFor(t, {
    model: [{ calls: [call("1", "curious"), asks("model", "2")] }, { text: "done" }],
    tools,
    onAskUser: handler,
  });
  const sent = within(agent.send("go"), "the run");
  await handler.answerNext();
  await handler.answerNext();
  await sent;
  assert.equal(handler.most, 1);
  assert.deepEqual([...handler.asked].sort(), ["model", "tool"]);
});

test("what the handler throws, or answers wrongly, rejects context.input's promise: the tool may catch it", async (t) => {
  for (const [request, words] of [
    [() => Promise.reject(new Error("nobody here")), /nobody here/],
    [async () => "yes", /\S/],
  ]) {
    const tools = [
      plainTool("careful", (_, { input }) =>
        input.request({ question: "sure?" }).then(
          () => "answered",
          (error) => `caught ${error.message}`,
        ),
      ),
    ];
    const { content } = await ask(t, call("c", "careful"), { tools, onAskUser: { request } });
    assert.match(content("c"), /^caught /);
    assert.match(content("c"), words);
  }
});

test("what a tool does not catch of it is that tool's failed result", async (t) => {
  const tools = [plainTool("careless", async (_, { input }) => (await input.request({ question: "sure?" })).text)];
  const { content, failed } = await ask(t, call("c", "careless"), {
    tools,
    onAskUser: { request: () => Promise.reject(new Error("nobody here")) },
  });
  assert.equal(content("c"), "Error: nobody here");
  assert.equal(failed("c"), true);
});

test("context.input of a run that is aborted rejects, or never settles, and the run is over soon", async (t) => {
  const entered = deferred();
  const tools = [plainTool("careful", async (_, { input }) => (await input.request({ question: "sure?" })).text)];
  const agent = agentFor(t, {
    model: [{ calls: [call("c", "careful")] }, { text: "never said" }],
    tools,
    onAskUser: {
      request() {
        entered.resolve();
        return new Promise(() => {});
      },
    },
  });
  const controller = new AbortController();
  const sent = agent.send("go", { signal: controller.signal });
  await within(entered.promise, "the question");
  controller.abort();
  assert.equal((await within(sent, "the run", 2_000)).stopReason, "aborted");
});

test("a tool whose timeoutMs passes while it asks fails, and the next question is asked", async (t) => {
  let signal;
  const asked = [];
  const tools = [
    plainTool("hasty", async (_, { input }) => (await input.request({ question: "slow" })).text, { timeoutMs: 50 }),
  ];
  const { content, result } = await ask(t, [call("h", "hasty"), asks("next", "n")], {
    tools,
    onAskUser: {
      async request({ question }, given) {
        asked.push(question);
        if (question === "next") return { text: "yes" };
        signal = given;
        await aborted(given);
        return new Promise(() => {});
      },
    },
  });
  assert.match(content("h"), /timed out after 50 ms/);
  assert.deepEqual(JSON.parse(content("n")), { text: "yes" });
  assert.equal(signal?.aborted, true);
  assert.equal(result.text, "done");
});
