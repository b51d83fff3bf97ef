// What becomes of a call (refused, thrown, timed out, cancelled) and the tool:start and tool:end that it has.
import { test } from "node:test";
import assert from "node:assert/strict";
import { tool } from "../../index.js";
import { runCalls } from "../support/calls.mjs";
import {
  aborted,
  agentFor,
  deferred,
  pause,
  plainTool,
  recordHooks,
  scriptedModel,
  within,
} from "../support/model.mjs";

const call = (id = "call-1", name = "work", input = {}) => ({ id, name, input });
const keys = (object) => Object.keys(object).sort();

test("a tool result with isError is failed, with a result and no error", async (t) => {
  const {
    tools: [, end],
    results,
  } = await runCalls(t, { tools: [plainTool("work", () => ({ content: "no such file", isError: true }))] });
  assert.equal(end.status, "failed");
  assert.equal("error" in end, false);
  assert.equal(end.result.isError, true);
  assert.equal(end.result.content, "no such file");
  assert.equal(results[0].isError, true);
});

test("a tool that throws is failed, with the error's name and message", async (t) => {
  const {
    tools: [, end],
    results,
    result,
  } = await runCalls(t, {
    tools: [
      plainTool("work", () => {
        throw new TypeError("no such thing");
      }),
    ],
  });
  assert.equal(end.status, "failed");
  assert.deepEqual(end.error, { name: "TypeError", message: "no such thing" });
  assert.equal(results[0].isError, true);
  assert.equal(results[0].content, "Error: no such thing");
  assert.equal(result.stopReason, "stop");
});

const oddities = {
  undefined: undefined,
  null: null,
  "a string": "oops",
  "a number": 0,
  "a symbol": Symbol("oops"),
  "a bigint": 5n,
  "a frozen object": Object.freeze({ message: "oops" }),
  "an object without prototype": Object.create(null),
  "a function": () => {},
  "a proxy that throws on everything": hostileProxy(),
  "an error whose message throws": Object.defineProperty(new Error("x"), "message", {
    get() {
      throw new Error("trap");
    },
  }),
  "an error whose name is a symbol": Object.assign(new Error("oops"), { name: Symbol("name") }),
};
for (const [what, thrown] of Object.entries(oddities)) {
  test(`a tool that throws ${what} has one tool:end, failed, with an error of two strings`, async (t) => {
    const { tools, result } = await runCalls(t, {
      tools: [
        plainTool("work", () => {
          throw thrown;
        }),
      ],
    });
    assert.deepEqual(
      tools.map(({ event }) => event),
      ["tool:start", "tool:end"],
    );
    assert.equal(tools[1].status, "failed");
    assert.deepEqual(keys(tools[1].error), ["message", "name"]);
    assert.equal(typeof tools[1].error.name, "string");
    assert.equal(typeof tools[1].error.message, "string");
    assert.equal(result.stopReason, "stop");
  });
}

test("an unknown tool has one tool:start and one tool:end, failed, with a result and no error", async (t) => {
  const { tools, results } = await runCalls(t, { calls: [call("1", "wrok", { a: 1 })] });
  assert.deepEqual(
    tools.map(({ event }) => event),
    ["tool:start", "tool:end"],
  );
  assert.deepEqual(tools[1].call, call("1", "wrok", { a: 1 }));
  assert.equal(tools[1].status, "failed");
  assert.equal("error" in tools[1], false);
  assert.equal(tools[1].result.isError, true);
  assert.match(results[0].content, /^Error: unknown tool 'wrok'/);
});

