// Hooks around background commands: of the call that starts one, not of the command's life. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { marker, sleeping } from "../commands/processes.mjs";
import { recordHooks, temporaryFolder } from "../support/model.mjs";
import { drivenAgent } from "./driving.mjs";

const TOOL_EVENTS = ["tool:start", "tool:end"];

test("tool:start and tool:end fire once each for the call, while the command goes on", async (t) => {
  const driven = drivenAgent(t);
  const fired = recordHooks(driven.agent, TOOL_EVENTS);
  const mark = marker();
  const id = await driven.start(`sleep ${mark}`);
  assert.deepEqual(
    fired.map(({ event, call, status }) => [event, call.name, call.input, status]),
    [
      ["tool:start", "bash", { command: `sleep ${mark}`, run_in_background: true }, undefined],
      ["tool:end", "bash", { command: `sleep ${mark}`, run_in_background: true }, "completed"],
    ],
  );
  assert.ok(fired[1].result.content.includes(id));
  await sleeping(mark);
});

test("the end of the command fires nothing, whatever it came to", async (t) => {
  const driven = drivenAgent(t);
  const fired = recordHooks(driven.agent);
  await driven.completionOf(await driven.start("exit 1"));
  await driven.agent.awaitIdle();
  assert.deepEqual(
    fired.map(({ event }) => event),
    ["run:start", "tool:start", "tool:end", "run:end"],
  );
});

test("BashOutput and KillBackground fire as any call", async (t) => {
  const driven = drivenAgent(t);
  const id = await driven.start("sleep 60");
  const fired = recordHooks(driven.agent, TOOL_EVENTS);
  await driven.read(id);
  await driven.kill(id);
  await driven.kill("bg_0123456789abcdef");
  assert.deepEqual(
    fired.map(({ event, call, status }) => [event, call.name, status]),
    [
      ["tool:start", "BashOutput", undefined],
      ["tool:end", "BashOutput", "completed"],
      ["tool:start", "KillBackground", undefined],
      ["tool:end", "KillBackground", "completed"],
      ["tool:start", "KillBackground", undefined],
      ["tool:end", "KillBackground", "failed"],
    ],
  );
});

test("a call that is refused over a limit fires both, as failed", async (t) => {
  const driven = drivenAgent(t, { backgroundLimits: { maxDetached: 1 } });
  await driven.start("sleep 60");
  const fired = recordHooks(driven.agent, TOOL_EVENTS);
  await driven.ask("true");
  assert.deepEqual(
    fired.map(({ event, status }) => [event, status]),
    [
      ["tool:start", undefined],
      ["tool:end", "failed"],
    ],
  );
});

test("a tool:start hook is awaited before the command is started", async (t) => {
  const driven = drivenAgent(t);
  driven.agent.hook("tool:start", async ({ call }) => {
    if (call.name !== "bash") return;
    await new Promise(setImmediate);
    writeFileSync(join(driven.workdir, "before"), "");
  });
  const id = await driven.start("[ -e before ] && echo in order");
  assert.equal((await driven.readToEnd(id)).text, "in order\n");
});

test("hook commands of a file run for the call, once for each event", async (t) => {
  const { workdir, home } = await temporaryFolder(t);
  mkdirSync(join(workdir, ".lite-agent"));
  const hooks = {
    "tool:start": [{ match: "bash", command: "echo start >> fired" }],
    "tool:end": [{ match: "bash", command: "echo end >> fired" }],
  };
  writeFileSync(join(workdir, ".lite-agent", "hooks.json"), JSON.stringify({ version: 1, hooks }));
  const driven = drivenAgent(t, { workdir, home });
  await driven.completionOf(await driven.start("true"));
  assert.equal(readFileSync(join(workdir, "fired"), "utf8"), "start\nend\n");
});

test("the end of a command does not wait for a hook, nor a hook for it", async (t) => {
  const driven = drivenAgent(t);
  let completed;
  driven.agent.hook("tool:end", async ({ result }) => {
    const [id] = result.content.match(/bg_[0-9a-f]{16}/) ?? [];
    if (id) completed = await driven.completionOf(id);
  });
  const id = await driven.start("true");
  assert.equal(completed.id, id);
});
