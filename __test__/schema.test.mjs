// Tools and their schemas by themselves: what is accepted, what the model is shown, how input is validated, what a tool
// may return. Runs no agent.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import vm from "node:vm";

import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import * as v from "valibot";
import { z } from "zod";
import * as zm from "zod/mini";

import { ConfigError } from "../lib/errors.js";
import { prepareSchema } from "../lib/schema.js";
import { defineTool, normaliseOutput, prepareTools, tool } from "../lib/tools.js";

const plain = { type: "object", properties: { path: { type: "string" } }, required: ["path"] };
const execute = () => "done";
const prepare = (schema, options) => prepareTools([tool("x", "d", schema, execute, options)])[0];
const problemOf = async (schema, input) => (await prepare(schema).validate(input)).problem;

const vendors = {
  zod: z.object({ path: z.string(), count: z.number().default(3) }),
  arktype: type({ path: "string", count: "number = 3" }),
  valibot: toStandardJsonSchema(v.object({ path: v.string(), count: v.optional(v.number(), 3) })),
};

describe("a Standard Schema", () => {
  for (const [vendor, schema] of Object.entries(vendors)) {
    it(`of ${vendor} is shown to the model as JSON Schema of its input`, () => {
      const { parameters, schemaText } = prepare(schema);
      assert.equal(schemaText, null);
      assert.equal(parameters.type, "object");
      assert.equal(parameters.properties.path.type, "string");
      assert.equal(parameters.properties.count.type, "number");
      assert.deepEqual(parameters.required, ["path"], "what has a default need not be given");
      assert.ok(Object.isFrozen(parameters) && Object.isFrozen(parameters.properties.path));
    });

    it(`of ${vendor} validates by its own code, defaults included, and leaves frozen input alone`, async () => {
      const input = Object.freeze({ path: "p" });
      assert.deepEqual(await prepare(schema).validate(input), { value: { path: "p", count: 3 } });
      assert.deepEqual(input, { path: "p" });
    });

    it(`of ${vendor} names the field that is wrong`, async () => {
      assert.match(await problemOf(schema, { path: 1, count: 2 }), /^path: /);
      const both = await problemOf(schema, { path: 1, count: "x" });
      assert.match(both, /path: /);
      assert.match(both, /; count: /);
      assert.match(await problemOf(schema, "x"), /^input: /);
      assert.match(await problemOf(schema, {}), /^path: /);
    });
  }

  it("names a nested field by its path", async () => {
    const nested = [
      z.object({ files: z.array(z.object({ name: z.string() })) }),
      type({ files: type({ name: "string" }).array() }),
      toStandardJsonSchema(v.object({ files: v.array(v.object({ name: v.string() })) })),
    ];
    for (const schema of nested) {
      assert.match(await problemOf(schema, { files: [{ name: 1 }] }), /^files\.0\.name: /);
    }
    assert.equal(
      await problemOf(nested[1], { files: [{ name: 1 }] }),
      "files.0.name: must be a string (was a number)",
      "the path is not said twice",
    );
  });

  it("may validate asynchronously, and transform", async () => {
    const schema = z.object({ name: z.string().refine(async (name) => name !== "taken", "is taken") });
    assert.deepEqual(await prepare(schema).validate({ name: "free" }), { value: { name: "free" } });
    assert.equal(await problemOf(schema, { name: "taken" }), "name: is taken");
    const length = z.object({ name: z.string().transform((name) => name.length) });
    assert.deepEqual(await prepare(length).validate({ name: "four" }), { value: { name: 4 } });
  });

  it("lists five problems at most, cut", async () => {
    const schema = z.array(z.string().refine(() => false, "m".repeat(10_000)));
    const problem = (await prepare(schema, { jsonSchema: {} }).validate(Array(50).fill("x"))).problem;
    assert.equal(problem.match(/mmm…/g).length, 5);
    assert.ok(problem.endsWith("; and more") && problem.length < 1_400);
  });

  it("whose code throws, throws", async () => {
    const error = new Error("broken validator");
    const standard = (validate) => ({ "~standard": { version: 1, vendor: "mine", validate } });
    const throwing = standard(() => {
      throw error;
    });
    assert.throws(
      () => prepare(throwing, { jsonSchema: {} }).validate({}),
      (thrown) => thrown === error,
    );
    const rejecting = standard(() => Promise.reject(error));
    await assert.rejects(prepare(rejecting, { jsonSchema: {} }).validate({}), (thrown) => thrown === error);
    const answerless = standard(() => undefined);
    assert.throws(() => prepare(answerless, { jsonSchema: {} }).validate({}), /the schema of mine returned undefined/);
    const anonymous = standard(() => ({ issues: [] }));
    assert.deepEqual(prepare(anonymous, { jsonSchema: {} }).validate({}), {
      problem: "input: does not match the schema",
    });
    const objectPath = standard(() => ({ issues: [{ message: "no", path: [{ key: "a" }, Symbol("s"), 0] }] }));
    assert.deepEqual(prepare(objectPath, { jsonSchema: {} }).validate({}), { problem: "a.Symbol(s).0: no" });
  });

  it("that cannot say its JSON Schema needs jsonSchema, and the error says what helps", () => {
    const bare = v.object({ path: v.string() });
    for (const make of [
      () => tool("bare", "d", bare, execute),
      () => prepareTools([{ name: "bare", description: "", schema: bare, execute }]),
    ]) {
      assert.throws(make, (error) => {
        assert.ok(error instanceof ConfigError);
        assert.match(
          error.message,
          /tool 'bare'.*valibot.*zod 4\.2.*toStandardJsonSchema of @valibot\/to-json-schema.*jsonSchema/,
        );
        return true;
      });
    }
    assert.deepEqual(prepare(bare, { jsonSchema: plain }).parameters, plain);
  });

  it("of zod/mini needs jsonSchema, and the error says how it is made", () => {
    const mini = zm.object({ path: zm.string() });
    assert.throws(() => tool("x", "d", mini, execute), {
      name: "ConfigError",
      message: /zod\/mini: jsonSchema: z\.toJSONSchema\(schema, \{ io: "input" \}\)/,
    });
    const { parameters, validate } = prepare(mini, { jsonSchema: zm.toJSONSchema(mini, { io: "input" }) });
    assert.deepEqual(parameters.required, ["path"]);
    assert.match(validate({}).problem, /^path: /);
  });

  it("with a type that JSON Schema cannot say needs jsonSchema", () => {
    const dates = z.object({ on: z.date() });
    assert.throws(
      () => prepare(dates),
      (error) => {
        assert.ok(error instanceof ConfigError && error.cause instanceof Error);
        assert.match(error.message, /tool 'x': its schema cannot be shown to the model: Date .*jsonSchema/);
        return true;
      },
    );
    assert.deepEqual(prepare(dates, { jsonSchema: plain }).parameters, plain);
  });

  it("of something else than an object is refused, a union of objects is not", () => {
    assert.throws(() => prepare(z.array(z.string())), {
      name: "ConfigError",
      message: /must be of type "object".*got "array"/,
    });
    const { parameters } = prepare(z.union([z.object({ a: z.string() }), z.object({ b: z.string() })]));
    assert.equal(parameters.type, "object");
    assert.equal(parameters.anyOf.length, 2);
  });

  it("may refer to a schema that is defined later than the tool", () => {
    const later = {};
    const lazy = z.object({
      get child() {
        return later.schema;
      },
    });
    const made = tool("lazy", "d", lazy, execute);
    later.schema = z.string();
    assert.equal(prepareTools([made])[0].parameters.properties.child.type, "string");
  });

  it("of another version is refused", () => {
    assert.throws(() => prepare({ "~standard": { version: 2, vendor: "x", validate() {} } }), {
      name: "ConfigError",
      message: /version 1.*got version 2/,
    });
    assert.throws(() => prepare({ "~standard": 3 }), ConfigError);
  });
});

