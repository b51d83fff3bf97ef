// restore(): files and the conversation go back to a checkpoint. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
} from "node:fs";
import { fileCheckpointer, memoryCheckpointer, sqliteCheckpointer } from "../../index.js";
import { plainTool, temporaryFolder } from "../support/model.mjs";
import { textOf } from "../runs/reading.mjs";
import { sessionId, workingAgent } from "./restoring.mjs";

const sha256 = (text) => createHash("sha256").update(text).digest("hex");
const STORES = {
  file: (root) => fileCheckpointer({ dir: `${root}/sessions` }),
  sqlite: (root) => sqliteCheckpointer({ file: `${root}/sessions.db` }),
  memory: () => memoryCheckpointer(),
};

for (const [kind, make] of Object.entries(STORES)) {
  test(`a session on a ${kind} store goes back to before a prompt, files and conversation`, async (t) => {
    const { root } = await temporaryFolder(t);
    const w = await workingAgent(
      t,
      [
        [["a", "one"]],
        [
          ["a", "two"],
          ["new", "x"],
          ["gone", null],
        ],
        [["a", "three"]],
      ],
      { checkpointer: make(root), maxParallelTools: 1 },
    );
    w.write("gone", "was here");
    w.write("untouched", "mine");
    for (const text of ["first", "second", "third"]) await w.prompt(text);
    const checkpoints = await w.agent.listCheckpoints(sessionId);
    assert.deepEqual(
      checkpoints.map(({ prompt }) => prompt),
      ["first", "second", "third"],
    );
    const { seq } = checkpoints[1];
    const restored = await w.agent.restore(sessionId, seq);
    assert.deepEqual(restored, { restoredFiles: ["a", "new", "gone"], skippedFiles: [] });
    assert.deepEqual(["a", "new", "gone", "untouched"].map(w.read), ["one", null, "was here", "mine"]);
    assert.deepEqual(readdirSync(w.workdir).sort(), ["a", "gone", "untouched"]);
    assert.equal(await w.checkpointer.head(sessionId), seq);
    const { messages } = await w.prompt("another");
    assert.deepEqual(messages.map(textOf).filter(Boolean), ["first", "done", "another", "ok"]);
    assert.deepEqual(w.model.requests.at(-1).messages.map(textOf).filter(Boolean), ["first", "done", "another"]);
  });
}

test("a snapshot says what the file holds after the change, and null where it is deleted", async (t) => {
  const edit = { name: "edit_file", input: { path: "a", old_text: "one", new_text: "two" } };
  const w = await workingAgent(t, [[["a", "one"]], [edit], [["a", null]]]);
  for (let count = 0; count < 3; count += 1) await w.prompt();
  assert.deepEqual(await w.snapshots(), [
    { type: "file_snapshot", path: "a", before: null, after: sha256("one"), turn: 1 },
    { type: "file_snapshot", path: "a", before: "one", after: sha256("two"), turn: 1 },
    { type: "file_snapshot", path: "a", before: "two", after: null, turn: 1 },
  ]);
});

test("events tell of start, each file, and the end; the source is manual", async (t) => {
  const w = await workingAgent(
    t,
    [
      [
        ["a", "1"],
        ["b", "1"],
      ],
    ],
    { maxParallelTools: 1 },
  );
  await w.prompt();
  w.write("b", "mine");
  await w.agent.restore(sessionId, 0);
  assert.deepEqual(
    w.events.map(({ phase, completed, total }) => [phase, completed, total]),
    [
      ["start", 0, 2],
      ["progress", 1, 2],
      ["progress", 2, 2],
      ["done", 2, 2],
    ],
  );
  assert.match(w.events[2].message, /b is left as it is: was changed since/);
  for (const { source, session, toSeq, sessionId: id } of w.events) {
    assert.deepEqual([source, session, toSeq, id], ["manual", sessionId, 0, sessionId]);
  }
});

test("files: false leaves files, conversation: false leaves the log; both take effect alone", async (t) => {
  const w = await workingAgent(t, [[["a", "one"]]]);
  await w.prompt();
  const head = await w.checkpointer.head(sessionId);
  assert.deepEqual((await w.agent.restore(sessionId, 0, { conversation: false })).restoredFiles, ["a"]);
  assert.equal(w.read("a"), null);
  assert.equal(await w.checkpointer.head(sessionId), head);
  assert.equal((await w.prompt("more")).messages.length, 6);
  w.write("a", "one");
  assert.deepEqual(await w.agent.restore(sessionId, 0, { files: false }), { restoredFiles: [], skippedFiles: [] });
  assert.equal(w.read("a"), "one");
  assert.equal(await w.checkpointer.head(sessionId), 0);
  assert.equal((await w.prompt("anew")).messages.length, 2);
});

