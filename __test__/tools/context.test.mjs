// What a tool is given besides its input: its context. And re-entrancy in it. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { AsyncLocalStorage } from "node:async_hooks";
import { ReentrancyError } from "../../index.js";
import { agentFor, collect, deferred, plainTool, scriptedModel, within } from "../support/model.mjs";
import { call, eventsOf, rejectionOf } from "../runs/reading.mjs";

/** Runs one call of a tool that does `execute`. */
async function inTool(t, execute, config = {}) {
  const agent = agentFor(t, {
    model: [{ calls: [call("a", "subject", { x: 1 })] }, { text: "end" }],
    ...config,
    tools: [plainTool("subject", execute)],
  });
  return { agent, ...(await within(collect(agent.run("hi")), "the run")) };
}

test("the context names the session and the call", async (t) => {
  let seen;
  const { agent } = await inTool(t, (_, context) => {
    seen = { sessionId: context.sessionId, call: { ...context.call } };
    return "x";
  });
  assert.deepEqual(seen, { sessionId: agent.sessionId, call: { id: "a", name: "subject", input: { x: 1 } } });
});

test("the context's signal is one AbortSignal, not aborted while nothing happened", async (t) => {
  await inTool(t, (_, context) => {
    assert.ok(context.signal instanceof AbortSignal);
    assert.equal(context.signal, context.signal);
    assert.equal(context.signal.aborted, false);
    return "x";
  });
});

test("a signal that is first asked for after the abort is aborted already, with the caller's reason", async (t) => {
  const controller = new AbortController();
  const late = deferred();
  const agent = agentFor(t, {
    model: [{ calls: [call("a", "subject")] }, { text: "end" }],
    tools: [
      plainTool("subject", async (_, context) => {
        controller.abort("why");
        await new Promise(setImmediate);
        late.resolve(context.signal);
        return "x";
      }),
    ],
  });
  await agent.send("hi", { signal: controller.signal });
  const signal = await within(late.promise, "the tool read its signal");
  assert.equal(signal.aborted, true);
  assert.equal(signal.reason, "why");
});

test("the context has no sandbox, no input handler and no snapshots where there are none", async (t) => {
  let seen;
  const execute = (_, context) => {
    seen = [context.sandbox, context.input, context.recordSnapshot];
    return "x";
  };
  await inTool(t, execute, { sessions: false });
  assert.deepEqual(seen, [undefined, undefined, undefined]);
});

test("what a tool emits is in the stream between its start and its end, in order, and subscribers hear it", async (t) => {
  const heard = [];
  const agent = agentFor(t, {
    model: [{ calls: [call("a", "subject")] }, { text: "end" }],
    tools: [
      plainTool("subject", async (_, { emit }) => {
        emit({ type: "tool_progress", id: "a", name: "subject", progress: 1, total: 2, message: "half" });
        await null;
        emit({ type: "tool_progress", id: "a", name: "subject", progress: 2, total: 2 });
        return "x";
      }),
    ],
  });
  agent.subscribe(({ event }) => {
    if (event.type === "tool_progress") heard.push(event.progress);
  });
  const { events } = await collect(agent.run("hi"));
  const types = events.map((event) => event.type);
  const first = types.indexOf("tool_progress");
  assert.ok(types.indexOf("tool_call_start") < first && first < types.indexOf("tool_call_end"), types.join(" "));
  const { type, id, name, progress, total, message } = events[first];
  assert.deepEqual(
    { type, id, name, progress, total, message },
    { type: "tool_progress", id: "a", name: "subject", progress: 1, total: 2, message: "half" },
  );
  assert.deepEqual(
    eventsOf(events, "tool_progress").map((event) => event.progress),
    [1, 2],
  );
  assert.deepEqual(heard, [1, 2]);
});

test("what a tool emits after its run is over reaches nobody and harms nobody", async (t) => {
  let kept;
  const { agent, events } = await inTool(t, (_, context) => {
    kept = context;
    return "x";
  });
  assert.doesNotThrow(() => kept.emit({ type: "tool_progress", id: "a", name: "subject", progress: 9 }));
  const later = await collect(agent.run("again"));
  assert.equal(eventsOf([...events, ...later.events], "tool_progress").length, 0);
});

test("a tool that emits what is no event gets a TypeError or is ignored, and the stream stays whole", async (t) => {
  const { events, result } = await inTool(t, (_, { emit }) => {
    for (const value of [undefined, null, 5, "text", {}, { type: 5 }]) {
      try {
        emit(value);
      } catch (error) {
        assert.ok(error instanceof TypeError);
      }
    }
    return "x";
  });
  assert.equal(result.text, "end");
  assert.ok(events.every((event) => typeof event?.type === "string"));
});

test("the host's AsyncLocalStorage is the caller's in tools, models and middleware", async (t) => {
  const storage = new AsyncLocalStorage();
  const seen = [];
  const model = scriptedModel([
    () => {
      seen.push(["model", storage.getStore()]);
      return { calls: [call(`c${seen.length}`, "subject")] };
    },
    () => {
      seen.push(["model", storage.getStore()]);
      return { text: "end" };
    },
  ]);
  const agent = agentFor(t, {
    model,
    use: [
      {
        name: "m",
        beforeModel() {
          seen.push(["middleware", storage.getStore()]);
        },
      },
    ],
    tools: [
      plainTool("subject", async () => {
        await null;
        seen.push(["tool", storage.getStore()]);
        return "x";
      }),
    ],
  });
  await storage.run("mine", () => agent.send("hi"));
  assert.deepEqual([...new Set(seen.map(([, store]) => store))], ["mine"], JSON.stringify(seen));
  assert.ok(seen.some(([place]) => place === "tool"));
});

