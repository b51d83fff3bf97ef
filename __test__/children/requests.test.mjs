// What a child's model is asked: prompt, system prompt, tools, model; and its conversation. Knows the public face
// only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { plainTool } from "../support/model.mjs";
import { contentText, resultFor, textOf } from "../runs/reading.mjs";
import { call, definition, runFamily, task, toolNames } from "./family.mjs";

const helper = (head = {}, body = "You are the helper.") => ({
  "helper.md": definition({ name: "helper", description: "helps", ...head }, body),
});
const helping = (more = {}) => [task("one", { subagent_type: "helper", ...more })];
const one = [{ text: "1" }];

/** The first request of the root, and that of its child. */
async function requestsOf(t, given) {
  const family = await runFamily(t, { tasks: helping(), roles: { one }, ...given });
  return { root: family.model.callsOf("go")[0].request, child: family.model.callsOf("one")[0].request, family };
}

test("the child's conversation begins with its prompt, and has nothing of its parent's", async (t) => {
  const { child } = await requestsOf(t, { definitions: helper() });
  assert.equal(child.messages.length, 1);
  assert.equal(child.messages[0].role, "user");
  assert.equal(textOf(child.messages[0]), "one");
});

test("the system prompt is the body of the definition; the parent's is not in it", async (t) => {
  const { root, child } = await requestsOf(t, {
    definitions: helper({}, "You are the helper.\n\n# Rules\n\nBe brief.\n--- this is no end of anything"),
    system: "You are the root.",
    agents: true,
  });
  assert.equal(root.system, "You are the root.");
  assert.equal(child.system.trim(), "You are the helper.\n\n# Rules\n\nBe brief.\n--- this is no end of anything");
});

test("a child of the built-in general-purpose has a system prompt of its own", async (t) => {
  const { child } = await requestsOf(t, { tasks: ["one"], system: "You are the root." });
  assert.equal(typeof child.system, "string");
  assert.ok(child.system.trim().length > 0);
  assert.ok(!child.system.includes("You are the root."));
});

test("without `tools` a child has its parent's tools less Agent", async (t) => {
  const { root, child } = await requestsOf(t, { definitions: helper() });
  assert.ok(toolNames(root).includes("Agent") && toolNames(root).includes("work"));
  assert.deepEqual(
    toolNames(child),
    toolNames(root).filter((name) => name !== "Agent"),
  );
});

test("a child's tools are described as its parent's are", async (t) => {
  const { root, child } = await requestsOf(t, { tasks: ["one"] });
  for (const tool of child.tools) {
    assert.deepEqual(
      tool,
      root.tools.find(({ name }) => name === tool.name),
    );
  }
});

for (const [form, tools] of Object.entries({
  "a list": ["work", "read_file"],
  "a list over several lines": "\n  - work\n  - read_file",
  "a string with commas": "work, read_file",
  "a string without spaces": "work,read_file",
})) {
  test(`\`tools\` as ${form} narrows them`, async (t) => {
    const { child } = await requestsOf(t, { definitions: helper({ tools }) });
    assert.deepEqual(toolNames(child), ["read_file", "work"]);
  });
}

test("`tools` with one name alone narrows to that one", async (t) => {
  const { child } = await requestsOf(t, { definitions: helper({ tools: "other" }) });
  assert.deepEqual(toolNames(child), ["other"]);
});

test("`tools` gives no tool that the parent has not: not one that is off, and never Agent", async (t) => {
  const { child } = await requestsOf(t, {
    definitions: helper({ tools: "work, Agent, bash, other" }),
    disallowedTools: ["bash", "other"],
  });
  assert.deepEqual(toolNames(child), ["work"]);
});

for (const [name, tool] of [
  ["was narrowed away", "other"],
  ["is the Agent tool", "Agent"],
]) {
  test(`a child that calls a tool which ${name} gets the failed result of an unknown tool, and goes on`, async (t) => {
    const { model, sections } = await runFamily(t, {
      tasks: helping(),
      definitions: helper({ tools: "work" }),
      roles: { one: [{ calls: [call(tool, "a", { tasks: [task("one")] })] }, { text: "went on" }] },
    });
    const result = resultFor(model.callsOf("one")[1].request.messages, "a");
    assert.equal(result.isError, true);
    assert.ok(contentText(result).includes(`unknown tool '${tool}'`), contentText(result));
    assert.deepEqual([sections[0].status, sections[0].text], ["completed", "went on"]);
  });
}

