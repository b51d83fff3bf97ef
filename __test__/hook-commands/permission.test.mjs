// Permission of hook commands: a capability of its own, asked for each command, enforced always. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { composePolicies, memoryCheckpointer, policy, strictPolicy } from "../../index.js";
import { hookFailures, within } from "../support/model.mjs";
import { call, hookAgent, runHooked } from "./hooked.mjs";

const COMMAND = "touch ran";
const given = (config = {}) => ({ project: { "run:end": [{ command: COMMAND }] }, ...config });
const decisions = (events) => events.filter(({ type }) => type === "permission_decision");

for (const [name, permission] of [
  ["no permission and no handler", undefined],
  ["strictPolicy", strictPolicy({ allow: ["bash", "read_file"] })],
  ["a deny of hook", policy({ deny: ["hook"] })],
  ["an ask of hook without a handler", policy({ ask: ["hook"] })],
  ["allowing bash alone", policy({ default: "deny", allow: ["bash"] })],
  [
    "a rule for bash with the same command",
    policy({ default: "deny", rules: [{ tool: "bash", when: { command: { equals: COMMAND } }, effect: "allow" }] }),
  ],
  [
    "a policy that throws",
    {
      check() {
        throw new Error("broken");
      },
    },
  ],
  ["a policy that answers nonsense", { check: () => "yes" }],
  ["composed policies of which one denies", composePolicies(policy(), policy({ deny: ["ho*"] }))],
]) {
  for (const permissionMode of ["enforce", "dry-run"]) {
    test(`${name}, in mode ${permissionMode}: nothing is started, and reason denied`, async (t) => {
      const { read, failures, result, stream } = await runHooked(t, given({ permission, permissionMode }));
      assert.equal(read("ran"), undefined);
      assert.deepEqual(
        failures.map(({ hook }) => [hook.reason, hook.durationMs, "output" in hook]),
        [["denied", 0, false]],
      );
      assert.equal(result.text, "done");
      const [decision, ...others] = decisions(stream);
      assert.deepEqual(others, []);
      assert.equal(decision.decision, "deny");
      assert.ok(!decision.simulated);
    });
  }
}

test("the rule of the documentation allows exactly what it says", async (t) => {
  const permission = policy({
    default: "deny",
    allow: ["work"],
    rules: [
      {
        tool: "hook",
        when: { event: { equals: "run:end" }, source: { equals: "project" }, command: { equals: "echo yes >> order" } },
        effect: "allow",
      },
    ],
  });
  const allowed = { command: "echo yes >> order" };
  const { lines, failures } = await runHooked(t, {
    global: { "run:end": [allowed] },
    project: { "run:start": [allowed], "tool:end": [allowed], "run:end": [allowed, { command: "echo yes >> order " }] },
    calls: [call()],
    permission,
  });
  assert.deepEqual(lines("order"), ["yes"]);
  assert.deepEqual(
    failures.map(({ hook }) => [hook.event, hook.source, hook.index, hook.reason]),
    [
      ["run:start", "project", 0, "denied"],
      ["tool:end", "project", 0, "denied"],
      ["run:end", "global", 0, "denied"],
      ["run:end", "project", 2, "denied"],
    ],
  );
});

test("a policy sees a call of hook with command, event, source and configFile, and nothing of the event", async (t) => {
  const asked = [];
  const made = await runHooked(t, {
    global: { "run:start": [{ command: "true" }] },
    project: { "tool:end": [{ match: "w*", command: "true", timeoutMs: 500 }] },
    calls: [call("call-1", "work", { secret: 1 })],
    permission: { check: (one, context) => (asked.push([one, context]), "allow") },
  });
  const [[start, context], , [end]] = asked;
  assert.deepEqual(
    [start.name, start.input],
    ["hook", { command: "true", event: "run:start", source: "global", configFile: made.globalFile }],
  );
  assert.deepEqual(
    [end.name, end.input],
    ["hook", { command: "true", event: "tool:end", source: "project", configFile: made.projectFile }],
  );
  assert.equal(context.sessionId, made.agent.sessionId);
  assert.ok(typeof start.id === "string" && start.id !== "" && start.id !== end.id);
});

test("a handler is asked with the same, one command after another, and may allow one and deny the next", async (t) => {
  const asked = [];
  const onApproval = {
    request: async (one, signal) => {
      asked.push([one.name, one.input.command, signal instanceof AbortSignal]);
      return one.input.command.includes("yes") ? "allow" : "deny";
    },
  };
  const { lines, failures, stream } = await runHooked(t, {
    project: { "run:end": [{ command: "echo yes >> order" }, { command: "echo no >> order" }] },
    permission: undefined,
    onApproval,
  });
  assert.deepEqual(asked, [
    ["hook", "echo yes >> order", true],
    ["hook", "echo no >> order", true],
  ]);
  assert.deepEqual(lines("order"), ["yes"]);
  assert.deepEqual(
    failures.map(({ hook }) => [hook.index, hook.reason]),
    [[1, "denied"]],
  );
  assert.deepEqual(
    decisions(stream).map(({ decision, by }) => [decision, by]),
    [
      ["allow", "user"],
      ["deny", "user"],
    ],
  );
  const types = stream.map(({ type }) => type);
  assert.equal(types.filter((type) => type === "approval_request").length, 2);
  assert.equal(types.filter((type) => type === "approval_resolved").length, 2);
});

