// Calls that fail: thrown tools, unknown tools, refused inputs, overrun deadlines. None fails the run.
// Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { tool } from "../../index.js";
import {
  aborted,
  agentFor,
  block,
  collect,
  deferred,
  pause,
  plainTool,
  recordHooks,
  scriptedModel,
  until,
  within,
} from "../support/model.mjs";
import { assertConversation, call, contentText, eventsOf, resultFor } from "../runs/reading.mjs";

const never = new Promise(() => {});

/** The result of one call in a run that must go on. */
async function resultOf(t, tools, made, { pattern } = {}) {
  const model = scriptedModel([{ calls: [made] }, { text: "end" }]);
  const agent = agentFor(t, { model, tools });
  const fired = recordHooks(agent, ["tool:start", "tool:end"]);
  const { events, result } = await within(collect(agent.run("hi")), "the run");
  assert.equal(result.text, "end");
  assertConversation(result.messages);
  const block = resultFor(model.requests[1].messages, made.id);
  assert.equal(block.isError, true);
  assert.equal(eventsOf(events, "tool_call_end")[0].isError, true);
  if (pattern) assert.match(contentText(block), pattern);
  return { block, events, fired };
}

const frozen = Object.freeze(new Error("frozen"));
const touchy = new Proxy(new Error("hidden"), {
  get() {
    throw new Error("touched");
  },
  getPrototypeOf() {
    throw new Error("touched");
  },
});
const THROWN = {
  "an Error": [new Error("broken"), /^Error: broken$/],
  "a TypeError": [new TypeError("broken"), /broken/],
  "a string": ["just text", /^Error: just text$/],
  "a number": [5, /^Error: 5$/],
  undefined: [undefined, /^Error: /],
  null: [null, /^Error: /],
  "a symbol": [Symbol("odd"), /^Error: /],
  "a BigInt": [5n, /^Error: 5/],
  "a frozen Error": [frozen, /^Error: frozen$/],
  "an Error without a message": [new Error(""), /^Error/],
  "an object with a message": [{ message: "plain object" }, /^Error: plain object/],
  "an object without a prototype": [Object.create(null), /^Error/],
  "an Error whose message throws": [
    Object.defineProperty(new Error("x"), "message", {
      get() {
        throw new Error("no");
      },
    }),
    /^Error/,
  ],
  "a proxy that throws at every touch": [touchy, /^Error/],
};
for (const [kind, [value, pattern]] of Object.entries(THROWN)) {
  test(`a tool that throws ${kind} gives a failed result`, async (t) => {
    await resultOf(
      t,
      [
        plainTool("bad", () => {
          throw value;
        }),
      ],
      call("a", "bad"),
      { pattern },
    );
  });
  test(`a tool that rejects with ${kind} gives a failed result`, async (t) => {
    await resultOf(t, [plainTool("bad", () => Promise.reject(value))], call("a", "bad"), { pattern });
  });
}

test("an unknown tool is a failed result that names it and the near miss", async (t) => {
  const { block } = await resultOf(
    t,
    [plainTool("read_file", () => "x"), plainTool("write_file", () => "x")],
    call("a", "raed_file"),
  );
  assert.match(contentText(block), /^Error: unknown tool 'raed_file'/);
  assert.match(contentText(block), /read_file/);
});

test("an unknown tool that resembles none names no other as meant", async (t) => {
  const { block } = await resultOf(t, [plainTool("read_file", () => "x")], call("a", "zzzzqqqq"));
  assert.match(contentText(block), /^Error: unknown tool 'zzzzqqqq'/);
  assert.doesNotMatch(contentText(block), /did you mean/i);
});

test("names that every object has are unknown tools too", async (t) => {
  for (const name of ["constructor", "toString", "__proto__", "hasOwnProperty", ""]) {
    const model = scriptedModel([{ calls: name ? [call("a", name)] : [call("a", "constructor")] }, { text: "end" }]);
    const { messages } = await agentFor(t, { model, tools: [plainTool("read", () => "x")] }).send("hi");
    assert.match(contentText(resultFor(messages, "a")), /unknown tool/);
  }
});

