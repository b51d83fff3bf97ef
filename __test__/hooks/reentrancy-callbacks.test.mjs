// Operations on an agent from inside its tools, middleware and provider: refused on the own session, allowed elsewhere.
import { test } from "node:test";
import assert from "node:assert/strict";
import { tool } from "../../index.js";
import {
  agentFor,
  collect,
  deferred,
  pause,
  plainTool,
  recordHooks,
  scriptedModel,
  within,
} from "../support/model.mjs";
import { attempt, operations, outcome } from "../support/operations.mjs";

const call = (id = "call-1", name = "work", input = {}) => ({ id, name, input });

const callbacks = {
  tool: (use) => ({
    model: [{ calls: [call()] }, { text: "done" }],
    tools: [
      plainTool("work", async () => {
        await use();
        return "ok";
      }),
    ],
  }),
  beforeAgent: (use) => ({ use: [{ name: "m", beforeAgent: () => use() }] }),
  beforeModel: (use) => ({ use: [{ name: "m", beforeModel: () => use() }] }),
  afterAgent: (use) => ({ use: [{ name: "m", afterAgent: () => use() }] }),
  wrapModelCall: (use) => ({
    use: [
      {
        name: "m",
        async *wrapModelCall(_, next) {
          await use();
          yield* next();
        },
      },
    ],
  }),
  wrapToolCall: (use) => ({
    model: [{ calls: [call()] }, { text: "done" }],
    tools: [plainTool("work", () => "ok")],
    use: [
      {
        name: "m",
        async wrapToolCall(_, next) {
          await use();
          return next();
        },
      },
    ],
  }),
  validator: (use) => ({
    model: [{ calls: [call()] }, { text: "done" }],
    tools: [
      tool(
        "work",
        "",
        {
          "~standard": {
            version: 1,
            vendor: "test",
            validate: async (value) => {
              await use();
              return { value };
            },
            jsonSchema: { input: () => ({ type: "object" }) },
          },
        },
        () => "ok",
      ),
    ],
  }),
  provider: (use) => ({ model: scriptedModel([{ text: "ok" }], { onRequest: () => use() }) }),
};

for (const [callback, configure] of Object.entries(callbacks)) {
  test(`a ${callback} that awaits an operation on its own session is refused`, async (t) => {
    let agent;
    const seen = {};
    let used = false;
    agent = agentFor(
      t,
      configure(async () => {
        if (used) return;
        used = true;
        for (const operation of Object.keys(operations)) {
          if (operation !== "close") seen[operation] = await outcome(attempt(operation, agent));
        }
      }),
    );
    await within(agent.send("go"), "the run");
    assert.deepEqual(seen, {
      run: "refused",
      send: "refused",
      awaitIdle: "refused",
      compact: "refused",
      restore: "refused",
      deleteSession: "refused",
    });
  });

  test(`a ${callback} may use another session of the same agent`, async (t) => {
    let agent;
    const seen = {};
    let used = false;
    agent = agentFor(
      t,
      configure(async () => {
        if (used) return;
        used = true;
        seen.send = await outcome(agent.send("go", { sessionId: "other" }));
        seen.run = await outcome(collect(agent.run("go", { sessionId: "other" })));
        seen.awaitIdle = await outcome(agent.awaitIdle("other"));
        seen.deleteSession = await outcome((async () => agent.deleteSession("other"))());
      }),
    );
    const result = await within(agent.send("go"), "the run");
    assert.deepEqual(seen, { send: "allowed", run: "allowed", awaitIdle: "allowed", deleteSession: "allowed" });
    assert.equal(result.stopReason, "stop");
  });

  test(`close() inside a ${callback} is allowed and cancels the run`, async (t) => {
    let agent;
    let seen;
    agent = agentFor(
      t,
      configure(async () => {
        seen = outcome(agent.close());
        await seen;
      }),
    );
    const fired = recordHooks(agent);
    const result = await within(agent.send("go"), "the run", 5_000);
    assert.equal(result.stopReason, "aborted");
    assert.equal(await seen, "allowed");
    assert.deepEqual(
      fired.filter(({ event }) => event === "run:end").map(({ status }) => status),
      ["cancelled"],
    );
  });
}

test("a tool that waits for its own session through another session's tool is refused", async (t) => {
  let agent;
  let seen;
  const turn = ({ messages }) => {
    const last = messages.at(-1).content;
    const text = typeof last === "string" ? last : last.find(({ type }) => type === "text")?.text;
    return text === "outer" || text === "inner" ? { calls: [call(text, text)] } : { text: "done" };
  };
  agent = agentFor(t, {
    model: scriptedModel([turn]),
    tools: [
      plainTool("outer", async () => {
        await agent.send("inner", { sessionId: "inner" });
        return "ok";
      }),
      plainTool("inner", async () => {
        seen = await outcome(agent.send("back", { sessionId: "outer" }));
        return "ok";
      }),
    ],
  });
  await within(agent.send("outer", { sessionId: "outer" }), "the run");
  assert.equal(seen, "refused");
});

test("a tool that has settled or was left behind may call its own session from what it left", async (t) => {
  let agent;
  const settled = deferred();
  const overrun = deferred();
  agent = agentFor(t, {
    model: [{ calls: [call("1", "quick"), call("2", "slow")] }, { text: "done" }],
    tools: [
      plainTool("quick", () => {
        setTimeout(() => settled.resolve(outcome(agent.send("later"))), 60);
        return "ok";
      }),
      plainTool(
        "slow",
        async () => {
          await pause(60);
          overrun.resolve(outcome(agent.send("later")));
          return "late";
        },
        { timeoutMs: 10 },
      ),
    ],
  });
  await agent.send("go");
  assert.deepEqual(await within(Promise.all([settled.promise, overrun.promise]), "what the tools left behind"), [
    "allowed",
    "allowed",
  ]);
});

test("a tool at work does not keep the host's other code from using its session", async (t) => {
  const gate = deferred();
  const working = deferred();
  const agent = agentFor(t, {
    model: [{ calls: [call()] }, { text: "done" }],
    tools: [
      plainTool("work", () => {
        working.resolve();
        return gate.promise;
      }),
    ],
  });
  const first = agent.send("go");
  await working.promise;
  const queued = outcome(agent.send("queued"));
  gate.resolve("ok");
  await first;
  assert.equal(await queued, "allowed");
});

test("a hook of one run and a tool of another do not mix their contexts", async (t) => {
  const agent = agentFor(t, {
    model: scriptedModel([
      ({ messages }) => (JSON.stringify(messages.at(-1)).includes("go") ? { calls: [call()] } : { text: "done" }),
    ]),
    tools: [
      plainTool("work", async (_, { sessionId }) => {
        await pause(5);
        return outcome(agent.send("x", { sessionId: `${sessionId}-nested` }));
      }),
    ],
  });
  agent.hook("run:start", async ({ sessionId }) => {
    if (!sessionId.includes("nested")) await pause(3);
  });
  const results = await within(
    Promise.all(["a", "b", "c", "d"].map((sessionId) => agent.send("go", { sessionId }))),
    "the runs",
  );
  for (const { messages } of results) {
    const [{ content }] = messages
      .flatMap((message) => (Array.isArray(message.content) ? message.content : []))
      .filter(({ type }) => type === "tool_result");
    assert.equal(content, "allowed");
  }
});
