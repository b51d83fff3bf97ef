// Permission in children: the parent's policy and subagentPermission together, deny wins; approvals are asked of the
// parent's handler. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { composePolicies, policy, strictPolicy } from "../../index.js";
import { deferred, until } from "../support/model.mjs";
import { contentText, resultFor } from "../runs/reading.mjs";
import { answerOf, assertPaired, call, familyFor, runFamily, settled, spawning, starts } from "./family.mjs";

const one = [{ calls: [call("work")] }, { text: "1" }];
/** The root calls `work` itself beside starting its child. */
const both = {
  go: [{ calls: [...spawning("one").calls, call("work", "own")] }, { text: "started" }, { text: "over" }],
  one,
};
/** What `work` came to in the child, and in the root. */
const outcomes = ({ model, result }) => ({
  child: contentText(resultFor(model.callsOf("one").at(-1).request.messages, "call-work")),
  root: contentText(resultFor(result.messages, "own")),
});
const eventsLike = ({ heard }, pattern) => heard.map(({ event }) => event).filter(({ type }) => pattern.test(type));

async function runBoth(t, config) {
  const family = familyFor(t, { roles: both, ...config });
  const result = await family.send();
  await family.idle();
  assertPaired(family);
  return { ...family, result };
}

/** Each of allow, deny, ask-and-allow and ask-and-deny, from a policy of native rules and from one of the host's. */
const KINDS = {
  native: (decision) => policy({ rules: [{ tool: "work", effect: decision }] }),
  host: (decision) => ({ check: ({ name }) => (name === "work" ? decision : "allow") }),
  promised: (decision) => ({ check: async ({ name }) => (name === "work" ? decision : "allow") }),
};
const BLOCKED = /^Error: blocked by policy/;

for (const [kind, made] of Object.entries(KINDS)) {
  for (const [root, sub, child, own] of [
    ["allow", "allow", "worked", "worked"],
    ["allow", "deny", "blocked", "worked"],
    ["deny", "allow", "blocked", "blocked"],
    ["ask", "allow", "asked", "asked"],
    ["allow", "ask", "asked", "worked"],
    ["ask", "deny", "blocked", "asked"],
    ["deny", "ask", "blocked", "blocked"],
  ]) {
    test(`a ${kind} policy that says ${root} and a subagentPermission that says ${sub}: ${child} in the child, ${own} in the root`, async (t) => {
      const asked = [];
      const family = await runBoth(t, {
        permission: made(root),
        subagentPermission: made(sub),
        onApproval: { request: async ({ id }) => (asked.push(id), "allow") },
      });
      const { child: inChild, root: inRoot } = outcomes(family);
      if (child === "blocked") assert.match(inChild, BLOCKED);
      else assert.equal(inChild, "worked");
      if (own === "blocked") assert.match(inRoot, BLOCKED);
      else assert.equal(inRoot, "worked");
      const expected = [...(child === "asked" ? ["call-work"] : []), ...(own === "asked" ? ["own"] : [])];
      assert.deepEqual(asked.sort(), expected.sort());
    });
  }
}

test("without subagentPermission a child is under its parent's policy", async (t) => {
  const family = await runBoth(t, { permission: policy({ deny: ["work"] }) });
  assert.match(outcomes(family).child, BLOCKED);
});

test("with no permission configured, subagentPermission denies in children alone", async (t) => {
  const family = await runBoth(t, { subagentPermission: policy({ deny: ["work"] }) });
  assert.match(outcomes(family).child, BLOCKED);
  assert.equal(outcomes(family).root, "worked");
});

const writing = (path) => [{ calls: [call("write_file", "w", { path, content: "written" })] }, { text: "1" }];
for (const [name, subagentPermission] of Object.entries({
  "no subagentPermission": undefined,
  "a subagentPermission that allows all": policy(),
})) {
  test(`with no permission configured and ${name}, the defaults hold in a child: what changes files is asked for`, async (t) => {
    for (const [handler, written] of [
      [undefined, false],
      [{ request: async () => "deny" }, false],
      [{ request: async () => "allow" }, true],
    ]) {
      const family = await runFamily(t, {
        roles: { one: writing("new.txt") },
        ...(subagentPermission && { subagentPermission }),
        ...(handler && { onApproval: handler }),
      });
      assert.equal(existsSync(join(family.workdir, "new.txt")), written);
      const [request, ...more] = eventsLike(family, /^approval_request$/);
      assert.deepEqual(more, []);
      assert.equal(request.call.name, "write_file");
      assert.equal(request.agentId, answerOf(family.result).agentIds[0]);
    }
  });
}