const typed = (ran) =>
  tool(
    "typed",
    "d",
    {
      type: "object",
      properties: {
        path: { type: "string" },
        count: { type: "integer" },
        deep: { type: "object", properties: { inner: { type: "number" } } },
      },
      required: ["path"],
      additionalProperties: false,
    },
    (input) => {
      ran?.push(input);
      return "ran";
    },
  );

for (const [fault, input, pattern] of [
  ["has the wrong type", { path: 5 }, /path/],
  ["is missing", {}, /path/],
  ["is unknown", { path: "x", colour: "red" }, /colour/],
  ["is nested", { path: "x", deep: { inner: "no" } }, /inner/],
  ["is one of several", { path: "x", count: 1.5 }, /count/],
]) {
  test(`an input whose bad field ${fault} is a failed result that names the field`, async (t) => {
    const ran = [];
    await resultOf(t, [typed(ran)], call("a", "typed", input), { pattern });
    assert.deepEqual(ran, []);
  });
}

test("an input that is no object where one is asked for is refused", async (t) => {
  for (const input of ["text", 5, null, [], true]) {
    const ran = [];
    await resultOf(t, [typed(ran)], call("a", "typed", input), { pattern: /input/ });
    assert.deepEqual(ran, []);
  }
});

test("unknown, refused, thrown, overrun and aborted calls each have exactly one tool:start and tool:end", async (t) => {
  const controller = new AbortController();
  const waiting = deferred();
  const model = scriptedModel([
    {
      calls: [
        call("unknown", "nowhere"),
        call("refused", "typed", {}),
        call("thrown", "bad"),
        call("slow", "slow"),
        call("aborted", "wait"),
      ],
    },
    { text: "end" },
  ]);
  const agent = agentFor(t, {
    model,
    tools: [
      typed(),
      plainTool("bad", () => {
        throw new Error("broken");
      }),
      plainTool("slow", () => never, { timeoutMs: 20 }),
      plainTool("wait", () => {
        waiting.resolve();
        return never;
      }),
    ],
  });
  const fired = recordHooks(agent, ["tool:start", "tool:end", "run:end"]);
  const sent = agent.send("hi", { signal: controller.signal });
  await waiting.promise;
  await until(() => fired.filter((event) => event.event === "tool:end").length === 4, "the four others ended");
  controller.abort();
  const { messages } = await sent;
  const of = (name) =>
    fired
      .filter((event) => event.event === name)
      .map((event) => event.call.id)
      .sort();
  assert.deepEqual(of("tool:start"), ["aborted", "refused", "slow", "thrown", "unknown"]);
  assert.deepEqual(of("tool:end"), ["aborted", "refused", "slow", "thrown", "unknown"]);
  const status = Object.fromEntries(
    fired.filter((event) => event.event === "tool:end").map((event) => [event.call.id, event.status]),
  );
  assert.deepEqual(status, {
    unknown: "failed",
    refused: "failed",
    thrown: "failed",
    slow: "failed",
    aborted: "cancelled",
  });
  assertConversation(messages);
});

test("one failing call among several leaves the others alone", async (t) => {
  const model = scriptedModel([{ calls: [call("a", "good"), call("b", "bad"), call("c", "good")] }, { text: "end" }]);
  const { messages } = await agentFor(t, {
    model,
    tools: [
      plainTool("good", () => "fine"),
      plainTool("bad", () => {
        throw new Error("x");
      }),
    ],
  }).send("hi");
  assert.deepEqual(
    messages[2].content.map((block) => block.isError === true),
    [false, true, false],
  );
});

test("a tool that overruns its timeoutMs: its signal fires, a failed result says so, the run goes on", async (t) => {
  let reason;
  const began = performance.now();
  await resultOf(
    t,
    [
      plainTool(
        "slow",
        async (_, { signal }) => {
          reason = await aborted(signal);
          return "too late";
        },
        { timeoutMs: 60 },
      ),
    ],
    call("a", "slow"),
    { pattern: /timed out after 60 ms/ },
  );
  assert.ok(performance.now() - began < 2_000);
  await until(() => reason !== undefined, "the signal fired");
  assert.equal(reason.name, "TimeoutError");
});

