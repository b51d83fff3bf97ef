// The schemas of answers: JSON Schema, zod, valibot, arktype, own validators; and what is no schema. Knows the public face
// only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { contentText, resultFor } from "../runs/reading.mjs";
import { agentFor, recordHooks } from "../support/model.mjs";
import { answer, answered, answeringAgent, BERN, CITY, ROME } from "./answering.mjs";

const finalAnswer = (model) => model.requests[0].tools.find(({ name }) => name === "final_answer");

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

/** A Standard Schema with this validate. */
const standard = (validate, jsonSchema = CITY) => ({
  "~standard": { version: 1, vendor: "test", validate, jsonSchema: { input: () => jsonSchema } },
});

test("the model is shown the JSON Schema as it is", async (t) => {
  const { model } = await answered(t, [{ calls: [answer(BERN)] }]);
  assert.deepEqual(finalAnswer(model).parameters, CITY);
  assert.ok(finalAnswer(model).description.length > 0);
});

test("a schema that the host changes afterwards has no effect", async (t) => {
  const outputSchema = structuredClone(CITY);
  const { agent, model } = answeringAgent(t, [{ calls: [answer(BERN)] }], { outputSchema });
  outputSchema.required.push("mood");
  outputSchema.properties.city = { type: "number" };
  assert.deepEqual((await agent.send("go")).output, BERN);
  assert.deepEqual(finalAnswer(model).parameters, CITY);
});

/** A bad and a good answer under a schema of `{ city: string, degrees: number = 20 }`. */
async function exercise(t, outputSchema) {
  const turns = [{ calls: [answer({ city: 5 }, "bad")] }, { calls: [answer({ city: "Bern" }, "good")] }];
  const { model, result } = await answered(t, turns, { outputSchema });
  const { parameters } = finalAnswer(model);
  assert.equal(parameters.type, "object");
  assert.equal(parameters.properties.city.type, "string");
  const refused = resultFor(model.requests[1].messages, "bad");
  assert.equal(refused.isError, true);
  assert.match(contentText(refused), /city/);
  assert.deepEqual(result.output, { city: "Bern", degrees: 20 });
}

test("a zod schema describes, validates and fills in defaults", async (t) => {
  const modules = await installed(t, "zod");
  if (!modules) return;
  const [{ z }] = modules;
  await exercise(t, z.object({ city: z.string(), degrees: z.number().default(20) }));
});

test("an arktype schema describes, validates and fills in defaults", async (t) => {
  const modules = await installed(t, "arktype");
  if (!modules) return;
  const [{ type }] = modules;
  await exercise(t, type({ city: "string", degrees: "number = 20" }));
});

test("a valibot schema through toStandardJsonSchema describes, validates and fills in defaults", async (t) => {
  const modules = await installed(t, "valibot", "@valibot/to-json-schema");
  if (!modules) return;
  const [v, { toStandardJsonSchema }] = modules;
  await exercise(t, toStandardJsonSchema(v.object({ city: v.string(), degrees: v.optional(v.number(), 20) })));
});

test("a bare valibot schema is a ConfigError that names the option and what helps", async (t) => {
  const modules = await installed(t, "valibot");
  if (!modules) return;
  const [v] = modules;
  assert.throws(
    () => agentFor(t, { outputSchema: v.object({ city: v.string() }) }),
    ({ name, message }) =>
      name === "ConfigError" && message.includes("outputSchema") && message.includes("toStandardJsonSchema"),
  );
});

test("output is what a transform made, and the model's own input stays in the conversation", async (t) => {
  const modules = await installed(t, "zod");
  if (!modules) return;
  const [{ z }] = modules;
  const outputSchema = z.object({ when: z.string().transform((text) => new Date(text)) });
  const input = { when: "2026-01-02T03:04:05.000Z" };
  const { result } = await answered(t, [{ calls: [answer(input)] }], { outputSchema });
  assert.ok(result.output.when instanceof Date);
  assert.equal(result.output.when.toISOString(), input.when);
  assert.deepEqual(result.messages.at(-2).content.at(-1).input, input);
});

test("run:end has what a transform made, too", async (t) => {
  const outputSchema = standard((value) => ({ value: { ...value, degrees: value.degrees * 2 } }));
  const { agent } = answeringAgent(t, [{ calls: [answer(ROME)] }], { outputSchema });
  const fired = recordHooks(agent, ["run:end"]);
  const { output } = await agent.send("go");
  assert.deepEqual(output, { city: "Rome", degrees: 48 });
  assert.deepEqual(fired[0].result.output, output);
});

test("output keeps the identity of what validate gave", async (t) => {
  class City {}
  const made = new City();
  const { result } = await answered(t, [{ calls: [answer(BERN)] }], {
    outputSchema: standard(() => ({ value: made })),
  });
  assert.equal(result.output, made);
});

test("a validate that is asynchronous is awaited", async (t) => {
  const outputSchema = standard(async (value) => {
    await new Promise(setImmediate);
    return { value: { ...value, checked: true } };
  });
  const { result } = await answered(t, [{ calls: [answer(BERN)] }], { outputSchema });
  assert.deepEqual(result.output, { ...BERN, checked: true });
});

