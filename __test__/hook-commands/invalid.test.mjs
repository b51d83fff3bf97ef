// Every kind of invalid hooks.json: one ConfigError with the file, the path into its JSON, line and column, what was
// expected, and the near miss; nothing is loaded, and the file stays as it was. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ConfigError, createLiteAgent, policy } from "../../index.js";
import { scriptedModel } from "../support/model.mjs";
import { hookFolder } from "./hooked.mjs";
import { INVALID, inEvent } from "./invalid-files.mjs";

const agentIn = ({ workdir, home }) =>
  createLiteAgent({
    workdir,
    home,
    model: scriptedModel([{ text: "ok" }]),
    sessions: false,
    permission: policy(),
  });

for (const [name, [text, path, place, words]] of Object.entries(INVALID)) {
  test(`${name}: a ConfigError that says where and what`, async (t) => {
    for (const which of ["project", "global"]) {
      const folder = await hookFolder(t, { [which]: text });
      const file = folder[`${which}File`];
      const before = statSync(file);
      assert.throws(
        () => agentIn(folder),
        (error) => {
          assert.ok(error instanceof ConfigError, String(error));
          assert.ok(error.message.startsWith(`Invalid hooks configuration ${file}`), error.message);
          assert.equal(error.file, file);
          if (path !== null) {
            assert.equal(error.path, path, error.message);
            assert.ok(error.message.includes(path), error.message);
          }
          if (place) assert.ok(error.message.includes(`line ${place[0]}, column ${place[1]}`), error.message);
          if (words) assert.match(error.message, words);
          assert.ok(error.message.length < 1_000, error.message);
          return true;
        },
      );
      assert.equal(readFileSync(file, "utf8"), text, "the file is as it was");
      assert.equal(statSync(file).mtimeMs, before.mtimeMs);
    }
  });
}

test("one bad entry fails the file: the good ones do not run, and there is no agent", async (t) => {
  const folder = await hookFolder(t, {
    global: { "run:start": [{ command: "touch good" }] },
    project: inEvent("run:end", "{}"),
  });
  assert.throws(() => agentIn(folder), ConfigError);
  assert.equal(folder.read("good"), undefined);
});

for (const depth of [200, 50_000]) {
  test(`a file nested ${depth} deep is a ConfigError, not a crash`, async (t) => {
    const folder = await hookFolder(t, {
      project: `{ "version": 1, "hooks": ${"[".repeat(depth)}${"]".repeat(depth)} }`,
    });
    assert.throws(
      () =>
        createLiteAgent({
          workdir: folder.workdir,
          home: folder.home,
          model: scriptedModel([{ text: "ok" }]),
          sessions: false,
        }),
      (error) => error instanceof ConfigError && error.file === folder.projectFile,
    );
  });
}

test("columns count characters, and lines end with any of the three line breaks", async (t) => {
  const folder = await hookFolder(t, {
    project: '{ "version": 1,\r\n "hooks": { "run:end": [\r\n { "command": "echo äöü😀", "match": "*" } ] } }',
  });
  assert.throws(
    () =>
      createLiteAgent({
        workdir: folder.workdir,
        home: folder.home,
        model: scriptedModel([{ text: "ok" }]),
        sessions: false,
      }),
    (error) => /line 3, column (2[89])\b/.test(error.message) || assert.fail(error.message),
  );
});

test("the least and the most of timeoutMs are fine, also as 1e3 and 5.0", async (t) => {
  for (const value of ["1", "120000", "1e3", "5.0"]) {
    const text = `{ "version": 1, "hooks": { "run:end": [{ "command": "true", "timeoutMs": ${value} }] } }`;
    const folder = await hookFolder(t, { project: text });
    const agent = createLiteAgent({
      workdir: folder.workdir,
      home: folder.home,
      model: scriptedModel([{ text: "ok" }]),
      sessions: false,
    });
    await agent.close();
  }
});

test("a hooks.json that leads to a file of another kind shows nothing of it", async (t) => {
  const contents = [
    "hunter2secret\n",
    "  4f1c9a7e0b\n",
    "API_KEY=abcdef\n",
    '{ "ghp_abcdefghijklmnopqrstuvwxyz0123456789": 1 }',
  ];
  for (const content of contents) {
    const folder = await hookFolder(t, { project: "{}" });
    const elsewhere = join(folder.home, "token");
    writeFileSync(elsewhere, content);
    rmSync(folder.projectFile);
    symlinkSync(elsewhere, folder.projectFile);
    assert.throws(
      () => agentIn(folder),
      (error) => {
        assert.ok(error instanceof ConfigError, String(error));
        assert.match(error.message, /^Invalid hooks configuration .*line 1, column \d+/);
        for (const secret of ["hunter2", "4f1c", "API_KEY", "ghp_abc"]) {
          assert.ok(!error.message.includes(secret) && !String(error.path).includes(secret), error.message);
        }
        return true;
      },
    );
  }
});
