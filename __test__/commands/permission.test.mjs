// Permission of the bash tool: asked by default, approved, denied, simulated. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { bashCommand, policy } from "../../index.js";
import { deferred, pause, within } from "../support/model.mjs";
import { bash, bashAgent, written } from "./bashing.mjs";

const ran = ({ workdir }) => existsSync(join(workdir, "ran"));
const decisions = ({ events }) =>
  events.filter(({ type }) => type === "permission_decision").map(({ decision, by }) => [decision, by]);

test("the default asks, and without a handler denies: nothing is started", async (t) => {
  const made = await bash(t, "touch ran", { permission: undefined });
  assert.equal(made.isError, true);
  assert.match(made.content, /^Error: blocked by policy/);
  assert.equal(ran(made), false);
  assert.deepEqual(decisions(made), [["deny", "auto"]]);
  assert.equal(made.end.error, undefined);
});

for (const [answer, expected] of [
  ["allow", true],
  ["deny", false],
  ["yes", false],
  [true, false],
]) {
  test(`an approval that answers ${JSON.stringify(answer)} ${expected ? "runs" : "does not run"} the command`, async (t) => {
    const asked = [];
    const onApproval = { request: async (call) => (asked.push(call), answer) };
    const made = await bash(t, "touch ran", { permission: undefined, onApproval });
    assert.deepEqual(asked, [{ id: "call-1", name: "bash", input: { command: "touch ran" } }]);
    assert.equal(ran(made), expected);
  });
}

test("the time that an approval takes is not the command's", async (t) => {
  const onApproval = { request: () => pause(400).then(() => "allow") };
  const made = await bash(
    t,
    { command: "sleep 0.05; echo in time", timeoutMs: 300 },
    { permission: undefined, onApproval },
  );
  assert.equal(written(made.content), "in time\n");
});

test("a stop while an approval is pending starts nothing, not even when it is given later", async (t) => {
  const asked = deferred();
  const answer = deferred();
  const onApproval = { request: () => (asked.resolve(), answer.promise) };
  const made = await bashAgent(t, ["touch ran"], { permission: undefined, onApproval });
  const controller = new AbortController();
  const running = made.agent.send("go", { signal: controller.signal });
  await asked.promise;
  controller.abort();
  assert.equal((await within(running, "the run")).stopReason, "aborted");
  answer.resolve("allow");
  await pause(50);
  await made.agent.close();
  assert.equal(ran(made), false);
});

test("rules see the command as the model wrote it", async (t) => {
  const permission = policy({
    default: "deny",
    rules: [bashCommand("touch ran", "allow"), bashCommand("rm *", "deny")],
  });
  assert.equal(ran(await bash(t, "touch ran", { permission })), true);
  const denied = await bash(t, "touch ran && rm ran", { permission });
  assert.equal(ran(denied), false);
  assert.match(denied.content, /blocked by policy/);
});

test("an input that the schema refuses is never asked about", async (t) => {
  const asked = [];
  const onApproval = { request: async (call) => (asked.push(call), "allow") };
  await bash(t, { command: "touch ran", timeoutMs: 0 }, { permission: undefined, onApproval });
  assert.deepEqual(asked, []);
});

test("in a dry run the command runs whatever the verdict, and the decision says simulated", async (t) => {
  const made = await bash(t, "touch ran", { permission: policy({ deny: ["bash"] }), permissionMode: "dry-run" });
  assert.equal(ran(made), true);
  const [decision] = made.events.filter(({ type }) => type === "permission_decision");
  assert.equal(decision.decision, "deny");
  assert.equal(decision.simulated, true);
});

test("the decision's event has the command's secrets masked; the command has them", async (t) => {
  const secret = "sk-ant-abcdefghijklmnopqrstuvwxyz0123456789";
  const made = await bash(t, `echo ${secret} > ran; wc -c < ran`);
  const [decision] = made.events.filter(({ type }) => type === "permission_decision");
  assert.doesNotMatch(JSON.stringify(decision), new RegExp(secret));
  assert.equal(written(made.content).trim(), String(secret.length + 1));
});

test("an agent whose tools leave bash out has none", async (t) => {
  const made = await bash(t, "touch ran", { disallowedTools: ["bash"] });
  assert.match(made.content, /unknown tool 'bash'/);
  assert.equal(ran(made), false);
  assert.ok(!made.model.requests[0].tools?.some(({ name }) => name === "bash"));
});
