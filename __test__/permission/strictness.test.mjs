// What a policy must not be talked out of: options that would lose a rule, secrets in a policy's own words, globs of
// files that would never match.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  ConfigError,
  bashCommand,
  composePolicies,
  createLiteAgent,
  defaultRedactor,
  fakeProvider,
  filePath,
  policy,
  strictPolicy,
} from "../../index.js";

const decisionOf = (verdict) => (typeof verdict === "string" ? verdict : verdict.decision);
const check = (made, name, input) => decisionOf(made.check({ id: "1", name, input }, { sessionId: "s" }));

test("options that are no plain object are a mistake, and never allow all", () => {
  class Options {
    get deny() {
      return ["bash"];
    }
  }
  class Fields {
    deny = ["bash"];
  }
  const hidden = Object.defineProperty({}, "deny", { value: ["bash"], enumerable: false });
  const noPrototype = Object.create(Object.create(null, { deny: { value: ["bash"] } }));
  const all = [
    new Map([["deny", ["bash"]]]),
    Object.create({ deny: ["bash"] }),
    new Options(),
    new Fields(),
    [],
    [bashCommand("rm:*", "deny")],
    hidden,
    noPrototype,
    () => "deny",
    null,
    { deny: new Set(["bash"]) },
    { rules: [Object.create(bashCommand("rm:*", "deny"))] },
    { rules: [Object.create({ effect: "deny", where: () => true })] },
    { rules: [{ tool: "bash", effect: "deny", when: Object.create({ command: { contains: "rm" } }) }] },
  ];
  for (const options of all) {
    for (const make of [policy, strictPolicy]) assert.throws(() => make(options), ConfigError, String(make.name));
  }
  assert.throws(() => policy(new Map()), /the options must be a plain object, got an object of the class Map/);
  assert.throws(() => policy([]), /got an array/);
  const bare = Object.assign(Object.create(null), { deny: ["bash"] });
  assert.equal(check(policy(bare), "bash", {}), "deny");
});

test("a call without a name is told as such", () => {
  const own = { check: () => "allow" };
  for (const made of [policy(), composePolicies(policy(), policy()), composePolicies(own)]) {
    assert.throws(() => made.check({}), { name: "TypeError", message: /call\.name must be a string, got nothing/ });
    assert.throws(() => made.check({ name: 5 }), /call\.name must be a string, got a number/);
    assert.throws(() => made.check(), /call must be an object, got nothing/);
  }
});

test("mistakes in a rule say which rule, and show no more of it than helps", () => {
  let deep = 1;
  for (let level = 0; level < 200; level += 1) deep = [deep];
  const made = (when) => () => policy({ rules: [{ id: "mine", tool: "t", effect: "deny", when: { a: when } }] });
  assert.throws(made({ equals: deep }), /rule mine: .*nested too deeply/);
  assert.throws(made({ equals: "\ud800" }), /rule mine: .*half of a surrogate pair/);
  assert.throws(made({ equals: { "\ud800": 1 } }), /rule mine: .*half of a surrogate pair/);
  assert.throws(made({ glob: "[" + "a".repeat(100_000) }), (error) => error.message.length < 400);
  assert.throws(made({ regex: "(" + "a".repeat(100_000) }), (error) => error.message.length < 600);
  assert.throws(made({ regex: "(?=.*?){60000}b" }), (error) => !/look-around/.test(error.message));
  assert.throws(
    () => filePath("[" + "a".repeat(100_000), "deny"),
    (error) => error.message.length < 400,
  );
  const cycle = {};
  cycle.in = cycle;
  assert.throws(made({ equals: cycle }), /rule mine: .*nested too deeply/);
});

test("a glob of files means the same however its folder is written", () => {
  for (const glob of ["./secrets/**", "secrets/", "./secrets/", "secrets//**", "a/../secrets/**"]) {
    const made = policy({ rules: [filePath(glob, "deny")] });
    for (const path of ["secrets/a", "./secrets/a", "x/../secrets/a", "secrets//a"]) {
      assert.equal(check(made, "read_file", { path }), "deny", `${glob} on ${path}`);
    }
    assert.equal(check(made, "read_file", { path: "other" }), "allow");
  }
  assert.throws(() => filePath("*/../x", "deny"), ConfigError);
});

