// Tools of each kind of schema, called by a model through an agent: what the model is shown, what `execute` gets, and
// what the model is told of input that the schema refuses.
import assert from "node:assert/strict";
import { tmpdir } from "node:os";
import { describe, it } from "node:test";

import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import * as v from "valibot";
import { z } from "zod";

import { ConfigError, createLiteAgent, fakeProvider, tool } from "../index.js";

const silent = () => fakeProvider([{ message: { role: "assistant", content: [{ type: "text", text: "done" }] } }]);

/** A model that calls `x` with each of the inputs in one turn, and then stops. */
function calling(inputs, requests) {
  const calls = inputs.map((input, index) => ({ type: "tool_call", id: `call_${index}`, name: "x", input }));
  const scripted = fakeProvider([
    { message: { role: "assistant", content: calls } },
    { message: { role: "assistant", content: [{ type: "text", text: "done" }] } },
  ]);
  return {
    id: scripted.id,
    stream(request, signal) {
      requests.push(request);
      return scripted.stream(request, signal);
    },
  };
}

/** Calls a tool of that schema with each input. */
async function call(schema, inputs, options) {
  const executed = [];
  const requests = [];
  const made = tool(
    "x",
    "a tool",
    schema,
    (input) => {
      executed.push(input);
      return "executed";
    },
    options,
  );
  const agent = createLiteAgent({ model: calling(inputs, requests), workdir: tmpdir(), tools: [made] });
  const ended = [];
  const seen = [];
  agent.hook("tool:start", ({ call: { input } }) => seen.push(input));
  agent.hook("tool:end", ({ call: { id }, status }) => ended.push([id, status]));
  const { messages } = await agent.send("go");
  await agent.close();
  const results = messages.find(
    ({ role, content }) => role === "user" && Array.isArray(content) && content[0]?.type === "tool_result",
  ).content;
  return { executed, results, parameters: requests[0].tools[0].parameters, ended: new Map(ended), seen, messages };
}

function assertRefused(result, field) {
  assert.equal(result.isError, true);
  assert.ok(result.content.startsWith(`Error: invalid input for tool 'x': ${field}: `), result.content);
}

const kinds = {
  zod: z.object({ path: z.string(), options: z.array(z.object({ count: z.number() })).default([{ count: 1 }]) }),
  arktype: type({ path: "string", options: [type({ count: "number" }).array(), "=", () => [{ count: 1 }]] }),
  valibot: toStandardJsonSchema(
    v.object({ path: v.string(), options: v.optional(v.array(v.object({ count: v.number() })), [{ count: 1 }]) }),
  ),
};

describe("a tool with a Standard Schema", () => {
  for (const [vendor, schema] of Object.entries(kinds)) {
    it(`of ${vendor} executes the validated value`, async () => {
      const { executed, results, parameters, ended } = await call(schema, [
        { path: "p", options: [{ count: 2 }] },
        { path: "q" },
      ]);
      assert.deepEqual(executed, [
        { path: "p", options: [{ count: 2 }] },
        { path: "q", options: [{ count: 1 }] },
      ]);
      assert.deepEqual(
        results.map(({ content }) => content),
        ["executed", "executed"],
      );
      assert.equal(parameters.type, "object");
      assert.deepEqual(parameters.required, ["path"]);
      assert.deepEqual([...ended.values()], ["completed", "completed"]);
    });

    it(`of ${vendor} fails on invalid input, names the field and does not execute`, async () => {
      const { executed, results, ended } = await call(schema, [
        { path: 3 },
        {},
        { path: "p", options: [{ count: "x" }] },
        "p",
      ]);
      assert.deepEqual(executed, []);
      ["path", "path", "options.0.count", "input"].forEach((field, index) => assertRefused(results[index], field));
      assert.deepEqual([...ended.values()], Array(4).fill("failed"));
    });
  }

  it("executes what a transform made, though hooks and the conversation hold the model's input", async () => {
    const schema = z.object({ path: z.string().transform((path) => path.toUpperCase()) });
    const { executed, seen, messages } = await call(schema, [{ path: "p" }]);
    assert.deepEqual(executed, [{ path: "P" }]);
    assert.deepEqual(seen, [{ path: "p" }]);
    assert.deepEqual(messages.find(({ role }) => role === "assistant").content[0].input, { path: "p" });
  });

  it("validates asynchronously", async () => {
    const schema = z.object({ path: z.string().refine(async (path) => path !== "no", "is refused") });
    const { executed, results } = await call(schema, [{ path: "no" }, { path: "yes" }]);
    assert.deepEqual(executed, [{ path: "yes" }]);
    assert.equal(results[0].content, "Error: invalid input for tool 'x': path: is refused");
    assert.equal(results[1].content, "executed");
  });

  it("whose validator throws fails the call, not the run", async () => {
    const schema = z.object({
      path: z.string().transform(() => {
        throw new Error("broken validator");
      }),
    });
    const { executed, results } = await call(schema, [{ path: "p" }]);
    assert.deepEqual(executed, []);
    assert.deepEqual([results[0].isError, results[0].content], [true, "Error: broken validator"]);
  });

  it("that cannot say its JSON Schema is a ConfigError, unless jsonSchema says it", async () => {
    const bare = v.object({ path: v.string() });
    const jsonSchema = { type: "object", properties: { path: { type: "string" } } };
    assert.throws(
      () =>
        createLiteAgent({
          model: silent(),
          workdir: tmpdir(),
          tools: [{ name: "x", description: "", schema: bare, execute: () => "" }],
        }),
      (error) => error instanceof ConfigError && /zod 4\.2.*toStandardJsonSchema.*jsonSchema/.test(error.message),
    );
    const { executed, results, parameters } = await call(bare, [{ path: "p" }, { path: 3 }], { jsonSchema });
    assert.deepEqual(executed, [{ path: "p" }]);
    assert.deepEqual(parameters, jsonSchema);
    assertRefused(results[1], "path");
  });
});

