// Runs the demo as `npm run demo` does and looks at what it shows and at what it did to its folder.
import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { before, after, describe, it } from "node:test";
import { runFile } from "./support/child.mjs";

const demo = new URL("../examples/demo/main.mjs", import.meta.url);
const escape = "\u001b[";
/** It starts a dozen commands, some of them Node's. */
const limitMs = 120_000;

async function jsonLines(file) {
  return (await readFile(file, "utf8"))
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
}

describe("the demo", () => {
  let folder;
  let run;
  /** What it printed, with its line breaks as blanks. */
  let text;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "lite-agent-demo-test-"));
    run = await runFile(demo, { arguments: [folder], limitMs });
    text = run.stdout.replace(/\s+/g, " ");
  });
  after(() => rm(folder, { recursive: true, force: true }));

  const project = (path) => readFile(join(folder, "project", path), "utf8");

  it("ends by itself with exit code 0 and writes nothing to stderr", () => {
    assert.deepEqual(
      { code: run.code, overdue: run.overdue, stderr: run.stderr },
      { code: 0, overdue: false, stderr: "" },
    );
  });

  it("is plain where it does not write to a terminal", () => {
    assert.ok(!run.stdout.includes(escape));
  });

  it("shows the model's text, the tools with their times, and their hooks", () => {
    assert.match(run.stdout, /^ {2}model {2}Let me see what is there, and what its check says\.$/m);
    assert.match(run.stdout, /^ {2}tool {3}✓ glob +\*\*\/\* +\d+\.\d ms +hooks: audit, audit, timer$/m);
    assert.match(run.stdout, /4 calls at once:/);
    assert.match(run.stdout, /^ {2}tool {3}✓ read_file +src\/tides\.js +\d+\.\d ms/m);
  });

  it("shows the shell command that fails before the work and holds after it", () => {
    const failed = run.stdout.search(/✗ bash +node check\.mjs/);
    const why = run.stdout.search(/^ +FAILS high water is 5 m$/m);
    const holds = run.stdout.search(/✓ bash +node check\.mjs/);
    assert.ok(failed > 0 && why > failed && holds > why, `${failed} ${why} ${holds}`);
  });

  it("shows the edit that fails and the one that repairs it", () => {
    const failed = run.stdout.search(/✗ edit_file +src\/tides\.js/);
    const repaired = run.stdout.search(/✓ edit_file +src\/tides\.js/);
    assert.ok(failed > 0 && repaired > failed, `${failed} ${repaired}`);
    assert.match(text, /'src\/tides\.js' was not changed: it does not hold old_text/);
  });

  it("shows the call that a rule denies and the one that a handler approves", () => {
    assert.match(run.stdout, /^ {2}denied read_file secrets\/chart-server\.key, by the rule "secrets"$/m);
    assert.match(text, /Error: blocked by policy: keys are not for models/);
    assert.match(text, /asked delete_file notes\/old-tables\.md: somebody must agree allow, by user/);
    assert.match(run.stdout, /^ {2}tool {3}✓ delete_file notes\/old-tables\.md/m);
  });

  it("shows the hook commands that fail, overrun their deadline, and are not allowed", () => {
    assert.match(
      text,
      /✗ hook_failed: tool:end hook #1 \(project, .*\) failed: exit, .*there is no search index to update/,
    );
    assert.match(text, /✗ hook_failed: tool:start hook #0 \(project, .*\) failed: timeout, .*scripts\/back-up\.mjs/);
    assert.match(
      text,
      /✗ hook_failed: tool:end hook #2 \(project, .*\) failed: denied, .*scripts\/tell-everybody\.mjs/,
    );
  });

  it("shows that the second agent knows what the first one was asked and did", () => {
    const resumed = text.slice(text.indexOf("Run 3: another agent resumes the session"));
    assert.match(resumed, /You asked me "Do what is to do\." I changed .*src\/tides\.js \(no mean level\)/);
    assert.match(resumed, /deleted notes\/old-tables\.md\. secrets\/chart-server\.key was closed to me/);
    assert.match(resumed, /And "Translate the notes into Latin\." you called off\./);
  });

  it("ends with a summary of runs, tools and hooks", () => {
    const summary = run.stdout.slice(run.stdout.indexOf("── Summary"));
    assert.match(summary, /^ {2}1 +Do what is to do\. +completed +7 +15 /m);
    assert.match(summary, /^ {2}2 +Translate the notes into Latin\. +cancelled +1 +0 /m);
    assert.match(summary, /^ {2}3 +What have you changed, and what is left\? +completed +1 +0 /m);
    assert.match(summary, /^ {2}edit_file +4 +1 /m);
    assert.match(summary, /^ {2}bash +2 +1 /m);
    assert.match(summary, /^ {2}audit +36 +0 .*run:start, tool:start, tool:end, run:end$/m);
    assert.match(summary, /^ {2}cat >> \.\.\/runs\.jsonl +global +run:start, run:end +6 +0 +nothing$/m);
    assert.match(summary, /^ {2}node scripts\/record-change\.mjs +project +tool:end +7 +0 +nothing$/m);
    assert.match(summary, /^ {2}node scripts\/back-up\.mjs +project +tool:start +1 +0 +timeout$/m);
    assert.match(summary, /^ {2}node scripts\/update-index\.mjs +project +tool:end +2 +0 +exit$/m);
    assert.match(summary, /^ {2}node scripts\/tell-everybody\.mjs +project +tool:end +0 +1 +denied$/m);
  });

  it("shows what changed in the folder, and it did", async () => {
    assert.match(run.stdout, /^ {4}- {3}return amplitude \* Math\.cos\(angle\);$/m);
    assert.match(run.stdout, /^ {4}\+ {3}return meanLevel \+ amplitude \* Math\.cos\(angle\);$/m);
    assert.match(run.stdout, /^ {2}high water is 5 m +fails +holds$/m);
    assert.match(await project("src/tides.js"), /return meanLevel \+ amplitude \* Math\.cos\(angle\);/);
    assert.match(await project("src/depth.js"), /0\.3048/);
    assert.match(await project("src/wind.js"), /1\.852/);
    assert.deepEqual((await project("notes/todo.md")).match(/- \[ \].*/g), [
      "- [ ] secrets/chart-server.key: see whether it is last year's",
    ]);
    await assert.rejects(project("notes/old-tables.md"), { code: "ENOENT" });
  });

  it("has had the hook commands at work on the real events", async () => {
    const changes = (await project("changes.log")).trim().split("\n").sort();
    assert.deepEqual(changes, [
      "delete_file notes/old-tables.md completed",
      "edit_file src/depth.js completed",
      "edit_file src/tides.js completed",
      "edit_file src/tides.js failed",
      "edit_file src/wind.js completed",
      "write_file CHANGELOG.md completed",
      "write_file notes/todo.md completed",
    ]);
    const runs = await jsonLines(join(folder, "runs.jsonl"));
    assert.deepEqual(
      runs.map(({ event, status }) => [event, status]),
      ["completed", "cancelled", "completed"].flatMap((status) => [
        ["run:start", undefined],
        ["run:end", status],
      ]),
    );
    assert.equal(new Set(runs.map(({ sessionId }) => sessionId)).size, 1);
  });

  it("leaves an audit with a start and an end for every run and tool call", async () => {
    const entries = await jsonLines(join(folder, "audit.jsonl"));
    const of = (event) => entries.filter((entry) => entry.event === event);
    assert.deepEqual(
      of("run:end").map(({ runId }) => runId),
      of("run:start").map(({ runId }) => runId),
    );
    assert.deepEqual(
      of("tool:end")
        .map(({ callId }) => callId)
        .sort(),
      of("tool:start")
        .map(({ callId }) => callId)
        .sort(),
    );
    assert.deepEqual(
      of("tool:end")
        .filter(({ status }) => status === "failed")
        .map(({ tool }) => tool)
        .sort(),
      ["bash", "edit_file", "read_file"],
    );
  });
});

it("the demo cleans up after itself where no folder is given", async (t) => {
  const temporary = await mkdtemp(join(tmpdir(), "lite-agent-demo-test-"));
  t.after(() => rm(temporary, { recursive: true, force: true }));
  const { code, stdout } = await runFile(demo, { env: { TMPDIR: temporary }, limitMs });
  assert.equal(code, 0);
  assert.match(stdout, /The folder is gone again/);
  assert.deepEqual(await readdir(temporary), []);
});

it("the demo refuses a folder that is not empty, and leaves it alone", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "lite-agent-demo-test-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  await runFile(demo, { arguments: [folder], limitMs });
  const before = await readFile(join(folder, "project", "CHANGELOG.md"), "utf8");
  const { code, stderr } = await runFile(demo, { arguments: [folder], limitMs });
  assert.equal(code, 1);
  assert.match(stderr, /needs an empty folder/);
  assert.equal(await readFile(join(folder, "project", "CHANGELOG.md"), "utf8"), before);
});