test("a strict subagentPermission lets a child do what it allows, and no more", async (t) => {
  const family = await runFamily(t, {
    roles: { one: [{ calls: [call("work"), call("other")] }, { text: "1" }] },
    permission: policy(),
    subagentPermission: strictPolicy({ allow: ["other"] }),
  });
  const { messages } = family.model.callsOf("one").at(-1).request;
  assert.match(contentText(resultFor(messages, "call-work")), BLOCKED);
  assert.equal(contentText(resultFor(messages, "call-other")), "other");
});

test("composed policies compose further", async (t) => {
  const family = await runBoth(t, {
    permission: composePolicies(policy(), policy({ ask: ["other"] })),
    subagentPermission: composePolicies(policy(), policy({ deny: ["work"] })),
  });
  assert.match(outcomes(family).child, BLOCKED);
  assert.equal(outcomes(family).root, "worked");
});

test("the verdict names the rule of whichever policy won", async (t) => {
  const family = await runFamily(t, {
    roles: { one },
    permission: policy({ rules: [{ id: "root-rule", tool: "work", effect: "ask" }] }),
    subagentPermission: policy({
      rules: [{ id: "child-rule", tool: "work", effect: "deny", description: "not for children" }],
    }),
  });
  const [decision] = eventsLike(family, /^permission_decision$/).filter(({ agentId }) => agentId);
  assert.deepEqual(
    [decision.decision, decision.ruleId, decision.reason, decision.by],
    ["deny", "child-rule", "not for children", "policy"],
  );
  assert.equal(
    contentText(resultFor(family.model.callsOf("one").at(-1).request.messages, "call-work")),
    "Error: blocked by policy: not for children",
  );
});

test("policies of the host's are asked with the child's call and the child's session; subagentPermission of children alone", async (t) => {
  const asked = { root: [], sub: [] };
  const asking = (list) => ({
    check({ id, name }, { sessionId }) {
      list.push([name, id, sessionId]);
      return "allow";
    },
  });
  const family = await runBoth(t, { permission: asking(asked.root), subagentPermission: asking(asked.sub) });
  const [agentId] = answerOf(family.result).agentIds;
  const own = family.agent.sessionId;
  assert.deepEqual(
    asked.root.sort(),
    [
      ["Agent", "spawn", own],
      ["work", "own", own],
      ["work", "call-work", agentId],
    ].sort(),
  );
  assert.deepEqual(asked.sub, [["work", "call-work", agentId]]);
});

test("subagentPermission is not asked for what a completion run does", async (t) => {
  const family = familyFor(t, {
    roles: {
      go: [...starts("one").slice(0, 2), { calls: [call("work", "later")] }, { text: "over" }],
      one: [{ text: "1" }],
    },
    subagentPermission: policy({ default: "deny" }),
  });
  await family.send();
  await family.idle();
  const end = family.fired.find(({ event, call: made }) => event === "tool:end" && made.id === "later");
  assert.equal(end.status, "completed");
});

for (const [name, check] of Object.entries({
  throws() {
    throw new Error("broken");
  },
  rejects: () => Promise.reject(new Error("broken")),
  "answers nonsense": () => "yes",
  "answers nothing": () => undefined,
})) {
  test(`a subagentPermission that ${name} denies`, async (t) => {
    const family = await runBoth(t, { permission: policy(), subagentPermission: { check } });
    assert.match(outcomes(family).child, BLOCKED);
    assert.equal(outcomes(family).root, "worked");
  });
}

test("a subagentPermission that is no policy is a config mistake that names it", (t) => {
  for (const subagentPermission of [5, "deny", {}, { check: "x" }, null, () => "allow"]) {
    assert.throws(
      () => familyFor(t, { roles: both, subagentPermission }),
      (error) => /subagentPermission/.test(error.message),
      JSON.stringify(subagentPermission),
    );
  }
});

// -- approvals ------------------------------------------------------------------------------------------------------------

const asking = { check: ({ name }) => (name === "work" ? "ask" : "allow") };

test("an approval's events carry the child's agentId, and are in the parent's stream while that goes on", async (t) => {
  const gate = deferred();
  const family = familyFor(t, {
    roles: { go: [spawning("one"), { hold: "parent", text: "started" }, { text: "over" }], one },
    permission: asking,
    onApproval: { request: () => gate.promise },
  });
  const events = [];
  const running = (async () => {
    for await (const event of family.agent.run("go")) events.push(event);
  })();
  await family.model.reached("parent");
  await until(() => events.some(({ type }) => type === "approval_request"), "the request in the stream");
  gate.resolve("allow");
  await until(() => events.some(({ type }) => type === "approval_resolved"), "the answer in the stream");
  family.model.release("parent");
  await running;
  await family.idle();
  const approvals = events.filter(({ type }) => type.startsWith("approval_"));
  assert.deepEqual(
    approvals.map(({ type, decision, by }) => [type, decision, by]),
    [
      ["approval_request", undefined, undefined],
      ["approval_resolved", "allow", "user"],
    ],
  );
  const [{ agentId }] = family.heard.filter(({ event }) => event.agentId).map(({ event }) => event);
  assert.ok(approvals.every((event) => event.agentId === agentId));
});