test("a checkpointer without truncate() restores files alone", async (t) => {
  const { truncate: _, ...rest } = Object.getOwnPropertyDescriptors(Object.getPrototypeOf(memoryCheckpointer()));
  const inner = memoryCheckpointer();
  const checkpointer = {};
  for (const name of Object.keys(rest)) {
    if (name !== "constructor") checkpointer[name] = (...given) => inner[name](...given);
  }
  const w = await workingAgent(t, [[["a", "one"]]], { checkpointer });
  await w.prompt();
  await assert.rejects(w.agent.restore(sessionId, 0), {
    code: "config_error",
    message: /no truncate\(\).*conversation: false/,
  });
  assert.equal(w.read("a"), "one");
  await w.agent.restore(sessionId, 0, { conversation: false });
  assert.equal(w.read("a"), null);
});

test("what somebody else changed since is skipped, with the reason, and stays", async (t) => {
  const names = ["edited", "deleted", "folder", "link", "dir/moved", "recreated", "mine"];
  const w = await workingAgent(t, [names.map((name) => [name, name === "recreated" ? null : "agent"])]);
  for (const name of names) w.write(name, "before");
  await w.prompt();
  w.write("edited", "user");
  rmSync(w.path("deleted"));
  rmSync(w.path("folder"));
  mkdirSync(w.path("folder"));
  w.write("elsewhere/link", "agent");
  rmSync(w.path("link"));
  symlinkSync("elsewhere/link", w.path("link"));
  renameSync(w.path("dir"), w.path("real"));
  symlinkSync("real", w.path("dir"));
  w.write("recreated", "user");
  utimesSync(w.path("recreated"), new Date(Date.now() + 60_000), new Date(Date.now() + 60_000));
  const { restoredFiles, skippedFiles } = await w.agent.restore(sessionId, 0);
  assert.deepEqual(restoredFiles, ["mine"]);
  const reasons = Object.fromEntries(skippedFiles.map(({ path, reason }) => [path, reason]));
  assert.match(reasons.edited, /was changed since/);
  assert.match(reasons.deleted, /was deleted since/);
  assert.match(reasons.folder, /is a folder/);
  assert.match(reasons.link, /is a link/);
  assert.match(reasons["dir/moved"], /link/);
  assert.match(reasons.recreated, /was changed since/);
  assert.equal(skippedFiles.length, 6);
  assert.deepEqual(["edited", "elsewhere/link", "real/moved", "recreated", "mine"].map(w.read), [
    "user",
    "agent",
    "agent",
    "user",
    "before",
  ]);
});

test("a file that holds already what it held then counts as restored and is not written", async (t) => {
  const w = await workingAgent(t, [[["a", "one"]]]);
  w.write("a", "before");
  await w.prompt();
  w.write("a", "before");
  const { ino } = statSync(w.path("a"));
  assert.deepEqual(await w.agent.restore(sessionId, 0), { restoredFiles: ["a"], skippedFiles: [] });
  assert.equal(statSync(w.path("a")).ino, ino);
});

test("a file that was too large to keep is skipped", async (t) => {
  const w = await workingAgent(
    t,
    [
      [
        ["large", "small"],
        ["ok", "x"],
      ],
    ],
    { fileTools: { maxSnapshotBytes: 10 } },
  );
  w.write("large", "x".repeat(11));
  w.write("ok", "x".repeat(10));
  await w.prompt();
  const { restoredFiles, skippedFiles } = await w.agent.restore(sessionId, 0);
  assert.deepEqual([restoredFiles, skippedFiles.map(({ path }) => path)], [["ok"], ["large"]]);
  assert.match(skippedFiles[0].reason, /too much to keep/);
  assert.equal(w.read("large"), "small");
});