test("a condition on a path is about what it means, too", () => {
  const rule = (effect) => ({ tool: "t", effect, when: { path: { glob: "secrets/**" } } });
  const denies = policy({ rules: [rule("deny")] });
  for (const path of ["secrets/a", "./secrets/a", "x/../secrets/a"]) assert.equal(check(denies, "t", { path }), "deny");
  const allows = strictPolicy({ rules: [rule("allow")] });
  assert.equal(check(allows, "t", { path: "secrets/a" }), "allow");
  assert.equal(check(allows, "t", { path: "secrets/../b" }), "deny");
});

test("a command that runs what a variable holds is not git", () => {
  const made = strictPolicy({ rules: [bashCommand("git:*", "allow")] });
  const command = "for x in 'b[$(touch P)]'; do git ${!x}; done";
  assert.equal(check(made, "bash", { command }), "deny");
  assert.equal(check(made, "bash", { command: "for PATH in .; do git; done" }), "deny");
  assert.equal(check(made, "bash", { command: "for f in a b; do git add $f; done" }), "allow");
});

const SECRET = "hunter2-of-the-policy";
const WORDS = `token=${SECRET}`;

async function told(permission, more = {}) {
  const message = (content) => ({ message: { role: "assistant", content } });
  const model = fakeProvider([
    message([{ type: "tool_call", id: "1", name: "t", input: {} }]),
    message([{ type: "text", text: "done" }]),
  ]);
  const tools = [{ name: "t", description: "d", schema: { type: "object" }, execute: () => "ran" }];
  const agent = createLiteAgent({ model, workdir: ".", tools, permission, ...more });
  const events = [];
  for await (const event of agent.run("go")) events.push(event);
  await agent.close();
  return JSON.stringify(events.filter((event) => /^(approval|permission|tool_result|message)/.test(event.type)));
}

test("secrets in a policy's own words reach neither events nor the model", async () => {
  const policies = [
    { check: () => ({ decision: "deny", reason: WORDS, ruleId: WORDS }) },
    { check: () => ({ decision: "ask", reason: WORDS, ruleId: WORDS }) },
    {
      check() {
        throw new Error(WORDS);
      },
    },
    policy({ rules: [{ tool: "t", effect: "deny", description: WORDS, id: WORDS }] }),
    policy({ rules: [{ tool: "t", effect: "ask", description: WORDS, id: WORDS }] }),
  ];
  for (const permission of policies) {
    for (const more of [{}, { onApproval: { request: () => "deny" } }, { permissionMode: "dry-run" }]) {
      const shown = await told(permission, more);
      assert.ok(!shown.includes(SECRET), shown);
      assert.ok(shown.includes("token=[redacted]"), shown);
    }
  }
});

test("a redactor of the host's masks the words of a policy instead", async () => {
  const redact = (value) => (typeof value === "string" ? value.replaceAll(SECRET, "***") : value);
  const shown = await told({ check: () => ({ decision: "deny", reason: `it was ${SECRET}` }) }, { redact });
  assert.ok(shown.includes("Error: blocked by policy: it was ***"), shown);
  assert.ok(!shown.includes(SECRET), shown);
});

test("values of keys that say little are masked alike in text and in objects", () => {
  const mask = "[redacted]";
  assert.deepEqual(defaultRedactor({ key: "hunter2", my_key: "hunter2", auth: "hunter2" }), {
    key: mask,
    my_key: mask,
    auth: mask,
  });
  assert.deepEqual(defaultRedactor(["key=hunter2", '{"key":"hunter2"}']), [`key=${mask}`, `{"key":"${mask}"}`]);
  for (const kept of [{ key: "value" }, { key: "F12" }, { monkey: "hunter2" }, { key: "a/b1/c" }, "monkey=hunter2"]) {
    assert.deepEqual(defaultRedactor(kept), kept);
  }
});
