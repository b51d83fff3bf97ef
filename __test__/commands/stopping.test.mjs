// A command whose run is stopped, whose agent is closed, and what a command leaves behind: nothing that came from it is
// alive afterwards. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { collect, deferred, within } from "../support/model.mjs";
import { bash, bashAgent, written } from "./bashing.mjs";
import { childrenOf, gone, marker, sleeping } from "./processes.mjs";

/** A tree of a shell that ignores TERM, a child of it, one in its own session, and one that forked twice. */
const tree = (mark) =>
  `trap '' TERM HUP; echo begun; setsid sleep ${mark} & (setsid sh -c 'trap "" TERM; sleep ${mark} & wait; sleep ${mark}' >/dev/null 2>&1 &) ; sleep ${mark}; sleep ${mark}`;

const stops = {
  "the caller's signal": ({ controller }) => controller.abort(new Error("enough")),
  "close()": ({ agent }) => agent.close(),
  "return()": ({ run }) => run.return(),
};
for (const [name, stop] of Object.entries(stops)) {
  test(`${name} in the middle of a command: the run settles at once as aborted, and the whole tree is gone`, async (t) => {
    const mark = marker();
    const { agent, ends } = await bashAgent(t, [tree(mark)]);
    const statuses = [];
    agent.hook("run:end", ({ status }) => void statuses.push(status));
    const controller = new AbortController();
    const run = agent.run("go", { signal: controller.signal });
    const collecting = collect(run);
    await sleeping(mark, 3);
    const stopped = performance.now();
    const stopping = stop({ controller, agent, run });
    const { result } = await within(collecting, "the run");
    assert.ok(performance.now() - stopped < 2_000);
    await within(stopping, "what stopped it");
    if (name !== "return()") assert.equal(result.stopReason, "aborted");
    assert.deepEqual(statuses, ["cancelled"]);
    assert.equal(ends[0].status, "cancelled");
    assert.equal(ends[0].result?.isError ?? true, true);
    await gone(mark);
  });
}

test("close() resolves only when every process of its commands is gone", async (t) => {
  const mark = marker();
  const { agent } = await bashAgent(t, [`trap '' TERM; sleep ${mark}; sleep ${mark}`]);
  const running = agent.send("go");
  await sleeping(mark);
  await within(agent.close(), "close()");
  await gone(mark, 0);
  assert.equal((await running).stopReason, "aborted");
});

test("a run that was stopped leaves its session usable: the next send() works and the conversation is well formed", async (t) => {
  const mark = marker();
  const { agent, model } = await bashAgent(t, [`sleep ${mark}`]);
  const controller = new AbortController();
  const running = agent.send("go", { signal: controller.signal });
  await sleeping(mark);
  controller.abort();
  await running;
  assert.equal((await agent.send("again")).text, "done");
  const results = model.requests[1].messages.flatMap(({ content }) =>
    Array.isArray(content) ? content.filter(({ type }) => type === "tool_result") : [],
  );
  assert.equal(results.length, 1);
  assert.equal(results[0].isError, true);
  assert.match(results[0].content, /interrupted/);
  await gone(mark);
});

test("of four commands at once, a stop takes every one along", async (t) => {
  const marks = [marker(), marker(), marker(), marker()];
  const { agent, ends } = await bashAgent(t, marks.map(tree));
  const controller = new AbortController();
  const running = agent.send("go", { signal: controller.signal });
  for (const mark of marks) await sleeping(mark, 3);
  controller.abort();
  await within(running, "the run");
  assert.deepEqual(
    ends.map(({ status }) => status),
    Array(4).fill("cancelled"),
  );
  for (const mark of marks) await gone(mark);
});

