// Odd, deep and hostile tool inputs, which a model controls. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { agentFor, collect, plainTool, recordHooks, scriptedModel, within } from "../support/model.mjs";
import { assertConversation, blocksOf, call, contentText, eventsOf, resultFor } from "../runs/reading.mjs";

const REFUSED = "[nested too deeply]";

const inObject = (inner) => ({ a: inner });
const inArray = (inner) => [inner];

/** `levels` containers, one in the other. */
function nested(levels, wrap = inObject) {
  let value = wrap === inArray ? [] : {};
  for (let level = 1; level < levels; level += 1) value = wrap(value);
  return value;
}

async function runWith(t, input) {
  const ran = [];
  const model = scriptedModel([
    { calls: [call("a", "echo", input), call("b", "echo", { fine: true })] },
    { text: "end" },
  ]);
  const agent = agentFor(t, {
    model,
    tools: [
      plainTool("echo", (given) => {
        ran.push(given);
        return "ran";
      }),
    ],
  });
  const fired = recordHooks(agent, ["tool:start", "tool:end"]);
  const { events, result } = await within(collect(agent.run("hi")), "the run");
  return { agent, ran, model, fired, events, result };
}

for (const [levels, wrap, kind] of [
  [101, inObject, "objects"],
  [5_000, inObject, "objects"],
  [5_000, inArray, "arrays"],
  [100_000, inObject, "objects"],
]) {
  test(`an input of ${levels} nested ${kind} is refused, its hooks fire, and the run goes on`, async (t) => {
    const { agent, ran, model, fired, events, result } = await runWith(t, nested(levels, wrap));
    assert.equal(ran.length, 1);
    assert.equal(result.text, "end");
    const block = resultFor(model.requests[1].messages, "a");
    assert.equal(block.isError, true);
    assert.match(contentText(block), /nest/);
    assert.equal(resultFor(model.requests[1].messages, "b").content, "ran");
    assert.deepEqual(
      fired.filter((event) => event.call.id === "a").map((event) => [event.event, event.status, event.call.input]),
      [
        ["tool:start", undefined, REFUSED],
        ["tool:end", "failed", REFUSED],
      ],
    );
    assert.equal(eventsOf(events, "tool_use")[0].call.input, REFUSED);
    assert.equal(eventsOf(events, "tool_call_start").find((event) => event.call.id === "a").call.input, REFUSED);
    assert.equal(
      blocksOf(
        eventsOf(events, "message").map((event) => event.message),
        "tool_call",
      )[0].input,
      REFUSED,
    );
    assert.equal(blocksOf(model.requests[1].messages, "tool_call")[0].input, REFUSED);
    assert.equal(blocksOf(result.messages, "tool_call")[0].input, REFUSED);
    assert.equal((await agent.send("more")).text, "end");
  });
}

for (const [kind, input] of [
  ["objects", nested(100)],
  ["arrays, the outermost in an object", { list: nested(99, inArray) }],
]) {
  test(`an input of 100 nested ${kind} is fine`, async (t) => {
    const { ran, model } = await runWith(t, input);
    assert.equal(ran.length, 2);
    assert.deepEqual(ran[0], input);
    assert.deepEqual(blocksOf(model.requests[1].messages, "tool_call")[0].input, input);
  });
}

test("a wide input of 20,000 fields is fine", async (t) => {
  const input = Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`k${index}`, index]));
  const { ran } = await runWith(t, input);
  assert.deepEqual(ran[0], input);
});

test("a __proto__ key is a key like any other and pollutes nothing", async (t) => {
  const input = JSON.parse(
    '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}},"x":{"__proto__":1}}',
  );
  const { ran, model, events } = await runWith(t, input);
  assert.equal({}.polluted, undefined);
  for (const seen of [
    ran[0],
    blocksOf(model.requests[1].messages, "tool_call")[0].input,
    eventsOf(events, "tool_use")[0].call.input,
  ]) {
    assert.equal(seen.polluted, undefined);
    assert.equal(JSON.stringify(seen), JSON.stringify(input));
  }
});

