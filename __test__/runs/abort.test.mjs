// A run that is aborted, at every moment of its life. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import {
  agentFor,
  aborted,
  collect,
  deferred,
  pause,
  plainTool,
  recordHooks,
  scriptedModel,
  until,
  within,
} from "../support/model.mjs";
import { assertConversation, call, eventsOf, resultFor, textOf } from "./reading.mjs";

const SOON = 1_000;
const never = new Promise(() => {});

/** Checks what holds for every aborted run, and that the session goes on. */
async function assertAborted(agent, result) {
  assert.equal(result.stopReason, "aborted");
  assertConversation(result.messages.length > 0 ? result.messages : [{ role: "user", content: "x" }]);
  const after = await within(agent.send("go on"), "send() after the abort");
  assert.equal(after.stopReason, "stop");
  assertConversation(after.messages);
  return after;
}

test("a run whose signal was aborted before send() does nothing and resolves as aborted", async (t) => {
  const model = scriptedModel([{ text: "ok" }]);
  const agent = agentFor(t, { model });
  const result = await within(agent.send("hi", { signal: AbortSignal.abort() }), "send()", SOON);
  assert.equal(model.requests.length, 0);
  assert.equal(result.text, "");
  assert.deepEqual(result.messages, []);
  assert.deepEqual({ ...result.usage }, { inputTokens: 0, outputTokens: 0 });
  await assertAborted(agent, result);
});

test("run() with an aborted signal streams a done event and returns the result", async (t) => {
  const model = scriptedModel([{ text: "ok" }]);
  const { events, result } = await collect(agentFor(t, { model }).run("hi", { signal: AbortSignal.abort() }));
  assert.equal(events.at(-1).type, "done");
  assert.equal(events.at(-1).reason, "aborted");
  assert.equal(result.stopReason, "aborted");
  assert.equal(model.requests.length, 0);
});

test("a signal that is aborted between run() and its first next() counts", async (t) => {
  const model = scriptedModel([{ text: "ok" }]);
  const controller = new AbortController();
  const generator = agentFor(t, { model }).run("hi", { signal: controller.signal });
  controller.abort();
  assert.equal((await collect(generator)).result.stopReason, "aborted");
  assert.equal(model.requests.length, 0);
});

test("a queued run that is aborted resolves at once, ahead of the run before it, and never begins", async (t) => {
  const gate = deferred();
  const model = scriptedModel([{ text: "first", wait: gate.promise }, { text: "third" }]);
  const agent = agentFor(t, { model });
  const fired = recordHooks(agent, ["run:start"]);
  const controller = new AbortController();
  const first = agent.send("a");
  const second = agent.send("b", { signal: controller.signal });
  const third = agent.send("c");
  await until(() => model.requests.length === 1, "the first run is in its model call");
  controller.abort();
  assert.equal((await within(second, "the queued send()", SOON)).stopReason, "aborted");
  gate.resolve();
  await first;
  assert.deepEqual((await third).messages.map(textOf), ["a", "first", "c", "third"]);
  assert.equal(fired.length, 2);
});

test("an abort while the model has not answered yet settles at once and aborts the model's signal", async (t) => {
  const model = scriptedModel([{ wait: never, text: "never" }, { text: "after" }]);
  const agent = agentFor(t, { model });
  const controller = new AbortController();
  const sent = agent.send("hi", { signal: controller.signal });
  await until(() => model.requests.length === 1, "the model call");
  const reason = new Error("enough");
  controller.abort(reason);
  const result = await within(sent, "send()", SOON);
  assert.equal(model.signals[0].aborted, true);
  assert.equal(model.signals[0].reason, reason);
  const after = await assertAborted(agent, result);
  assert.match(textOf(after.messages[0]), /hi/);
});

test("a model that ignores its signal and never settles does not hold the abort up", async (t) => {
  let calls = 0;
  const model = {
    id: "deaf",
    stream(request, signal) {
      calls += 1;
      if (calls > 1) return scriptedModel([{ text: "after" }]).stream(request, signal);
      return { [Symbol.asyncIterator]: () => ({ next: () => never, return: () => never }) };
    },
  };
  const agent = agentFor(t, { model });
  const controller = new AbortController();
  const sent = agent.send("hi", { signal: controller.signal });
  await until(() => calls === 1, "the model call");
  controller.abort();
  await assertAborted(agent, await within(sent, "send()", SOON));
});

