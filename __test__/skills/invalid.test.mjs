// Skills that cannot be used: one ConfigError that says which file, where in it, and why. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { ConfigError } from "../../index.js";
import { skillFolders, skillText } from "./skilled.mjs";

/** Checks that an agent with this SKILL.md is refused, with its file and these words in the message. */
function refused(t, content, words = [], { place = "project" } = {}) {
  const folders = skillFolders(t);
  const file = join(folders.write(place, "bad", content), "SKILL.md");
  assert.throws(
    () => folders.agent({ skillsDir: folders.given }),
    (error) => {
      assert.ok(error instanceof ConfigError, error.stack);
      assert.ok(error.message.startsWith(`Invalid skill ${file}: `), error.message);
      assert.equal(error.file, file);
      for (const word of words) assert.match(error.message, word);
      return true;
    },
  );
}

for (const [what, content, words] of [
  ["an empty file", "", [/front matter|---/]],
  ["a file without front matter", "# Release\n\nTag it.\n", [/front matter|---/]],
  ["front matter that is not at the top", `\n\ntext\n${skillText({ description: "late" })}`, [/front matter|---/]],
  ["front matter without an end", "---\ndescription: no end\n\nBody\n", [/front matter|---/]],
  ["empty front matter", "---\n---\nBody\n", []],
  ["no description", skillText({ name: "bad" }), [/description/]],
  ["an empty description", skillText({ description: '""' }), [/description/]],
  ["a blank description", skillText({ description: '"  "' }), [/description/]],
  ["a description that is no string", skillText({ description: "[a, b]" }), [/description/]],
  ["an empty name", skillText({ name: '""', description: "d" }), [/name/]],
  ["a name with a space", skillText({ name: "two words", description: "d" }), [/name/]],
  ["a name with a slash", skillText({ name: "a/b", description: "d" }), [/name/]],
  ["a name with dots", skillText({ name: "..", description: "d" }), [/name/]],
  ["a name of 65 characters", skillText({ name: "x".repeat(65), description: "d" }), [/name/, /64/]],
  ["a name that is no string", skillText({ name: "{}", description: "d" }), [/name/]],
  ["tags that are an object", skillText({ description: "d", tags: "{ a: b }" }), [/tags/]],
  ["tags that are a list of lists", skillText({ description: "d", tags: "[[a]]" }), [/tags/]],
  ["front matter that is a list", "---\n- description\n---\nBody\n", []],
  ["front matter that is a text", "---\njust text\n---\nBody\n", []],
  ["YAML that does not parse", "---\ndescription: fine\nname: [a\n---\nBody\n", [/line \d|\b[234]:\d/]],
  ["a tab for an indent", "---\ndescription: d\nname:\n\t- x\n---\nBody\n", []],
  ["a tag", skillText({ description: "d", tag: "a" }), [/line 3: unknown key "tag"; did you mean "tags"\?/]],
  ["Name", skillText({ description: "d", Name: "a" }), [/line 3: unknown key "Name"; did you mean "name"\?/]],
  ["a key twice", "---\ndescription: one\ndescription: two\n---\nBody\n", [/description/]],
  ["a file over 256 KiB", skillText({ description: "big" }, "x".repeat(256 * 1024)), [/256/]],
  ["bytes that are no UTF-8", Buffer.from("---\ndescription: \xff\xfe\n---\nBody\n", "latin1"), [/UTF-8/]],
  ["bytes that are no UTF-8 in the body", Buffer.from("---\ndescription: d\n---\n\xff\n", "latin1"), [/UTF-8/]],
]) {
  test(`${what} is a ConfigError that names the file`, (t) => refused(t, content, words));
}

for (const place of ["home", "project", "given"]) {
  test(`a bad skill of ${place} is told with its own file`, (t) =>
    refused(t, skillText({ name: "bad" }), [/description/], { place }));
}

test("a folder whose name is no name needs one in the file", async (t) => {
  const folders = skillFolders(t);
  const file = join(folders.write("project", "two words", { description: "d" }), "SKILL.md");
  assert.throws(
    () => folders.agent(),
    ({ name, message }) =>
      name === "ConfigError" && message.startsWith(`Invalid skill ${file}: `) && /name/.test(message),
  );
  folders.write("project", "two words", { name: "fine", description: "d" });
  assert.equal((await folders.run({ load: "fine" })).isError, false);
});

test("a SKILL.md that is a dangling link is a ConfigError that names the file", (t) => {
  const folders = skillFolders(t);
  const folder = join(folders.places.project, "dangling");
  mkdirSync(folder, { recursive: true });
  symlinkSync(join(folders.root, "nowhere"), join(folder, "SKILL.md"));
  assert.throws(
    () => folders.agent(),
    (error) => error instanceof ConfigError && error.file === join(folder, "SKILL.md"),
  );
});

test("one bad skill among good ones is not passed over", (t) => {
  const folders = skillFolders(t);
  folders.write("project", "good", { description: "fine" });
  folders.write("project", "bad", { name: "bad" });
  assert.throws(() => folders.agent(), ConfigError);
});

test("a bad skill that another of its name would win over is not passed over either", (t) => {
  const folders = skillFolders(t);
  folders.write("home", "release", { name: "release" });
  folders.write("project", "release", { description: "fine" });
  assert.throws(() => folders.agent(), ConfigError);
});

test("exactly 256 KiB are fine", async (t) => {
  const folders = skillFolders(t);
  const front = skillText({ description: "as big as may be" }, "");
  folders.write("project", "big", front + "x".repeat(256 * 1024 - front.length));
  assert.ok((await folders.run()).tool);
});

test("keys that nobody knows are allowed: other tools have theirs", async (t) => {
  const folders = skillFolders(t);
  folders.write("project", "shared", {
    description: "shared",
    license: "MIT",
    "allowed-tools": "Read, Write",
    metadata: "{ version: 1.0 }",
  });
  assert.equal((await folders.run({ load: "shared" })).isError, false);
});

test("a name of 64 characters of every kind that is allowed is fine", async (t) => {
  const folders = skillFolders(t);
  const name = `Az09_-${"x".repeat(58)}`;
  folders.write("project", "named", { name, description: "d" });
  assert.equal((await folders.run({ load: name })).isError, false);
});

test("the same file is told in the same words each time", (t) => {
  const folders = skillFolders(t);
  folders.write("project", "bad", skillText({}));
  const messages = [1, 2].map(() => {
    try {
      folders.agent();
    } catch (error) {
      return error.message;
    }
    return assert.fail("was not refused");
  });
  assert.equal(messages[0], messages[1]);
});