test("the handler gets the child's call and a signal", async (t) => {
  const seen = [];
  await runFamily(t, {
    roles: { one },
    permission: asking,
    onApproval: { request: async (made, signal) => (seen.push([made, signal instanceof AbortSignal]), "allow") },
  });
  assert.deepEqual(seen, [[{ id: "call-work", name: "work", input: {} }, true]]);
});

test("without a handler a child's call that has to be asked for is denied", async (t) => {
  const family = await runFamily(t, { roles: { one }, permission: asking });
  const [resolved] = eventsLike(family, /^approval_resolved$/);
  assert.deepEqual([resolved.decision, resolved.by], ["deny", "auto"]);
  assert.equal(family.sections[0].status, "completed", "the child could go on");
});

test("approvals of several children and the root are asked one at a time", async (t) => {
  const names = ["one", "two", "three"];
  let asking = 0;
  let most = 0;
  const seen = [];
  const family = familyFor(t, {
    roles: {
      go: [{ calls: [...spawning(...names).calls, call("work", "root")] }, { text: "started" }, { text: "over" }],
      ...Object.fromEntries(names.map((name) => [name, [{ calls: [call("work", name)] }, { text: name }]])),
    },
    permission: { check: ({ name }) => (name === "work" ? "ask" : "allow") },
    onApproval: {
      async request({ id }) {
        asking += 1;
        most = Math.max(most, asking);
        seen.push(id);
        await settled(5);
        asking -= 1;
        return id === "two" ? "deny" : "allow";
      },
    },
  });
  await family.send();
  await family.idle();
  assert.equal(most, 1);
  assert.deepEqual(seen.sort(), ["one", "root", "three", "two"]);
  const result = (name) => contentText(resultFor(family.model.callsOf(name).at(-1).request.messages, name));
  assert.deepEqual([result("one"), result("three")], ["worked", "worked"]);
  assert.match(result("two"), /^Error: blocked by policy/);
});

test("a child whose approval takes long does not hold its siblings up", async (t) => {
  const gate = deferred();
  const family = familyFor(t, {
    roles: { go: starts("one", "two"), one, two: [{ calls: [call("other")] }, { text: "2" }] },
    permission: asking,
    onApproval: { request: () => gate.promise },
  });
  await family.send();
  await until(
    () => family.fired.some(({ event, result }) => event === "run:end" && result?.text === "2"),
    "two is over",
  );
  gate.resolve("allow");
  await family.idle();
});

// -- dry runs, files ------------------------------------------------------------------------------------------------------

test("in a dry run what a child is denied runs all the same, and is marked as simulated", async (t) => {
  const family = await runBoth(t, {
    permission: policy(),
    subagentPermission: policy({ deny: ["work"] }),
    permissionMode: "dry-run",
  });
  assert.equal(outcomes(family).child, "worked");
  const [decision] = eventsLike(family, /^permission_decision$/).filter(({ agentId }) => agentId);
  assert.deepEqual([decision.decision, decision.simulated], ["deny", true]);
});

test("a path that subagentPermission denies is denied however the child writes it, and searches leave it out", async (t) => {
  const family = await runFamily(t, {
    roles: {
      one: [
        {
          calls: [
            call("read_file", "plain", { path: "secret/key" }),
            call("read_file", "dotted", { path: "./x/../secret/key" }),
            call("glob", "glob", { pattern: "**/*" }),
          ],
        },
        { text: "1" },
      ],
    },
    files: { "work/secret/key": "hidden", "work/open.txt": "open" },
    permission: policy(),
    subagentPermission: policy({
      rules: [{ tool: "read_file", when: { path: { glob: "secret/**" } }, effect: "deny" }],
    }),
  });
  const { messages } = family.model.callsOf("one").at(-1).request;
  for (const id of ["plain", "dotted"]) assert.match(contentText(resultFor(messages, id)), BLOCKED);
  const found = contentText(resultFor(messages, "glob"));
  assert.ok(found.includes("open.txt") && !found.includes("secret/key"), found);
});

test("a child's files are those of its parent's workdir", async (t) => {
  const { workdir } = await runFamily(t, { roles: { one: writing("by-child.txt") }, permission: policy() });
  assert.equal(readFileSync(join(workdir, "by-child.txt"), "utf8"), "written");
});
