// Operations on the agent from inside callbacks of its children: what would wait for itself is refused. Knows the
// public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { ReentrancyError } from "../../index.js";
import { deferred, plainTool, within } from "../support/model.mjs";
import { attempt, operations, outcome } from "../support/operations.mjs";
import {
  answerOf,
  assertPaired,
  call,
  childRunsOf,
  completionRunsOf,
  familyFor,
  familyModel,
  starts,
} from "./family.mjs";

const working = [{ calls: [call("work")] }, { text: "1" }];
const roles = { go: starts("one"), "go other": [{ text: "elsewhere" }], one: working };

/** Callbacks that a child's run awaits, each doing `use(agentId)` once in the child. */
const CALLBACKS = {
  tool: (use) => ({
    tools: [
      plainTool("work", async (_, { sessionId }) => {
        await use(sessionId);
        return "worked";
      }),
    ],
  }),
  beforeAgent: (use) => ({ use: [{ name: "m", beforeAgent: ({ sessionId }) => use(sessionId) }] }),
  beforeModel: (use) => ({ use: [{ name: "m", beforeModel: ({ sessionId }) => use(sessionId) }] }),
  afterAgent: (use) => ({ use: [{ name: "m", afterAgent: ({ sessionId }) => use(sessionId) }] }),
  wrapToolCall: (use) => ({
    use: [
      {
        name: "m",
        async wrapToolCall({ sessionId }, next) {
          await use(sessionId);
          return next();
        },
      },
    ],
  }),
  wrapModelCall: (use) => ({
    use: [
      {
        name: "m",
        async *wrapModelCall({ sessionId }, next) {
          await use(sessionId);
          yield* next();
        },
      },
    ],
  }),
  policy: (use) => ({
    permission: {
      async check(_, { sessionId }) {
        await use(sessionId);
        return "allow";
      },
    },
  }),
  subagentPermission: (use) => ({
    subagentPermission: {
      async check(_, { sessionId }) {
        await use(sessionId);
        return "allow";
      },
    },
  }),
  approval: (use, ids) => ({
    permission: { check: ({ name }) => (name === "work" ? "ask" : "allow") },
    onApproval: {
      async request() {
        await use(ids.child());
        return "allow";
      },
    },
  }),
  provider: (use, ids) => ({
    model: familyModel({
      ...roles,
      one: [
        async () => {
          await use(ids.child());
          return working[0];
        },
        working[1],
      ],
    }),
  }),
};

/** Runs a family in one of whose child's callbacks `perform(agent, childId, parentId)` is done once. */
async function inCallback(t, callback, perform) {
  let family;
  let used = false;
  const ids = { child: () => family.heard.find(({ event }) => event.agentId).event.agentId };
  const use = async (sessionId) => {
    if (used || !sessionId.startsWith("agent-")) return;
    used = true;
    await perform(family.agent, sessionId, family.agent.sessionId);
  };
  family = familyFor(t, { roles, ...CALLBACKS[callback](use, ids) });
  await family.send();
  await family.idle();
  assert.equal(used, true);
  assertPaired(family);
  return family;
}

for (const callback of Object.keys(CALLBACKS)) {
  test(`a child's ${callback} that awaits awaitIdle() or deleteSession() of its parent's session is refused`, async (t) => {
    const seen = {};
    const family = await inCallback(t, callback, async (agent, _, parent) => {
      [seen.awaitIdle, seen.current, seen.deleteSession] = await Promise.all([
        outcome(agent.awaitIdle(parent)),
        outcome(agent.awaitIdle()),
        outcome(agent.deleteSession(parent)),
      ]);
    });
    assert.deepEqual(seen, { awaitIdle: "refused", current: "refused", deleteSession: "refused" });
    assert.equal(childRunsOf(family)[0].status, "completed");
    assert.equal(completionRunsOf(family).length, 1);
  });
}