describe("a tool with a plain JSON Schema", () => {
  const schema = {
    type: "object",
    properties: {
      path: { type: "string", pattern: "^[a-z]+$" },
      options: {
        type: "array",
        items: { type: "object", properties: { count: { type: "integer" } }, required: ["count"] },
      },
    },
    required: ["path"],
    additionalProperties: false,
  };

  it("is shown as it is and executes valid input", async () => {
    const { executed, parameters } = await call(schema, [{ path: "p", options: [{ count: 2 }] }]);
    assert.deepEqual(executed, [{ path: "p", options: [{ count: 2 }] }]);
    assert.deepEqual(parameters, schema);
  });

  it("fails on invalid input, names the field and does not execute", async () => {
    const { executed, results, ended } = await call(schema, [
      {},
      { path: 3 },
      { path: "p", options: [{ count: 3.5 }] },
      { path: "p", pth: 1 },
      "p",
      { path: "P" },
    ]);
    assert.deepEqual(executed, []);
    ["path", "path", "options.0.count", "pth", "input", "path"].forEach((field, index) =>
      assertRefused(results[index], field),
    );
    assert.match(results[2].content, /3\.5 is not of type "integer"$/);
    assert.deepEqual([...ended.values()], Array(6).fill("failed"));
  });

  it("that is wrong, or refers to another document, is a ConfigError that says where", () => {
    const make = (properties) => () =>
      createLiteAgent({
        model: silent(),
        workdir: tmpdir(),
        tools: [tool("x", "", { type: "object", properties }, () => "")],
      });
    const cases = [
      [{ a: { type: "strin" } }, /'x'.*properties\.a\.type: "strin" is not a JSON type/],
      [{ a: { pattern: "(" } }, /'x'.*properties\.a\.pattern/],
      [{ a: { $ref: "https://example.com/schema.json" } }, /'x'.*properties\.a\.\$ref: .*is another document/],
      [{ a: { $ref: "#/$defs/nope" } }, /'x'.*properties\.a\.\$ref: .*is not in the schema/],
    ];
    for (const [properties, message] of cases) {
      assert.throws(make(properties), (error) => {
        assert.ok(error instanceof ConfigError, String(error));
        assert.match(error.message, message);
        return true;
      });
    }
  });

  it("may refer to itself in a loop", async () => {
    const { executed } = await call({ $ref: "#" }, [{ a: 1 }]);
    assert.deepEqual(executed, [{ a: 1 }]);
  });

  it("with a pattern that backtracks for ever answers soon", async () => {
    const started = performance.now();
    const { results } = await call({ type: "object", properties: { a: { type: "string", pattern: "^(a|a)*\\1b" } } }, [
      { a: `${"a".repeat(30_000)}!` },
    ]);
    assertRefused(results[0], "a");
    assert.ok(performance.now() - started < 3_000);
  });
});
