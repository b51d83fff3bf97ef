// recordSnapshot() of custom tools, and how much a session keeps of files. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { mkdirSync, symlinkSync } from "node:fs";
import { ToolError } from "../../index.js";
import { agentFor, deferred, plainTool } from "../support/model.mjs";
import { sessionId, workingAgent } from "./restoring.mjs";

/** Runs one call of a tool that gets `recordSnapshot`. */
async function inTool(t, body, config) {
  let w;
  const tool = plainTool("custom", async (_, context) => (await body(context, w), "ok"));
  w = await workingAgent(t, [[{ name: "custom", input: {} }]], { ...config, tools: [tool] });
  return w;
}

test("a snapshot is durable when recordSnapshot() resolves, under the canonical path", async (t) => {
  let before;
  const w = await inTool(t, async ({ recordSnapshot }, { path, snapshots, workdir }) => {
    mkdirSync(path("real"));
    symlinkSync("real", path("alias"));
    assert.equal(await recordSnapshot("./x/../a", "text"), undefined);
    before = (await w.snapshots()).length;
    await recordSnapshot(`${workdir}/b`, null);
    await recordSnapshot("alias/c", "AP8=", false, "base64");
    await recordSnapshot("d", null, true);
    await recordSnapshot("e", "text", undefined, "utf8");
    void snapshots;
  });
  await w.prompt();
  assert.equal(before, 1);
  assert.deepEqual(await w.snapshots(), [
    { type: "file_snapshot", path: "a", before: "text", turn: 1 },
    { type: "file_snapshot", path: "b", before: null, turn: 1 },
    { type: "file_snapshot", path: "real/c", before: "AP8=", encoding: "base64", turn: 1 },
    { type: "file_snapshot", path: "d", before: null, truncated: true, turn: 1 },
    { type: "file_snapshot", path: "e", before: "text", encoding: "utf8", turn: 1 },
  ]);
});

test("what is none is refused, and nothing is stored", async (t) => {
  const errors = [];
  const w = await inTool(t, async ({ recordSnapshot }, { path }) => {
    symlinkSync("/", path("out"));
    for (const given of [
      [5, ""],
      ["", ""],
      ["a", undefined],
      ["a", 5],
      ["a", "x", "yes"],
      ["a", "x", false, "latin1"],
      ["a", "no base64!", false, "base64"],
      ["a", "\ud800"],
      ["../a", "x"],
      ["/etc/passwd", "x"],
      ["out/etc/passwd", "x"],
      ["a\0", "x"],
      [".", "x"],
    ]) {
      errors.push(
        await recordSnapshot(...given).then(
          () => "stored",
          (error) => error,
        ),
      );
    }
  });
  await w.prompt();
  for (const error of errors.slice(0, 8))
    assert.ok(error instanceof TypeError && /recordSnapshot: /.test(error.message), String(error));
  for (const error of errors.slice(8)) assert.ok(error instanceof ToolError, String(error));
  assert.deepEqual(await w.snapshots(), []);
});

test("after the call it is refused", async (t) => {
  let late;
  const w = await inTool(t, ({ recordSnapshot }) => void (late = recordSnapshot));
  await w.prompt();
  await assert.rejects(late("a", "x"), /after the call was over/);
  assert.deepEqual(await w.snapshots(), []);
});

test("without sessions there is no recordSnapshot", async (t) => {
  const seen = deferred();
  const agent = agentFor(t, {
    sessions: false,
    model: [{ calls: [{ id: "a", name: "look", input: {} }] }, { text: "end" }],
    tools: [plainTool("look", (_, context) => (seen.resolve("recordSnapshot" in context), "ok"))],
  });
  await agent.send("hi");
  assert.equal(await seen.promise, false);
});

test("over maxSnapshotBytesPerSession nothing more is kept, and one diagnostic says so", async (t) => {
  const w = await workingAgent(
    t,
    [
      [
        ["a", "1"],
        ["b", "1"],
        ["c", "1"],
        ["d", "1"],
      ],
      [["b", "2"]],
    ],
    {
      maxSnapshotBytesPerSession: 10,
      maxParallelTools: 1,
    },
  );
  const warnings = [];
  w.agent.subscribe(({ event, sessionId: id }) => {
    if (event.type === "diagnostic" && event.code === "snapshot_limit") warnings.push([event.level, id]);
  });
  w.write("a", "12345678");
  w.write("b", "123");
  w.write("c", "12");
  await w.prompt();
  await w.prompt();
  const kept = (await w.snapshots()).map(({ path, before, truncated, after }) => [
    path,
    before,
    truncated,
    after?.length,
  ]);
  assert.deepEqual(kept, [
    ["a", "12345678", undefined, 64],
    ["b", null, true, 64],
    ["c", "12", undefined, 64],
    ["d", null, undefined, 64],
    ["b", null, true, 64],
  ]);
  assert.deepEqual(warnings, [["warning", sessionId]]);
  const { restoredFiles, skippedFiles } = await w.agent.restore(sessionId, 0);
  assert.deepEqual([restoredFiles, skippedFiles.map(({ path }) => path)], [["a", "c", "d"], ["b"]]);
});

test("what the session's log holds already counts, of custom tools too; after restore() it is counted anew", async (t) => {
  let w;
  const tool = plainTool("custom", async ({ text }, { recordSnapshot }) => {
    await recordSnapshot("a", text);
    return "ok";
  });
  const prompt = (text) => [{ name: "custom", input: { text } }];
  const config = { tools: [tool], maxSnapshotBytesPerSession: 4 };
  w = await workingAgent(t, [prompt("123"), prompt("45")], config);
  await w.prompt();
  const again = await workingAgent(t, [prompt("45"), prompt("1234")], { ...config, checkpointer: w.checkpointer });
  await again.prompt();
  assert.deepEqual(
    (await again.snapshots()).map(({ before }) => before),
    ["123", null],
  );
  await again.agent.restore(sessionId, 0, { files: false });
  await again.prompt();
  assert.deepEqual(
    (await again.snapshots()).map(({ before }) => before),
    ["1234"],
  );
});
