// When run:start and run:end fire, and exactly what they carry.
import { test } from "node:test";
import assert from "node:assert/strict";
import { query } from "../../index.js";
import {
  agentFor,
  collect,
  collectUntilError,
  deferred,
  plainTool,
  recordHooks,
  scriptedModel,
  temporaryFolder,
  within,
} from "../support/model.mjs";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const call = (id = "call-1", name = "work", input = {}) => ({ id, name, input });
const keys = (object) => Object.keys(object).sort();
const names = (fired) => fired.map(({ event }) => event);

test("run:start carries its identity and the input, and no other key", async (t) => {
  const agent = agentFor(t);
  const fired = recordHooks(agent);
  await agent.send("do it");
  const [start] = fired;
  assert.deepEqual(keys(start), ["event", "input", "runId", "sessionId", "source"]);
  assert.equal(start.event, "run:start");
  assert.equal(start.input, "do it");
  assert.equal(start.sessionId, agent.sessionId);
  assert.equal(start.source, "user");
  assert.match(start.runId, UUID);
});

test("agentId is absent, not undefined, for the root agent", async (t) => {
  const agent = agentFor(t, { model: [{ calls: [call()] }, { text: "done" }], tools: [plainTool("work", () => "ok")] });
  const fired = recordHooks(agent);
  await agent.send("go");
  assert.equal(fired.length, 4);
  for (const event of fired) {
    assert.equal("agentId" in event, false, event.event);
    assert.equal("truncated" in event, false, event.event);
  }
});

test("run:start carries messages as they were given", async (t) => {
  const agent = agentFor(t);
  const fired = recordHooks(agent, ["run:start"]);
  const input = [
    {
      role: "user",
      content: [
        { type: "text", text: "look" },
        { type: "image", mediaType: "image/png", data: "iVBORw0KGgo=" },
      ],
    },
  ];
  await agent.send(input);
  assert.deepEqual(fired[0].input, input);
});

test("run:end of a run that stopped carries status completed and a result of text, usage and stop reason alone", async (t) => {
  const agent = agentFor(t, { model: [{ text: "all done", usage: { inputTokens: 7, outputTokens: 3 } }] });
  const fired = recordHooks(agent);
  const result = await agent.send("go");
  const end = fired.at(-1);
  assert.deepEqual(keys(end), ["event", "result", "runId", "sessionId", "source", "status"]);
  assert.equal(end.status, "completed");
  assert.equal("error" in end, false);
  assert.deepEqual(keys(end.result), ["stopReason", "text", "usage"]);
  assert.deepEqual(end.result, { text: "all done", usage: { inputTokens: 7, outputTokens: 3 }, stopReason: "stop" });
  assert.deepEqual(end.result.usage, result.usage);
});

test("the result of run:end sums the usage of all turns and has the last text", async (t) => {
  const agent = agentFor(t, {
    model: [
      { text: "first", calls: [call()], usage: { inputTokens: 7, outputTokens: 3 } },
      { text: "last", usage: { inputTokens: 20, outputTokens: 4 } },
    ],
    tools: [plainTool("work", () => "ok")],
  });
  const fired = recordHooks(agent, ["run:end"]);
  await agent.send("go");
  assert.deepEqual(fired[0].result, { text: "last", usage: { inputTokens: 27, outputTokens: 7 }, stopReason: "stop" });
});

test("run:end of a run out of turns has status max_turns and a result", async (t) => {
  const agent = agentFor(t, { model: [{ calls: [call()] }], tools: [plainTool("work", () => "ok")], maxTurns: 1 });
  const fired = recordHooks(agent);
  await agent.send("go");
  const end = fired.at(-1);
  assert.equal(end.event, "run:end");
  assert.equal(end.status, "max_turns");
  assert.equal(end.result.stopReason, "max_turns");
  assert.equal("error" in end, false);
  assert.deepEqual(names(fired), ["run:start", "tool:start", "tool:end", "run:end"]);
});

