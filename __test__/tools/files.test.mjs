// The built-in file tools as an agent has them: what permission sees of them, what searches show, and where they stop. How
// each tool works is told by the core's own tests. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { filePath, policy } from "../../index.js";
import { agentFor, collect, scriptedModel, temporaryFolder } from "../support/model.mjs";
import { call, contentText, eventsOf, resultFor } from "../runs/reading.mjs";

/** A folder with a secret file, links to it and to the outside, and an agent that makes the given calls, one a turn. */
async function using(t, calls, config) {
  const { root, workdir, home } = await temporaryFolder(t);
  mkdirSync(join(workdir, "secrets"));
  mkdirSync(join(root, "outside"));
  writeFileSync(join(workdir, "secrets", "key.txt"), "needle: secret\n");
  writeFileSync(join(workdir, "open.txt"), "needle: open\n");
  writeFileSync(join(root, "outside", "file.txt"), "needle: outside\n");
  symlinkSync("secrets", join(workdir, "link"));
  symlinkSync(join(root, "outside"), join(workdir, "out"));
  const turns = calls.map(([name, input], index) => ({ calls: [call(`c${index}`, name, input)] }));
  const model = scriptedModel([...turns, { text: "end" }]);
  const agent = agentFor(t, { workdir, home, model, permission: policy(), ...config });
  const { events, result } = await collect(agent.run("go"));
  const results = calls.map((_, index) => resultFor(result.messages, `c${index}`));
  return { root, workdir, events, results, texts: results.map(contentText) };
}

const WAYS_TO_THE_SECRET = ["secrets/key.txt", "./x/../secrets/key.txt", "link/key.txt", "secrets//./key.txt"];
const POLICIES = {
  "a native policy": () => policy({ rules: [filePath("secrets/**", "deny")] }),
  "a policy of the host's": () => ({
    check({ name, input }) {
      return name === "read_file" && input.path.startsWith("secrets/") ? "deny" : "allow";
    },
  }),
};

for (const [kind, make] of Object.entries(POLICIES)) {
  test(`${kind} denies a file by whatever path it is asked for`, async (t) => {
    const calls = WAYS_TO_THE_SECRET.map((path) => ["read_file", { path }]);
    const { results, texts } = await using(t, [...calls, ["read_file", { path: "./open.txt" }]], {
      permission: make(),
    });
    for (const [index, path] of WAYS_TO_THE_SECRET.entries()) {
      assert.equal(results[index].isError, true, path);
      assert.match(texts[index], /^Error: blocked by policy/, path);
    }
    assert.equal(texts.at(-1), "needle: open\n");
  });

  test(`searches and hints leave out what ${kind} denies to read_file`, async (t) => {
    const { texts } = await using(
      t,
      [
        ["glob", { pattern: "**/*.txt" }],
        ["grep", { pattern: "needle" }],
        ["read_file", { path: "secrets/kei.txt" }],
      ],
      { permission: make() },
    );
    for (const text of texts) assert.doesNotMatch(text, /key\.txt|secret\n/, text);
    assert.match(texts[0], /open\.txt/);
    assert.match(texts[1], /open\.txt:1:needle: open/);
  });
}

test("a policy of the host's, approvals and events see the canonical path; the conversation keeps the model's", async (t) => {
  const seen = [];
  const model = "./x/../link/new.txt";
  const { events, workdir } = await using(t, [["write_file", { path: model, content: "x" }]], {
    permission: {
      check({ input }) {
        seen.push(["policy", input.path]);
        return "ask";
      },
    },
    onApproval: {
      async request({ input }) {
        seen.push(["approval", input.path]);
        return "allow";
      },
    },
  });
  assert.deepEqual(seen, [
    ["policy", "secrets/new.txt"],
    ["approval", "secrets/new.txt"],
  ]);
  const [decision] = eventsOf(events, "permission_decision");
  assert.equal(decision.call.input.path, "secrets/new.txt");
  assert.equal(eventsOf(events, "tool_use")[0].call.input.path, model);
  assert.equal(readFileSync(join(workdir, "secrets", "new.txt"), "utf8"), "x");
});

test("nothing outside is read, written, deleted or found, through no link and no linked ancestor", async (t) => {
  const { root, results, texts } = await using(t, [
    ["read_file", { path: "out/file.txt" }],
    ["write_file", { path: "out/made/new.txt", content: "x" }],
    ["edit_file", { path: "out/file.txt", old_text: "needle", new_text: "x" }],
    ["delete_file", { path: "out/file.txt" }],
    ["read_file", { path: "../outside/file.txt" }],
    ["grep", { pattern: "outside" }],
  ]);
  for (const [index, result] of results.slice(0, 5).entries()) assert.equal(result.isError, true, texts[index]);
  assert.doesNotMatch(texts[5], /file\.txt/);
  assert.equal(readFileSync(join(root, "outside", "file.txt"), "utf8"), "needle: outside\n");
  assert.ok(!existsSync(join(root, "outside", "made")));
});

test('fileTools: { symlinks: "deny" } follows no link, not even one that stays inside', async (t) => {
  const calls = [["read_file", { path: "link/key.txt" }]];
  const { results } = await using(t, calls, { fileTools: { symlinks: "deny" } });
  assert.equal(results[0].isError, true);
  const { texts } = await using(t, calls, {});
  assert.equal(texts[0], "needle: secret\n");
});

test("the default policy asks before a write, and without a handler nothing is written", async (t) => {
  const { workdir, texts } = await using(
    t,
    [
      ["write_file", { path: "new.txt", content: "x" }],
      ["read_file", { path: "open.txt" }],
    ],
    { permission: undefined },
  );
  assert.match(texts[0], /^Error: blocked by policy/);
  assert.equal(texts[1], "needle: open\n");
  assert.ok(!existsSync(join(workdir, "new.txt")));
});
