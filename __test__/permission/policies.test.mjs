// Policies through the public face, without an agent: verdicts, functions of the host, compositions, mistakes.

import assert from "node:assert/strict";
import { test } from "node:test";

import { bashCommand, composePolicies, ConfigError, filePath, policy, strictPolicy } from "../../index.js";

const call = (name, input = {}) => ({ id: "call_1", name, input });
const context = Object.freeze({ sessionId: "s" });
const bash = (command) => call("bash", { command });

test("the strictest rule wins in any order, and the first with its effect is named", () => {
  const rules = [
    { effect: "allow" },
    { tool: "b*", effect: "deny", description: "no b" },
    { id: "other", tool: "bc", effect: "deny" },
    { tool: "c", effect: "ask" },
  ];
  for (const order of [rules, [...rules].reverse()]) {
    assert.equal(policy({ rules: order }).check(call("bc"), context).decision, "deny");
  }
  const made = policy({ rules, deny: ["z"] });
  assert.deepEqual(made.check(call("bc"), context), { decision: "deny", ruleId: "rule-1", reason: "no b" });
  assert.deepEqual(made.check(call("c"), context), { decision: "ask", ruleId: "rule-3" });
  assert.equal(made.check(call("z"), context), "deny");
});

test("what only a name array or the default decides is the bare word", () => {
  const made = policy({ allow: ["a"], ask: ["b*"], deny: ["bc"], default: "ask" });
  for (const [name, expected] of [
    ["a", "allow"],
    ["b", "ask"],
    ["bc", "deny"],
    ["x", "ask"],
  ]) {
    assert.equal(made.check(call(name), context), expected, name);
  }
  assert.equal(policy().check(call("x"), context), "allow");
  assert.equal(strictPolicy().check(call("x"), context), "deny");
  assert.equal(strictPolicy({ allow: ["x"] }).check(call("x"), context), "allow");
});

test("a where function decides with what it returns, and gets the call and the context", () => {
  const seen = [];
  const make = (answer) =>
    policy({
      rules: [
        { tool: "a", when: { n: { equals: 1 } }, effect: "deny", where: (...given) => (seen.push(given), answer) },
        { tool: "b", effect: "deny", where: () => assert.fail("its tool does not match") },
      ],
    });
  const asked = call("a", { n: 1 });
  assert.equal(make(true).check(asked, context).decision, "deny");
  assert.equal(seen[0][0], asked);
  assert.equal(seen[0][1], context);
  for (const other of [false, 1, "yes", undefined, {}]) assert.equal(make(other).check(asked, context), "allow");
  seen.length = 0;
  assert.equal(make(true).check(call("a", { n: 2 }), context), "allow");
  assert.equal(seen.length, 0);
});

test("a where function that throws, or answers a promise, denies", () => {
  const make = (where) => policy({ rules: [{ effect: "allow", where }] }).check(call("a"), context);
  const thrown = make(() => {
    throw new Error("broken");
  });
  assert.deepEqual(thrown, { decision: "deny", reason: "policy error: broken" });
  assert.equal(make(async () => true).decision, "deny");
  assert.equal(make(() => Promise.reject(new Error("late"))).decision, "deny");
});

test("input that is no JSON denies where a rule looks at it", () => {
  const made = policy({ rules: [{ tool: "a", when: { x: { equals: 1 } }, effect: "ask" }] });
  const cycle = {};
  cycle.self = cycle;
  let deep = {};
  for (let level = 0; level < 5_000; level += 1) deep = { deep };
  for (const input of [cycle, deep, { x: 1n }]) {
    const verdict = made.check(call("a", input), context);
    assert.equal(verdict.decision, "deny");
    assert.match(verdict.reason, /^policy error: /);
    assert.equal(made.check(call("b", input), context), "allow");
  }
  assert.equal(made.check({ id: "c", name: "a" }, context), "allow");
  assert.equal(made.check(call("a", { x: 1, y: "\ud800" }), context).decision, "ask");
});

test("the strictest verdict of a composition wins, and without policies it denies", () => {
  const managed = policy({ rules: [{ id: "m", tool: "rm", effect: "deny" }] });
  const own = policy({ allow: ["rm", "ls"], default: "ask" });
  assert.deepEqual(composePolicies(own, managed).check(call("rm"), context), { decision: "deny", ruleId: "m" });
  assert.equal(composePolicies(own, managed).check(call("ls"), context), "allow");
  assert.equal(composePolicies().check(call("ls"), context), "deny");
  const withWhere = policy({ rules: [{ tool: "ls", effect: "ask", where: () => true }] });
  assert.equal(composePolicies(own, composePolicies(withWhere, managed)).check(call("ls"), context).decision, "ask");
});

