// Iterators, promises and chunks of a provider that throw when they are looked at: a failure of the provider, never a
// hang or an unhandled rejection. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { agentFor, plainTool, recordHooks, scriptedModel, within } from "../support/model.mjs";

const RETURNS = {
  "a `return` getter that throws": {
    get return() {
      throw new Error("no return");
    },
  },
  "a return() that throws": {
    return() {
      throw new Error("no return");
    },
  },
  "a return() that rejects": { return: () => Promise.reject(new Error("no return")) },
  "a return() whose promise has a `then` getter that throws": {
    return: () => ({
      get then() {
        throw new Error("no then");
      },
    }),
  },
  "a return() whose promise has a catch() of its own that throws": {
    return: () =>
      Object.assign(Promise.reject(new Error("no return")), {
        catch() {
          throw new Error("no catch");
        },
      }),
  },
  "a return() that never settles": { return: () => new Promise(() => {}) },
};

const boom = new Error("next failed");
const NEXTS = {
  throws: {
    next() {
      throw boom;
    },
    expected: boom,
  },
  rejects: { next: () => Promise.reject(boom), expected: boom },
  "yields what is no chunk": { next: async () => ({ done: false, value: 5 }), expected: /unknown type number/ },
  "gives no iterator result": { next: async () => 5, expected: /must yield iterator results/ },
  "gives a result whose `done` getter throws": {
    next: async () => ({
      get done() {
        throw boom;
      },
    }),
    expected: boom,
  },
  "yields a chunk whose `type` getter throws": {
    next: async () => ({
      done: false,
      value: {
        get type() {
          throw boom;
        },
      },
    }),
    expected: boom,
  },
  "yields a chunk that is a proxy which throws": {
    next: async () => ({
      done: false,
      value: new Proxy(
        {},
        {
          get() {
            throw boom;
          },
        },
      ),
    }),
    expected: boom,
  },
};

function iteratorOf(next, returning) {
  return Object.defineProperties({ next }, Object.getOwnPropertyDescriptors(returning));
}

/** Fails for the first call, answers the second. */
function failingOnce(iterator) {
  let calls = 0;
  const sound = scriptedModel([{ text: "fine" }]);
  return {
    id: "failing-once",
    stream(request, signal) {
      calls += 1;
      return calls === 1 ? { [Symbol.asyncIterator]: () => iterator } : sound.stream(request, signal);
    },
  };
}

for (const [ending, returning] of Object.entries(RETURNS)) {
  for (const [how, { next, expected }] of Object.entries(NEXTS)) {
    test(`an iterator that ${how}, and has ${ending}, fails its run and no other`, async (t) => {
      const agent = agentFor(t, { model: failingOnce(iteratorOf(next, returning)) });
      const fired = recordHooks(agent);
      const failure = await within(
        agent.send("go").catch((error) => error),
        "the run",
      );
      if (expected === boom) assert.equal(failure, boom);
      else assert.match(failure.message, expected);
      assert.deepEqual(
        fired.map(({ event, status }) => [event, status]),
        [
          ["run:start", undefined],
          ["run:end", "failed"],
        ],
      );
      assert.equal((await within(agent.send("again"), "the next run")).text, "fine");
    });
  }

  test(`a run whose model's iterator has ${ending} is aborted all the same`, async (t) => {
    const controller = new AbortController();
    const next = () => {
      setImmediate(() => controller.abort());
      return new Promise(() => {});
    };
    const agent = agentFor(t, { model: failingOnce(iteratorOf(next, returning)) });
    const result = await within(agent.send("go", { signal: controller.signal }), "the run");
    assert.equal(result.stopReason, "aborted");
    assert.equal((await within(agent.send("again"), "the next run")).text, "fine");
  });
}

