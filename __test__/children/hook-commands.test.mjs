// Commands of hooks.json that children and completion runs trigger: their input, and whose permission they are under.
// Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { policy } from "../../index.js";
import { hookFailures } from "../support/model.mjs";
import { fileOf } from "../hook-commands/hooked.mjs";
import { answerOf, call, completionRunsOf, runFamily } from "./family.mjs";

const one = [{ calls: [call("work")] }, { text: "1" }];
const hooks = (events) => ({ "work/.lite-agent/hooks.json": fileOf(events) });
const EVERY = ["run:start", "tool:start", "tool:end", "run:end"];
const seeing = (...names) => hooks(Object.fromEntries(names.map((name) => [name, [{ command: "cat >> seen" }]])));
const ofChild = (events) => events.filter((event) => "agentId" in event);

test("what a command gets of a child's event is what a handler gets, agentId included", async (t) => {
  const family = await runFamily(t, { roles: { one }, files: seeing(...EVERY), permission: policy() });
  const [agentId] = answerOf(family.result).agentIds;
  const seen = ofChild(family.events("seen"));
  assert.deepEqual(
    seen.map(({ event }) => event),
    EVERY,
  );
  for (const event of seen) {
    assert.deepEqual([event.agentId, event.sessionId, event.source], [agentId, agentId, "user"]);
    const handled = family.fired.find((fired) => fired.event === event.event && fired.agentId === agentId);
    assert.deepEqual(event, JSON.parse(JSON.stringify(handled)));
  }
});

test("what a command gets of a completion run has source background and no agentId", async (t) => {
  const family = await runFamily(t, { roles: { one }, files: seeing("run:start", "run:end"), permission: policy() });
  const seen = family.events("seen").filter(({ source }) => source === "background");
  const [run] = completionRunsOf(family);
  assert.deepEqual(
    seen.map(({ event, runId, agentId }) => [event, runId, agentId]),
    [
      ["run:start", run.runId, undefined],
      ["run:end", run.runId, undefined],
    ],
  );
  assert.equal(seen[0].input, run.input);
});

test("match selects a child's tools as it does the root's", async (t) => {
  const family = await runFamily(t, {
    roles: { one: [{ calls: [call("work"), call("other")] }, { text: "1" }] },
    files: hooks({ "tool:end": [{ match: "wor?", command: "cat >> seen" }] }),
    permission: policy(),
  });
  assert.deepEqual(
    family.events("seen").map(({ call: { name }, agentId }) => [name, typeof agentId]),
    [["work", "string"]],
  );
});

const ALLOWING = { "a native policy": policy(), "a policy of the host": { check: () => "allow" } };
for (const [name, permission] of Object.entries(ALLOWING))
  test(`subagentPermission is not asked of hook commands: what it denies runs where the root has ${name} that allows`, async (t) => {
    const asked = [];
    const family = await runFamily(t, {
      roles: { one },
      files: seeing("run:end"),
      permission,
      subagentPermission: {
        check({ name }) {
          asked.push(name);
          return name === "hook" ? "deny" : "allow";
        },
      },
    });
    assert.equal(ofChild(family.events("seen")).length, 1);
    assert.deepEqual(asked, ["work"]);
    assert.deepEqual(hookFailures(family.heard), []);
  });

test("the root's policy denies a command that a child triggers: reason denied, told with the child's agentId", async (t) => {
  const family = await runFamily(t, {
    roles: { one },
    files: hooks({ "tool:end": [{ match: "work", command: "cat >> seen" }] }),
    permission: policy({ deny: ["hook"] }),
    subagentPermission: policy(),
  });
  const [agentId] = answerOf(family.result).agentIds;
  assert.deepEqual(family.events("seen"), []);
  assert.deepEqual(
    hookFailures(family.heard).map((failure) => [failure.agentId, failure.hook.event, failure.hook.reason]),
    [[agentId, "tool:end", "denied"]],
  );
  assert.equal(family.sections[0].status, "completed");
});

test("the policy sees the command's call as it does for the root, and nothing of the child", async (t) => {
  const asked = [];
  const family = await runFamily(t, {
    roles: { one },
    files: hooks({ "tool:end": [{ match: "work", command: "true" }] }),
    permission: {
      check(made) {
        if (made.name === "hook") asked.push(made.input);
        return "allow";
      },
    },
  });
  assert.deepEqual(asked, [
    {
      command: "true",
      event: "tool:end",
      source: "project",
      configFile: `${family.workdir}/.lite-agent/hooks.json`,
    },
  ]);
});

test("an approval for a command that a child triggers is asked of the host's handler, with agentId in its events", async (t) => {
  const asked = [];
  const family = await runFamily(t, {
    roles: { one },
    files: hooks({ "tool:end": [{ match: "work", command: "cat >> seen" }] }),
    permission: policy({ ask: ["hook"] }),
    onApproval: { request: async ({ name, input }) => (asked.push([name, input.command]), "allow") },
  });
  const [agentId] = answerOf(family.result).agentIds;
  assert.deepEqual(asked, [["hook", "cat >> seen"]]);
  assert.equal(family.events("seen").length, 1);
  const approvals = family.heard.map(({ event }) => event).filter(({ type }) => type.startsWith("approval_"));
  assert.deepEqual(
    approvals.map((event) => event.agentId),
    [agentId, agentId],
  );
});

test("with no permission configured nothing runs for a child until it is approved", async (t) => {
  const family = await runFamily(t, { roles: { one }, files: seeing("run:end") });
  assert.deepEqual(family.events("seen"), []);
  assert.deepEqual(
    hookFailures(family.heard)
      .map(({ hook, agentId }) => [hook.reason, agentId === undefined])
      .sort(),
    [
      ["denied", false],
      ["denied", true],
      ["denied", true],
    ],
  );
});

test("in a dry run commands for children are enforced all the same", async (t) => {
  const family = await runFamily(t, {
    roles: { one },
    files: seeing("run:end"),
    permission: policy({ default: "deny" }),
    permissionMode: "dry-run",
  });
  assert.deepEqual(family.events("seen"), []);
  assert.equal(family.sections[0].text, "1");
});

test("a slow command of one child's does not hold up another child", async (t) => {
  const command = `read -r line; case "$line" in *'"input":"one"'*) sleep 1;; esac; printf '%s\\n' "$line" >> seen`;
  const family = await runFamily(t, {
    roles: { one: [{ text: "1" }], two: [{ text: "2" }] },
    files: hooks({ "run:start": [{ command }] }),
    permission: policy(),
  });
  assert.deepEqual(
    ofChild(family.events("seen")).map(({ input }) => input),
    ["two", "one"],
  );
});

test("a command of a child's that fails is that child's diagnostic, and changes nothing", async (t) => {
  const family = await runFamily(t, {
    roles: { one },
    files: hooks({ "tool:end": [{ match: "work", command: "echo why; exit 3" }] }),
    permission: policy(),
  });
  const [failure, ...others] = hookFailures(family.heard);
  assert.deepEqual(others, []);
  assert.equal(failure.agentId, answerOf(family.result).agentIds[0]);
  assert.deepEqual([failure.hook.reason, failure.hook.exitCode], ["exit", 3]);
  assert.equal(family.completion.status, "completed");
});