for (const request of [async () => true, async () => Promise.reject(new Error("x")), () => "allowed"]) {
  test(`an approval by ${request} denies`, async (t) => {
    const { read, reasons } = await runHooked(t, given({ permission: undefined, onApproval: { request } }));
    assert.deepEqual([read("ran"), reasons], [undefined, ["denied"]]);
  });
}

test("an approval is asked anew at each run: it is no lasting permission", async (t) => {
  let asked = 0;
  const made = await hookAgent(
    t,
    given({ permission: undefined, onApproval: { request: async () => ((asked += 1), "allow") } }),
  );
  await made.agent.send("go");
  await made.agent.send("go");
  assert.equal(asked, 2);
});

test("a default of allow allows every command: what the documentation warns of", async (t) => {
  assert.equal((await runHooked(t, given({ permission: policy({ default: "allow" }) }))).read("ran"), "");
});

test("a fresh clone with a hooks.json runs nothing until it is approved", async (t) => {
  const names = ["run:start", "run:end", "tool:start", "tool:end"];
  const { read, failures } = await runHooked(t, {
    project: Object.fromEntries(names.map((name) => [name, [{ command: COMMAND }]])),
    calls: [call()],
    permission: undefined,
  });
  assert.equal(read("ran"), undefined);
  assert.deepEqual(
    failures.map(({ hook }) => hook.reason),
    Array(4).fill("denied"),
  );
});

test("the denial's message has the policy's reason, and says what to do", async (t) => {
  const permission = policy({
    rules: [{ id: "no-hooks", tool: "hook", description: "hooks are off here", effect: "deny" }],
  });
  const { failures, stream } = await runHooked(t, given({ permission }));
  assert.match(failures[0].message, /hooks are off here/);
  assert.match(failures[0].message, /"hook"/);
  const [decision] = decisions(stream);
  assert.deepEqual([decision.ruleId, decision.reason, decision.by], ["no-hooks", "hooks are off here", "policy"]);
});

test("secrets in a command are masked in every permission event; the command itself has them", async (t) => {
  const secret = `ghp_${"abcdefghijklmnopqrstuvwxyz0123456789"}`;
  const made = await runHooked(t, {
    project: { "run:end": [{ command: `printf ${secret} > out` }] },
    permission: undefined,
    onApproval: { request: async () => "allow" },
  });
  assert.equal(made.read("out"), secret);
  assert.ok(!JSON.stringify(made.stream).includes(secret));
});

for (const [permissionAudit, permissionMode] of [
  [true, "enforce"],
  [true, "dry-run"],
  [false, "enforce"],
]) {
  test(`permissionAudit ${permissionAudit} in mode ${permissionMode}: decisions on commands are ${permissionAudit ? "" : "not "}stored, masked`, async (t) => {
    const checkpointer = memoryCheckpointer();
    const secret = `ghp_${"abcdefghijklmnopqrstuvwxyz0123456789"}`;
    const made = await hookAgent(t, {
      project: {
        "run:start": [{ command: `true ${secret}` }],
        "tool:end": [{ command: "true" }],
        "run:end": [{ command: "false" }],
      },
      calls: [call()],
      permission: policy({
        rules: [{ id: "ends", tool: "hook", when: { event: { equals: "run:end" } }, effect: "deny" }],
      }),
      permissionAudit,
      permissionMode,
      sessions: undefined,
      checkpointer,
    });
    await within(made.agent.send("go"), "the run");
    const stored = [];
    for await (const { event } of checkpointer.read(made.agent.sessionId)) stored.push(event);
    const hooks = stored.filter(({ type, call }) => type === "permission_decision" && call.name === "hook");
    assert.deepEqual(
      hooks.map(({ call, decision, ruleId, by }) => [
        call.input.event,
        call.input.source,
        call.input.configFile,
        decision,
        ruleId,
        by,
      ]),
      permissionAudit
        ? [
            ["run:start", "project", made.projectFile, "allow", undefined, "policy"],
            ["tool:end", "project", made.projectFile, "allow", undefined, "policy"],
            ["run:end", "project", made.projectFile, "deny", "ends", "policy"],
          ]
        : [],
    );
    assert.ok(!JSON.stringify(stored).includes(secret));
    assert.ok(!JSON.stringify(hookFailures(made.heard)).includes(secret));
  });
}

test("in a dry run denied tools run and denied commands do not", async (t) => {
  const { read, stream, reasons } = await runHooked(t, {
    ...given({ permission: policy({ default: "deny" }), permissionMode: "dry-run" }),
    calls: [call()],
  });
  assert.equal(stream.find(({ type }) => type === "tool_result").result.content, "worked");
  assert.deepEqual([read("ran"), reasons], [undefined, ["denied"]]);
});