test("two runs at once each see their own AsyncLocalStorage", async (t) => {
  const storage = new AsyncLocalStorage();
  const seen = {};
  const agent = agentFor(t, {
    model: [(request) => (request.messages.length === 1 ? { calls: [call("a", "subject")] } : { text: "end" })],
    tools: [
      plainTool("subject", async (_, { sessionId }) => {
        await new Promise(setImmediate);
        seen[sessionId] = storage.getStore();
        return "x";
      }),
    ],
  });
  await Promise.all(
    ["one", "two", "three"].map((sessionId) => storage.run(sessionId, () => agent.send("hi", { sessionId }))),
  );
  assert.deepEqual(seen, { one: "one", two: "two", three: "three" });
});

const FORBIDDEN = {
  send: (agent) => agent.send("inner"),
  "run (at its first next)": (agent) => agent.run("inner").next(),
  awaitIdle: (agent) => agent.awaitIdle(),
  compact: (agent) => agent.compact().next(),
  restore: (agent) => agent.restore(agent.sessionId, 0),
  deleteSession: (agent) => agent.deleteSession(agent.sessionId),
};
for (const [name, attempt] of Object.entries(FORBIDDEN)) {
  test(`${name} on the same session inside a tool is a ReentrancyError, and nothing hangs`, async (t) => {
    let outcome;
    const agent = agentFor(t, {
      model: [{ calls: [call("a", "subject")] }, { text: "end" }],
      tools: [
        plainTool("subject", async () => {
          await new Promise(setImmediate);
          outcome = await rejectionOf((async () => attempt(agent))());
          return "x";
        }),
      ],
    });
    assert.equal((await within(agent.send("hi"), "send()", 3_000)).text, "end");
    assert.ok(outcome.error instanceof ReentrancyError, outcome.error?.stack);
  });
}

test("a tool may send on another session of its own agent", async (t) => {
  const model = scriptedModel([
    (request) =>
      request.messages.length === 1 && JSON.stringify(request.messages).includes("outer")
        ? { calls: [call("a", "ask")] }
        : { text: "said" },
  ]);
  const agent = agentFor(t, {
    model,
    tools: [plainTool("ask", async () => (await agent.send("inner", { sessionId: "beside" })).text)],
  });
  const { messages } = await within(agent.send("outer"), "send()", 3_000);
  assert.equal(messages[2].content[0].content, "said");
  await agent.awaitIdle("beside");
});

test("a tool may use another agent, on a session of the same name", async (t) => {
  const other = agentFor(t);
  const agent = agentFor(t, {
    model: [{ calls: [call("a", "ask")] }, { text: "end" }],
    tools: [plainTool("ask", async () => (await other.send("inner", { sessionId: "same" })).text)],
  });
  const { messages } = await within(agent.send("hi", { sessionId: "same" }), "send()", 3_000);
  assert.equal(messages[2].content[0].content, "ok");
});

test("close() inside a tool is allowed and cancels the run", async (t) => {
  const agent = agentFor(t, {
    model: [{ calls: [call("a", "shut")] }, { text: "end" }],
    tools: [
      plainTool("shut", async () => {
        await agent.close();
        return "x";
      }),
    ],
  });
  assert.equal((await within(agent.send("hi"), "send()", 5_000)).stopReason, "aborted");
});

test("a provider, and each middleware, that sends on the session of its run gets a ReentrancyError", async (t) => {
  const outcomes = {};
  const attempt = async (place) => {
    outcomes[place] ??= (await rejectionOf(agent.send("inner"))).error;
  };
  const model = {
    id: "m",
    async *stream() {
      await attempt("provider");
      yield {
        type: "message_done",
        message: { role: "assistant", content: [{ type: "text", text: "x" }] },
        usage: { inputTokens: 1, outputTokens: 1 },
      };
    },
  };
  const agent = agentFor(t, {
    model,
    use: [
      {
        name: "m",
        beforeAgent: () => attempt("beforeAgent"),
        afterAgent: () => attempt("afterAgent"),
        beforeModel: () => attempt("beforeModel"),
        async *wrapModelCall(_, next) {
          await attempt("wrapModelCall");
          yield* next();
        },
      },
    ],
  });
  await within(agent.send("hi"), "send()", 3_000);
  assert.deepEqual(Object.keys(outcomes).sort(), [
    "afterAgent",
    "beforeAgent",
    "beforeModel",
    "provider",
    "wrapModelCall",
  ]);
  for (const [place, error] of Object.entries(outcomes))
    assert.ok(error instanceof ReentrancyError, `${place}: ${error?.stack}`);
});

test("once its run is over, what a tool left behind may send on that session", async (t) => {
  let left;
  let release;
  const gate = new Promise((resolve) => {
    release = resolve;
  });
  const agent = agentFor(t, {
    model: [{ calls: [call("a", "leave")] }, { text: "end" }, { text: "later" }],
    tools: [
      plainTool("leave", () => {
        left = gate.then(() => agent.send("from what was left"));
        return "x";
      }),
    ],
  });
  await agent.send("hi");
  release();
  assert.equal((await within(left, "the send() that was left behind", 3_000)).text, "later");
});