test("an abort between deltas settles at once, and half a message is not stored", async (t) => {
  const gate = deferred();
  let calls = 0;
  const model = {
    id: "halfway",
    async *stream(request, signal) {
      calls += 1;
      if (calls > 1) return yield* scriptedModel([{ text: "after" }]).stream(request, signal);
      yield { type: "text_delta", text: "half" };
      gate.resolve();
      await aborted(signal);
      throw signal.reason;
    },
  };
  const agent = agentFor(t, { model });
  const controller = new AbortController();
  const sent = agent.send("hi", { signal: controller.signal });
  await gate.promise;
  controller.abort();
  const result = await within(sent, "send()", SOON);
  assert.deepEqual(
    result.messages.map((message) => message.role),
    ["user"],
  );
  await assertAborted(agent, result);
});

test("an abort from the consumer at a delta is seen before the next delta", async (t) => {
  const controller = new AbortController();
  const agent = agentFor(t, { model: [{ deltas: ["a", "b", "c", "d"] }, { text: "after" }] });
  const events = [];
  const generator = agent.run("hi", { signal: controller.signal });
  for (;;) {
    const { value, done } = await generator.next();
    if (done) {
      await assertAborted(agent, value);
      break;
    }
    events.push(value);
    if (value.type === "text_delta") controller.abort();
  }
  assert.equal(events.at(-1).type, "done");
  assert.equal(events.at(-1).reason, "aborted");
});

test("an abort during a tool: its signal fires with the caller's reason, its call gets a failed result", async (t) => {
  const started = deferred();
  let seen;
  const model = scriptedModel([{ text: "calling", calls: [call("a", "wait")] }, { text: "after" }]);
  const agent = agentFor(t, {
    model,
    tools: [
      plainTool("wait", async (_, { signal }) => {
        started.resolve();
        seen = await aborted(signal);
        throw seen;
      }),
    ],
  });
  const controller = new AbortController();
  const sent = agent.send("hi", { signal: controller.signal });
  await started.promise;
  const reason = { custom: "reason" };
  controller.abort(reason);
  const result = await within(sent, "send()", SOON);
  await until(() => seen !== undefined, "the tool saw the abort");
  assert.equal(seen, reason);
  assert.equal(resultFor(result.messages, "a").isError, true);
  assert.match(resultFor(result.messages, "a").content, /interrupted/);
  assert.equal(textOf(result.messages[1]), "calling");
  assert.equal(result.text, "calling");
  await assertAborted(agent, result);
});

test("a tool that ignores its signal and never settles does not hold the abort up", async (t) => {
  const started = deferred();
  const agent = agentFor(t, {
    model: [{ calls: [call("a", "deaf")] }, { text: "after" }],
    tools: [
      plainTool("deaf", () => {
        started.resolve();
        return never;
      }),
    ],
  });
  const controller = new AbortController();
  const sent = agent.send("hi", { signal: controller.signal });
  await started.promise;
  controller.abort();
  const result = await within(sent, "send()", SOON);
  assert.match(resultFor(result.messages, "a").content, /interrupted/);
  await assertAborted(agent, result);
});

