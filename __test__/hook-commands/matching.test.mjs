// Which tools a command's match lets it see. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { plainTool } from "../support/model.mjs";
import { call, runHooked } from "./hooked.mjs";

const NAMES = ["write_file", "Write_File", "write", "edit_file", "a-b", "read-2", "work"];

for (const [match, expected] of [
  ["write_file", ["write_file"]],
  ["WRITE_FILE", []],
  ["*", NAMES],
  ["**", NAMES],
  ["write*", ["write_file", "write"]],
  ["*_file", ["write_file", "edit_file"]],
  ["?rite", ["write"]],
  ["[wW]rite_[fF]ile", ["write_file", "Write_File"]],
  ["[!w]*", ["Write_File", "edit_file", "a-b", "read-2"]],
  ["{write,edit}_file", ["write_file", "edit_file"]],
  ["{work,read-*,a?b}", ["a-b", "read-2", "work"]],
  ["read-[0-9]", ["read-2"]],
  ["write_fil", []],
  ["rite_file", []],
  [undefined, NAMES],
]) {
  test(`match ${JSON.stringify(match) ?? "left out"} is for ${expected.join(", ") || "none"}`, async (t) => {
    const command = "cat >> seen";
    const entry = { ...(match === undefined ? {} : { match }), command };
    const { events, failures } = await runHooked(t, {
      project: { "tool:start": [entry], "tool:end": [entry] },
      calls: NAMES.map((name, position) => call(`call-${position}`, name)),
      tools: NAMES.map((name) => plainTool(name, () => name)),
      maxParallelTools: 1,
    });
    const seen = (event) =>
      events("seen")
        .filter((one) => one.event === event)
        .map((one) => one.call.name);
    assert.deepEqual([seen("tool:start"), seen("tool:end")], [expected, expected]);
    assert.deepEqual(failures, []);
  });
}

test("a match also sees calls of tools that do not exist or are denied", async (t) => {
  const { events } = await runHooked(t, {
    project: { "tool:end": [{ match: "nothing", command: "cat >> seen" }] },
    calls: [call("1", "nothing")],
  });
  assert.deepEqual(
    events("seen").map(({ call, status }) => [call.name, status]),
    [["nothing", "failed"]],
  );
});

test("commands whose match is for other tools keep their place in the index of a failure", async (t) => {
  const { failures } = await runHooked(t, {
    global: { "tool:end": [{ match: "other", command: "exit 1" }, { command: "true" }] },
    project: {
      "tool:end": [
        { match: "oth*", command: "exit 1" },
        { match: "work", command: "exit 5" },
      ],
    },
    calls: [call()],
  });
  assert.deepEqual(
    failures.map(({ hook }) => [hook.index, hook.source, hook.exitCode]),
    [[3, "project", 5]],
  );
});

test("a tool's name is no pattern, and no command is asked permission for another's tool", async (t) => {
  const asked = [];
  await runHooked(t, {
    project: { "tool:end": [{ match: "other", command: "true" }] },
    calls: [call("1", "*"), call("2", "work")],
    permission: { check: (one) => (asked.push(one.name), "allow") },
  });
  assert.ok(!asked.includes("hook"), String(asked));
});
