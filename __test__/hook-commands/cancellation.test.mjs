// Commands of runs that are stopped: those of start events end with the run, those of end events run after it. Knows the
// public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { collect, deferred, hookFailures, pause, plainTool, scriptedModel, until, within } from "../support/model.mjs";
import { gone, marker, sleeping } from "../commands/processes.mjs";
import { call, hookAgent } from "./hooked.mjs";

const stops = {
  "the caller's signal": ({ controller }) => controller.abort(new Error("enough")),
  "close()": ({ agent }) => agent.close(),
  "return()": ({ run }) => run.return(),
};
for (const [name, stop] of Object.entries(stops)) {
  for (const event of ["run:start", "tool:start"]) {
    test(`${name} while a command of ${event} runs: it is killed, the next is not begun, neither is a failure`, async (t) => {
      const mark = marker();
      const made = await hookAgent(t, {
        project: {
          [event]: [
            { command: `trap '' TERM; setsid sleep ${mark} & sleep ${mark}; sleep ${mark}` },
            { command: "echo next >> order" },
          ],
          "run:end": [{ command: "cat > ended" }],
        },
        calls: [call()],
      });
      const controller = new AbortController();
      const run = made.agent.run("go", { signal: controller.signal });
      const collecting = collect(run);
      await sleeping(mark, 2);
      const began = performance.now();
      const stopping = stop({ ...made, controller, run });
      const { result } = await within(collecting, "the run");
      assert.ok(performance.now() - began < 3_000);
      await within(stopping, "what stopped it");
      if (name !== "return()") assert.equal(result.stopReason, "aborted");
      assert.deepEqual(hookFailures(made.heard), []);
      assert.equal(made.read("order"), undefined);
      const [ended] = made.events("ended");
      assert.deepEqual([ended.event, ended.status], ["run:end", "cancelled"], "the end command ran, with its event");
      await gone(mark);
      await made.agent.close();
      assert.equal(made.read("order"), undefined);
    });
  }
}

test("a stopped tool's tool:end command and the run's run:end command run, in order, with cancelled", async (t) => {
  const made = await hookAgent(t, {
    project: { "tool:end": [{ command: "cat >> seen" }], "run:end": [{ command: "sleep 0.1; cat >> seen" }] },
    calls: [call()],
    tools: [plainTool("work", () => new Promise(() => {}))],
  });
  const controller = new AbortController();
  made.agent.subscribe(({ event }) => event.type === "tool_call_start" && setTimeout(() => controller.abort(), 30));
  await within(made.agent.send("go", { signal: controller.signal }), "the run");
  assert.deepEqual(
    made.events("seen").map(({ event, status }) => [event, status]),
    [
      ["tool:end", "cancelled"],
      ["run:end", "cancelled"],
    ],
  );
  assert.deepEqual(hookFailures(made.heard), []);
});

for (const [name, stop] of Object.entries(stops)) {
  test(`${name} while a command of run:end runs does not end it: it is awaited`, async (t) => {
    const made = await hookAgent(t, {
      project: { "run:end": [{ command: "touch begun; sleep 0.5; touch over" }, { command: "touch next" }] },
    });
    const controller = new AbortController();
    const run = made.agent.run("go", { signal: controller.signal });
    const collecting = collect(run);
    await until(() => made.read("begun") !== undefined);
    const stopping = stop({ ...made, controller, run });
    await within(collecting, "the run");
    await within(stopping, "what stopped it");
    assert.deepEqual([made.read("over"), made.read("next")], ["", ""]);
    assert.deepEqual(hookFailures(made.heard), []);
  });
}

test("close() waits for terminal commands, each bounded by its deadline, and leaves no process", async (t) => {
  const mark = marker();
  const made = await hookAgent(t, {
    project: {
      "run:end": [{ command: `trap '' TERM; sleep ${mark}; sleep ${mark}`, timeoutMs: 300 }, { command: "touch last" }],
    },
  });
  const running = made.agent.send("go");
  await sleeping(mark);
  await within(made.agent.close(), "close()", 5_000);
  assert.equal(made.read("last"), "");
  await gone(mark, 0);
  await running;
  assert.deepEqual(
    hookFailures(made.heard).map(({ hook }) => hook.reason),
    ["timeout"],
  );
});

test("a run whose signal was aborted before it began fires no command", async (t) => {
  const made = await hookAgent(t, {
    project: { "run:start": [{ command: "echo x >> seen" }], "run:end": [{ command: "echo x >> seen" }] },
  });
  const { stopReason } = await made.agent.send("go", { signal: AbortSignal.abort() });
  assert.equal(stopReason, "aborted");
  const pairs = made.lines("seen").length;
  assert.ok(pairs === 0 || pairs === 2, `${pairs}: each start has its end`);
});

