// Which tools a model is offered, and definitions that are refused. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { ConfigError, tool } from "../../index.js";
import { agentFor, plainTool, scriptedModel } from "../support/model.mjs";
import { call, contentText, resultFor } from "../runs/reading.mjs";

const BUILT_IN = ["read_file", "write_file", "edit_file", "delete_file", "glob", "grep"];
const three = () => ["alpha", "beta", "gamma"].map((name) => plainTool(name, () => `ran ${name}`));

async function offered(t, config) {
  const model = scriptedModel([{ text: "ok" }]);
  await agentFor(t, { model, tools: three(), ...config }).send("hi");
  return (model.requests[0].tools ?? []).map((entry) => entry.name);
}

test("tools are offered in the order in which they were given, before the built-in ones", async (t) => {
  const names = await offered(t, {});
  assert.deepEqual(names.slice(0, 3), ["alpha", "beta", "gamma"]);
  for (const name of BUILT_IN) assert.ok(names.includes(name), name);
});

test("allowedTools and disallowedTools select built-in tools by name", async (t) => {
  assert.deepEqual(await offered(t, { allowedTools: ["grep", "beta"] }), ["beta", "grep"]);
  const names = await offered(t, { disallowedTools: ["write_file"] });
  assert.ok(!names.includes("write_file") && names.includes("edit_file"));
});

test("a tool of the host takes the place of the built-in one of its name", async (t) => {
  const model = scriptedModel([{ calls: [call("a", "read_file")] }, { text: "end" }]);
  const agent = agentFor(t, { model, tools: [plainTool("read_file", () => "mine")] });
  const { messages } = await agent.send("hi");
  assert.equal(contentText(resultFor(messages, "a")), "mine");
  assert.equal(model.requests[0].tools.filter(({ name }) => name === "read_file").length, 1);
});

test("allowedTools leaves only those", async (t) => {
  assert.deepEqual(await offered(t, { allowedTools: ["beta"] }), ["beta"]);
});

test("an empty allowedTools leaves none", async (t) => {
  assert.deepEqual(await offered(t, { allowedTools: [] }), []);
});

test("disallowedTools takes those away, also where they are allowed", async (t) => {
  assert.deepEqual((await offered(t, { disallowedTools: ["alpha"] })).slice(0, 2), ["beta", "gamma"]);
  assert.deepEqual(await offered(t, { allowedTools: ["alpha", "beta"], disallowedTools: ["alpha"] }), ["beta"]);
});

test("a call of a tool that was taken away does not run it", async (t) => {
  for (const config of [{ allowedTools: ["beta"] }, { disallowedTools: ["alpha"] }]) {
    const model = scriptedModel([{ calls: [call("a", "alpha")] }, { text: "end" }]);
    const { messages } = await agentFor(t, { model, tools: three(), ...config }).send("hi");
    assert.equal(resultFor(messages, "a").isError, true);
    assert.doesNotMatch(contentText(resultFor(messages, "a")), /ran alpha/);
    assert.match(contentText(resultFor(messages, "a")), /unknown tool 'alpha'/);
  }
});

test("two tools of one name are a ConfigError that names it", (t) => {
  assert.throws(
    () =>
      agentFor(t, {
        tools: [plainTool("twin", () => "x"), plainTool("other", () => "x"), plainTool("twin", () => "y")],
      }),
    (error) => error instanceof ConfigError && /twin/.test(error.message) && /tools/.test(error.message),
  );
});

test("a tool that is none is a config mistake which names tools", (t) => {
  const good = plainTool("good", () => "x");
  for (const value of [
    null,
    undefined,
    5,
    "name",
    {},
    { ...good, name: 5 },
    { ...good, name: "" },
    { ...good, execute: "x" },
    { ...good, schema: undefined },
    { ...good, schema: 5 },
    { ...good, description: 5 },
  ]) {
    assert.throws(
      () => agentFor(t, { tools: [value] }),
      (error) => (error instanceof ConfigError || error instanceof TypeError) && /tool/.test(error.message),
      JSON.stringify(value),
    );
  }
  for (const value of [{}, "x", 5, null]) {
    assert.throws(
      () => agentFor(t, { tools: value }),
      (error) => (error instanceof ConfigError || error instanceof TypeError) && /tools/.test(error.message),
    );
  }
});

test("a JSON Schema that is none is a ConfigError that names the tool", (t) => {
  assert.throws(
    () => agentFor(t, { tools: [tool("odd", "d", { type: "nonsense" }, () => "x")] }),
    (error) => error instanceof ConfigError && /odd/.test(error.message),
  );
  assert.throws(
    () =>
      agentFor(t, { tools: [tool("odd", "d", { type: "object", properties: { a: { pattern: "(" } } }, () => "x")] }),
    (error) => error instanceof ConfigError && /odd/.test(error.message),
  );
});

test("toolChoice is passed on in each of its forms", async (t) => {
  for (const toolChoice of ["auto", "none", "required", { tool: "alpha" }]) {
    const model = scriptedModel([{ text: "ok" }]);
    await agentFor(t, { model, tools: three(), toolChoice }).send("hi");
    assert.deepEqual(model.requests[0].toolChoice, toolChoice);
  }
});

test("a toolChoice of another form is a config mistake that names it", (t) => {
  for (const toolChoice of ["sometimes", 5, {}, { tool: 5 }, null]) {
    assert.throws(
      () => agentFor(t, { tools: three(), toolChoice }),
      (error) => /toolChoice/.test(error.message),
      JSON.stringify(toolChoice),
    );
  }
});

test("what the caller does to its tools list after creation is not seen", async (t) => {
  const model = scriptedModel([{ text: "ok" }]);
  const tools = three();
  const agent = agentFor(t, { model, tools });
  tools.length = 0;
  await agent.send("hi");
  assert.deepEqual(
    model.requests[0].tools.slice(0, 3).map(({ name }) => name),
    ["alpha", "beta", "gamma"],
  );
});
