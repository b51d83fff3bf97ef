// Permission within a run: who decides, what is told, what the model gets.
import assert from "node:assert/strict";
import { test } from "node:test";

import { ConfigError, ReentrancyError, policy } from "../../index.js";
import {
  agentFor,
  collect,
  deferred,
  plainTool,
  recordHooks,
  scriptedModel,
  until,
  within,
} from "../support/model.mjs";

const call = (id, name, input = {}) => ({ id, name, input });
const permissionEvents = (events) => events.filter(({ type }) => /^(approval|permission)_/.test(type));
const resultsOf = (events) => events.filter(({ type }) => type === "tool_result").map(({ result }) => result);

/** An agent with the tools a and b, whose model makes these calls and then stops. */
function calling(t, calls, config = {}) {
  const ran = [];
  const agent = agentFor(t, {
    model: scriptedModel([{ calls }, { text: "done" }]),
    tools: ["a", "b"].map((name) =>
      plainTool(name, () => {
        ran.push(name);
        return "ok";
      }),
    ),
    ...config,
  });
  return { agent, ran };
}

test("custom tools run without any policy, and the decision is told", async (t) => {
  const { agent, ran } = calling(t, [call("1", "a")]);
  const { events } = await collect(agent.run("go"));
  assert.deepEqual(ran, ["a"]);
  assert.deepEqual(permissionEvents(events), [
    { type: "permission_decision", call: call("1", "a"), decision: "allow", by: "policy" },
  ]);
});

test("a denied call does not start: a failed result, no error, hooks as for any call", async (t) => {
  const { agent, ran } = calling(t, [call("1", "a")], {
    permission: policy({ rules: [{ id: "no-a", tool: "a", effect: "deny", description: "not here" }] }),
  });
  const fired = recordHooks(agent, ["tool:start", "tool:end"]);
  const { events } = await collect(agent.run("go"));
  assert.deepEqual(ran, []);
  assert.deepEqual(resultsOf(events), [
    { id: "1", name: "a", content: "Error: blocked by policy: not here", isError: true },
  ]);
  assert.deepEqual(permissionEvents(events), [
    {
      type: "permission_decision",
      call: call("1", "a"),
      decision: "deny",
      ruleId: "no-a",
      reason: "not here",
      by: "policy",
    },
  ]);
  assert.deepEqual(
    fired.map(({ event, status, error }) => [event, status, error]),
    [
      ["tool:start", undefined, undefined],
      ["tool:end", "failed", undefined],
    ],
  );
});

test("a deny without a reason says just that", async (t) => {
  const { agent } = calling(t, [call("1", "a")], { permission: policy({ deny: ["a"] }) });
  const { events } = await collect(agent.run("go"));
  assert.equal(resultsOf(events)[0].content, "Error: blocked by policy");
});

test("an ask goes to onApproval with the call as it is, and allow runs it", async (t) => {
  const seen = [];
  const { agent, ran } = calling(t, [call("1", "a", { token: "sk-abcdefghijklmnopqrstuvwx" })], {
    permission: policy({ rules: [{ tool: "a", effect: "ask", description: "costs money" }] }),
    onApproval: {
      request: async (asked, signal) => {
        seen.push([asked, signal.aborted]);
        return "allow";
      },
    },
  });
  const { events } = await collect(agent.run("go"));
  assert.deepEqual(ran, ["a"]);
  assert.deepEqual(seen, [[call("1", "a", { token: "sk-abcdefghijklmnopqrstuvwx" }), false]]);
  const [request, resolved, decision] = permissionEvents(events);
  assert.deepEqual([request.type, request.reason], ["approval_request", "costs money"]);
  assert.deepEqual(resolved, { type: "approval_resolved", id: "1", decision: "allow", by: "user" });
  assert.deepEqual([decision.decision, decision.by, decision.ruleId], ["allow", "user", "rule-0"]);
  // Events of permission are redacted.
  assert.doesNotMatch(JSON.stringify([request, decision]), /sk-abc/);
});

for (const [title, request] of [
  ["deny", async () => "deny"],
  ["anything else", async () => "yes"],
  ["nothing", () => undefined],
  [
    "a throw",
    () => {
      throw new Error("gone");
    },
  ],
  [
    "a rejection",
    async () => {
      throw undefined;
    },
  ],
]) {
  test(`${title} of the approval handler denies`, async (t) => {
    const { agent, ran } = calling(t, [call("1", "a")], {
      permission: policy({ ask: ["a"] }),
      onApproval: { request },
    });
    const { events } = await collect(agent.run("go"));
    assert.deepEqual(ran, []);
    assert.match(resultsOf(events)[0].content, /^Error: blocked by policy/);
    assert.deepEqual(
      permissionEvents(events).map(({ type, decision, by }) => [type, decision, by]),
      [
        ["approval_request", undefined, undefined],
        ["approval_resolved", "deny", "user"],
        ["permission_decision", "deny", "user"],
      ],
    );
  });
}