const PENDING = {
  "that honours its signal": {
    request: (_, signal) =>
      new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
  },
  "that never answers": { request: () => new Promise(() => {}) },
};
for (const [name, onApproval] of Object.entries(PENDING)) {
  test(`a stop while the approval of a start command is pending, with a handler ${name}: nothing is started, no failure`, async (t) => {
    const asked = deferred();
    const made = await hookAgent(t, {
      project: { "run:start": [{ command: "touch ran" }] },
      permission: undefined,
      onApproval: { request: (...given) => (asked.resolve(), onApproval.request(...given)) },
    });
    const controller = new AbortController();
    const running = made.agent.send("go", { signal: controller.signal });
    await asked.promise;
    controller.abort();
    assert.equal((await within(running, "the run", 5_000)).stopReason, "aborted");
    assert.deepEqual(hookFailures(made.heard), []);
    assert.equal(made.read("ran"), undefined);
  });

  for (const [how, stop] of Object.entries(stops)) {
    test(`${how} while the approval of an end command is pending, with a handler ${name}: denied, and the run ends`, async (t) => {
      const asked = deferred();
      const made = await hookAgent(t, {
        project: { "run:end": [{ command: "touch ran" }] },
        permission: undefined,
        onApproval: { request: (...given) => (asked.resolve(), onApproval.request(...given)) },
      });
      const controller = new AbortController();
      const run = made.agent.run("go", { signal: controller.signal });
      const collecting = collect(run);
      await asked.promise;
      const stopping = stop({ ...made, controller, run });
      await within(collecting, "the run", 5_000);
      await within(stopping, "what stopped it", 5_000);
      assert.deepEqual(
        hookFailures(made.heard).map(({ hook }) => hook.reason),
        ["denied"],
      );
      assert.equal(made.read("ran"), undefined);
    });
  }

  test(`a run that was stopped before its end command asks, with a handler ${name}: the run ends, and nothing is started`, async (t) => {
    const begun = deferred();
    const made = await hookAgent(t, {
      project: { "run:end": [{ command: "touch ran" }] },
      permission: undefined,
      onApproval,
      model: scriptedModel([() => (begun.resolve(), { wait: new Promise(() => {}) })]),
    });
    const running = made.agent.send("go");
    await begun.promise;
    await within(made.agent.close(), "close()", 5_000);
    await within(running, "the run", 5_000);
    assert.deepEqual(
      hookFailures(made.heard).map(({ hook }) => hook.reason),
      ["denied"],
    );
    assert.equal(made.read("ran"), undefined);
  });
}

test("a stop while the policy of a command is pending starts nothing, not even when it answers later", async (t) => {
  const asked = deferred();
  const answer = deferred();
  const made = await hookAgent(t, {
    project: { "run:start": [{ command: "touch ran" }] },
    permission: { check: () => (asked.resolve(), answer.promise) },
  });
  const controller = new AbortController();
  const running = made.agent.send("go", { signal: controller.signal });
  await asked.promise;
  controller.abort();
  await within(running, "the run", 5_000);
  answer.resolve("allow");
  await pause(80);
  await made.agent.close();
  assert.equal(made.read("ran"), undefined);
});

test("the sessions of one agent are apart: a stop of one run leaves the other's command", async (t) => {
  const one = marker();
  const made = await hookAgent(t, {
    project: {
      "run:start": [
        { command: `read line; case "$line" in *'"first"'*) sleep ${one};; *) sleep 0.5; touch second;; esac` },
      ],
    },
  });
  const controller = new AbortController();
  const first = made.agent.send("first", { sessionId: "a", signal: controller.signal });
  const second = made.agent.send("second", { sessionId: "b" });
  await sleeping(one);
  controller.abort();
  await first;
  assert.equal((await second).stopReason, "stop");
  assert.equal(made.read("second"), "");
  await gone(one);
});

test("an end command whose approval waits in line behind another run's is denied when its own run is stopped", async (t) => {
  const asked = [];
  const made = await hookAgent(t, {
    project: { "run:end": [{ command: "touch ran" }] },
    permission: undefined,
    onApproval: { request: (one) => (asked.push(one.id), new Promise(() => {})) },
  });
  const first = made.agent.send("go", { sessionId: "a" });
  await until(() => asked.length === 1);
  const turns = () => made.heard.filter(({ type }) => type === "approval_request").length;
  const controller = new AbortController();
  const second = made.agent.send("go", { sessionId: "b", signal: controller.signal });
  await until(() => made.heard.filter(({ type }) => type === "turn_end").length === 2);
  await pause(20);
  controller.abort();
  await within(second, "the run that waited in line", 5_000);
  assert.deepEqual(
    hookFailures(made.heard).map(({ hook }) => hook.reason),
    ["denied"],
  );
  assert.ok(turns() <= 2 && asked.length === 1);
  await within(made.agent.close(), "close()", 5_000);
  await within(first, "the first run", 5_000);
  assert.deepEqual(
    hookFailures(made.heard).map(({ hook }) => hook.reason),
    ["denied", "denied"],
  );
  assert.equal(made.read("ran"), undefined);
});