const LEFT_BEHIND = {
  "a background child that holds the output": (mark) => `sleep ${mark} & echo $!`,
  "a background child that holds nothing": (mark) => `sleep ${mark} >/dev/null 2>&1 </dev/null & echo $!`,
  "a child in its own session": (mark) => `setsid sleep ${mark} >/dev/null 2>&1 & echo $!`,
  "a daemon that forked twice, with TERM ignored": (mark) =>
    `(setsid sh -c 'trap "" TERM HUP; sleep ${mark} & sleep ${mark}' >/dev/null 2>&1 &) ; while ! ps ax 2>/dev/null | grep -q '[s]leep ${mark}'; do sleep 0.02; [ $((n+=1)) -gt 50 ] && break; done; echo $$`,
  "a stopped child": (mark) => `sleep ${mark} & kill -STOP $!; echo $!`,
  "a nohup child": (mark) => `nohup sleep ${mark} >/dev/null 2>&1 & disown; echo $!`,
};
for (const [name, command] of Object.entries(LEFT_BEHIND)) {
  test(`${name} does not hold the call, which is a success, and is gone with it`, async (t) => {
    const mark = marker();
    const { content, status, end } = await bash(t, command(mark));
    assert.equal(status, "completed");
    assert.match(written(content), /^\d+\n$/);
    assert.ok(end.durationMs < 10_000);
    await gone(mark);
  });
}

test("a command that closes its output and goes on is waited for", async (t) => {
  const { status, workdir } = await bash(t, "exec >&- 2>&-; sleep 0.3; touch late");
  assert.equal(status, "completed");
  assert.ok(existsSync(join(workdir, "late")));
});

for (const [name, command] of [
  ["kills its parent", "kill -KILL $PPID; sleep"],
  ["stops its parent", "kill -STOP $PPID; sleep"],
  ["signals its process group", "trap '' TERM; kill -TERM 0; sleep"],
]) {
  test(`a command that ${name} leaves nothing behind, and the host is untouched`, async (t) => {
    const mark = marker();
    const { status, result } = await bash(t, {
      command: `setsid sleep ${mark} >/dev/null 2>&1 & ${command} ${mark}`,
      timeoutMs: 1_000,
    });
    assert.equal(status, "failed");
    assert.equal(result.stopReason, "stop");
    await gone(mark);
  });
}

test("a fork storm ends at the deadline", async (t) => {
  const mark = marker();
  const command = `f() { sleep ${mark} & }; i=0; while [ $i -lt 150 ]; do f; i=$((i+1)); done; wait`;
  const { content } = await bash(t, { command, timeoutMs: 1_000 });
  assert.match(content, /timed out/);
  await gone(mark);
});

test("a stop before the command began starts nothing", async (t) => {
  const { agent, workdir, ends } = await bashAgent(t, ["touch ran"]);
  const controller = new AbortController();
  const entered = deferred();
  agent.hook("tool:start", async () => {
    entered.resolve();
    await new Promise((resolve) => setTimeout(resolve, 20));
  });
  const running = agent.send("go", { signal: controller.signal });
  await entered.promise;
  controller.abort();
  await within(running, "the run");
  await agent.close();
  assert.equal(existsSync(join(workdir, "ran")), false);
  assert.ok(ends.every(({ status }) => status === "cancelled"));
});

test("a stop at any moment of a command's life leaves no process and no child of the host", async (t) => {
  const mark = marker();
  const { agent } = await bashAgent(t, [`sleep ${mark} & sleep ${mark}`]);
  for (let delay = 0; delay < 24; delay += 2) {
    const next = (await bashAgent(t, [`sleep ${mark} & sleep ${mark}`])).agent;
    const controller = new AbortController();
    const running = next.send("go", { signal: controller.signal });
    await new Promise((resolve) => (delay === 0 ? resolve() : setTimeout(resolve, delay)));
    controller.abort();
    assert.equal((await within(running, `the run stopped after ${delay} ms`)).stopReason, "aborted");
    await within(next.close(), "close()");
    assert.deepEqual(childrenOf(), [], `children after ${delay} ms and close()`);
  }
  await agent.close();
  await gone(mark);
});
