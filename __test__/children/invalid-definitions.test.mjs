// Definitions of agents that cannot be used: one ConfigError with the file, the line and what is wrong, when the agent
// is made. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { ConfigError, query } from "../../index.js";
import { definition, familyFolder, familyFor, familyModel } from "./family.mjs";

const good = { name: "helper", description: "helps" };
const roles = { go: [{ text: "ok" }] };

/** Checks that no agent is made, and that the error names `file`, the line where one is known, and what is wrong. */
function assertInvalid(t, folder, file, { line, words } = {}, config = {}) {
  assert.throws(
    () => familyFor(t, { roles, folder, ...config }),
    (error) => {
      assert.ok(error instanceof ConfigError, error.stack);
      assert.ok(error.message.startsWith(`Invalid agent definition ${file}`), error.message);
      assert.equal(error.file, file);
      if (line !== undefined) assert.match(error.message, new RegExp(`\\bline ${line}\\b`));
      if (words) assert.match(error.message, words);
      assert.ok(error.message.length < 1_000, "the message is short");
      return true;
    },
  );
}

const CASES = {
  "is empty": ["", {}],
  "has no front matter": ["You help.\n", { words: /---/ }],
  "has something before its front matter": [`You help.\n${definition(good)}`, { words: /---/ }],
  "has front matter that does not end": ["---\nname: helper\ndescription: helps\n\nYou help.\n", { words: /---/ }],
  "has no name": [definition({ description: "helps" }), { words: /name/ }],
  "has no description": [definition({ name: "helper" }), { words: /description/ }],
  "has empty front matter": ["---\n---\nYou help.\n", { words: /name|description/ }],
  "has a list as its front matter": ["---\n- name\n- description\n---\nYou help.\n", {}],
  "has text as its front matter": ["---\njust words\n---\nYou help.\n", {}],
  "has a name with a space": [definition({ ...good, name: "a helper" }), { line: 2, words: /name/ }],
  "has a name with a slash": [definition({ ...good, name: "../helper" }), { line: 2, words: /name/ }],
  "has a name with a letter that is not allowed": [definition({ ...good, name: "helfür" }), { line: 2, words: /name/ }],
  "has an empty name": [definition({ ...good, name: '""' }), { line: 2, words: /name/ }],
  "has a name of 65 letters": [definition({ ...good, name: "x".repeat(65) }), { line: 2, words: /64/ }],
  "has a name that is a list": [definition({ ...good, name: ["helper"] }), { line: 2, words: /name/ }],
  "has an empty description": [definition({ ...good, description: '""' }), { line: 3, words: /description/ }],
  "has a blank description": [definition({ ...good, description: '"  "' }), { line: 3, words: /description/ }],
  "has a description that is nothing": [definition({ ...good, description: "" }), { line: 3, words: /description/ }],
  "has a description that is a list": [definition({ ...good, description: [1, 2] }), { line: 3, words: /description/ }],
  "has tools that are a number": [definition({ ...good, tools: 5 }), { line: 4, words: /tools/ }],
  "has tools that are a map": [definition({ ...good, tools: { work: true } }), { line: 4, words: /tools/ }],
  "has a tool that is a number": [definition({ ...good, tools: ["work", 5] }), { line: 4, words: /tools/ }],
  "has a model that is a number": [definition({ ...good, model: 5 }), { line: 4, words: /model/ }],
  "has a model that is a list": [definition({ ...good, model: ["small"] }), { line: 4, words: /model/ }],
  "has a key twice": ["---\nname: helper\ndescription: helps\nname: other\n---\nx\n", { line: 4, words: /name/ }],
  "has tols": [definition({ ...good, tols: "work" }), { line: 4, words: /"tols"; did you mean "tools"\?/ }],
  "has a tool": [definition({ ...good, tool: "work" }), { line: 4, words: /"tool"; did you mean "tools"\?/ }],
  "has Tools": [definition({ ...good, Tools: "work" }), { line: 4, words: /"Tools"; did you mean "tools"\?/ }],
  "has a modle": [definition({ ...good, modle: "small" }), { line: 4, words: /"modle"; did you mean "model"\?/ }],
  "has Tools beside tools": [definition({ ...good, tools: "work", Tools: "other" }), { line: 5, words: /"Tools"/ }],
  "has a bracket that is not closed": ["---\nname: helper\ndescription: [helps\n---\nx\n", {}],
  "has a tab that indents": ["---\nname: helper\ndescription:\n\t- helps\n---\nx\n", {}],
};