test("a child's calls run, and their results are in its next request, in call order", async (t) => {
  const { model, sections } = await runFamily(t, {
    roles: { one: [{ text: "first", calls: [call("work"), call("other")] }, { text: "last" }] },
  });
  const [, second] = model.callsOf("one");
  assert.deepEqual(
    second.request.messages.map(({ role }) => role),
    ["user", "assistant", "user"],
  );
  assert.deepEqual(
    second.request.messages[2].content.map(({ id, content }) => [id, contentText({ content })]),
    [
      ["call-work", "worked"],
      ["call-other", "other"],
    ],
  );
  assert.equal(sections[0].text, "last");
});

test("a child's tools are told the child's session, which is its agentId", async (t) => {
  const seen = [];
  const tools = [plainTool("work", (_, { sessionId }) => void seen.push(sessionId) ?? "worked")];
  const { sections } = await runFamily(t, { roles: { one: [{ calls: [call("work")] }, { text: "1" }] }, tools });
  assert.deepEqual(seen, [sections[0].agentId]);
});

test("a child's model is its parent's, by the name that the parent's has", async (t) => {
  const { root, child } = await requestsOf(t, { definitions: helper(), modelName: "large" });
  assert.deepEqual([root.model, child.model], ["large", "large"]);
});

test("without a modelName a child's is the id of the provider, as the parent's is", async (t) => {
  const { root, child } = await requestsOf(t, { definitions: helper() });
  assert.deepEqual([root.model, child.model], ["family", "family"]);
});

test("the model of a definition is asked for by its name", async (t) => {
  const { root, child } = await requestsOf(t, { definitions: helper({ model: "small-1" }), modelName: "large" });
  assert.deepEqual([root.model, child.model], ["large", "small-1"]);
});

test("the model of a task wins over the definition's", async (t) => {
  const { child } = await requestsOf(t, {
    definitions: helper({ model: "small-1" }),
    tasks: helping({ model: "tiny-1" }),
    modelName: "large",
  });
  assert.equal(child.model, "tiny-1");
});

for (const model of ["inherit", "simple", "medium", "complex"]) {
  test(`without \`models\`, "${model}" is the parent's model, in a definition and in a task`, async (t) => {
    const config = { modelName: "large" };
    const defined = await requestsOf(t, { ...config, definitions: helper({ model }) });
    assert.equal(defined.child.model, "large");
    const asked = await requestsOf(t, {
      ...config,
      definitions: helper({ model: "small-1" }),
      tasks: helping({ model }),
    });
    assert.equal(asked.child.model, "large");
  });
}

test("the children of one group are asked each for its own", async (t) => {
  const { model } = await runFamily(t, {
    tasks: [task("one", { subagent_type: "helper", model: "m-1" }), task("two", { model: "m-2" })],
    definitions: helper({ tools: "work" }),
    roles: { one, two: [{ text: "2" }] },
  });
  const [first, second] = ["one", "two"].map((role) => model.callsOf(role)[0].request);
  assert.deepEqual([first.model, second.model], ["m-1", "m-2"]);
  assert.deepEqual(toolNames(first), ["work"]);
  assert.ok(toolNames(second).includes("other"));
  assert.equal(first.system.trim(), "You are the helper.");
  assert.notEqual(second.system.trim(), "You are the helper.");
});

test("the root's own requests are those of a root after its children as before them", async (t) => {
  const { model } = await runFamily(t, {
    tasks: helping(),
    roles: { one },
    definitions: helper({ tools: "work", model: "m" }),
    system: "You are the root.",
  });
  const requests = model.callsOf("go").map(({ request }) => request);
  assert.equal(requests.length, 3);
  for (const request of requests) {
    assert.equal(request.system, "You are the root.");
    assert.equal(request.model, "family");
    assert.deepEqual(toolNames(request), toolNames(requests[0]));
  }
});
