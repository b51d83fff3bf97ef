// How inputs are validated: Standard Schema by its own validate, JSON Schema natively. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { ConfigError, tool } from "../../index.js";
import { agentFor, collect, plainTool, recordHooks, scriptedModel } from "../support/model.mjs";
import { call, contentText, eventsOf, resultFor } from "../runs/reading.mjs";

/** A Standard Schema with this validate. */
function standard(validate, { jsonSchema = { type: "object", properties: { n: { type: "number" } } } } = {}) {
  return {
    "~standard": {
      version: 1,
      vendor: "test",
      validate,
      ...(jsonSchema && { jsonSchema: { input: ({ target }) => ({ ...jsonSchema, $comment: target }) } }),
    },
  };
}

async function callWith(t, schema, input, options) {
  const ran = [];
  const model = scriptedModel([{ calls: [call("a", "subject", input)] }, { text: "end" }]);
  const agent = agentFor(t, {
    model,
    tools: [
      tool(
        "subject",
        "d",
        schema,
        (given) => {
          ran.push(given);
          return "ran";
        },
        options,
      ),
    ],
  });
  const fired = recordHooks(agent, ["tool:start", "tool:end"]);
  const { events, result } = await collect(agent.run("hi"));
  return { ran, model, fired, events, block: resultFor(result.messages, "a") };
}

test("execute gets what validate made of the input; hooks, events and the model see the model's own", async (t) => {
  const { ran, fired, events, model } = await callWith(
    t,
    standard((value) => ({ value: { n: value.n + 1, added: true } })),
    { n: 1 },
  );
  assert.deepEqual(ran, [{ n: 2, added: true }]);
  for (const event of fired) assert.deepEqual(event.call.input, { n: 1 });
  assert.deepEqual(eventsOf(events, "tool_use")[0].call.input, { n: 1 });
  assert.deepEqual(model.requests[1].messages[1].content[0].input, { n: 1 });
});

test("a validate that is asynchronous is awaited", async (t) => {
  const { ran } = await callWith(
    t,
    standard(async (value) => {
      await null;
      return { value: { n: value.n * 2 } };
    }),
    { n: 4 },
  );
  assert.deepEqual(ran, [{ n: 8 }]);
});

test("a validated value keeps its class, its functions and its identity", async (t) => {
  class Point {
    x = 1;
  }
  const made = new Point();
  const { ran } = await callWith(
    t,
    standard(() => ({ value: made })),
    {},
  );
  assert.equal(ran[0], made);
});

test("issues become a failed result that names each field", async (t) => {
  const issues = [
    { message: "must be positive", path: ["n"] },
    { message: "too short", path: [{ key: "list" }, { key: 2 }, { key: "name" }] },
    { message: "general" },
  ];
  const { ran, block } = await callWith(
    t,
    standard(() => ({ issues })),
    { n: -1 },
  );
  assert.deepEqual(ran, []);
  assert.equal(block.isError, true);
  const text = contentText(block);
  for (const part of [/must be positive/, /\bn\b/, /too short/, /list/, /name/, /general/]) assert.match(text, part);
});

test("a validate that throws or rejects gives a failed result", async (t) => {
  for (const validate of [
    () => {
      throw new Error("validator broke");
    },
    () => Promise.reject(new Error("validator broke")),
  ]) {
    const { ran, block } = await callWith(t, standard(validate), {});
    assert.deepEqual(ran, []);
    assert.equal(block.isError, true);
    assert.match(contentText(block), /validator broke/);
  }
});

test("a validate that returns nonsense does not let the tool run, nor the run fail", async (t) => {
  for (const value of [undefined, null, 5]) {
    const { ran, block } = await callWith(
      t,
      standard(() => value),
      {},
    );
    assert.deepEqual(ran, []);
    assert.equal(block.isError, true);
  }
});

test("the model's JSON Schema comes from ~standard.jsonSchema where there is one", async (t) => {
  const { model } = await callWith(
    t,
    standard((value) => ({ value })),
    {},
    { jsonSchema: { type: "object", title: "mine" } },
  );
  const { parameters } = model.requests[0].tools[0];
  assert.deepEqual(parameters.properties, { n: { type: "number" } });
  assert.equal(typeof parameters.$comment, "string");
});

test("else from the tool's jsonSchema", async (t) => {
  const jsonSchema = { type: "object", title: "mine" };
  const { model } = await callWith(
    t,
    standard((value) => ({ value }), { jsonSchema: false }),
    {},
    { jsonSchema },
  );
  assert.deepEqual(model.requests[0].tools[0].parameters, jsonSchema);
});