describe("a plain JSON Schema", () => {
  it("is shown as it is, and validated by its text", () => {
    const { parameters, schemaText, validate } = prepare(plain);
    assert.deepEqual(parameters, plain);
    assert.notEqual(parameters, plain);
    assert.ok(Object.isFrozen(parameters.properties));
    assert.ok(!Object.isFrozen(plain));
    assert.deepEqual(JSON.parse(schemaText), plain);
    assert.equal(validate, null);
  });

  it("without a type is one for an object", () => {
    assert.deepEqual(prepare({ properties: {} }).parameters, { type: "object", properties: {} });
    assert.deepEqual(JSON.parse(prepare(Object.create(null)).schemaText), { type: "object" });
  });

  it("may come from another realm", () => {
    assert.equal(prepare(vm.runInNewContext(`({ type: "object" })`)).parameters.type, "object");
  });

  it("may be shown as another one", () => {
    const { parameters, schemaText } = prepare(plain, { jsonSchema: { type: "object", description: "shown" } });
    assert.equal(parameters.description, "shown");
    assert.deepEqual(JSON.parse(schemaText), plain);
  });

  it("that is none is refused", () => {
    for (const schema of [undefined, null, 3, "string", [], new Map(), () => {}, class {}, true]) {
      assert.throws(() => tool("x", "d", schema, execute), {
        name: "TypeError",
        message: /tool 'x': schema must be a Standard Schema or a JSON Schema object, got /,
      });
    }
    const loop = { type: "object" };
    loop.properties = loop;
    assert.throws(() => prepare(loop), {
      name: "ConfigError",
      message: /tool 'x': schema is no JSON: nested more than 100 levels/,
    });
    assert.throws(() => prepare({ default: 1n }), { name: "ConfigError", message: /is no JSON.*BigInt/ });
    for (const wrong of ["string", "array", ["object", "null"], null]) {
      assert.throws(() => prepare({ type: wrong }), { name: "ConfigError", message: /must be of type "object"/ });
    }
    for (const jsonSchema of [null, 3, [], "x", () => {}]) {
      assert.throws(() => tool("x", "d", plain, execute, { jsonSchema }), {
        name: "TypeError",
        message: /jsonSchema must be/,
      });
    }
  });
});