test("run:end of an aborted run has status cancelled and a result that says aborted", async (t) => {
  const controller = new AbortController();
  const agent = agentFor(t, {
    model: scriptedModel([{ wait: new Promise(() => {}) }], { onRequest: () => controller.abort() }),
  });
  const fired = recordHooks(agent);
  const result = await agent.send("go", { signal: controller.signal });
  assert.equal(result.stopReason, "aborted");
  assert.deepEqual(names(fired), ["run:start", "run:end"]);
  assert.deepEqual(keys(fired[1]), ["event", "result", "runId", "sessionId", "source", "status"]);
  assert.equal(fired[1].status, "cancelled");
  assert.deepEqual(keys(fired[1].result), ["stopReason", "text", "usage"]);
  assert.equal(fired[1].result.stopReason, "aborted");
});

class Overloaded extends Error {
  name = "Overloaded";
}

test("run:end of a failed run has status failed, the error's name and message, and no result", async (t) => {
  const thrown = new Overloaded("the model is overloaded");
  const agent = agentFor(t, { model: [{ error: thrown }] });
  const fired = recordHooks(agent);
  await assert.rejects(agent.send("go"), (error) => error === thrown);
  const end = fired.at(-1);
  assert.deepEqual(keys(end), ["error", "event", "runId", "sessionId", "source", "status"]);
  assert.equal(end.status, "failed");
  assert.equal("result" in end, false);
  assert.deepEqual(end.error, { name: "Overloaded", message: "the model is overloaded" });
});

test("every event of one run has the same runId and sessionId", async (t) => {
  const agent = agentFor(t, { model: [{ calls: [call()] }, { text: "done" }], tools: [plainTool("work", () => "ok")] });
  const fired = recordHooks(agent);
  await agent.send("go", { sessionId: "mine" });
  assert.deepEqual(names(fired), ["run:start", "tool:start", "tool:end", "run:end"]);
  assert.equal(new Set(fired.map(({ runId }) => runId)).size, 1);
  assert.deepEqual(new Set(fired.map(({ sessionId }) => sessionId)), new Set(["mine"]));
});

test("each run has a fresh runId", async (t) => {
  const agent = agentFor(t);
  const fired = recordHooks(agent, ["run:start"]);
  for (let round = 0; round < 20; round += 1) await agent.send("go");
  await Promise.all(["a", "b", "c"].map((sessionId) => agent.send("go", { sessionId })));
  assert.equal(new Set(fired.map(({ runId }) => runId)).size, 23);
  for (const { runId } of fired) assert.match(runId, UUID);
});

test("source is user for run and send, and subscribers hear the same", async (t) => {
  const agent = agentFor(t);
  const fired = recordHooks(agent);
  const heard = [];
  agent.subscribe((entry) => heard.push(entry));
  await agent.send("go");
  await collect(agent.run("go"));
  assert.deepEqual(new Set(fired.map(({ source }) => source)), new Set(["user"]));
  assert.deepEqual(new Set(heard.map(({ source }) => source)), new Set(["user"]));
});

test("query() runs without any registration", async (t) => {
  const { workdir, home } = await temporaryFolder(t);
  const { result } = await collect(
    query({ prompt: "go", cwd: workdir, home, model: scriptedModel([{ text: "hello" }]) }),
  );
  assert.equal(result.text, "hello");
});

test("run:start fires before the run's first event, and before beforeAgent and the model", async (t) => {
  const order = [];
  const agent = agentFor(t, {
    model: scriptedModel([{ text: "ok" }], { onRequest: () => order.push("model") }),
    use: [
      {
        name: "order",
        beforeAgent: () => void order.push("beforeAgent"),
        afterAgent: () => void order.push("afterAgent"),
      },
    ],
  });
  agent.subscribe(({ event }) => order.push(event.type));
  agent.hook("run:start", async () => {
    await new Promise(setImmediate);
    order.push("run:start");
  });
  await agent.send("go");
  assert.equal(order[0], "run:start");
  assert.ok(order.indexOf("beforeAgent") < order.indexOf("model"));
  assert.ok(order.indexOf("turn_start") > 0);
});

test("the model is not called while a run:start handler is pending", async (t) => {
  const model = scriptedModel([{ text: "ok" }]);
  const agent = agentFor(t, { model });
  const gate = deferred();
  const invoked = deferred();
  agent.hook("run:start", () => {
    invoked.resolve();
    return gate.promise;
  });
  const sending = agent.send("go");
  await invoked.promise;
  await new Promise(setImmediate);
  assert.equal(model.requests.length, 0);
  gate.resolve();
  await sending;
  assert.equal(model.requests.length, 1);
});

