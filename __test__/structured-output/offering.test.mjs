// How final_answer is offered: past every list and policy, with a section of the system prompt, and under a name that is
// nobody else's. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { policy, query, strictPolicy } from "../../index.js";
import { eventsOf } from "../runs/reading.mjs";
import { agentFor, collect, plainTool, scriptedModel, temporaryFolder, within } from "../support/model.mjs";
import { answer, answered, BERN, CITY } from "./answering.mjs";

const names = (request) => request.tools.map(({ name }) => name);

for (const [what, config] of [
  ["a strict policy that allows nothing", { permission: strictPolicy() }],
  ["a policy that denies it by name", { permission: policy({ deny: ["final_answer"] }) }],
  ["a policy that denies everything by glob", { permission: policy({ rules: [{ tool: "*", effect: "deny" }] }) }],
  ["a policy that asks, with nobody to ask", { permission: policy({ default: "ask" }) }],
  ["a policy that throws", { permission: { check: () => assert.fail("asked") } }],
  ["allowedTools without it", { allowedTools: ["glob"] }],
  ["empty allowedTools", { allowedTools: [] }],
  ["disallowedTools with it", { disallowedTools: ["final_answer"] }],
  ["maxParallelTools 1", { maxParallelTools: 1 }],
]) {
  test(`${what} does not stand in the way of the answer`, async (t) => {
    const { model, result } = await answered(t, [{ calls: [answer(BERN)] }, { text: "never" }], config);
    assert.ok(names(model.requests[0]).includes("final_answer"));
    assert.deepEqual(result.output, BERN);
  });
}

test("neither policy nor handler is asked about it, and there is no decision", async (t) => {
  const asked = [];
  const permission = { check: (call) => (asked.push(call.name), "ask") };
  const onApproval = { request: async (call) => (asked.push(call.name), "allow") };
  const { events } = await answered(t, [{ calls: [answer(BERN)] }], { permission, onApproval });
  assert.deepEqual(asked, []);
  for (const type of ["permission_decision", "approval_request"]) assert.deepEqual(eventsOf(events, type), []);
});

test("other calls of the turn are asked about as ever", async (t) => {
  const tools = [plainTool("work", () => assert.fail("ran"))];
  const calls = [{ id: "w", name: "work", input: {} }, answer(BERN)];
  const { result } = await answered(t, [{ calls }], { permission: strictPolicy(), tools });
  const blocked = result.messages.at(-1).content.find(({ id }) => id === "w");
  assert.match(blocked.content, /blocked by policy/);
  assert.deepEqual(result.output, BERN);
});

test("a tool of the host of that name is a ConfigError that names it", (t) => {
  assert.throws(
    () => agentFor(t, { outputSchema: CITY, tools: [plainTool("final_answer", () => "mine")] }),
    ({ name, message }) => name === "ConfigError" && message.includes("final_answer"),
  );
});

test("it is offered once", async (t) => {
  const { model } = await answered(t, [{ calls: [answer(BERN)] }]);
  assert.equal(names(model.requests[0]).filter((name) => name === "final_answer").length, 1);
});

test("without outputSchema it is not there, and a call of it is of an unknown tool", async (t) => {
  const { model, result } = await answered(t, [{ calls: [answer(BERN)] }, { text: "done" }], {
    outputSchema: undefined,
  });
  assert.ok(!names(model.requests[0]).includes("final_answer"));
  assert.match(result.messages.at(-2).content[0].content, /unknown tool 'final_answer'/);
});

// -- the system prompt ----------------------------------------------------------------------------------------------------

test("the system prompt has a section on it where the host gives none", async (t) => {
  const { model } = await answered(t, [{ calls: [answer(BERN)] }]);
  assert.match(model.requests[0].system, /final_answer/);
});

test("the section comes beside the host's system prompt, which stays whole", async (t) => {
  const system = "Be brief.\n\nNever guess.";
  const { model } = await answered(t, [{ calls: [answer(BERN)] }], { system });
  assert.ok(model.requests[0].system.startsWith(system), model.requests[0].system);
  assert.match(model.requests[0].system.slice(system.length), /final_answer/);
});

test("query() puts it beside its systemPrompt", async (t) => {
  const { workdir, home } = await temporaryFolder(t);
  const model = scriptedModel([{ calls: [answer(BERN)] }]);
  const options = { prompt: "go", cwd: workdir, home, model, systemPrompt: "Be brief.", outputSchema: CITY };
  await within(collect(query(options)), "query()");
  assert.ok(model.requests[0].system.startsWith("Be brief."));
  assert.match(model.requests[0].system, /final_answer/);
});

test("every request of the run has the same section", async (t) => {
  const { model } = await answered(t, [{ calls: [answer({}, "bad")] }, { calls: [answer(BERN, "good")] }]);
  assert.equal(model.requests[1].system, model.requests[0].system);
});

test("nothing of it is in the messages", async (t) => {
  const { model } = await answered(t, [{ calls: [answer(BERN)] }]);
  assert.ok(!JSON.stringify(model.requests[0].messages).includes("final_answer"));
});

test("without outputSchema the system prompt does not speak of it", async (t) => {
  const { model } = await answered(t, [{ text: "ok" }], { outputSchema: undefined, system: "Be brief." });
  assert.ok(!model.requests[0].system.includes("final_answer"));
});

// -- children -------------------------------------------------------------------------------------------------------------

test("children have neither the tool nor the section, and the parent's answer is the parent's", async (t) => {
  const tasks = [{ display_name: "one", subagent_type: "general-purpose", prompt: "child" }];
  const children = [];
  const isChild = ({ messages }) => JSON.stringify(messages[0].content).includes("child");
  let parentTurns = 0;
  const model = scriptedModel([
    (request) => {
      if (isChild(request)) {
        children.push(request);
        return { text: "child done" };
      }
      parentTurns += 1;
      return {
        calls: parentTurns === 1 ? [{ id: "a", name: "Agent", input: { tasks } }] : [answer(BERN, `f${parentTurns}`)],
      };
    },
  ]);
  const agent = agentFor(t, { model, outputSchema: CITY });
  assert.deepEqual((await agent.send("go")).output, BERN);
  await within(agent.awaitIdle(), "the child and its completion run");
  assert.equal(children.length, 1);
  assert.ok(!names(children[0]).includes("final_answer"));
  assert.ok(!(children[0].system ?? "").includes("final_answer"));
});