describe("tool() and defineTool()", () => {
  it("return a plain tool that can be spread", () => {
    const made = tool("x", "d", plain, execute, { timeoutMs: 5, security: { network: "none" } });
    assert.deepEqual(made, {
      name: "x",
      description: "d",
      schema: plain,
      execute,
      security: { network: "none" },
      timeoutMs: 5,
    });
    assert.ok(!Object.isFrozen(made));
    assert.equal(prepareTools([{ ...made, name: "y" }])[0].name, "y");
    assert.equal(defineTool(made), made);
    assert.deepEqual(Object.keys(tool("x", "d", plain, execute, { timeoutMs: undefined })), [
      "name",
      "description",
      "schema",
      "execute",
    ]);
  });

  it("refuse bad names", () => {
    for (const name of ["", "a b", "é", "a".repeat(65), "a.b", "a\n"]) {
      assert.throws(() => tool(name, "d", plain, execute), {
        name: "ConfigError",
        message: /name must be 1 to 64 letters/,
      });
    }
    for (const name of [undefined, null, 3, {}]) {
      assert.throws(() => tool(name, "d", plain, execute), { name: "TypeError", message: /name must be a string/ });
    }
    tool("a".repeat(64), "", plain, execute);
  });

  it("refuse a timeoutMs that is no integer from 1 to 2147483647", () => {
    for (const timeoutMs of [0, -1, NaN, 1.5, 2 ** 31, Infinity, "5", null, {}, true, 5n, Symbol("s")]) {
      assert.throws(() => tool("x", "d", plain, execute, { timeoutMs }), {
        name: "RangeError",
        message: /timeoutMs must be an integer from 1 to 2147483647, got /,
      });
      assert.throws(() => prepareTools([{ ...tool("x", "d", plain, execute), timeoutMs }]), RangeError);
    }
    assert.equal(prepare(plain, { timeoutMs: 2 ** 31 - 1 }).timeoutMs, 2 ** 31 - 1);
    assert.equal(prepare(plain, { timeoutMs: undefined }).timeoutMs, undefined);
  });

  it("refuse wrong types and unknown options", () => {
    assert.throws(() => tool("x", undefined, plain, execute), {
      name: "TypeError",
      message: /description must be a string, got undefined/,
    });
    assert.throws(() => tool("x", "d", plain), {
      name: "TypeError",
      message: /execute must be a function, got undefined/,
    });
    assert.throws(() => tool("x", "d", plain, execute, { timeout: 5 }), {
      name: "TypeError",
      message: /unknown tool option 'timeout'; there are security, jsonSchema, timeoutMs/,
    });
    for (const options of [null, 5, [], "x", new Map()]) {
      assert.throws(() => tool("x", "d", plain, execute, options), {
        name: "TypeError",
        message: /tool options must be an object/,
      });
    }
    for (const nothing of [undefined, null, 3, [], execute]) assert.throws(() => defineTool(nothing), TypeError);
    assert.throws(() => defineTool({ ...tool("x", "d", plain, execute), timeoutMS: 5 }), {
      name: "TypeError",
      message: /did you mean 'timeoutMs'/,
    });
  });

  it("refuse a security that means nothing", () => {
    const make = (security) => tool("x", "d", plain, execute, { security });
    make({ network: "loopback", filesystem: "workspace", sideEffects: "external" });
    make({ network: "none", filesystem: undefined });
    assert.throws(() => make({ network: "some" }), {
      name: "ConfigError",
      message: /security\.network must be one of 'none', 'loopback'/,
    });
    assert.throws(() => make({}), { name: "ConfigError", message: /security\.network/ });
    assert.throws(() => make({ network: "none", filesystem: 3 }), {
      name: "ConfigError",
      message: /security\.filesystem/,
    });
    assert.throws(() => make({ network: "none", files: "none" }), {
      name: "TypeError",
      message: /unknown option 'security\.files'/,
    });
    for (const security of [null, [], "none"])
      assert.throws(() => make(security), { name: "TypeError", message: /security must be/ });
  });
});