test("the user message of a run that is cancelled during run:start is not stored", async (t) => {
  const model = scriptedModel([{ text: "ok" }]);
  const agent = agentFor(t, { model });
  const controller = new AbortController();
  const remove = agent.hook("run:start", () => {
    controller.abort();
    return new Promise(() => {});
  });
  const result = await within(agent.send("never stored", { signal: controller.signal }), "aborted send");
  assert.equal(result.stopReason, "aborted");
  assert.equal(model.requests.length, 0);
  remove();
  await agent.send("stored");
  assert.equal(model.requests.length, 1);
  assert.equal(JSON.stringify(model.requests[0].messages).includes("never stored"), false);
  assert.equal(model.requests[0].messages.length, 1);
});

test("run:end fires after afterAgent and before done", async (t) => {
  const order = [];
  const agent = agentFor(t, { use: [{ name: "order", afterAgent: () => void order.push("afterAgent") }] });
  agent.subscribe(({ event }) => order.push(event.type));
  agent.hook("run:end", async () => {
    await new Promise(setImmediate);
    order.push("run:end");
  });
  await collect(agent.run("go"));
  assert.deepEqual(order.slice(-3), ["afterAgent", "run:end", "done"]);
});

test("done is not in the stream while a run:end handler is pending", async (t) => {
  const agent = agentFor(t);
  const gate = deferred();
  const invoked = deferred();
  agent.hook("run:end", () => {
    invoked.resolve();
    return gate.promise;
  });
  const seen = [];
  const pulling = (async () => {
    for await (const event of agent.run("go")) seen.push(event.type);
  })();
  await invoked.promise;
  await new Promise(setImmediate);
  assert.equal(seen.includes("done"), false);
  gate.resolve();
  await pulling;
  assert.equal(seen.at(-1), "done");
});

for (const [how, config] of [
  ["completed", { model: [{ text: "ok" }] }],
  ["failed", { model: [{ error: new Error("broken") }] }],
]) {
  test(`send() of a ${how} run does not settle while a run:end handler is pending`, async (t) => {
    const agent = agentFor(t, config);
    const gate = deferred();
    const invoked = deferred();
    agent.hook("run:end", () => {
      invoked.resolve();
      return gate.promise;
    });
    let settled = false;
    const sending = agent.send("go").then(
      () => {
        settled = true;
      },
      () => {
        settled = true;
      },
    );
    await invoked.promise;
    await new Promise(setImmediate);
    assert.equal(settled, false);
    gate.resolve();
    await sending;
    assert.equal(settled, true);
  });
}

test("a run that waits for its turn in the session fires run:start after the run:end of the one before", async (t) => {
  const agent = agentFor(t);
  const order = [];
  agent.hook("run:start", ({ input }) => void order.push(`start ${input}`));
  agent.hook("run:end", async () => {
    await new Promise(setImmediate);
    order.push("end");
  });
  await Promise.all([agent.send("one"), agent.send("two"), agent.send("three")]);
  assert.deepEqual(order, ["start one", "end", "start two", "end", "start three", "end"]);
});

test("run:start hooks of different sessions are awaited at the same time", async (t) => {
  const agent = agentFor(t);
  const met = deferred();
  const sessions = new Set();
  agent.hook("run:start", ({ sessionId }) => {
    sessions.add(sessionId);
    if (sessions.size === 2) met.resolve();
    return met.promise;
  });
  await within(
    Promise.all([agent.send("go", { sessionId: "a" }), agent.send("go", { sessionId: "b" })]),
    "both sessions",
  );
  assert.deepEqual(sessions, new Set(["a", "b"]));
});

test("a run whose reader stops pulling goes on to its run:end, and the next run of the session has its turn", async (t) => {
  const agent = agentFor(t, { model: [{ calls: [call()] }, { text: "done" }], tools: [plainTool("work", () => "ok")] });
  const fired = recordHooks(agent);
  const run = agent.run("read in part");
  await run.next();
  const result = await within(agent.send("next"), "the next run");
  assert.equal(result.stopReason, "stop");
  assert.deepEqual(
    fired.filter(({ event }) => event === "run:end").map(({ status }) => status),
    ["completed", "completed"],
  );
  const { result: late } = await collect(run);
  assert.equal(late.stopReason, "stop");
});

