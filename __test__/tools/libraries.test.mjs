// The schema libraries that people use: zod and arktype directly, valibot through @valibot/to-json-schema.
// They are development dependencies; a test whose library is not installed says so.
import { test } from "node:test";
import assert from "node:assert/strict";
import { ConfigError, tool } from "../../index.js";
import { agentFor, scriptedModel } from "../support/model.mjs";
import { call, contentText, resultFor } from "../runs/reading.mjs";

/** The modules, or undefined with the reason printed. */
async function installed(t, ...names) {
  try {
    return await Promise.all(names.map((name) => import(name)));
  } catch (error) {
    if (error.code !== "ERR_MODULE_NOT_FOUND") throw error;
    t.skip(`not installed: ${names.join(", ")}`);
    return undefined;
  }
}

/** One good and one bad call of a tool with this schema of `{ path: string, limit: number = 10 }`. */
async function exercise(t, schema, options) {
  const ran = [];
  const model = scriptedModel([
    { calls: [call("good", "read", { path: "a" }), call("bad", "read", { path: 5 })] },
    { text: "end" },
  ]);
  const agent = agentFor(t, {
    model,
    tools: [
      tool(
        "read",
        "reads",
        schema,
        (input) => {
          ran.push(input);
          return "ran";
        },
        options,
      ),
    ],
  });
  const { messages } = await agent.send("hi");
  const { parameters } = model.requests[0].tools[0];
  assert.equal(parameters.type, "object");
  assert.equal(parameters.properties.path.type, "string");
  assert.deepEqual(ran, [{ path: "a", limit: 10 }]);
  assert.equal(resultFor(messages, "bad").isError, true);
  assert.match(contentText(resultFor(messages, "bad")), /path/);
}

test("a zod schema describes and validates", async (t) => {
  const modules = await installed(t, "zod");
  if (!modules) return;
  const [{ z }] = modules;
  await exercise(t, z.object({ path: z.string(), limit: z.number().default(10) }));
});

test("an arktype schema describes and validates", async (t) => {
  const modules = await installed(t, "arktype");
  if (!modules) return;
  const [{ type }] = modules;
  await exercise(t, type({ path: "string", limit: "number = 10" }));
});

test("a valibot schema through toStandardJsonSchema describes and validates", async (t) => {
  const modules = await installed(t, "valibot", "@valibot/to-json-schema");
  if (!modules) return;
  const [v, { toStandardJsonSchema }] = modules;
  await exercise(t, toStandardJsonSchema(v.object({ path: v.string(), limit: v.optional(v.number(), 10) })));
});

test("a bare valibot schema is a ConfigError that says what helps", async (t) => {
  const modules = await installed(t, "valibot");
  if (!modules) return;
  const [v] = modules;
  assert.throws(
    () => agentFor(t, { tools: [tool("read", "reads", v.object({ path: v.string() }), () => "x")] }),
    (error) => error instanceof ConfigError && /toStandardJsonSchema/.test(error.message),
  );
});
