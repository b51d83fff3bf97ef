// Policies on their own, without an agent.
import assert from "node:assert/strict";
import { test } from "node:test";

import { ConfigError, bashCommand, composePolicies, filePath, policy, strictPolicy } from "../../index.js";

const context = { sessionId: "s" };
const call = (name, input = {}) => ({ id: "1", name, input });
const bash = (command) => call("bash", { command });
const decide = (made, asked) => {
  const verdict = made.check(asked, context);
  return typeof verdict === "string" ? verdict : verdict.decision;
};

test("without options everything is allowed, and strictPolicy denies everything", () => {
  assert.equal(policy().check(call("x"), context), "allow");
  assert.equal(strictPolicy().check(call("x"), context), "deny");
});

test("the strictest rule wins whatever the order: deny over ask over allow over the default", () => {
  const rules = [
    { tool: "a", effect: "allow" },
    { tool: "a", effect: "ask" },
    { tool: "a", effect: "deny" },
  ];
  for (const order of [rules, [...rules].reverse()]) {
    assert.equal(decide(policy({ rules: order, default: "ask" }), call("a")), "deny");
    assert.equal(decide(policy({ rules: order.filter(({ effect }) => effect !== "deny") }), call("a")), "ask");
  }
  assert.equal(decide(policy({ allow: ["a"], default: "deny" }), call("a")), "allow");
  assert.equal(decide(policy({ allow: ["*"], deny: ["a"] }), call("a")), "deny");
});

test("a verdict names the first rule, as written, that has the winning effect, and gives its description", () => {
  const made = policy({
    deny: ["a"],
    rules: [
      { tool: "a", effect: "ask", id: "ask" },
      { tool: "a", effect: "deny", description: "not that one" },
      { tool: "a", effect: "deny", id: "later" },
    ],
  });
  assert.deepEqual(made.check(call("a"), context), { decision: "deny", ruleId: "rule-1", reason: "not that one" });
});

test("a verdict of a name array or of the default is the bare word", () => {
  assert.equal(policy({ deny: ["a*"] }).check(call("ab"), context), "deny");
  assert.equal(policy({ default: "ask" }).check(call("ab"), context), "ask");
});

test("tool names are globs", () => {
  const made = policy({ rules: [{ tool: ["mcp__*", "{read,write}_file"], effect: "deny" }] });
  for (const [name, expected] of [
    ["mcp__a__b", "deny"],
    ["read_file", "deny"],
    ["delete_file", "allow"],
  ]) {
    assert.equal(decide(made, call(name)), expected, name);
  }
});

for (const [title, condition, holds, fails] of [
  ["equals", { equals: { a: [1, { b: null }] } }, [{ a: [1.0, { b: null }] }], [{ a: [1] }, 1, "x", null]],
  ["in", { in: [1, "a", null] }, [1, "a", null], [2, "b", [1]]],
  ["glob", { glob: "src/*.js" }, ["src/a.js", "src/.a.js"], ["src/a/b.js", "lib/a.js", 3]],
  ["a glob over folders", { glob: "src/**" }, ["src/a/b.js"], ["lib/a.js"]],
  ["a negated glob", { glob: "!src/**" }, ["lib/a"], ["src/a", 3]],
  ["regex", { regex: "^a+$" }, ["aaa"], ["ab", 3]],
  ["a regex with look-around", { regex: "^(?!rm)" }, ["ls"], ["rm x"]],
  ["startsWith", { startsWith: "a" }, ["ab"], ["b", ["a"]]],
  ["contains", { contains: "b" }, ["abc"], ["ac", ["b"]]],
  ["not", { not: { equals: 1 } }, [2, "x", null], [1]],
  ["not of a string condition", { not: { glob: "a*" } }, ["b"], ["ab", 3]],
]) {
  test(`${title} holds for what it says and for nothing else`, () => {
    const made = policy({ rules: [{ when: { "x.0": condition }, effect: "deny" }] });
    for (const value of holds) assert.equal(decide(made, call("t", { x: [value] })), "deny", JSON.stringify(value));
    for (const value of fails) assert.equal(decide(made, call("t", { x: [value] })), "allow", JSON.stringify(value));
    for (const input of [{}, { x: [] }, { x: "text" }, null, "text", undefined]) {
      assert.equal(decide(made, call("t", input)), "allow", JSON.stringify(input));
    }
  });
}

test("all conditions of a rule must hold", () => {
  const made = policy({ rules: [{ when: { a: { equals: 1 }, b: { equals: 2 } }, effect: "deny" }] });
  assert.equal(decide(made, call("t", { a: 1, b: 2 })), "deny");
  assert.equal(decide(made, call("t", { a: 1 })), "allow");
});

test("where is asked only when all else holds, and only true counts", () => {
  const asked = [];
  const made = policy({
    rules: [
      {
        tool: "a",
        when: { x: { equals: 1 } },
        where: (it, { sessionId }) => (asked.push([it.name, sessionId]), true),
        effect: "deny",
      },
      { tool: "a", where: () => "yes", effect: "deny", id: "not true" },
    ],
  });
  assert.equal(decide(made, call("a", { x: 2 })), "allow");
  assert.deepEqual(asked, []);
  assert.deepEqual(made.check(call("a", { x: 1 }), context), { decision: "deny", ruleId: "rule-0" });
  assert.deepEqual(asked, [["a", "s"]]);
});

test("a where that throws denies, and says why", () => {
  const made = policy({
    rules: [
      {
        where: () => {
          throw new Error("no answer");
        },
        effect: "allow",
      },
    ],
  });
  assert.deepEqual(made.check(call("a"), context), { decision: "deny", reason: "policy error: no answer" });
});