test("validate is asked once for each answer", async (t) => {
  const seen = [];
  const outputSchema = standard((value) => (seen.push(value), { value }));
  await answered(t, [{ calls: [answer(BERN)] }], { outputSchema });
  assert.deepEqual(seen, [BERN]);
});

test("a validate that throws is a failed result, and the model may try again", async (t) => {
  let broken = true;
  const outputSchema = standard((value) => {
    if (!broken) return { value };
    broken = false;
    throw new Error("validator broke");
  });
  const { result, model } = await answered(t, [{ calls: [answer(BERN, "bad")] }, { calls: [answer(BERN, "good")] }], {
    outputSchema,
  });
  assert.match(contentText(resultFor(model.requests[1].messages, "bad")), /validator broke/);
  assert.deepEqual(result.output, BERN);
});

test("issues of a validate name their fields", async (t) => {
  let first = true;
  const outputSchema = standard((value) => {
    if (!first) return { value };
    first = false;
    return { issues: [{ message: "must be a town", path: ["city", { key: "name" }] }] };
  });
  const { model } = await answered(t, [{ calls: [answer(BERN, "bad")] }, { calls: [answer(BERN, "good")] }], {
    outputSchema,
  });
  const text = contentText(resultFor(model.requests[1].messages, "bad"));
  for (const part of [/must be a town/, /city/, /name/]) assert.match(text, part);
});

test("an answer of undefined that validate gives is an answer", async (t) => {
  const { result, events, model } = await answered(t, [{ calls: [answer(BERN)] }, { text: "never" }], {
    outputSchema: standard(() => ({ value: undefined })),
  });
  assert.equal(result.output, undefined);
  assert.equal(model.requests.length, 1);
  assert.ok(!events.some(({ code }) => code === "no_final_answer"));
});

test("an answer that is nested too deeply is refused, and the run goes on", async (t) => {
  const deep = {};
  let bottom = deep;
  for (let level = 0; level < 5_000; level += 1) bottom = bottom.next = {};
  const { result, model } = await answered(t, [{ calls: [answer(deep, "bad")] }, { calls: [answer({ a: 1 })] }], {
    outputSchema: { type: "object" },
  });
  assert.equal(resultFor(model.requests[1].messages, "bad").isError, true);
  assert.deepEqual(result.output, { a: 1 });
});

test("a big answer comes whole", async (t) => {
  const big = { text: "x".repeat(300_000) };
  const { result } = await answered(t, [{ calls: [answer(big)] }], { outputSchema: { type: "object" } });
  assert.deepEqual(result.output, big);
});

// -- what is no schema ----------------------------------------------------------------------------------------------------

for (const outputSchema of [5, "object", null, [], true, () => {}, Symbol("schema")]) {
  test(`outputSchema ${String(JSON.stringify(outputSchema) ?? typeof outputSchema)} is refused by name`, (t) => {
    assert.throws(
      () => agentFor(t, { outputSchema }),
      (error) => /Config|Type/.test(error.name) && error.message.includes("outputSchema"),
    );
  });
}

for (const outputSchema of [{ type: "string" }, { type: "array", items: {} }]) {
  test(`outputSchema ${JSON.stringify(outputSchema)}, which is of no object, is a ConfigError that names it`, (t) => {
    assert.throws(
      () => agentFor(t, { outputSchema }),
      ({ name, message }) => name === "ConfigError" && /outputSchema/.test(message) && /object/.test(message),
    );
  });
}

test("a schema that no JSON Schema can say is a ConfigError that advises what the option takes", (t) => {
  const standard = { version: 1, vendor: "own", validate: (value) => ({ value }) };
  const input = () => {
    throw new Error("a date cannot be said");
  };
  for (const jsonSchema of [{ input }, undefined]) {
    assert.throws(
      () => answeringAgent(t, [], { outputSchema: { "~standard": { ...standard, jsonSchema } } }),
      ({ name, message }) => name === "ConfigError" && /give a plain JSON Schema in its place$/.test(message),
    );
  }
});

test("a Standard Schema of no object is a ConfigError that names the option", (t) => {
  assert.throws(
    () => agentFor(t, { outputSchema: standard((value) => ({ value }), { type: "string" }) }),
    ({ name, message }) => name === "ConfigError" && message.includes("outputSchema"),
  );
});

for (const outputSchema of [
  { type: "objekt" },
  { type: "object", properties: { a: { type: "strin" } } },
  { type: "object", properties: { a: { pattern: "(" } } },
  { type: "object", properties: { a: { $ref: "http://127.0.0.1:9/other.json" } } },
]) {
  test(`outputSchema ${JSON.stringify(outputSchema)}, which does not compile, is a ConfigError that names it`, (t) => {
    assert.throws(
      () => agentFor(t, { outputSchema }),
      ({ name, message }) => name === "ConfigError" && message.includes("outputSchema"),
    );
  });
}

test("undefined is no outputSchema", async (t) => {
  const { model } = await answered(t, [{ text: "ok" }], { outputSchema: undefined });
  assert.equal(finalAnswer(model), undefined);
});