test("bytes that are no text come back exactly, and a mode stays", async (t) => {
  const w = await workingAgent(t, [[["a", "text"]]]);
  const bytes = Buffer.from([0, 255, 254, 10, 13, 200]);
  w.write("a", bytes);
  chmodSync(w.path("a"), 0o751);
  await w.prompt();
  assert.equal((await w.snapshots())[0].encoding, "base64");
  await w.agent.restore(sessionId, 0);
  assert.deepEqual(readFileSync(w.path("a")), bytes);
  assert.equal(statSync(w.path("a")).mode & 0o777, 0o751);
});

test("an earlier session of another agent on the same store goes back too", async (t) => {
  const checkpointer = memoryCheckpointer();
  const first = await workingAgent(t, [[["a", "one"]]], { checkpointer });
  first.write("a", "before");
  await first.prompt();
  await first.agent.close();
  const second = await workingAgent(t, [], { checkpointer });
  second.write("a", "one");
  assert.deepEqual((await second.agent.restore(sessionId, 0)).restoredFiles, ["a"]);
  assert.equal(second.read("a"), "before");
});

test("paths of a foreign log never lead outside", async (t) => {
  const w = await workingAgent(t, []);
  const snapshot = (path) => ({ type: "file_snapshot", path, before: "evil", turn: 1 });
  const paths = ["../out", "/tmp/lite-agent-out", "a/../../out", "", "a\0b", ".", "./a"];
  await w.checkpointer.append(sessionId, paths.map(snapshot));
  const { restoredFiles, skippedFiles } = await w.agent.restore(sessionId, 0);
  assert.deepEqual(restoredFiles, []);
  assert.equal(skippedFiles.length, paths.length);
  assert.deepEqual(readdirSync(w.workdir), []);
  assert.deepEqual(readdirSync(`${w.workdir}/..`).sort(), ["home", "work"]);
});

test("100 files go back", async (t) => {
  const names = Array.from({ length: 100 }, (_, index) => `d${index % 7}/f${index}`);
  const w = await workingAgent(t, [names.map((name) => [name, `agent ${name}`])]);
  for (const name of names.slice(50)) w.write(name, `before ${name}`);
  await w.prompt();
  const { restoredFiles, skippedFiles } = await w.agent.restore(sessionId, 0);
  assert.deepEqual([restoredFiles.length, skippedFiles], [100, []]);
  for (const [index, name] of names.entries()) assert.equal(w.read(name), index < 50 ? null : `before ${name}`);
  const all = readdirSync(w.workdir, { recursive: true });
  assert.deepEqual(
    all.filter((name) => name.includes(".lite-agent")),
    [],
  );
  assert.equal(w.events.filter(({ phase }) => phase === "progress").length, 100);
});

/** An agent whose one turn has the tool `custom` write "tool" into these files, and record what they held. */
async function changedByTool(t, paths, { before = "before", ...config } = {}) {
  let w;
  const custom = plainTool("custom", async ({ path }, { recordSnapshot }) => {
    await recordSnapshot(path, w.read(path));
    w.write(path, "tool");
    return "written";
  });
  const calls = paths.map((path) => ({ name: "custom", input: { path } }));
  w = await workingAgent(t, [calls], { ...config, tools: [custom] });
  for (const path of paths) if (path !== "new") w.write(path, before);
  return w;
}

test("a custom tool's file goes back where nobody changed it after the call, else it is skipped", async (t) => {
  const w = await changedByTool(t, ["a", "b", "gone", "new"]);
  await w.prompt();
  w.write("b", "user");
  rmSync(w.path("gone"));
  const { restoredFiles, skippedFiles } = await w.agent.restore(sessionId, 0);
  assert.deepEqual(
    [restoredFiles.sort(), skippedFiles.map(({ path }) => path).sort()],
    [
      ["a", "new"],
      ["b", "gone"],
    ],
  );
  const reasons = Object.fromEntries(skippedFiles.map(({ path, reason }) => [path, reason]));
  assert.match(reasons.b, /was changed since/);
  assert.match(reasons.gone, /was deleted since/);
  assert.deepEqual(["a", "b", "gone", "new"].map(w.read), ["before", "user", null, null]);
});