test("a run that nobody began to pull fires nothing", async (t) => {
  const agent = agentFor(t);
  const fired = recordHooks(agent);
  const run = agent.run("go");
  await run.return();
  await agent.send("another");
  assert.deepEqual(
    fired.map(({ event, input }) => [event, input]),
    [
      ["run:start", "another"],
      ["run:end", undefined],
    ],
  );
});

const brokenProviders = {
  "throws when called": {
    id: "broken",
    stream() {
      throw new Error("broken");
    },
  },
  "returns no iterable": { id: "broken", stream: () => 42 },
  "returns undefined": { id: "broken", stream: () => undefined },
  "throws in its first next()": scriptedModel([{ error: new Error("broken") }]),
  "throws after deltas": scriptedModel([{ deltas: ["a", "b"], error: new Error("broken") }]),
  "throws undefined": scriptedModel([{ error: undefined }]),
  "throws null": scriptedModel([{ error: null }]),
  "throws a symbol": scriptedModel([{ error: Symbol("broken") }]),
  "throws a frozen object": scriptedModel([{ error: Object.freeze({ status: 500 }) }]),
  "ends without message_done": {
    id: "broken",
    async *stream() {
      yield { type: "text_delta", text: "a" };
    },
  },
  "yields nothing": { id: "broken", async *stream() {} },
  "rejects from a hand-written iterator": {
    id: "broken",
    stream: () => ({ [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(new Error("broken")) }) }),
  },
};
for (const [how, model] of Object.entries(brokenProviders)) {
  test(`one run:end, failed, and one error when the provider ${how}`, async (t) => {
    const agent = agentFor(t, { model });
    const fired = recordHooks(agent);
    await within(
      assert.rejects(
        async () => {
          await agent.send("go");
        },
        () => true,
      ),
      "failing send",
    );
    assert.deepEqual(names(fired), ["run:start", "run:end"]);
    assert.equal(fired[1].status, "failed");
    assert.deepEqual(keys(fired[1].error), ["message", "name"]);
    assert.equal(typeof fired[1].error.name, "string");
    assert.equal(typeof fired[1].error.message, "string");
    assert.equal("result" in fired[1], false);
  });
}

for (const step of ["beforeAgent", "afterAgent", "beforeModel", "wrapModelCall"]) {
  for (const later of [false, true]) {
    test(`one run:end, failed, when the middleware's ${step} ${later ? "rejects" : "throws"}`, async (t) => {
      const thrown = new TypeError(`${step} is broken`);
      const fail =
        step === "wrapModelCall"
          ? async function* () {
              if (later) await new Promise(setImmediate);
              throw thrown;
            }
          : later
            ? async () => {
                await new Promise(setImmediate);
                throw thrown;
              }
            : () => {
                throw thrown;
              };
      const agent = agentFor(t, { use: [{ name: "broken", [step]: fail }] });
      const fired = recordHooks(agent);
      await assert.rejects(agent.send("go"), (error) => error === thrown);
      assert.deepEqual(names(fired), ["run:start", "run:end"]);
      assert.equal(fired[1].status, "failed");
      assert.deepEqual(fired[1].error, { name: "TypeError", message: `${step} is broken` });
    });
  }
}

test("the stream of a failed run ends with a fatal error event, after which run:end fires and the run throws", async (t) => {
  const thrown = new Error("broken");
  const agent = agentFor(t, { model: [{ error: thrown }] });
  const order = [];
  agent.subscribe(({ event }) => order.push(event.type));
  agent.hook("run:end", () => void order.push("run:end"));
  const { events, error } = await collectUntilError(agent.run("go"));
  assert.equal(error, thrown);
  assert.equal(events.at(-1).type, "error");
  assert.equal(events.at(-1).fatal, true);
  assert.equal(events.at(-1).error, thrown);
  assert.deepEqual(order.slice(-2), ["error", "run:end"]);
  assert.equal(order.includes("done"), false);
});