test("a composition with policies of the host's own fails closed", async () => {
  const allow = policy();
  const custom = (check) => composePolicies(allow, { check }).check(call("a"), context);
  assert.equal(
    custom(() => "allow"),
    "allow",
  );
  assert.deepEqual(
    custom(() => ({ decision: "ask", reason: "r", other: 1 })),
    { decision: "ask", reason: "r" },
  );
  for (const wrong of [undefined, null, true, "yes", {}, { decision: "maybe" }]) {
    assert.match(custom(() => wrong).reason, /^policy error: it answered neither/);
  }
  const thrown = custom(() => {
    throw new Error("broken");
  });
  assert.deepEqual(thrown, { decision: "deny", reason: "policy error: broken" });
  const promised = custom(async () => "ask");
  assert.ok(promised instanceof Promise);
  assert.equal(await promised, "ask");
  assert.deepEqual(await custom(() => Promise.reject(new Error("late"))), {
    decision: "deny",
    reason: "policy error: late",
  });
  assert.match((await custom(async () => "no")).reason, /^policy error/);
});

test("shell and file rules keep their meaning with an id and a description of the host's", () => {
  const rule = { ...bashCommand("rm *", "deny"), id: "no-rm", description: "nothing is deleted" };
  const made = policy({ rules: [rule, filePath("src/**", "ask")] });
  assert.deepEqual(made.check(bash("true && rm x"), context), {
    decision: "deny",
    ruleId: "no-rm",
    reason: "nothing is deleted",
  });
  for (const name of ["read_file", "write_file", "edit_file", "delete_file"]) {
    assert.equal(made.check(call(name, { path: "src/a" }), context).decision, "ask", name);
  }
  assert.equal(made.check(call("glob", { path: "src/a" }), context), "allow");
});

test("a denied command is denied however it is wrapped", () => {
  const made = policy({ rules: [bashCommand("rm *", "deny")] });
  for (const command of [
    "true && rm x",
    "true\nrm x",
    "$(rm x)",
    "bash -c 'rm x'",
    "/bin/rm x",
    "A=1 rm x",
    "a | xargs rm",
  ]) {
    assert.equal(made.check(bash(command), context).decision, "deny", command);
  }
  for (const command of ["echo 'rm x'", "rmdir x", "echo rm x"]) {
    assert.equal(made.check(bash(command), context), "allow", command);
  }
});

test("hostile commands and regular expressions are decided soon, and not allowed", () => {
  const made = strictPolicy({
    rules: [bashCommand("*", "allow"), { tool: "slow", when: { x: { regex: "^(a|a)*(?=b)$" } }, effect: "allow" }],
  });
  const nested = `${"if true; then ".repeat(3_000)}a${"; fi".repeat(3_000)}`;
  for (const asked of [bash("[".repeat(30_000)), bash(nested), call("slow", { x: "a".repeat(9_000) })]) {
    const start = performance.now();
    const verdict = made.check(asked, context);
    assert.ok(performance.now() - start < 500);
    assert.equal(verdict.decision ?? verdict, "deny");
  }
});

test("mistakes are told when the policy is made, with the rule's id", () => {
  const rule = (members) => () => policy({ rules: [{ id: "r", effect: "deny", ...members }] });
  for (const [make, message] of [
    [() => policy(null), /policy: the options must be an object, got null/],
    [() => policy({ denny: [] }), /denny is no option; did you mean deny\?/],
    [() => policy({ allow: "bash" }), /allow must be an array, got a string/],
    [() => policy({ default: "maybe" }), /default must be allow, deny or ask/],
    [() => policy({ rules: [{ tool: "a" }] }), /rule rule-0: effect is required/],
    [rule({ wen: {} }), /rule r: wen is no property of a rule; did you mean when\?/],
    [rule({ where: "x" }), /rule r: where must be a function, got a string/],
    [rule({ tool: [] }), /rule r: tool must not be an empty array/],
    [rule({ tool: 1 }), /rule r: tool must be a string/],
    [rule({ when: { a: {} } }), /rule r: .*exactly one operator/],
    [rule({ when: { a: { glob: "x", regex: "x" } } }), /rule r: .*exactly one operator, got glob, regex/],
    [rule({ when: { a: { regex: "(" } } }), /rule r: .*no regular expression/],
    [rule({ when: { a: { regex: /x/ } } }), /rule r: .*JSON data, got a RegExp/],
    [rule({ when: { a: { equals: Number.NaN } } }), /rule r: .*JSON data, got NaN/],
    [rule({ when: { a: { glob: "[" } } }), /rule r: .*no glob/],
    [() => strictPolicy({ default: "allow" }), /strictPolicy: default is no option/],
    [() => bashCommand("", "deny"), /bashCommand: .*empty/],
    [() => bashCommand("rm *", "forbid"), /bashCommand: effect must be allow, deny or ask/],
    [() => bashCommand(5, "deny"), /bashCommand: pattern must be a string, got a number/],
    [() => filePath("{a", "deny"), /filePath: .*no glob/],
    [() => composePolicies({}), /composePolicies: argument 1 must be a policy/],
  ]) {
    assert.throws(make, (error) => error instanceof ConfigError && message.test(error.message), String(message));
  }
});
