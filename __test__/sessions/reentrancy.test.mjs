// Sessions from inside a run: what would wait for itself is refused, on a store as without one. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { ReentrancyError } from "../../index.js";
import { agentFor, plainTool, within } from "../support/model.mjs";
import { attempt, operations, outcome } from "../support/operations.mjs";
import { call } from "../runs/reading.mjs";
import { testStore } from "./storing.mjs";

const HOOKS = ["run:start", "tool:start", "tool:end", "run:end"];

for (const name of HOOKS) {
  test(`deleteSession() in a ${name} handler is refused, of every session, and deletes nothing`, async (t) => {
    const store = testStore();
    store.put("other", [{ type: "user", message: { role: "user", content: "kept" } }]);
    const agent = agentFor(t, {
      checkpointer: store.checkpointer,
      model: [{ calls: [call("a", "work")] }, { text: "end" }],
      tools: [plainTool("work", () => "worked")],
    });
    const seen = [];
    agent.hook(name, async ({ sessionId }) => {
      for (const id of [sessionId, "other", "a/b"]) seen.push(await agent.deleteSession(id).catch((error) => error));
    });
    await within(agent.send("hi", { sessionId: "s" }), "the run");
    assert.equal(seen.length, 3);
    for (const error of seen) {
      assert.ok(error instanceof ReentrancyError, String(error));
      assert.match(error.message, /same agent family/);
    }
    assert.ok(store.sessions.has("other") && store.sessions.has("s"));
    assert.ok(!store.trace.some((entry) => entry.startsWith("delete")));
  });
}

test("reading and rotating in a handler is allowed: listSessions, listCheckpoints, clear, resume", async (t) => {
  const store = testStore();
  const agent = agentFor(t, { checkpointer: store.checkpointer });
  const seen = [];
  agent.hook("run:end", async ({ sessionId }) => {
    seen.push((await agent.listSessions()).length, (await agent.listCheckpoints(sessionId)).length);
    agent.clear();
    agent.resume(sessionId);
  });
  const failures = [];
  agent.subscribe(({ event }) => event.type === "diagnostic" && failures.push(event.message));
  await within(agent.send("hi", { sessionId: "s" }), "the run");
  assert.deepEqual(failures, []);
  assert.deepEqual(seen, [1, 1]);
});

test("a deleteSession() that a handler leaves for later is done", async (t) => {
  const store = testStore();
  const agent = agentFor(t, { checkpointer: store.checkpointer });
  let later;
  agent.hook("run:end", ({ sessionId }) => {
    later ??= new Promise((resolve) => setImmediate(resolve)).then(() => agent.deleteSession(sessionId));
  });
  await agent.send("hi", { sessionId: "s" });
  await within(later, "deleteSession() afterwards");
  assert.ok(!store.sessions.has("s"));
});

for (const method of ["append", "read"]) {
  test(`a store whose ${method} awaits an operation on the session that it serves is refused`, async (t) => {
    const store = testStore();
    const seen = {};
    let used = false;
    let agent;
    store.before = async (operation) => {
      if (used || operation !== method) return;
      used = true;
      for (const name of Object.keys(operations)) {
        if (name !== "close") seen[name] = await outcome(attempt(name, agent));
      }
    };
    agent = agentFor(t, { checkpointer: store.checkpointer });
    await within(agent.send("hi"), "the run", 30_000);
    assert.ok(used);
    assert.deepEqual(seen, Object.fromEntries(Object.keys(seen).map((name) => [name, "refused"])));
    assert.ok(Object.keys(seen).length >= 5);
  });

  test(`a store whose ${method} uses another session of the agent may`, async (t) => {
    const store = testStore();
    let text;
    let used = false;
    let agent;
    store.before = async (operation, id) => {
      if (used || operation !== method || id === "other") return;
      used = true;
      ({ text } = await agent.send("there", { sessionId: "other" }));
      await agent.deleteSession("other");
    };
    agent = agentFor(t, { checkpointer: store.checkpointer });
    await within(agent.send("hi", { sessionId: "s" }), "the run");
    assert.equal(text, "ok");
    assert.ok(!store.sessions.has("other"));
  });
}

test("a tool may delete another session, but not its own", async (t) => {
  const store = testStore();
  const seen = [];
  let agent;
  agent = agentFor(t, {
    checkpointer: store.checkpointer,
    model: [{ calls: [call("a", "work")] }, { text: "end" }],
    tools: [
      plainTool("work", async (_, { sessionId }) => {
        seen.push(await outcome(agent.deleteSession("other")), await outcome(agent.deleteSession(sessionId)));
        return "worked";
      }),
    ],
  });
  store.put("other", [{ type: "user", message: { role: "user", content: "x" } }]);
  await within(agent.send("hi", { sessionId: "s" }), "the run");
  assert.deepEqual(seen, ["allowed", "refused"]);
  assert.ok(!store.sessions.has("other"));
  assert.ok(store.sessions.has("s"));
});

test("a store that calls its own agent from deleteSession() on that session is refused, not left hanging", async (t) => {
  const store = testStore();
  const seen = [];
  let agent;
  store.before = async (operation, id) => {
    if (operation === "delete" && id === "s") seen.push(await outcome(agent.send("x", { sessionId: "s" })));
  };
  agent = agentFor(t, { checkpointer: store.checkpointer });
  await agent.send("hi", { sessionId: "s" });
  await within(agent.deleteSession("s"), "deleteSession()", 20_000);
  assert.deepEqual(seen, ["refused"]);
});