test("an expression that backtracks for ever denies at once", () => {
  const made = policy({ rules: [{ when: { x: { regex: "^(?=(a+)+$)(a|aa)+b\\1$" } }, effect: "allow" }] });
  const verdict = made.check(call("t", { x: "a".repeat(20_000) }), context);
  assert.equal(verdict.decision, "deny");
  assert.match(verdict.reason, /backtrack limit/);
});

test("composePolicies takes the strictest verdict, waits for those that answer later, and denies without any", async () => {
  const later = { check: async () => "ask" };
  assert.equal(composePolicies().check(call("a"), context), "deny");
  assert.equal(decide(composePolicies(policy(), policy({ deny: ["a"] })), call("a")), "deny");
  assert.equal(decide(composePolicies(policy(), policy({ ask: ["a"] })), call("a")), "ask");
  assert.equal(await composePolicies(policy(), later).check(call("a"), context), "ask");
  assert.equal(
    (await composePolicies(later, policy({ rules: [{ id: "no", effect: "deny" }] })).check(call("a"), context)).ruleId,
    "no",
  );
});

for (const [title, check] of [
  [
    "throws",
    () => {
      throw new Error("broken");
    },
  ],
  [
    "rejects",
    async () => {
      throw new Error("broken");
    },
  ],
  ["answers nonsense", () => "yes"],
  ["answers nothing", async () => undefined],
]) {
  test(`a policy that ${title} denies in a composition`, async () => {
    const verdict = await composePolicies(policy(), { check }).check(call("a"), context);
    assert.equal(verdict.decision, "deny");
    assert.match(verdict.reason, /^policy error: /);
  });
}

for (const [title, make, pattern] of [
  ["an unknown option", () => policy({ alow: [] }), /did you mean allow/],
  [
    "an unknown member of a rule",
    () => policy({ rules: [{ id: "mine", efect: "deny" }] }),
    /mine: efect .*did you mean effect/,
  ],
  ["no effect", () => policy({ rules: [{}] }), /rule-0: effect/],
  ["an unknown effect", () => policy({ rules: [{ effect: "block" }] }), /rule-0: effect .*"block"/],
  [
    "a glob that does not compile",
    () => policy({ rules: [{ id: "g", tool: "[", effect: "deny" }] }),
    /g: tool "\[" is no glob/,
  ],
  [
    "an expression that does not compile",
    () => policy({ rules: [{ when: { x: { regex: "(" } }, effect: "deny" }] }),
    /rule-0: when\["x"\]/,
  ],
  [
    "two operators",
    () => policy({ rules: [{ when: { x: { equals: 1, in: [] } }, effect: "deny" }] }),
    /exactly one operator/,
  ],
  ["a list that is none", () => policy({ deny: "a" }), /deny must be an array/],
  ["a default for strictPolicy", () => strictPolicy({ default: "allow" }), /default/],
  ["an empty command pattern", () => bashCommand("", "deny"), /pattern/],
  ["an empty file glob", () => filePath("", "deny"), /glob/],
  ["an unknown effect of bashCommand", () => bashCommand("rm", "no"), /effect/],
]) {
  test(`${title} is a ConfigError that names it`, () => {
    assert.throws(make, (error) => error instanceof ConfigError && pattern.test(error.message));
  });
}

test("filePath covers the file tools by their path", () => {
  const made = policy({ rules: [filePath("src/**", "deny")] });
  for (const name of ["read_file", "write_file", "edit_file", "delete_file"]) {
    assert.equal(decide(made, call(name, { path: "src/a/b" })), "deny", name);
    assert.equal(decide(made, call(name, { path: "lib/a" })), "allow", name);
  }
  assert.equal(decide(made, call("other", { path: "src/a" })), "allow");
});

test("a rule of bashCommand may be spread, and keeps its pattern", () => {
  const made = policy({ rules: [{ ...bashCommand("rm *", "deny"), id: "no-rm", description: "nothing is removed" }] });
  assert.deepEqual(made.check(bash("ls; rm x"), context), {
    decision: "deny",
    ruleId: "no-rm",
    reason: "nothing is removed",
  });
});

test("a denied command is found wherever it stands", () => {
  const made = policy({ rules: [bashCommand("rm *", "deny")] });
  for (const line of [
    "rm x",
    "true && rm x",
    "true\nrm x",
    "echo $(rm x)",
    "bash -c 'rm x'",
    "/bin/rm x",
    "r''m x",
    "env A=1 rm x",
    "rm x (",
  ]) {
    assert.equal(decide(made, bash(line)), "deny", line);
  }
  assert.equal(decide(made, bash("echo rm")), "allow");
});

test("an allowed command must be all that runs", () => {
  const made = strictPolicy({ rules: [bashCommand("git:*", "allow")] });
  for (const line of ["git", "git status", "git log && git status"])
    assert.equal(decide(made, bash(line)), "allow", line);
  for (const line of ["gitx", "git status; rm x", "git log > out", "$(echo git) x", "git $(rm x)", "git ("]) {
    assert.equal(decide(made, bash(line)), "deny", line);
  }
});

test("a command that nests without end is decided at once and allowed by nothing", () => {
  const made = strictPolicy({ rules: [bashCommand("*", "allow")] });
  for (const line of ["[".repeat(30_000), "(".repeat(30_000), "if true; then ".repeat(3_000), "x".repeat(40_000)]) {
    assert.equal(decide(made, bash(line)), "deny");
  }
});
