// Runs the demo as `npm run demo` does and looks at what it shows and at what it did to its folder.
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { before, after, describe, it } from "node:test";
import { runFile } from "./support/child.mjs";

const demo = new URL("../examples/demo/main.mjs", import.meta.url);
const escape = "\u001b[";

describe("the demo", () => {
  let folder;
  let run;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "lite-agent-demo-test-"));
    run = await runFile(demo, { arguments: [folder] });
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
    assert.match(run.stdout, /^ {2}model {2}Let me see what is there\.$/m);
    assert.match(run.stdout, /^ {2}tool {3}✓ list +\d+\.\d ms +hooks: audit, audit, timer, index$/m);
    assert.match(run.stdout, /4 calls at once:/);
    assert.match(run.stdout, /^ {2}tool {3}✓ read +src\/tides\.js +\d+\.\d ms/m);
  });

  it("shows the call that fails and the one that repairs it", () => {
    const failed = run.stdout.search(/✗ replace +src\/tides\.js/);
    const why = run.stdout.indexOf("most alike is line");
    const repaired = run.stdout.search(/✓ replace +src\/tides\.js/);
    assert.ok(failed > 0 && why > failed && repaired > why, `${failed} ${why} ${repaired}`);
  });

  it("shows the hook that fails and the one that overruns its deadline", () => {
    const text = run.stdout.replace(/\s+/g, " ");
    assert.match(text, /✗ hook_failed: tool:end .*no search index to put CHANGELOG\.md into/);
    assert.match(text, /✗ hook_failed: run:end .*timeout/);
  });

  it("ends with a summary of runs, tools and hooks", () => {
    const summary = run.stdout.slice(run.stdout.indexOf("── Summary"));
    assert.match(summary, /^ {2}1 +Do what is to do\. +completed +6 +11 /m);
    assert.match(summary, /^ {2}2 +Make a release of it\. +completed +3 +4 /m);
    assert.match(summary, /^ {2}3 +Translate the notes into Latin\. +cancelled +1 +0 /m);
    assert.match(summary, /^ {2}replace +6 +1 /m);
    assert.match(summary, /^ {2}audit +36 +0 .*run:start, tool:start, tool:end, run:end$/m);
    assert.match(summary, /^ {2}backup +1 +1 .*run:end$/m);
    assert.match(summary, /^ {2}index +15 +2 .*tool:end$/m);
  });

  it("shows what changed in the folder, and it did", async () => {
    assert.match(run.stdout, /^ {4}- {3}return amplitude \* Math\.cos\(angle\);$/m);
    assert.match(run.stdout, /^ {4}\+ {3}return meanLevel \+ amplitude \* Math\.cos\(angle\);$/m);
    assert.match(run.stdout, /^ {2}high water is 5 m +fails +holds$/m);
    assert.match(await project("src/tides.js"), /return meanLevel \+ amplitude \* Math\.cos\(angle\);/);
    assert.match(await project("src/depth.js"), /0\.3048/);
    assert.match(await project("src/wind.js"), /1\.852/);
    assert.doesNotMatch(await project("notes/todo.md"), /- \[ \]/);
    assert.match(await project("CHANGELOG.md"), /^## 1\.0\.1$/m);
    assert.equal(JSON.parse(await project("package.json")).version, "1.0.1");
  });

  it("leaves an audit with a start and an end for every run and tool call", async () => {
    const entries = (await readFile(join(folder, "audit.jsonl"), "utf8"))
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    const of = (event) => entries.filter((entry) => entry.event === event);
    assert.deepEqual(
      of("run:end").map(({ runId }) => runId),
      of("run:start").map(({ runId }) => runId),
    );
    assert.deepEqual(
      of("run:end").map(({ status }) => status),
      ["completed", "completed", "cancelled"],
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
        .map(({ tool }) => tool),
      ["replace"],
    );
  });
});

it("the demo refuses a folder that is not empty, and leaves it alone", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "lite-agent-demo-test-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  await runFile(demo, { arguments: [folder] });
  const before = await readFile(join(folder, "project", "CHANGELOG.md"), "utf8");
  const { code, stderr } = await runFile(demo, { arguments: [folder] });
  assert.equal(code, 1);
  assert.match(stderr, /needs an empty folder/);
  assert.equal(await readFile(join(folder, "project", "CHANGELOG.md"), "utf8"), before);
});
