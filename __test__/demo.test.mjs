// Runs the demo as `npm run demo` does and looks at what it shows and at what it did to its folder.
import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, readlink, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { before, after, describe, it } from "node:test";
import { runFile } from "./support/child.mjs";

const demo = new URL("../examples/demo/main.mjs", import.meta.url);
const escape = "\u001b[";
/** It starts two dozen commands, some of them Node's. */
const limitMs = 120_000;
const SOURCES = ["src/depth.js", "src/tides.js", "src/wind.js"];

async function jsonLines(file) {
  return (await readFile(file, "utf8"))
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
}

/** Processes that work in a folder or below it. */
async function processesIn(folder) {
  const ids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  // One that is gone meanwhile, or another user's, is none of ours.
  const folders = await Promise.all(ids.map((id) => readlink(`/proc/${id}/cwd`).catch(() => "")));
  return folders.filter((path) => path.startsWith(folder));
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

  it("shows three children at work, told apart by the agentId that hooks and events carry", () => {
    const run2 = run.stdout.slice(run.stdout.indexOf("── Run 2: three children"), run.stdout.indexOf("── Run 3"));
    const agentIds = run2.match(/^ {11}- \S+ \(agentId: agent-[0-9a-f]{16}-[0-9a-f]{16}\)$/gm);
    assert.equal(new Set(agentIds).size, 3);
    for (const path of SOURCES) {
      const name = path.replace(".", "\\.");
      assert.match(run2, new RegExp(`^ {2}hook {3}${name} +✓ audit +run:start +\\d+\\.\\d ms$`, "m"));
      assert.match(run2, new RegExp(`^ {2}child {2}${name} +✓ read_file +${name} .* hooks: audit, audit, timer$`, "m"));
      assert.match(run2, new RegExp(`^ {2}child {2}${name} +✓ grep `, "m"));
      assert.match(run2, new RegExp(`^ {2}child {2}${name} exports \\w+, used at check\\.mjs:\\d`, "m"));
      assert.match(run2, new RegExp(`^ {2}hook {3}${name} +✓ audit +run:end +\\d+\\.\\d ms {2}completed$`, "m"));
    }
    assert.match(run2, /^ {2}over {3}src\/depth\.js, src\/tides\.js, src\/wind\.js {2}completed$/m);
  });

  it("shows the run that takes up what they came to, after the one that started them", () => {
    const run2 = run.stdout.slice(run.stdout.indexOf("── Run 2: three children"), run.stdout.indexOf("── Run 3"));
    const places = [
      "They are at work. I go on when all of them are over.",
      "src/depth.js, src/tides.js, src/wind.js  completed",
      "The reviews are there.",
      "Three reviews are in CHANGELOG.md, and nothing runs any more.",
    ].map((words) => run2.indexOf(words));
    assert.deepEqual(
      places,
      places.toSorted((a, b) => a - b),
    );
    assert.ok(places[0] > 0);
  });

  it("shows a command that goes on over two runs, is read, and ended", async () => {
    assert.match(run.stdout, /^ {2}tool {3}✓ bash +sh scripts\/watch\.sh +\d+\.\d ms/m);
    assert.match(run.stdout, /^ {2}tool {3}✓ BashOutput +bg_[0-9a-f]{16} .*\n {11}watching src\n/m);
    assert.match(run.stdout, /^ {2}over {3}sh scripts\/watch\.sh {2}cancelled$/m);
    assert.match(run.stdout, /^ {11}bg_[0-9a-f]{16} was killed$/m);
  });

  it("leaves no process behind", async () => {
    assert.deepEqual(await processesIn(folder), []);
  });

  it("is readable while runs go on: no line is torn, and none is wider than a hundred letters", () => {
    const labels =
      /^( {2}(user|model|tool|hook|asked|denied|child|over) {1,5}\S| {4,}\S|$|──|lite-agent demo|A scripted)/;
    const story = run.stdout.slice(0, run.stdout.indexOf("── Summary"));
    for (const line of story.slice(story.indexOf("── Run 1")).split("\n")) {
      assert.match(line, labels);
      assert.ok(line.length <= 100, line);
    }
  });

  it("shows that the second agent knows what the first one was asked and did", () => {
    const resumed = text.slice(text.indexOf("Run 4: another agent resumes the session"));
    assert.match(resumed, /You asked me "Do what is to do\." I changed .*src\/tides\.js \(no mean level\)/);
    assert.match(resumed, /deleted notes\/old-tables\.md\. secrets\/chart-server\.key was closed to me/);
    assert.match(resumed, /And "Translate the notes into Latin\." you called off\./);
  });

  it("ends with a summary of runs, tools and hooks", () => {
    const summary = run.stdout.slice(run.stdout.indexOf("── Summary"));
    assert.match(summary, /^ {2}1 +Do what is to do\. +completed +7 +15 /m);
    assert.match(summary, /^ {2}2 +Review the sources, .* +completed +2 +2 /m);
    assert.equal(summary.match(/^ {2}child +src\/\w+\.js: .* completed +3 +2 /gm)?.length, 3);
    assert.match(summary, /^ {2}then +<background-task-completed .* +completed +\d+ +\d+ /m);
    assert.match(summary, /^ {2}3 +Translate the notes into Latin\. +cancelled +1 +0 /m);
    assert.match(summary, /^ {2}4 +What have you changed, and what is left\? +completed +1 +0 /m);
    assert.match(summary, /^ {2}edit_file +5 +1 /m);
    assert.match(summary, /^ {2}bash +3 +1 /m);
    assert.match(summary, /^ {2}Agent +1 +0 /m);
    assert.match(summary, /^ {2}grep +3 +0 /m);
    assert.match(summary, /^ {2}KillBackground +1 +0 /m);
    assert.match(summary, /^ {2}audit +\d+ +0 .*run:start, tool:start, tool:end, run:end$/m);
    assert.match(summary, /^ {2}cat >> \.\.\/runs\.jsonl +global +run:start, run:end +16 +0 +nothing$/m);
    assert.match(summary, /^ {2}node scripts\/record-change\.mjs +project +tool:end +8 +0 +nothing$/m);
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
      "edit_file CHANGELOG.md completed",
      "edit_file src/depth.js completed",
      "edit_file src/tides.js completed",
      "edit_file src/tides.js failed",
      "edit_file src/wind.js completed",
      "write_file CHANGELOG.md completed",
      "write_file notes/todo.md completed",
    ]);
    const runs = await jsonLines(join(folder, "runs.jsonl"));
    const roots = runs.filter(({ agentId }) => agentId === undefined);
    assert.deepEqual(
      roots.map(({ event, source, status }) => [event, source, status]),
      [
        ["user", "completed"],
        ["user", "completed"],
        ["background", "completed"],
        ["user", "cancelled"],
        ["user", "completed"],
      ].flatMap(([source, status]) => [
        ["run:start", source, undefined],
        ["run:end", source, status],
      ]),
    );
    assert.equal(new Set(roots.map(({ sessionId }) => sessionId)).size, 1);
    const children = runs.filter(({ agentId }) => agentId !== undefined);
    assert.equal(children.length, 6);
    assert.equal(new Set(children.map(({ agentId }) => agentId)).size, 3);
    for (const { agentId, sessionId } of children) assert.equal(sessionId, agentId);
  });

  it("leaves an audit with a start and an end for every run and tool call", async () => {
    const entries = await jsonLines(join(folder, "audit.jsonl"));
    const of = (event) => entries.filter((entry) => entry.event === event);
    assert.deepEqual(
      of("run:end")
        .map(({ runId }) => runId)
        .sort(),
      of("run:start")
        .map(({ runId }) => runId)
        .sort(),
    );
    const children = entries.filter(({ agentId }) => agentId !== undefined);
    assert.equal(children.length, 3 * (2 + 2 * 2));
    assert.equal(new Set(children.map(({ agentId }) => agentId)).size, 3);
    assert.match(text, new RegExp(`has ${entries.length} lines, ${children.length} of them of 3 children`));
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