test("an ask without a handler is denied, by nobody", async (t) => {
  const { agent, ran } = calling(t, [call("1", "a")], { permission: policy({ ask: ["a"] }) });
  const { events } = await collect(agent.run("go"));
  assert.deepEqual(ran, []);
  assert.deepEqual(
    permissionEvents(events).map(({ type, by }) => [type, by]),
    [
      ["approval_request", undefined],
      ["approval_resolved", "auto"],
      ["permission_decision", "auto"],
    ],
  );
  assert.match(resultsOf(events)[0].content, /onApproval/);
});

test("approvals are asked one at a time, in order, over all sessions of the agent", async (t) => {
  let going = 0;
  let most = 0;
  const order = [];
  const { agent } = calling(t, [call("1", "a"), call("2", "b"), call("3", "a")], {
    permission: policy({ default: "ask" }),
    onApproval: {
      async request({ id }) {
        going += 1;
        most = Math.max(most, going);
        order.push(id);
        await new Promise(setImmediate);
        going -= 1;
        return "allow";
      },
    },
  });
  await agent.send("go");
  assert.equal(most, 1);
  assert.deepEqual(order, ["1", "2", "3"]);
});

test("cancelling the run settles a waiting approval as a deny, and aborts its signal", async (t) => {
  const controller = new AbortController();
  const asked = deferred();
  const { agent, ran } = calling(t, [call("1", "a"), call("2", "b")], {
    permission: policy({ ask: ["*"] }),
    onApproval: {
      request: (_call, signal) => {
        asked.resolve(signal);
        return new Promise(() => {});
      },
    },
  });
  const fired = recordHooks(agent, ["tool:end", "run:end"]);
  const events = [];
  agent.subscribe(({ event }) => events.push(event));
  const sending = agent.send("go", { signal: controller.signal });
  const signal = await asked.promise;
  controller.abort("enough");
  assert.equal((await within(sending, "the run")).stopReason, "aborted");
  assert.equal(signal.reason, "enough");
  assert.deepEqual(ran, []);
  assert.deepEqual(
    permissionEvents(events).map(({ type, decision, by }) => [type, decision, by]),
    [
      ["approval_request", undefined, undefined],
      ["approval_resolved", "deny", "auto"],
      ["permission_decision", "deny", "auto"],
    ],
  );
  assert.deepEqual(
    fired.map(({ status }) => status),
    ["cancelled", "cancelled", "cancelled"],
  );
});

test("unknown tools and invalid input are refused before anybody is asked", async (t) => {
  const asked = [];
  const { agent } = calling(t, [call("1", "nothing"), call("2", "strict", { n: "x" })], {
    permission: {
      check: ({ name }) => {
        asked.push(name);
        return "ask";
      },
    },
    onApproval: {
      request: async ({ name }) => {
        asked.push(name);
        return "allow";
      },
    },
    tools: [
      {
        name: "strict",
        description: "",
        schema: { type: "object", properties: { n: { type: "number" } }, required: ["n"] },
        execute: () => "ran",
      },
    ],
  });
  const { events } = await collect(agent.run("go"));
  assert.deepEqual(asked, []);
  assert.equal(
    resultsOf(events).every(({ isError }) => isError),
    true,
  );
});

test("a tool's own validator is asked before permission", async (t) => {
  const order = [];
  const schema = {
    "~standard": {
      version: 1,
      vendor: "test",
      validate: (value) => {
        order.push("validate");
        return { value };
      },
      jsonSchema: { input: () => ({ type: "object" }) },
    },
  };
  const { agent } = calling(t, [call("1", "own")], {
    permission: {
      check: () => {
        order.push("policy");
        return "allow";
      },
    },
    tools: [
      {
        name: "own",
        description: "",
        schema,
        execute: () => {
          order.push("tool");
          return "x";
        },
      },
    ],
  });
  await agent.send("go");
  assert.deepEqual(order, ["validate", "policy", "tool"]);
});

test("permission comes before middleware, and a denied call reaches none", async (t) => {
  const wrapped = [];
  const { agent } = calling(t, [call("1", "a"), call("2", "b")], {
    permission: policy({ deny: ["a"] }),
    use: [
      {
        name: "m",
        wrapToolCall: (context, next) => {
          wrapped.push(context.call.name);
          return next();
        },
      },
    ],
  });
  await agent.send("go");
  assert.deepEqual(wrapped, ["b"]);
});

