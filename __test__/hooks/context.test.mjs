// The host's own AsyncLocalStorage in every callback of a run, for runs that are going at the same time.
import { test } from "node:test";
import assert from "node:assert/strict";
import { AsyncLocalStorage } from "node:async_hooks";
import { tool } from "../../index.js";
import {
  agentFor,
  collect,
  deferred,
  hookFailures,
  pause,
  plainTool,
  scriptedModel,
  until,
  within,
} from "../support/model.mjs";

const call = (id = "call-1", name = "work", input = {}) => ({ id, name, input });

/** An agent whose every callback notes the store that it saw, before and after it gave up the thread. */
function watchedAgent(t, storage, config = {}) {
  const seen = [];
  const note = async (where, sessionId) => {
    seen.push([where, sessionId, storage.getStore()]);
    await pause(Math.random() * 4);
    seen.push([`${where}, later`, sessionId, storage.getStore()]);
  };
  const turn = ({ messages }) =>
    typeof messages.at(-1).content !== "string" && messages.at(-1).content[0].type === "tool_result"
      ? { text: "done", deltas: ["do", "ne"] }
      : { calls: [call("1"), call("2")] };
  const agent = agentFor(t, {
    ...config,
    model: scriptedModel([turn], { onRequest: ({ messages }) => note("provider", session(messages)) }),
    tools: [
      tool(
        "work",
        "",
        {
          "~standard": {
            version: 1,
            vendor: "test",
            jsonSchema: { input: () => ({ type: "object" }) },
            validate: (value) => {
              seen.push(["validate", undefined, storage.getStore()]);
              return { value };
            },
          },
        },
        async (_, { sessionId }) => {
          await note("tool", sessionId);
          return "ok";
        },
      ),
    ],
    use: [
      {
        name: "watch",
        beforeAgent: ({ sessionId }) => note("beforeAgent", sessionId),
        beforeModel: ({ sessionId }) => note("beforeModel", sessionId),
        afterAgent: ({ sessionId }) => note("afterAgent", sessionId),
        async *wrapModelCall({ sessionId }, next) {
          await note("wrapModelCall", sessionId);
          for await (const chunk of next()) {
            seen.push(["chunk", sessionId, storage.getStore()]);
            yield chunk;
          }
        },
        async wrapToolCall({ sessionId }, next) {
          await note("wrapToolCall in", sessionId);
          const result = await next();
          await note("wrapToolCall out", sessionId);
          return result;
        },
      },
    ],
  });
  for (const name of ["run:start", "tool:start", "tool:end", "run:end"]) {
    agent.hook(name, ({ sessionId }) => note(`${name} first`, sessionId));
    agent.hook(name, ({ sessionId }) => note(`${name} second`, sessionId));
  }
  return { agent, seen };
}

/** The tests put the session's name in the prompt. */
function session(messages) {
  const { content } = messages[0];
  return typeof content === "string" ? content : content[0].text;
}

test("every callback of concurrently running sends sees the store of its own send", async (t) => {
  const storage = new AsyncLocalStorage();
  const { agent, seen } = watchedAgent(t, storage);
  const sessions = Array.from({ length: 8 }, (_, position) => `s${position}`);
  await Promise.all(
    sessions.map((sessionId) => storage.run(`store of ${sessionId}`, () => agent.send(sessionId, { sessionId }))),
  );
  for (const [where, sessionId, store] of seen) {
    if (sessionId) assert.equal(store, `store of ${sessionId}`, `${where} of ${sessionId}`);
    else assert.match(String(store), /^store of s\d$/, where);
  }
  const places = new Set(seen.map(([where]) => where));
  for (const place of [
    "provider",
    "tool, later",
    "validate",
    "beforeAgent",
    "beforeModel",
    "afterAgent",
    "wrapModelCall",
    "chunk",
    "wrapToolCall out, later",
    "run:start second, later",
    "tool:end second",
    "run:end second, later",
  ]) {
    assert.ok(places.has(place), place);
  }
});

test("the same holds for run() that is pulled within a store", async (t) => {
  const storage = new AsyncLocalStorage();
  const { agent, seen } = watchedAgent(t, storage);
  await Promise.all(
    ["a", "b", "c"].map((sessionId) =>
      storage.run(`store of ${sessionId}`, () => collect(agent.run(sessionId, { sessionId }))),
    ),
  );
  for (const [where, sessionId, store] of seen)
    if (sessionId) assert.equal(store, `store of ${sessionId}`, `${where} of ${sessionId}`);
});

test("a run that waited for its turn sees the store of its own send, not that of the run before", async (t) => {
  const storage = new AsyncLocalStorage();
  const agent = agentFor(t);
  const seen = [];
  for (const name of ["run:start", "run:end"]) {
    agent.hook(name, async () => {
      seen.push(storage.getStore());
      await pause(1);
      seen.push(storage.getStore());
    });
  }
  await Promise.all([1, 2, 3].map((store) => storage.run(store, () => agent.send(`prompt ${store}`))));
  assert.deepEqual(seen, [1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3]);
});

