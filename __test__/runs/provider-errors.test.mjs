// A provider that fails: how the run fails, and that the session lives on. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { agentFor, collectUntilError, plainTool, recordHooks, scriptedModel, within } from "../support/model.mjs";
import { assertConversation, call, eventsOf, rejectionOf, textOf } from "./reading.mjs";

const FAILURES = {
  "an Error": new Error("down"),
  "a TypeError": new TypeError("bad"),
  "a frozen Error": Object.freeze(new Error("frozen")),
  "an Error with a status": Object.assign(new Error("busy"), { status: 529, code: "overloaded" }),
  "an Error whose message throws": Object.defineProperty(new Error("x"), "message", {
    get() {
      throw new Error("no message");
    },
  }),
  "a proxy that throws at every touch": new Proxy(
    {},
    new Proxy(
      {},
      {
        get() {
          return () => {
            throw new Error("touched");
          };
        },
      },
    ),
  ),
  "an object without a prototype": Object.assign(Object.create(null), { message: "bare" }),
  "a string": "just text",
  "a number": 42,
  "a symbol": Symbol("odd"),
  null: null,
  undefined: undefined,
  false: false,
  "a DOMException named AbortError, though nothing was aborted": new DOMException("own idea", "AbortError"),
};

/** Where a provider can fail: a function of the thrown value that makes its stream(). */
const PLACES = {
  "by throwing from stream()": (value) => () => {
    throw value;
  },
  "by rejecting its first next()": (value) => () => ({
    [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(value) }),
  }),
  "by throwing from its first next()": (value) => () => ({
    [Symbol.asyncIterator]: () => ({
      next() {
        throw value;
      },
    }),
  }),
  "by throwing from its async iterator": (value) => () => ({
    [Symbol.asyncIterator]() {
      throw value;
    },
  }),
  "in mid-stream": (value) =>
    async function* stream() {
      yield { type: "text_delta", text: "par" };
      await null;
      throw value;
    },
};

/** A model that fails in one place and then is fine. */
function failingOnce(stream) {
  let calls = 0;
  const fine = scriptedModel([{ text: "fine" }]);
  return {
    id: "failing",
    stream: (request, signal) => ((calls += 1) === 1 ? stream(request, signal) : fine.stream(request, signal)),
  };
}

for (const [place, make] of Object.entries(PLACES)) {
  for (const [kind, value] of Object.entries(FAILURES)) {
    test(`${kind} that a provider throws ${place} is what send() rejects with, itself`, async (t) => {
      const agent = agentFor(t, { model: failingOnce(make(value)) });
      const { error } = await within(rejectionOf(agent.send("hi")), "send()");
      assert.ok(Object.is(error, value), "the very value");
      assert.equal((await agent.send("again")).text, "fine");
    });
  }

  test(`run() throws what a provider throws ${place}, after a fatal error event`, async (t) => {
    const value = new Error("down");
    const agent = agentFor(t, { model: failingOnce(make(value)) });
    const fired = recordHooks(agent, ["run:end"]);
    const outcome = await within(collectUntilError(agent.run("hi")), "the stream");
    assert.equal(outcome.error, value);
    const last = outcome.events.at(-1);
    assert.equal(last.type, "error");
    assert.equal(last.fatal, true);
    assert.match(last.error.message, /down/);
    assert.equal(eventsOf(outcome.events, "error").length, 1);
    assert.equal(eventsOf(outcome.events, "done").length, 0);
    assert.deepEqual(
      fired.map(({ status, error, result }) => [status, error.message, result]),
      [["failed", "down", undefined]],
    );
  });
}

test("run() throws a value that is no Error as it is, and the error event still holds an Error", async (t) => {
  for (const value of ["just text", undefined, null, 42]) {
    const agent = agentFor(t, {
      model: failingOnce(() => {
        throw value;
      }),
    });
    const outcome = await collectUntilError(agent.run("hi"));
    assert.ok("error" in outcome);
    assert.ok(Object.is(outcome.error, value));
    const [event] = eventsOf(outcome.events, "error");
    assert.ok(event.error instanceof Error);
    assert.match(event.error.message, new RegExp(String(value)));
  }
});