for (const callback of ["tool", "beforeModel", "policy", "provider"]) {
  test(`a child's ${callback} that awaits an operation on the child's own session is refused`, async (t) => {
    const seen = {};
    await inCallback(t, callback, async (agent, child) => {
      seen.send = await outcome(agent.send("x", { sessionId: child }));
      seen.run = await outcome(agent.run("x", { sessionId: child }).next());
      seen.awaitIdle = await outcome(agent.awaitIdle(child));
      seen.restore = await outcome(agent.restore(child, 0));
      seen.deleteSession = await outcome(agent.deleteSession(child));
    });
    assert.deepEqual(seen, {
      send: "refused",
      run: "refused",
      awaitIdle: "refused",
      restore: "refused",
      deleteSession: "refused",
    });
  });

  test(`a child's ${callback} may use another session of the agent`, async (t) => {
    const seen = {};
    await inCallback(t, callback, async (agent) => {
      seen.send = await outcome(agent.send("go other", { sessionId: "other" }));
      seen.awaitIdle = await outcome(agent.awaitIdle("other"));
      seen.deleteSession = await outcome(agent.deleteSession("other"));
    });
    assert.deepEqual(seen, { send: "allowed", awaitIdle: "allowed", deleteSession: "allowed" });
  });
}

test("a refusal in a child's tool is a ReentrancyError that says what to do", async (t) => {
  let error;
  await inCallback(t, "tool", async (agent) => {
    error = await agent.awaitIdle().catch((reason) => reason);
  });
  assert.ok(error instanceof ReentrancyError, String(error));
  assert.ok(error.message.length > 20);
});

test("a refusal that the tool does not catch is the failed result of that call, and the child goes on", async (t) => {
  let family;
  const tools = [
    plainTool("work", async () => {
      await family.agent.awaitIdle();
      return "worked";
    }),
  ];
  family = familyFor(t, { roles, tools });
  await family.send();
  await family.idle();
  assert.equal(childRunsOf(family)[0].status, "completed");
  const end = family.fired.find(({ event, agentId }) => event === "tool:end" && agentId);
  assert.equal(end.status, "failed");
});

test("close() inside a child's tool is allowed, and cancels the family", async (t) => {
  let family;
  let seen;
  const entered = deferred();
  const tools = [
    plainTool("work", async () => {
      seen = outcome(family.agent.close());
      entered.resolve();
      await seen;
      return "worked";
    }),
  ];
  family = familyFor(t, { roles, tools });
  await family.send();
  await within(entered.promise, "the tool");
  assert.equal(await within(seen, "close()"), "allowed");
  await family.close();
  assertPaired(family);
  assert.equal(childRunsOf(family)[0].status, "cancelled");
});

test("a child's tool that waits for the parent's session through another session's tool is refused", async (t) => {
  let family;
  let seen;
  const own = () => family.agent.sessionId;
  const tools = [
    plainTool("work", async () => {
      await family.agent.send("go relay", { sessionId: "relay" });
      return "worked";
    }),
    plainTool("relay", async () => {
      seen = await outcome(family.agent.awaitIdle(own()));
      return "relayed";
    }),
  ];
  family = familyFor(t, { roles: { ...roles, "go relay": [{ calls: [call("relay")] }, { text: "relayed" }] }, tools });
  await family.send();
  await family.idle();
  assert.equal(seen, "refused");
});

test("a completion run's tool that awaits an operation on its own session is refused", async (t) => {
  const seen = {};
  let family;
  const tools = [
    plainTool("work", () => "worked"),
    plainTool("own", async (_, { sessionId }) => {
      seen.send = await outcome(family.agent.send("x", { sessionId }));
      seen.awaitIdle = await outcome(family.agent.awaitIdle(sessionId));
      seen.deleteSession = await outcome(family.agent.deleteSession(sessionId));
      return "done";
    }),
  ];
  family = familyFor(t, {
    roles: { go: [...starts("one").slice(0, 2), { calls: [call("own")] }, { text: "over" }], one: [{ text: "1" }] },
    tools,
  });
  await family.send();
  await family.idle();
  assert.deepEqual(seen, { send: "refused", awaitIdle: "refused", deleteSession: "refused" });
});

// -- hooks ----------------------------------------------------------------------------------------------------------------