test("two sends on agents of their own do not mix their stores", async (t) => {
  const storage = new AsyncLocalStorage();
  const watched = ["a", "b", "c", "d"].map((sessionId) => ({ sessionId, ...watchedAgent(t, storage) }));
  await Promise.all(
    watched.map(({ agent, sessionId }) => storage.run(sessionId, () => agent.send(sessionId, { sessionId }))),
  );
  for (const { sessionId, seen } of watched) for (const [where, , store] of seen) assert.equal(store, sessionId, where);
});

test("the store is right after a handler's deadline and after an abort, which wake the run from outside", async (t) => {
  const storage = new AsyncLocalStorage();
  const agent = agentFor(t, {
    model: [{ calls: [call()] }],
    tools: [plainTool("work", () => new Promise(() => {}))],
  });
  const seen = [];
  agent.hook("run:start", () => new Promise(() => {}), { timeoutMs: 15 });
  agent.hook("run:start", () => void seen.push(storage.getStore()));
  agent.hook("tool:end", () => void seen.push(storage.getStore()));
  agent.hook("run:end", () => new Promise(() => {}), { timeoutMs: 15 });
  agent.hook("run:end", () => void seen.push(storage.getStore()));
  const runs = ["a", "b"].map((sessionId) => {
    const controller = new AbortController();
    const sending = storage.run(sessionId, () => agent.send("go", { sessionId, signal: controller.signal }));
    return { controller, sending };
  });
  await until(() => seen.length === 2);
  await storage.run("the aborter", async () => {
    await pause(20);
    for (const { controller } of runs) controller.abort();
  });
  await within(Promise.all(runs.map(({ sending }) => sending)), "the aborted runs");
  assert.deepEqual(seen.sort(), ["a", "a", "a", "b", "b", "b"]);
});

test("a tool's timeout wakes its run in the run's own store", async (t) => {
  const storage = new AsyncLocalStorage();
  const agent = agentFor(t, {
    model: scriptedModel([({ messages }) => (messages.length === 1 ? { calls: [call()] } : { text: "done" })]),
    tools: [plainTool("work", () => new Promise(() => {}), { timeoutMs: 15 })],
  });
  const seen = [];
  agent.hook("tool:end", ({ sessionId }) => void seen.push([sessionId, storage.getStore()]));
  await Promise.all(["a", "b", "c"].map((sessionId) => storage.run(sessionId, () => agent.send("go", { sessionId }))));
  assert.deepEqual(seen.sort(), [
    ["a", "a"],
    ["b", "b"],
    ["c", "c"],
  ]);
});

test("the caller's store is its own again after send(), and after each event of run()", async (t) => {
  const storage = new AsyncLocalStorage();
  const { agent } = watchedAgent(t, storage);
  await Promise.all(
    ["a", "b"].map((sessionId) =>
      storage.run(sessionId, async () => {
        await agent.send(sessionId, { sessionId });
        assert.equal(storage.getStore(), sessionId);
        for await (const _ of agent.run(sessionId, { sessionId })) assert.equal(storage.getStore(), sessionId);
        assert.equal(storage.getStore(), sessionId);
      }),
    ),
  );
  assert.equal(storage.getStore(), undefined);
});

test("what a handler enters is not seen by the caller", async (t) => {
  const storage = new AsyncLocalStorage();
  const agent = agentFor(t);
  agent.hook("run:start", async () => {
    storage.enterWith("the handler's");
    await null;
  });
  agent.hook("run:end", () => {
    storage.enterWith("the handler's");
  });
  await storage.run("the caller's", async () => {
    await agent.send("go");
    assert.equal(storage.getStore(), "the caller's");
  });
});

test("a send without a store has none in its handlers, while one with a store is going", async (t) => {
  const storage = new AsyncLocalStorage();
  const agent = agentFor(t);
  const gate = deferred();
  const seen = [];
  agent.hook("run:start", async ({ sessionId }) => {
    if (sessionId === "stored") await gate.promise;
    seen.push([sessionId, storage.getStore()]);
  });
  const stored = storage.run("kept", () => agent.send("go", { sessionId: "stored" }));
  await agent.send("go", { sessionId: "bare" });
  gate.resolve();
  await stored;
  assert.deepEqual(seen, [
    ["bare", undefined],
    ["stored", "kept"],
  ]);
});

test("a store made after the agent's first runs is seen as well", async (t) => {
  const agent = agentFor(t);
  await agent.send("go");
  const storage = new AsyncLocalStorage();
  let store;
  agent.hook("run:end", async () => {
    await pause(1);
    store = storage.getStore();
  });
  await storage.run({ request: 7 }, () => agent.send("go"));
  assert.deepEqual(store, { request: 7 });
});

test("a handler that is re-entered through another agent keeps the store of the outer send", async (t) => {
  const storage = new AsyncLocalStorage();
  const outer = agentFor(t);
  const inner = agentFor(t);
  const seen = [];
  inner.hook("run:start", () => void seen.push(storage.getStore()));
  outer.hook("run:start", async () => {
    await inner.send("go");
    seen.push(storage.getStore());
  });
  const { events } = await storage.run("outer", () => collect(outer.run("go")));
  assert.deepEqual(hookFailures(events), []);
  assert.deepEqual(seen, ["outer", "outer"]);
});