test("a tool that blocks the thread past its timeoutMs has its signal aborted as well", async (t) => {
  let signal;
  await resultOf(
    t,
    [
      plainTool(
        "blocking",
        (_, context) => {
          signal = context.signal;
          block(60);
          return "too late";
        },
        { timeoutMs: 20 },
      ),
    ],
    call("a", "blocking"),
    { pattern: /timed out after 20 ms/ },
  );
  assert.equal(signal.aborted, true);
  assert.equal(signal.reason.name, "TimeoutError");
});

test("a tool that ignores its signal is left behind at its deadline", async (t) => {
  await resultOf(t, [plainTool("deaf", () => never, { timeoutMs: 30 })], call("a", "deaf"), {
    pattern: /timed out after 30 ms/,
  });
});

test("what a tool returns or throws after its deadline changes nothing", async (t) => {
  const gate = deferred();
  const model = scriptedModel([
    { calls: [call("a", "late"), call("b", "lateThrow")] },
    { text: "end" },
    { text: "again" },
  ]);
  const agent = agentFor(t, {
    model,
    tools: [
      plainTool(
        "late",
        async () => {
          await gate.promise;
          return "late value";
        },
        { timeoutMs: 20 },
      ),
      plainTool(
        "lateThrow",
        async () => {
          await gate.promise;
          throw new Error("late error");
        },
        { timeoutMs: 20 },
      ),
    ],
  });
  const fired = recordHooks(agent, ["tool:end"]);
  await agent.send("hi");
  gate.resolve();
  await pause(10);
  const { messages } = await agent.send("more");
  assert.doesNotMatch(JSON.stringify(messages), /late value|late error/);
  assert.equal(fired.length, 2);
});

test("a tool that is done in time is not timed out, and its signal is left alone", async (t) => {
  let kept;
  const model = scriptedModel([{ calls: [call("a", "quick")] }, { text: "end" }]);
  const agent = agentFor(t, {
    model,
    tools: [
      plainTool(
        "quick",
        async (_, { signal }) => {
          kept = signal;
          return "x";
        },
        { timeoutMs: 30 },
      ),
    ],
  });
  await agent.send("hi");
  await pause(60);
  assert.equal(kept.aborted, false);
});

test("each call has a deadline of its own, counted from when it began", async (t) => {
  const model = scriptedModel([
    { calls: Array.from({ length: 6 }, (_, index) => call(`c${index}`, "step")) },
    { text: "end" },
  ]);
  const agent = agentFor(t, {
    model,
    maxParallelTools: 1,
    tools: [
      plainTool(
        "step",
        async () => {
          await pause(60);
          return "x";
        },
        { timeoutMs: 250 },
      ),
    ],
  });
  const { messages } = await agent.send("hi");
  assert.ok(messages[2].content.every((block) => block.isError !== true));
});

test("a timeoutMs that is no positive integer is a RangeError", (t) => {
  for (const timeoutMs of [0, -1, 1.5, NaN, Infinity, "10", null, {}]) {
    assert.throws(
      () => agentFor(t, { tools: [plainTool("x", () => "x", { timeoutMs })] }),
      RangeError,
      `timeoutMs: ${timeoutMs}`,
    );
  }
});

test("a run of many failing turns ends well formed", async (t) => {
  let count = 0;
  const model = scriptedModel([() => ({ calls: [call(`c${(count += 1)}`, "nowhere"), call(`d${count}`, "bad")] })]);
  const { messages, stopReason } = await agentFor(t, {
    model,
    maxTurns: 20,
    tools: [
      plainTool("bad", () => {
        throw new Error("x");
      }),
    ],
  }).send("hi");
  assert.equal(stopReason, "max_turns");
  assertConversation(messages);
});