for (const [what, stream] of Object.entries({
  "stream() that throws": () => {
    throw boom;
  },
  "stream whose [Symbol.asyncIterator] getter throws": () => ({
    get [Symbol.asyncIterator]() {
      throw boom;
    },
  }),
  "stream whose [Symbol.asyncIterator]() throws": () => ({
    [Symbol.asyncIterator]() {
      throw boom;
    },
  }),
  "iterator whose `next` getter throws": () => ({
    [Symbol.asyncIterator]: () => ({
      get next() {
        throw boom;
      },
    }),
  }),
})) {
  test(`a ${what} fails the run with what it threw`, async (t) => {
    const agent = agentFor(t, { model: { id: "broken", stream } });
    await within(
      assert.rejects(agent.send("go"), (error) => error === boom),
      "the run",
    );
    await within(agent.close(), "close()");
  });

  test(`wrapModelCall that returns a ${what} fails the run with what it threw`, async (t) => {
    const agent = agentFor(t, { use: [{ name: "broken", wrapModelCall: stream }] });
    await within(
      assert.rejects(agent.send("go"), (error) => error === boom),
      "the run",
    );
  });
}

/** A promise whose `constructor` reads well until it is needed. */
function treacherousPromise() {
  let reads = 0;
  return Object.defineProperty(Promise.resolve("fine"), "constructor", {
    get() {
      reads += 1;
      if (reads > 1) throw boom;
      return Promise;
    },
  });
}

test("a tool, a hook and a policy whose promise throws when it is awaited are failures of theirs", async (t) => {
  const model = scriptedModel([{ calls: [{ id: "1", name: "work", input: {} }] }, { text: "done" }]);
  const agent = agentFor(t, { model, tools: [plainTool("work", treacherousPromise)] });
  agent.hook("run:end", treacherousPromise);
  const diagnostics = [];
  agent.subscribe(({ event }) => event.type === "diagnostic" && diagnostics.push(event.code));
  const result = await within(agent.send("go"), "the run");
  assert.equal(result.text, "done");
  assert.deepEqual(model.requests[1].messages.at(-1).content, [
    { type: "tool_result", id: "1", content: "Error: next failed", isError: true },
  ]);
  assert.deepEqual(diagnostics, ["hook_failed"]);
});

const outputs = {
  "whose `content` getter throws": {
    get content() {
      throw boom;
    },
  },
  "that is a proxy which throws": new Proxy(
    {},
    {
      get(target, name) {
        if (name === "then") return undefined;
        throw boom;
      },
    },
  ),
  "whose `then` getter throws": {
    get then() {
      throw boom;
    },
  },
  "with a block whose `type` getter throws": [
    {
      get type() {
        throw boom;
      },
    },
  ],
};
for (const [what, output] of Object.entries(outputs)) {
  test(`an output ${what} is a failed result, from the tool and from wrapToolCall`, async (t) => {
    for (const config of [
      { tools: [plainTool("work", () => output)] },
      { tools: [plainTool("work", () => "worked")], use: [{ name: "broken", wrapToolCall: () => output }] },
    ]) {
      const model = scriptedModel([{ calls: [{ id: "1", name: "work", input: {} }] }, { text: "done" }]);
      const result = await within(agentFor(t, { model, ...config }).send("go"), "the run");
      assert.equal(result.text, "done");
      assert.equal(model.requests[1].messages.at(-1).content[0].content, "Error: next failed");
    }
  });
}

for (const [what, answer] of Object.entries({
  "whose `decision` getter throws": {
    get decision() {
      throw boom;
    },
  },
  "whose `then` getter throws": {
    get then() {
      throw boom;
    },
  },
})) {
  test(`a verdict ${what} denies, and so does such an approval`, async (t) => {
    for (const config of [
      { permission: { check: () => answer } },
      { permission: { check: () => "ask" }, onApproval: { request: () => answer } },
    ]) {
      const model = scriptedModel([{ calls: [{ id: "1", name: "work", input: {} }] }, { text: "done" }]);
      const agent = agentFor(t, { model, tools: [plainTool("work", () => assert.fail("it ran"))], ...config });
      const result = await within(agent.send("go"), "the run");
      assert.equal(result.text, "done");
      assert.match(model.requests[1].messages.at(-1).content[0].content, /^Error: blocked by policy/);
    }
  });
}