test("an input that the schema refuses has one tool:start and one tool:end, failed, with a result and no error", async (t) => {
  let executed = false;
  const strict = tool(
    "work",
    "",
    { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
    () => {
      executed = true;
      return "ok";
    },
  );
  const { tools, results } = await runCalls(t, { calls: [call("1", "work", { path: 5 })], tools: [strict] });
  assert.deepEqual(
    tools.map(({ event }) => event),
    ["tool:start", "tool:end"],
  );
  assert.equal(tools[1].status, "failed");
  assert.equal("error" in tools[1], false);
  assert.equal(tools[1].result.isError, true);
  assert.match(JSON.stringify(results[0].content), /path/);
  assert.equal(executed, false);
});

test("a tool that overruns its timeoutMs has one tool:end, failed, even when it finishes later", async (t) => {
  const gate = deferred();
  const { tools, results, fired } = await runCalls(t, {
    tools: [plainTool("work", () => gate.promise, { timeoutMs: 20 })],
  });
  assert.deepEqual(
    tools.map(({ event }) => event),
    ["tool:start", "tool:end"],
  );
  assert.equal(tools[1].status, "failed");
  assert.equal("error" in tools[1], false, "nothing was thrown");
  assert.equal(tools[1].result.isError, true);
  assert.match(JSON.stringify(results[0].content), /timed out after 20 ms/);
  const before = fired.length;
  gate.resolve("late");
  await pause(10);
  assert.equal(fired.length, before);
});

test("an aborted call has one tool:end, cancelled, whether the tool heeds its signal, throws on it or ignores it", async (t) => {
  for (const reaction of [
    (signal) => aborted(signal).then(() => "stopped"),
    (signal) =>
      aborted(signal).then((reason) => {
        throw reason;
      }),
    () => new Promise(() => {}),
  ]) {
    const controller = new AbortController();
    const { tools, result } = await runCalls(
      t,
      {
        tools: [
          plainTool("work", (_, { signal }) => {
            queueMicrotask(() => controller.abort());
            return reaction(signal);
          }),
        ],
      },
      { signal: controller.signal },
    );
    assert.equal(result.stopReason, "aborted");
    assert.deepEqual(
      tools.map(({ event, status }) => [event, status]),
      [
        ["tool:start", undefined],
        ["tool:end", "cancelled"],
      ],
    );
  }
});

test("tool:end of a call that was cut off has a failed result and no error, as nothing was thrown", async (t) => {
  const controller = new AbortController();
  const {
    tools: [, end],
  } = await runCalls(
    t,
    {
      tools: [
        plainTool("work", () => {
          controller.abort();
          return new Promise(() => {});
        }),
      ],
    },
    { signal: controller.signal },
  );
  assert.equal(end.status, "cancelled");
  assert.equal("error" in end, false);
  assert.equal(end.result.isError, true);
  assert.match(JSON.stringify(end.result.content), /interrupted/);
});

test("a call that was cancelled before it began has neither tool:start nor tool:end", async (t) => {
  const controller = new AbortController();
  const { tools, result } = await runCalls(
    t,
    {
      calls: [call("1"), call("2"), call("3")],
      maxParallelTools: 1,
      tools: [
        plainTool("work", (_, { signal }) => {
          controller.abort();
          return aborted(signal);
        }),
      ],
    },
    { signal: controller.signal },
  );
  assert.equal(result.stopReason, "aborted");
  assert.deepEqual(
    tools.map(({ event, call: { id } }) => [event, id]),
    [
      ["tool:start", "1"],
      ["tool:end", "1"],
    ],
  );
});

test("a call whose tool:start handler was in flight when the run was cancelled has one tool:end, cancelled, and does not run", async (t) => {
  const controller = new AbortController();
  let executed = false;
  const agent = agentFor(t, {
    model: [{ calls: [call()] }],
    tools: [
      plainTool("work", () => {
        executed = true;
        return "ok";
      }),
    ],
  });
  const fired = recordHooks(agent);
  agent.hook("tool:start", () => {
    controller.abort();
    return new Promise(() => {});
  });
  const result = await within(agent.send("go", { signal: controller.signal }), "the aborted run", 1_000);
  assert.equal(result.stopReason, "aborted");
  assert.deepEqual(
    fired.map(({ event }) => event),
    ["run:start", "tool:start", "tool:end", "run:end"],
  );
  assert.equal(fired[2].status, "cancelled");
  assert.equal(executed, false);
});

test("a middleware that denies makes a failed tool:end with its result and without an error", async (t) => {
  const { tools, results } = await runCalls(t, {
    use: [
      {
        name: "deny",
        wrapToolCall: async ({ call: { id, name } }) => ({ id, name, content: "denied", isError: true }),
      },
    ],
    tools: [plainTool("work", () => assert.fail("it must not run"))],
  });
  assert.deepEqual(
    tools.map(({ event }) => event),
    ["tool:start", "tool:end"],
  );
  assert.equal(tools[1].status, "failed");
  assert.equal("error" in tools[1], false);
  assert.equal(tools[1].result.content, "denied");
  assert.equal(results[0].content, "denied");
});

for (const later of [false, true]) {
  test(`a middleware that throws ${later ? "after" : "before"} the tool ran has one tool:start, one tool:end and one run:end`, async (t) => {
    const model = scriptedModel([{ calls: [call()] }, { text: "done" }]);
    const agent = agentFor(t, {
      model,
      tools: [plainTool("work", () => "worked")],
      use: [
        {
          name: "broken",
          async wrapToolCall(_, next) {
            if (later) await next();
            throw new RangeError("broken onion");
          },
        },
      ],
    });
    const fired = recordHooks(agent);
    await agent.send("go").catch(() => {});
    assert.deepEqual(
      fired.map(({ event }) => event),
      ["run:start", "tool:start", "tool:end", "run:end"],
    );
    assert.equal(fired[2].status, "failed");
    assert.deepEqual(fired[2].error, { name: "RangeError", message: "broken onion" });
  });
}

test("each of many calls of a turn has exactly one tool:start and one tool:end, whatever became of it", async (t) => {
  const calls = Array.from({ length: 40 }, (_, position) =>
    call(`c${position}`, ["work", "throws", "missing", "fails", "strict", "slow"][position % 6]),
  );
  const { tools, results } = await runCalls(t, {
    calls,
    tools: [
      plainTool("work", async () => {
        await pause(1);
        return "ok";
      }),
      plainTool("throws", () => {
        throw new Error("broken");
      }),
      plainTool("fails", () => ({ content: "no", isError: true })),
      tool("strict", "", { type: "object", required: ["x"] }, () => "ok"),
      plainTool("slow", () => new Promise(() => {}), { timeoutMs: 15 }),
    ],
  });
  for (const phase of ["tool:start", "tool:end"]) {
    const ids = tools
      .filter(({ event }) => event === phase)
      .map(({ call: { id } }) => id)
      .sort();
    assert.deepEqual(ids, calls.map(({ id }) => id).sort(), phase);
  }
  for (const {
    call: { name },
    status,
  } of tools.filter(({ event }) => event === "tool:end")) {
    assert.equal(status, name === "work" ? "completed" : "failed", name);
  }
  assert.deepEqual(
    results.map(({ id }) => id),
    calls.map(({ id }) => id),
  );
});

function hostileProxy() {
  const trap = () => {
    throw new Error("trap");
  };
  return new Proxy(
    {},
    { get: trap, has: trap, ownKeys: trap, getPrototypeOf: trap, getOwnPropertyDescriptor: trap, set: trap },
  );
}
