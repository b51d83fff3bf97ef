// permissionAudit: which decisions are kept in the log, and that no secret is. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { policy } from "../../index.js";
import { agentFor, collect, plainTool, scriptedModel } from "../support/model.mjs";
import { call, eventsOf } from "../runs/reading.mjs";
import { testStore } from "./storing.mjs";

const SESSION = "s";
const at = { sessionId: SESSION };
const echo = (name) => plainTool(name, ({ say = "x" }) => say);

const audited = (t, store, config) =>
  agentFor(t, {
    checkpointer: store.checkpointer,
    permissionAudit: true,
    tools: [echo("a"), echo("b")],
    model: [{ calls: [call("1", "a", { say: "x" })] }, { text: "end" }],
    ...config,
  });

test("permissionAudit stores each decision, before the tool starts", async (t) => {
  const store = testStore();
  await audited(t, store).send("hi", at);
  assert.deepEqual(store.types(SESSION), [
    "user",
    "assistant",
    "permission_decision",
    "tool_started",
    "tool_result",
    "assistant",
  ]);
  assert.deepEqual(store.events(SESSION)[2], {
    type: "permission_decision",
    call: { id: "1", name: "a", input: { say: "x" } },
    decision: "allow",
    by: "policy",
    turn: 1,
  });
});

test("without permissionAudit no decision is stored", async (t) => {
  for (const permissionAudit of [false, undefined]) {
    const store = testStore();
    await audited(t, store, { permissionAudit }).send("hi", at);
    assert.ok(!store.types(SESSION).includes("permission_decision"));
  }
});

test("a denial is audited with its rule and reason", async (t) => {
  const store = testStore();
  const permission = policy({ rules: [{ id: "no-a", tool: "a", effect: "deny", description: "not here" }] });
  await audited(t, store, { permission }).send("hi", at);
  const [decision] = eventsOf(store.events(SESSION), "permission_decision");
  assert.deepEqual(decision, {
    type: "permission_decision",
    call: { id: "1", name: "a", input: { say: "x" } },
    decision: "deny",
    ruleId: "no-a",
    reason: "not here",
    by: "policy",
    turn: 1,
  });
});

test("what was stored of decisions is what was told of them", async (t) => {
  const ask = policy({ ask: ["a"], deny: ["b"] });
  for (const config of [
    { permission: ask, onApproval: { request: async () => "allow" } },
    { permission: ask, onApproval: { request: async () => "deny" } },
    { permission: ask },
    { permission: ask, permissionMode: "dry-run" },
  ]) {
    const store = testStore();
    const model = scriptedModel([{ calls: [call("1", "a"), call("2", "b")] }, { text: "end" }]);
    const agent = audited(t, store, { model, ...config });
    const { events } = await collect(agent.run("hi", at));
    const told = eventsOf(events, "permission_decision").map((event) => ({ ...event, turn: 1 }));
    assert.ok(told.length >= 2);
    const byCall = (list) => JSON.parse(JSON.stringify([...list].sort((a, b) => (a.call.id < b.call.id ? -1 : 1))));
    assert.deepEqual(byCall(eventsOf(store.events(SESSION), "permission_decision")), byCall(told));
  }
});

test("secrets are masked in the audit, by the default redactor and by the host's", async (t) => {
  const secret = `ghp_${"a1B2".repeat(9)}`;
  const model = () => scriptedModel([{ calls: [call("1", "a", { say: `use ${secret}` })] }, { text: "end" }]);
  const store = testStore();
  await audited(t, store, { model: model() }).send("hi", at);
  const [decision] = eventsOf(store.events(SESSION), "permission_decision");
  assert.equal(decision.call.id, "1");
  assert.ok(!JSON.stringify(decision).includes(secret), JSON.stringify(decision));

  const own = testStore();
  const redact = (value) => JSON.parse(JSON.stringify(value).replaceAll(/ghp_\w+/g, "[mine]"));
  await audited(t, own, { model: model(), redact }).send("hi", at);
  const [masked] = eventsOf(own.events(SESSION), "permission_decision");
  assert.ok(JSON.stringify(masked).includes("[mine]"));
  assert.ok(!JSON.stringify(masked).includes(secret));
  // The conversation itself is kept as it was.
  assert.equal(eventsOf(own.events(SESSION), "assistant")[0].message.content[0].input.say, `use ${secret}`);
});