for (const name of ["run:start", "tool:start", "tool:end", "run:end"]) {
  test(`every operation is refused inside a child's ${name} handler, and the child goes on`, async (t) => {
    const family = familyFor(t, { roles });
    const seen = {};
    let message;
    family.agent.hook(name, async ({ agentId }) => {
      if (!agentId) return;
      for (const operation of Object.keys(operations))
        seen[operation] = await outcome(attempt(operation, family.agent));
      seen.child = await outcome(family.agent.send("x", { sessionId: agentId }));
      seen.other = await outcome(family.agent.send("go other", { sessionId: "other" }));
      message = await family.agent.awaitIdle().catch((error) => error.message);
    });
    await family.send();
    await family.idle();
    assert.deepEqual(new Set(Object.values(seen)), new Set(["refused"]));
    assert.equal(Object.keys(seen).length, Object.keys(operations).length + 2);
    assert.ok(message.includes("same agent family"), message);
    assert.equal(childRunsOf(family)[0].status, "completed");
    assertPaired(family);
  });

  test(`and inside a completion run's ${name} handler`, async (t) => {
    const family = familyFor(t, {
      roles: { go: [...starts("one").slice(0, 2), { calls: [call("work")] }, { text: "over" }], one: [{ text: "1" }] },
    });
    const seen = {};
    family.agent.hook(name, async ({ source }) => {
      if (source !== "background") return;
      for (const operation of Object.keys(operations))
        seen[operation] = await outcome(attempt(operation, family.agent));
    });
    await family.send();
    await family.idle();
    assert.deepEqual(seen, Object.fromEntries(Object.keys(operations).map((operation) => [operation, "refused"])));
    assert.equal(completionRunsOf(family)[0].status, "completed");
  });
}

test("what a child's handler leaves for later is allowed", async (t) => {
  const family = familyFor(t, { roles });
  let later;
  family.agent.hook("run:end", ({ agentId }) => {
    if (agentId) later = new Promise((resolve) => setImmediate(resolve)).then(() => outcome(family.agent.awaitIdle()));
  });
  await family.send();
  await family.idle();
  assert.equal(await within(later, "awaitIdle() afterwards"), "allowed");
});

test("what a child's tool leaves behind is allowed once the tool has answered", async (t) => {
  let family;
  const later = deferred();
  const tools = [
    plainTool("work", () => {
      setTimeout(() => later.resolve(outcome(family.agent.awaitIdle())), 50);
      return "worked";
    }),
  ];
  family = familyFor(t, { roles, tools });
  await family.send();
  await family.idle();
  assert.equal(await within(later.promise, "awaitIdle() afterwards"), "allowed");
});

test("the host's own code, beside a child that is in a hook, is not affected", async (t) => {
  const family = familyFor(t, { roles: { ...roles } });
  const entered = deferred();
  const gate = deferred();
  family.agent.hook("run:start", async ({ agentId }) => {
    if (!agentId) return;
    entered.resolve();
    await gate.promise;
  });
  const result = await family.send();
  await within(entered.promise, "the hook");
  assert.equal((await family.send("go other", { sessionId: "other" })).text, "elsewhere");
  const waiting = outcome(family.agent.awaitIdle());
  gate.resolve();
  assert.equal(await waiting, "allowed");
  assert.equal(answerOf(result).agentIds.length, 1);
});

test("another agent may be used in a child's hook and tool", async (t) => {
  const second = familyFor(t, { roles: { go: starts("helper"), helper: [{ text: "helped" }] } });
  const seen = [];
  const use = async () => {
    seen.push(await outcome(second.agent.send("go")));
    seen.push(await outcome(second.agent.awaitIdle()));
  };
  const tools = [
    plainTool("work", async () => {
      await use();
      return "worked";
    }),
  ];
  const family = familyFor(t, { roles, tools });
  family.agent.hook("run:start", ({ agentId }) => (agentId ? use() : undefined));
  await family.send();
  await family.idle();
  assert.deepEqual(seen, Array(4).fill("allowed"));
});