test("an abort during parallel calls keeps finished results and interrupts the others, begun or not", async (t) => {
  const started = deferred();
  const model = scriptedModel([
    { calls: ["a", "b", "c", "d"].map((id) => call(id, id === "a" ? "quick" : "wait")) },
    { text: "after" },
  ]);
  const executed = [];
  const agent = agentFor(t, {
    model,
    maxParallelTools: 2,
    tools: [
      plainTool("quick", () => "done"),
      plainTool("wait", async (_, { signal, call: { id } }) => {
        executed.push(id);
        if (executed.length === 2) started.resolve();
        await aborted(signal);
        return "too late";
      }),
    ],
  });
  const controller = new AbortController();
  const fired = recordHooks(agent, ["tool:start", "tool:end", "run:end"]);
  const sent = agent.send("hi", { signal: controller.signal });
  await started.promise;
  controller.abort();
  const result = await within(sent, "send()", SOON);
  assert.equal(resultFor(result.messages, "a").content, "done");
  for (const id of ["b", "c", "d"]) {
    assert.equal(resultFor(result.messages, id).isError, true);
    assert.match(resultFor(result.messages, id).content, /interrupted/);
  }
  assert.deepEqual(executed, ["b", "c"]);
  const ends = fired.filter((event) => event.event === "tool:end");
  assert.deepEqual(
    fired
      .filter((event) => event.event === "tool:start")
      .map((event) => event.call.id)
      .sort(),
    ["a", "b", "c"],
  );
  assert.deepEqual(ends.map((event) => event.call.id).sort(), ["a", "b", "c"]);
  assert.deepEqual(
    fired.filter((event) => event.event === "run:end").map((event) => event.status),
    ["cancelled"],
  );
  assert.equal(fired.at(-1).event, "run:end");
  await assertAborted(agent, result);
});

test("the results of one turn are one message in call order after an abort as well", async (t) => {
  const started = deferred();
  const agent = agentFor(t, {
    model: [{ calls: [call("a", "wait"), call("b", "quick"), call("c", "wait")] }, { text: "after" }],
    tools: [
      plainTool("quick", () => "done"),
      plainTool("wait", (_, { call: { id } }) => {
        if (id === "c") started.resolve();
        return never;
      }),
    ],
  });
  const controller = new AbortController();
  const sent = agent.send("hi", { signal: controller.signal });
  await started.promise;
  await pause(5);
  controller.abort();
  const { messages } = await within(sent, "send()", SOON);
  assert.deepEqual(
    messages[2].content.map((block) => block.id),
    ["a", "b", "c"],
  );
  assert.equal(messages.length, 3);
});

test("an aborted run still ends its stream with done, and every started call with its end and result", async (t) => {
  const controller = new AbortController();
  const agent = agentFor(t, {
    model: [{ calls: [call("a", "stop")] }, { text: "after" }],
    tools: [
      plainTool("stop", () => {
        controller.abort();
        return never;
      }),
    ],
  });
  const { events, result } = await within(collect(agent.run("hi", { signal: controller.signal })), "the stream", SOON);
  assert.equal(events.at(-1).type, "done");
  assert.equal(events.at(-1).reason, "aborted");
  assert.deepEqual(events.at(-1).result, result);
  assert.equal(eventsOf(events, "tool_result").length, 1);
  assert.equal(eventsOf(events, "tool_result")[0].result.isError, true);
  assert.equal(eventsOf(events, "error").length, 0);
});

for (const moment of ["beforeAgent", "beforeModel"]) {
  test(`an abort while ${moment} waits settles at once`, async (t) => {
    const entered = deferred();
    let block = true;
    const model = scriptedModel([{ text: "after" }]);
    const agent = agentFor(t, {
      model,
      use: [
        {
          name: "slow",
          async [moment]() {
            if (!block) return;
            block = false;
            entered.resolve();
            await never;
          },
        },
      ],
    });
    const controller = new AbortController();
    const sent = agent.send("hi", { signal: controller.signal });
    await entered.promise;
    controller.abort();
    const result = await within(sent, "send()", SOON);
    assert.equal(model.requests.length, 0);
    await assertAborted(agent, result);
  });
}

test("an abort at the last message settles with that message stored", async (t) => {
  const controller = new AbortController();
  const agent = agentFor(t, { model: [{ text: "whole" }, { text: "after" }] });
  agent.subscribe(({ event }) => {
    if (event.type === "message") controller.abort();
  });
  const result = await within(agent.send("hi", { signal: controller.signal }), "send()", SOON);
  assert.ok(["stop", "aborted"].includes(result.stopReason));
  assert.deepEqual(result.messages.map(textOf), ["hi", "whole"]);
  await agent.send("go on");
});

test("an abort during afterAgent settles at once, with the message stored", async (t) => {
  const entered = deferred();
  let block = true;
  const agent = agentFor(t, {
    model: [{ text: "whole" }, { text: "after" }],
    use: [
      {
        name: "slow",
        async afterAgent() {
          if (!block) return;
          block = false;
          entered.resolve();
          await never;
        },
      },
    ],
  });
  const controller = new AbortController();
  const sent = agent.send("hi", { signal: controller.signal });
  await entered.promise;
  controller.abort();
  const result = await within(sent, "send()", SOON);
  assert.deepEqual(result.messages.map(textOf), ["hi", "whole"]);
  await agent.send("go on");
});