test("else a ConfigError says what helps", (t) => {
  assert.throws(
    () =>
      agentFor(t, {
        tools: [
          tool(
            "subject",
            "d",
            standard((value) => ({ value }), { jsonSchema: false }),
            () => "x",
          ),
        ],
      }),
    (error) => {
      assert.ok(error instanceof ConfigError);
      for (const part of [/subject/, /zod 4\.2/, /toStandardJsonSchema/, /@valibot\/to-json-schema/, /jsonSchema/])
        assert.match(error.message, part);
      return true;
    },
  );
});

test("a schema that is a function with ~standard (arktype's kind) is a Standard Schema", async (t) => {
  const callable = Object.assign(
    () => {},
    standard((value) => ({ value: { from: "callable", ...value } })),
  );
  const { ran } = await callWith(t, callable, { n: 1 });
  assert.deepEqual(ran, [{ from: "callable", n: 1 }]);
});

test("validation waits for tool:start, and a refused call never reaches middleware or the tool", async (t) => {
  const order = [];
  const model = scriptedModel([{ calls: [call("a", "subject", {})] }, { text: "end" }]);
  const agent = agentFor(t, {
    model,
    use: [
      {
        name: "m",
        wrapToolCall(_, next) {
          order.push("middleware");
          return next();
        },
      },
    ],
    tools: [
      tool(
        "subject",
        "d",
        standard(() => {
          order.push("validate");
          return { issues: [{ message: "no" }] };
        }),
        () => {
          order.push("tool");
          return "x";
        },
      ),
    ],
  });
  agent.hook("tool:start", async () => {
    await new Promise(setImmediate);
    order.push("tool:start");
  });
  agent.hook("tool:end", () => {
    order.push("tool:end");
  });
  await agent.send("hi");
  assert.deepEqual(order, ["tool:start", "validate", "tool:end"]);
});

for (const [keyword, schema, good, bad] of [
  ["enum", { properties: { v: { enum: ["a", "b"] } } }, { v: "a" }, { v: "c" }],
  ["minimum", { properties: { v: { type: "number", minimum: 3 } } }, { v: 3 }, { v: 2 }],
  ["pattern", { properties: { v: { type: "string", pattern: "^a+$" } } }, { v: "aa" }, { v: "b" }],
  ["items", { properties: { v: { type: "array", items: { type: "string" } } } }, { v: ["x"] }, { v: ["x", 5] }],
  ["anyOf", { properties: { v: { anyOf: [{ type: "string" }, { type: "null" }] } } }, { v: null }, { v: 5 }],
  ["$ref", { $defs: { name: { type: "string" } }, properties: { v: { $ref: "#/$defs/name" } } }, { v: "x" }, { v: 5 }],
  ["maxLength", { properties: { v: { type: "string", maxLength: 1 } } }, { v: "\u{1F600}" }, { v: "ab" }],
  ["const", { properties: { v: { const: 1 } } }, { v: 1 }, { v: 2 }],
  ["minItems", { properties: { v: { type: "array", minItems: 1 } } }, { v: [1] }, { v: [] }],
]) {
  test(`JSON Schema: ${keyword} is checked, and the failed result names the field`, async (t) => {
    const whole = { type: "object", ...schema };
    assert.deepEqual((await callWith(t, whole, good)).ran, [good]);
    const { ran, block } = await callWith(t, whole, bad);
    assert.deepEqual(ran, []);
    assert.match(contentText(block), /\bv\b/);
  });
}

test("a $ref that refers to itself without end neither hangs nor crashes", async (t) => {
  const schema = { type: "object", properties: { next: { $ref: "#" } } };
  assert.deepEqual((await callWith(t, schema, { next: { next: {} } })).ran, [{ next: { next: {} } }]);
});

test("a $ref to another document is a ConfigError that names it: nothing is fetched", (t) => {
  const schema = { type: "object", properties: { v: { $ref: "http://127.0.0.1:9/other.json" } } };
  assert.throws(
    () => agentFor(t, { tools: [tool("subject", "d", schema, () => "x")] }),
    (error) => error instanceof ConfigError && /subject/.test(error.message) && /127\.0\.0\.1/.test(error.message),
  );
});

test("a schema of Standard Schema libraries that are not there is no reason to fail: plain JSON Schema needs none", async (t) => {
  const { messages } = await agentFor(t, {
    model: [{ calls: [call("a", "plain", { any: 1 })] }, { text: "end" }],
    tools: [plainTool("plain", ({ any }) => `${any}`)],
  }).send("hi");
  assert.equal(resultFor(messages, "a").content, "1");
});