for (const [title, check, pattern] of [
  [
    "throws",
    () => {
      throw new Error("broken");
    },
    /policy error: broken/,
  ],
  [
    "rejects",
    async () => {
      throw new Error("broken");
    },
    /policy error: broken/,
  ],
  ["answers nonsense", () => 5, /policy error: /],
]) {
  test(`a policy of the host that ${title} denies`, async (t) => {
    const { agent, ran } = calling(t, [call("1", "a")], { permission: { check } });
    const { events } = await collect(agent.run("go"));
    assert.deepEqual(ran, []);
    assert.match(resultsOf(events)[0].content, pattern);
  });
}

test("a policy of the host sees the call and the session, may answer later, and names its rule", async (t) => {
  const seen = [];
  const { agent, ran } = calling(t, [call("1", "a", { x: 1 })], {
    permission: {
      async check(asked, context) {
        seen.push([asked, context.sessionId === agent.sessionId]);
        return { decision: "deny", ruleId: "mine", reason: "because" };
      },
    },
  });
  const { events } = await collect(agent.run("go"));
  assert.deepEqual(seen, [[call("1", "a", { x: 1 }), true]]);
  assert.deepEqual(ran, []);
  assert.equal(permissionEvents(events)[0].ruleId, "mine");
});

test("in a dry run every call runs, whatever the verdict, and nobody is asked", async (t) => {
  const { agent, ran } = calling(t, [call("1", "a"), call("2", "b")], {
    permission: policy({ deny: ["a"], ask: ["b"] }),
    permissionMode: "dry-run",
    onApproval: { request: () => assert.fail("nobody is asked") },
    maxParallelTools: 1,
  });
  const { events } = await collect(agent.run("go"));
  assert.deepEqual(ran, ["a", "b"]);
  assert.deepEqual(
    permissionEvents(events).map(({ type, decision, simulated, by }) => [type, decision, simulated, by]),
    [
      ["permission_decision", "deny", true, "policy"],
      ["permission_decision", "ask", true, "policy"],
    ],
  );
});

test("a send() of the same session inside a policy or an approval is refused", async (t) => {
  const seen = [];
  const attempt = async () => {
    await agent.send("inner").catch((error) => seen.push(error instanceof ReentrancyError));
    return "allow";
  };
  const { agent } = calling(t, [call("1", "a")], {
    permission: {
      check: async () => {
        await attempt();
        return "ask";
      },
    },
    onApproval: { request: attempt },
  });
  await within(agent.send("go"), "the run");
  assert.deepEqual(seen, [true, true]);
});

test("a redactor of the host masks the input in events of permission", async (t) => {
  const { agent } = calling(t, [call("1", "a", { secret: "x" })], {
    redact: (value) => (typeof value === "object" ? { masked: true } : value),
  });
  const { events } = await collect(agent.run("go"));
  assert.deepEqual(permissionEvents(events)[0].call.input, { masked: true });
});

test("what an approval handler throws is told in its place of a person's no, without its secrets", async (t) => {
  const { agent } = calling(t, [call("1", "a")], {
    permission: policy({ ask: ["a"] }),
    onApproval: {
      request() {
        throw new Error("the terminal is gone: token sk-abcdefghijklmnopqrstuvwx");
      },
    },
  });
  const { events } = await collect(agent.run("go"));
  const [{ content }] = resultsOf(events);
  assert.match(content, /^Error: blocked by policy: approval was denied, for onApproval failed: the terminal is gone/);
  assert.ok(!content.includes("sk-abcdef"), content);
});

test("a redactor that throws lets nothing through", async (t) => {
  const { agent } = calling(t, [call("1", "a", { note: "of our own kind" })], {
    redact: () => {
      throw new Error("no");
    },
  });
  const { events } = await collect(agent.run("go"));
  assert.equal(permissionEvents(events)[0].call.input, "[withheld: redact() failed]");
});

test("permission and onApproval that are none are refused by name", (t) => {
  for (const bad of [true, {}, "deny", { check: 1 }]) {
    assert.throws(
      () => agentFor(t, { permission: bad }),
      (error) => error instanceof ConfigError && /^permission/.test(error.message),
    );
  }
  assert.throws(
    () => agentFor(t, { onApproval: {} }),
    (error) => error instanceof ConfigError && /^onApproval/.test(error.message),
  );
});

test("an approval that waits keeps other sessions going", async (t) => {
  const gate = deferred();
  const { agent, ran } = calling(t, [call("1", "a")], {
    model: scriptedModel([
      ({ messages }) =>
        messages.length === 1 && messages[0].content === "ask" ? { calls: [call("1", "a")] } : { text: "done" },
    ]),
    permission: policy({ ask: ["a"] }),
    onApproval: { request: () => gate.promise },
  });
  const waiting = agent.send("ask", { sessionId: "one" });
  assert.equal((await within(agent.send("hello", { sessionId: "two" }), "the other session")).text, "done");
  gate.resolve("allow");
  await waiting;
  await until(() => ran.length === 1);
});