describe("the tools of an agent", () => {
  it("may be any objects of a tool's shape", () => {
    class Reader {
      name = "read";
      description = "reads";
      schema = plain;
      note = "more fields are the host's own";
      execute() {
        return this.note;
      }
    }
    const reader = new Reader();
    assert.equal(prepareTools([reader])[0].tool, reader);
    assert.deepEqual(prepareTools(undefined), []);
  });

  it("must have different names, and the error says which", () => {
    const made = tool("x", "d", plain, execute);
    assert.throws(() => prepareTools([made, made]), {
      name: "ConfigError",
      message: "tools[1]: there is another tool named 'x'",
    });
    assert.throws(() => prepareTools([made, null]), {
      name: "TypeError",
      message: /tools\[1\] must be a tool object, got null/,
    });
    assert.throws(() => prepareTools(made), { name: "TypeError", message: /tools must be an array/ });
    assert.throws(() => prepareTools([,]), TypeError); // eslint-disable-line no-sparse-arrays
  });

  it("share what is made of a schema, and no other field", () => {
    let conversions = 0;
    const schema = {
      "~standard": {
        version: 1,
        vendor: "mine",
        validate: (value) => ({ value }),
        jsonSchema: { input: () => ({ conversions: (conversions += 1) }) },
      },
    };
    const made = tool("x", "d", schema, execute);
    const [first] = prepareTools([made]);
    made.timeoutMs = 7;
    made.description = "changed";
    const [second] = prepareTools([made]);
    assert.equal(conversions, 1);
    assert.equal(first.parameters, second.parameters);
    assert.deepEqual([first.timeoutMs, second.timeoutMs, second.description], [undefined, 7, "changed"]);
    made.jsonSchema = { type: "object" };
    assert.equal(prepareTools([made])[0].parameters.conversions, 2, "another jsonSchema is another preparation");
    assert.equal(prepareSchema("y", schema), prepareSchema("z", schema));
  });
});

describe("what a tool returns", () => {
  const image = { type: "image", mediaType: "image/png", data: "iVBORw0KGgo=" };

  it("becomes a frozen copy", () => {
    assert.deepEqual(normaliseOutput("text", "x"), { content: "text", isError: false });
    assert.deepEqual(normaliseOutput("", "x"), { content: "", isError: false });
    assert.deepEqual(normaliseOutput({ content: "text", isError: true }, "x"), { content: "text", isError: true });
    assert.deepEqual(normaliseOutput({ content: "text", isError: undefined }, "x"), {
      content: "text",
      isError: false,
    });
    const blocks = [{ type: "text", text: "t", more: { nested: 1 } }, image];
    const { content, isError } = normaliseOutput({ content: blocks }, "x");
    assert.deepEqual(content, [{ type: "text", text: "t" }, image]);
    assert.equal(isError, false);
    assert.ok(
      Object.isFrozen(content) && Object.isFrozen(content[1]) && !Object.isFrozen(blocks) && !Object.isFrozen(image),
    );
    assert.deepEqual(normaliseOutput(blocks, "x").content, content);
  });

  it("is refused with the tool's name and what it was", () => {
    const cases = [
      [undefined, "undefined"],
      [null, "null"],
      [3, "a number"],
      [new Map(), "an instance of Map without content"],
      [{}, "an object without content"],
      [{ content: 3 }, "a content that is a number"],
      [{ content: "x", isError: "yes" }, "an isError that is a string"],
      [() => {}, "a function"],
      [["text"], "a string as block 0"],
      [[null], "null as block 0"],
      [[{ type: "text" }], "a text block (0) whose text is undefined"],
      [[{ type: "image", data: "AAAA", mimeType: "image/png" }], "an image block (0) whose mediaType is undefined"],
      [[{ ...image, data: Buffer.from("x") }], "an image block (0) whose data is an instance of Buffer, not base64"],
      [[{ ...image, data: "data:image/png;base64,AAAA" }], "an image block (0) whose data is not base64"],
      [[{ type: "text", text: "a" }, { type: "tool_call" }], 'a block (1) of type "tool_call"'],
      [[, { type: "text", text: "a" }], "undefined as block 0"], // eslint-disable-line no-sparse-arrays
    ];
    for (const [output, what] of cases) {
      assert.throws(() => normaliseOutput(output, "x"), {
        name: "TypeError",
        message: `tool 'x' returned ${what}; return a string, an array of text and image blocks, or { content, isError }`,
      });
    }
  });
});