for (const [name, [text, expected]] of Object.entries(CASES)) {
  test(`a file that ${name} is a ConfigError that says where and what`, (t) => {
    const folder = familyFolder(t);
    const file = folder.write("work/.lite-agent/agents/helper.md", text);
    assertInvalid(t, folder, file, expected);
    assert.equal(readFileSync(file, "utf8"), text, "the file is as it was");
  });
}

test("a bad file is refused in each of the three places", (t) => {
  for (const path of ["home/agents", "work/.lite-agent/agents", "more"]) {
    const folder = familyFolder(t);
    const file = folder.write(`${path}/bad.md`, "no definition");
    assertInvalid(t, folder, file, {}, path === "more" ? { agentsDir: join(folder.root, "more") } : {});
  }
});

test("a bad file is refused though a better one of its name would win", (t) => {
  const folder = familyFolder(t, { definitions: { "helper.md": definition(good) } });
  const file = folder.write("home/agents/helper.md", definition({ ...good, tools: 5 }));
  assertInvalid(t, folder, file, { words: /tools/ });
});

test("one bad file among good ones is refused", (t) => {
  const folder = familyFolder(t, {
    definitions: { "a.md": definition(good), "z.md": definition({ ...good, name: "z" }) },
  });
  assertInvalid(t, folder, folder.write("work/.lite-agent/agents/m.md", "---\nname: m\n---\n"), {
    words: /description/,
  });
});

test("a file over 256 KiB is refused by its size; one of 256 KiB is used", (t) => {
  const folder = familyFolder(t);
  const head = definition(good, "");
  const file = folder.write("home/agents/helper.md", head + "x".repeat(256 * 1024 - head.length));
  familyFor(t, { roles, folder });
  folder.write("home/agents/helper.md", head + "x".repeat(256 * 1024 - head.length + 1));
  assertInvalid(t, folder, file, { words: /256/ });
});

test("a file that is not UTF-8 is refused", (t) => {
  const folder = familyFolder(t);
  const bytes = Buffer.concat([Buffer.from(definition(good)), Buffer.from([0xe2, 0x80, 0x41])]);
  assertInvalid(t, folder, folder.write("home/agents/helper.md", bytes), { words: /UTF-8/ });
});

test("a link that leads nowhere is refused", (t) => {
  const folder = familyFolder(t);
  mkdirSync(join(folder.home, "agents"));
  const file = join(folder.home, "agents", "helper.md");
  symlinkSync(join(folder.root, "nowhere.md"), file);
  assertInvalid(t, folder, file);
});

test("query() rejects at its first next() with the same error, and asks no model", async (t) => {
  const folder = familyFolder(t);
  const file = folder.write("work/.lite-agent/agents/helper.md", "no definition");
  const model = familyModel(roles);
  await assert.rejects(
    async () => query({ prompt: "go", cwd: folder.workdir, home: folder.home, model }).next(),
    (error) => error instanceof ConfigError && error.file === file,
  );
  assert.equal(model.calls.length, 0);
});

test("keys of other programs are ignored, also one that is near a key of ours", (t) => {
  const foreign = { mode: "subagent", color: "red", temperature: 0.1, permission: { edit: "deny" }, maxTurns: 3 };
  const folder = familyFolder(t, { definitions: { "helper.md": definition({ ...good, ...foreign }) } });
  familyFor(t, { roles, folder });
});
