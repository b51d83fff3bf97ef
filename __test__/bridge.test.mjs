// What must hold at the bridge itself, and cannot be brought about through the public face: a panic of the core.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { AgentError, ClosedError, policy } from "../index.js";
import { native } from "../lib/native.js";
import { gone, marker, sleeping } from "./commands/processes.mjs";
import { agentFor, deferred, plainTool, scriptedModel, within } from "./support/model.mjs";

/** Makes the next call of one native function panic within a turn of the same family. */
function panicIn(t, name) {
  const original = native[name];
  t.mock.method(native, name, (handle) => {
    native[name] = original;
    return native.familyPanic(handle);
  });
}

test("a panic rejects every run that waits, closes the agent and leaves other agents alone", async (t) => {
  const agent = agentFor(t, { model: scriptedModel([{ text: "never" }]) });
  const other = agentFor(t, { model: scriptedModel([{ text: "fine" }]) });
  const queued = [agent.send("one"), agent.send("two"), agent.run("three").next()];
  panicIn(t, "familyAnswer");
  for (const outcome of await within(Promise.allSettled(queued), "the runs")) {
    if (outcome.status === "fulfilled") continue; // an event that was there before the panic
    assert.ok(outcome.reason instanceof AgentError);
    assert.equal(outcome.reason.code, "internal");
    assert.match(outcome.reason.message, /internal error/);
  }
  await assert.rejects(agent.send("again"), (error) => error instanceof ClosedError || error.code === "internal");
  assert.throws(
    () => agent.hook("run:end", () => {}),
    (error) => error.code === "internal",
  );
  await within(agent.close(), "close()");
  assert.equal((await other.send("go")).text, "fine");
});

test("a panic leaves no command running, in the background or not", async (t) => {
  for (const background of [true, false]) {
    const mark = marker();
    const calls = [{ id: "1", name: "bash", input: { command: `sleep ${mark}`, run_in_background: background } }];
    const model = scriptedModel([{ calls }, { wait: new Promise(() => {}), text: "never" }]);
    const agent = agentFor(t, { model, permission: policy() });
    const going = agent.send("go").catch(() => {});
    await sleeping(mark);
    panicIn(t, "familyStart");
    await assert.rejects(agent.send("other", { sessionId: "other" }), { code: "internal" });
    await within(going, "the run");
    await within(agent.close(), "close()");
    await gone(mark);
  }
});

test("a panic aborts the signals of the callbacks that are going", async (t) => {
  const begun = deferred();
  let signal;
  const agent = agentFor(t, {
    model: scriptedModel([{ calls: [{ id: "1", name: "work", input: {} }] }]),
    tools: [
      plainTool("work", async (_input, context) => {
        signal = context.signal;
        begun.resolve();
        await new Promise(() => {});
      }),
    ],
  });
  const sending = agent.send("go");
  await begun.promise;
  panicIn(t, "familyAwaitIdle");
  await within(agent.awaitIdle(), "awaitIdle()");
  await assert.rejects(sending, { code: "internal" });
  assert.equal(signal.aborted, true);
});

test("a panic when a run is started rejects the runs that are going as well", async (t) => {
  const begun = deferred();
  const agent = agentFor(t, {
    model: scriptedModel([{ calls: [{ id: "1", name: "work", input: {} }] }]),
    tools: [plainTool("work", () => (begun.resolve(), new Promise(() => {})))],
  });
  const sending = agent.send("go");
  await begun.promise;
  panicIn(t, "familyStart");
  const outcomes = await within(Promise.allSettled([agent.send("other", { sessionId: "other" }), sending]), "the runs");
  for (const { reason } of outcomes) assert.equal(reason?.code, "internal");
});

test("a process in which the core panicked ends by itself and with its own exit code", () => {
  const script = `
    import { createLiteAgent, fakeProvider } from ${JSON.stringify(new URL("../index.js", import.meta.url).href)};
    import { native } from ${JSON.stringify(new URL("../lib/native.js", import.meta.url).href)};
    const message = { role: "assistant", content: [{ type: "text", text: "x" }] };
    const agent = createLiteAgent({ model: fakeProvider([{ message }]), workdir: ".", hookFiles: false });
    native.familyAnswer = (handle) => native.familyPanic(handle);
    await agent.send("go").catch((error) => console.log(error.code));
  `;
  const ended = spawnSync(
    process.execPath,
    ["--unhandled-rejections=strict", "--input-type=module", "--eval", script],
    {
      cwd: fileURLToPath(new URL("..", import.meta.url)),
      encoding: "utf8",
      timeout: 20_000,
    },
  );
  assert.equal(ended.status, 0, ended.stderr);
  assert.equal(ended.stdout, "internal\n");
});