test("a model call that fails has a model_call_end that says so", async (t) => {
  const agent = agentFor(t, { model: [{ deltas: ["par"], error: new Error("down") }] });
  const { events } = await collectUntilError(agent.run("hi"));
  const [end] = eventsOf(events, "model_call_end");
  assert.match(end.error, /down/);
  assert.ok(events.indexOf(end) < events.findIndex((event) => event.type === "error"));
});

test("what was said before a failure is heard, and half a message is not stored", async (t) => {
  const model = scriptedModel([{ deltas: ["half ", "said"], error: new Error("down") }, { text: "fine" }]);
  const agent = agentFor(t, { model });
  const { events } = await collectUntilError(agent.run("first"));
  assert.deepEqual(
    eventsOf(events, "text_delta").map((event) => event.text),
    ["half ", "said"],
  );
  const result = await agent.send("second");
  assert.doesNotMatch(JSON.stringify(result.messages), /half/);
  assert.match(JSON.stringify(result.messages), /first.*second/s);
  assertConversation(result.messages);
});

test("a failure in a later turn keeps the turns before it", async (t) => {
  const failure = new Error("down");
  const model = scriptedModel([{ text: "calling", calls: [call("a", "echo")] }, { error: failure }, { text: "fine" }]);
  const agent = agentFor(t, { model, tools: [plainTool("echo", () => "kept")] });
  await assert.rejects(agent.send("first"), (error) => error === failure);
  const result = await agent.send("second");
  assert.equal(textOf(result.messages[1]), "calling");
  assert.match(JSON.stringify(result.messages), /kept/);
  assertConversation(result.messages);
});

test("ten failures in a row leave a conversation that the eleventh run can use", async (t) => {
  const model = scriptedModel([...Array.from({ length: 10 }, () => ({ error: new Error("down") })), { text: "fine" }]);
  const agent = agentFor(t, { model });
  for (let count = 0; count < 10; count += 1) await assert.rejects(agent.send(`try ${count}`), /down/);
  const result = await agent.send("try 10");
  assert.equal(result.text, "fine");
  assertConversation(result.messages);
});

test("the same error object may be thrown again and again", async (t) => {
  const failure = Object.freeze(new Error("down"));
  const agent = agentFor(t, { model: [{ error: failure }] });
  for (let count = 0; count < 3; count += 1) await assert.rejects(agent.send("hi"), (error) => error === failure);
});

test("an error that a provider throws because of its own abort of the caller's signal is the abort, not a failure", async (t) => {
  const controller = new AbortController();
  const model = failingOnce(async function* stream() {
    yield { type: "text_delta", text: "x" };
    controller.abort();
    throw new Error("aborted by the caller");
  });
  const result = await agentFor(t, { model }).send("hi", { signal: controller.signal });
  assert.equal(result.stopReason, "aborted");
});

test("a provider's return() that rejects or never settles does not matter", async (t) => {
  for (const ending of [
    () => Promise.reject(new Error("return failed")),
    () => new Promise(() => {}),
    () => {
      throw new Error("return threw");
    },
  ]) {
    const model = failingOnce(() => ({
      [Symbol.asyncIterator]: () => ({
        next: async () => ({ done: false, value: { type: "text_delta", text: "x" } }),
        return: ending,
      }),
    }));
    const agent = agentFor(t, { model });
    for await (const event of agent.run("hi")) if (event.type === "text_delta") break;
    assert.equal((await within(agent.send("again"), "send()")).text, "fine");
  }
});

test("the stream of a run that is broken off is closed: its finally block runs", async (t) => {
  let closed = false;
  const model = failingOnce(async function* stream() {
    try {
      for (;;) yield { type: "text_delta", text: "x" };
    } finally {
      closed = true;
    }
  });
  const agent = agentFor(t, { model });
  for await (const event of agent.run("hi")) if (event.type === "text_delta") break;
  await agent.send("again");
  assert.equal(closed, true);
});