class Money {
  constructor() {
    this.amount = 5;
  }
  get double() {
    return 10;
  }
}
const cyclic = { name: "loop" };
cyclic.self = cyclic;
const shared = { s: 1 };
const ODD = {
  "a cycle": cyclic,
  "a BigInt": { value: 10n },
  "a Date": { when: new Date(0) },
  "an invalid Date": { when: new Date(NaN) },
  "a Map and a Set": { map: new Map([[1, 2]]), set: new Set([1]) },
  "a getter that throws": {
    get bad() {
      throw new Error("touched");
    },
    good: 1,
  },
  "a toJSON that throws": {
    toJSON() {
      throw new Error("touched");
    },
  },
  "a sparse array": { list: [, 1, , 2] },
  "undefined inside": { a: undefined, list: [undefined] },
  "NaN and infinities": { a: NaN, b: Infinity, c: -0 },
  "a function": { call() {} },
  "a symbol": { value: Symbol("s"), [Symbol("key")]: 1 },
  "a class instance": new Money(),
  "a typed array": { bytes: new Uint8Array([1, 2, 3]) },
  "an object without a prototype": Object.assign(Object.create(null), { a: 1 }),
  "one object twice": { a: shared, b: shared },
  "a proxy that throws at every touch": new Proxy(
    {},
    {
      ownKeys() {
        throw new Error("touched");
      },
      get() {
        throw new Error("touched");
      },
      getPrototypeOf() {
        throw new Error("touched");
      },
      getOwnPropertyDescriptor() {
        throw new Error("touched");
      },
    },
  ),
  "a revoked proxy": (() => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    return { proxy };
  })(),
  undefined: undefined,
  null: null,
  "a string": "text",
  "a number": 5,
  "an array": [1, 2],
};
for (const [kind, input] of Object.entries(ODD)) {
  test(`an input with ${kind} (or that is it) breaks nothing: one start, one end, one result, and the session goes on`, async (t) => {
    const model = scriptedModel([{ content: [{ type: "tool_call", id: "a", name: "echo", input }] }, { text: "end" }]);
    const agent = agentFor(t, { model, tools: [plainTool("echo", () => "ran")] });
    const fired = recordHooks(agent, ["run:start", "tool:start", "tool:end", "run:end"]);
    // Values that no JSON can hold may be refused with the message (the provider's fault) or with the call, never half.
    const outcome = await within(
      agent.send("hi").then(
        (result) => ({ result }),
        (error) => ({ error }),
      ),
      "send()",
    );
    if (outcome.error) {
      assert.equal(outcome.error.name, "ProviderError", outcome.error.stack);
      assert.deepEqual(
        fired.map((event) => event.event),
        ["run:start", "run:end"],
      );
    } else {
      assert.equal(outcome.result.text, "end");
      assert.deepEqual(
        fired.map((event) => event.event),
        ["run:start", "tool:start", "tool:end", "run:end"],
      );
      resultFor(outcome.result.messages, "a");
      assertConversation(outcome.result.messages);
      JSON.stringify(outcome.result.messages);
    }
    assert.equal((await within(agent.send("again"), "the next send()")).text, "end");
  });
}

test("one object used twice in an input is no cycle: the tool gets both", async (t) => {
  const { ran } = await runWith(t, { a: shared, b: shared });
  assert.deepEqual(ran[0], { a: { s: 1 }, b: { s: 1 } });
});

test("a tool that changes its input changes no event, no hook's copy and no conversation", async (t) => {
  const model = scriptedModel([{ calls: [call("a", "mutate", { list: [1], deep: { x: 1 } })] }, { text: "end" }]);
  const agent = agentFor(t, {
    model,
    tools: [
      plainTool("mutate", (input) => {
        for (const change of [
          () => {
            input.list.push(2);
          },
          () => {
            input.deep.x = 2;
          },
          () => {
            input.added = true;
          },
          () => {
            delete input.list;
          },
        ]) {
          try {
            change();
          } catch {
            /* frozen is as good as copied */
          }
        }
        return "x";
      }),
    ],
  });
  const fired = recordHooks(agent, ["tool:start", "tool:end"]);
  const { events, result } = await collect(agent.run("hi"));
  const original = { list: [1], deep: { x: 1 } };
  for (const event of fired) assert.deepEqual(event.call.input, original);
  assert.deepEqual(eventsOf(events, "tool_use")[0].call.input, original);
  assert.deepEqual(blocksOf(model.requests[1].messages, "tool_call")[0].input, original);
  assert.deepEqual(blocksOf(result.messages, "tool_call")[0].input, original);
});

test("what a provider does to an input after yielding it is not seen by the tool", async (t) => {
  const input = { x: 1 };
  const seen = [];
  let calls = 0;
  const model = {
    id: "m",
    async *stream() {
      calls += 1;
      if (calls > 1)
        return yield {
          type: "message_done",
          message: { role: "assistant", content: [{ type: "text", text: "end" }] },
          usage: { inputTokens: 1, outputTokens: 1 },
        };
      yield {
        type: "message_done",
        message: { role: "assistant", content: [{ type: "tool_call", id: "a", name: "echo", input }] },
        usage: { inputTokens: 1, outputTokens: 1 },
      };
      input.x = "forged";
    },
  };
  await agentFor(t, {
    model,
    tools: [
      plainTool("echo", async (given) => {
        seen.push(given);
        return "x";
      }),
    ],
  }).send("hi");
  assert.deepEqual(seen, [{ x: 1 }]);
});

test("deep content outside tool inputs takes nothing down: native blocks, input messages, tool schemas", async (t) => {
  const deep = nested(20_000);
  const attempts = [
    async () =>
      agentFor(t, {
        model: [
          {
            content: [
              { type: "native", provider: "p", data: deep },
              { type: "text", text: "x" },
            ],
          },
        ],
      }).send("hi"),
    async () =>
      agentFor(t).send([
        {
          role: "user",
          content: [
            { type: "native", provider: "p", data: deep },
            { type: "text", text: "x" },
          ],
        },
      ]),
    async () =>
      agentFor(t, {
        tools: [
          { name: "deep", description: "d", schema: { type: "object", properties: { deep } }, execute: () => "x" },
        ],
      }).send("hi"),
    async () =>
      agentFor(t, {
        model: [{ calls: [call("a", "emit")] }, { text: "end" }],
        tools: [
          plainTool("emit", (_, context) => {
            context.emit({ type: "tool_progress", id: "a", name: "emit", progress: 1, message: deep });
            return "x";
          }),
        ],
      }).send("hi"),
  ];
  for (const [index, attempt] of attempts.entries()) {
    const outcome = await within(
      attempt().then(
        () => "fine",
        (error) => error,
      ),
      `attempt ${index}`,
    );
    if (outcome === "fine") continue;
    assert.ok(outcome instanceof Error && outcome.name !== "RangeError", `attempt ${index}: ${outcome?.stack}`);
  }
});