test("an abort after the run has settled changes nothing", async (t) => {
  const controller = new AbortController();
  const agent = agentFor(t);
  const result = await agent.send("hi", { signal: controller.signal });
  controller.abort();
  assert.equal(result.stopReason, "stop");
  assert.equal((await agent.send("next")).stopReason, "stop");
});

test("an abort while a hook handler is pending settles within a second, with one run:end", async (t) => {
  for (const name of ["run:start", "tool:start"]) {
    const entered = deferred();
    const model = scriptedModel([{ calls: [call("a", "echo")] }, { text: "end" }]);
    const agent = agentFor(t, { model, tools: [plainTool("echo", () => "x")] });
    agent.hook(name, () => {
      entered.resolve();
      return never;
    });
    const ends = recordHooks(agent, ["run:end"]);
    const controller = new AbortController();
    const sent = agent.send("hi", { signal: controller.signal });
    await entered.promise;
    controller.abort();
    assert.equal((await within(sent, `send() with a pending ${name}`, SOON)).stopReason, "aborted");
    assert.deepEqual(
      ends.map((event) => event.status),
      ["cancelled"],
    );
  }
});

test("an abort in the same tick as send() counts", async (t) => {
  // Without a store the model has been called by then.
  const agent = agentFor(t, { sessions: false, model: [{ wait: never, text: "x" }, { text: "after" }] });
  const controller = new AbortController();
  const sent = agent.send("hi", { signal: controller.signal });
  controller.abort();
  await assertAborted(agent, await within(sent, "send()", SOON));
});

test("an abort from inside stream(), before its first chunk, counts", async (t) => {
  const controller = new AbortController();
  const fine = scriptedModel([{ text: "after" }]);
  const model = {
    id: "m",
    stream(request, signal) {
      controller.abort();
      return fine.stream(request, signal);
    },
  };
  const agent = agentFor(t, { model });
  await assertAborted(agent, await within(agent.send("hi", { signal: controller.signal }), "send()", SOON));
});

test("AbortSignal.timeout() and AbortSignal.any() are signals like any other", async (t) => {
  const controller = new AbortController();
  for (const signal of [AbortSignal.timeout(20), AbortSignal.any([controller.signal, AbortSignal.timeout(20)])]) {
    const agent = agentFor(t, { model: [{ wait: never, text: "x" }] });
    assert.equal((await within(agent.send("hi", { signal }), "send()", SOON)).stopReason, "aborted");
  }
});

test("aborting one run leaves a run of another session alone", async (t) => {
  const gate = deferred();
  const model = scriptedModel([
    (request) =>
      textOf(request.messages[0]) === "stay" ? { text: "stayed", wait: gate.promise } : { text: "x", wait: never },
  ]);
  const agent = agentFor(t, { model });
  const controller = new AbortController();
  const gone = agent.send("go", { signal: controller.signal, sessionId: "one" });
  const stays = agent.send("stay", { sessionId: "two" });
  await until(() => model.requests.length === 2, "both in their model calls");
  controller.abort();
  assert.equal((await gone).stopReason, "aborted");
  gate.resolve();
  assert.equal((await stays).text, "stayed");
});

test("one signal aborts every run that has it", async (t) => {
  const agent = agentFor(t, { model: [{ wait: never, text: "x" }] });
  const controller = new AbortController();
  const sends = ["a", "b", "c", "c"].map((sessionId) => agent.send("hi", { sessionId, signal: controller.signal }));
  await pause(10);
  controller.abort();
  const results = await within(Promise.all(sends), "four sends", SOON);
  assert.deepEqual(
    results.map((result) => result.stopReason),
    ["aborted", "aborted", "aborted", "aborted"],
  );
});

test("a signal that is no AbortSignal is refused", async (t) => {
  await assert.rejects(
    async () => agentFor(t).send("hi", { signal: { aborted: false } }),
    (error) => /signal/.test(error.message),
  );
});