test("an edit in the very moment after a custom tool's result stays, whatever its time stamp says", async (t) => {
  for (const [name, disguise] of [
    ["as it comes", () => {}],
    ["made to look old", (path) => utimesSync(path, new Date(0), new Date(0))],
  ]) {
    const w = await changedByTool(t, ["a"]);
    w.agent.subscribe(({ event }) => {
      if (event.type !== "tool_result") return;
      w.write("a", "user");
      disguise(w.path("a"));
    });
    await w.prompt();
    const { restoredFiles, skippedFiles } = await w.agent.restore(sessionId, 0);
    assert.deepEqual([restoredFiles, skippedFiles.map(({ path }) => path)], [[], ["a"]], name);
    assert.equal(w.read("a"), "user", name);
  }
});

test("a custom tool's file whose time stamp was touched, but not its content, goes back", async (t) => {
  const w = await changedByTool(t, ["a"]);
  await w.prompt();
  utimesSync(w.path("a"), new Date(Date.now() + 60_000), new Date(Date.now() + 60_000));
  assert.deepEqual(await w.agent.restore(sessionId, 0), { restoredFiles: ["a"], skippedFiles: [] });
  assert.equal(w.read("a"), "before");
});

test("how a custom tool left its files is told by its result in the log, also where it failed or made none", async (t) => {
  let w;
  const tools = [
    plainTool("fails", async (_, { recordSnapshot }) => {
      await recordSnapshot("a", null);
      await recordSnapshot("b", null);
      w.write("a", "half");
      throw new Error("no");
    }),
    plainTool("looks", () => "nothing recorded"),
  ];
  w = await workingAgent(t, [["fails", "looks"].map((name) => ({ name, input: {} }))], { tools });
  await w.prompt();
  const results = (await w.stored()).filter(({ type }) => type === "tool_result");
  assert.deepEqual(
    results.sort((one, other) => one.result.id.localeCompare(other.result.id)).map(({ files }) => files),
    [
      [
        { path: "a", after: sha256("half") },
        { path: "b", after: null },
      ],
      undefined,
    ],
  );
  assert.deepEqual((await w.agent.restore(sessionId, 0)).restoredFiles, ["a", "b"]);
  assert.equal(w.read("a"), null);
});

test("of a call that never had its result it is not known what it left: its file is skipped, and says so", async (t) => {
  const w = await workingAgent(t, []);
  w.write("a", "half");
  const snapshot = (path, before) => ({ type: "file_snapshot", path, before, turn: 1 });
  await w.checkpointer.append(sessionId, [snapshot("a", "before"), snapshot("gone", "before")]);
  const { restoredFiles, skippedFiles } = await w.agent.restore(sessionId, 0);
  assert.deepEqual([restoredFiles, w.read("gone")], [["gone"], "before"]);
  assert.match(skippedFiles[0].reason, /what it held then is not known/);
  assert.equal(w.read("a"), "half");
});

test("changes that were recorded and never made, however many, do not count as somebody else's", async (t) => {
  const w = await workingAgent(t, []);
  w.write("a", "one");
  w.write("b", "user");
  const turn = (path, before, text) => [
    { type: "assistant", message: { role: "assistant", content: [{ type: "text", text: "now" }] } },
    { type: "file_snapshot", path, before, after: text === null ? null : sha256(text), turn: 1 },
  ];
  await w.checkpointer.append(sessionId, [
    ...turn("a", null, "one"),
    ...turn("a", "one", "two"),
    ...turn("a", "one", null),
    ...turn("a", "one", "three"),
    // Somebody else's content, which the agent was about to overwrite and did not.
    ...turn("b", null, "one"),
    ...turn("b", "user", "two"),
  ]);
  const { restoredFiles, skippedFiles } = await w.agent.restore(sessionId, 0);
  assert.deepEqual([restoredFiles, skippedFiles.map(({ path }) => path)], [["a"], ["b"]]);
  assert.deepEqual([w.read("a"), w.read("b")], [null, "user"]);
});

test("of a foreign log, files that are none are no files", async (t) => {
  const w = await workingAgent(t, []);
  const result = { type: "tool_result", id: "x", content: "ok" };
  const snapshot = { type: "file_snapshot", path: "a", before: null, turn: 1 };
  const files = [[null, 5, {}, { path: "a" }, { path: "a", after: 5 }], "a", {}];
  await w.checkpointer.append(sessionId, [
    snapshot,
    ...files.map((odd) => ({ type: "tool_result", result, turn: 1, files: odd })),
  ]);
  w.write("a", "user");
  assert.match((await w.agent.restore(sessionId, 0)).skippedFiles[0].reason, /not known/);
});
