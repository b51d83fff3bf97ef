// The deadlines of commands: what they cover, and that the run goes on while the tree is killed. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { collect, pause, plainTool, within } from "../support/model.mjs";
import { gone, marker } from "../commands/processes.mjs";
import { call, hookAgent, runHooked } from "./hooked.mjs";

/** The dispatch has moved on 500 ms after the deadline; a machine that does other things as well gets more. */
const SLACK_MS = 2_000;
const TREES = {
  "a plain sleeper": (mark) => `echo begun; sleep ${mark}`,
  "one that ignores TERM": (mark) => `echo begun; trap '' TERM; sleep ${mark}; sleep ${mark}`,
  "a child in its own session that ignores TERM": (mark) =>
    `echo begun; setsid sh -c "trap '' TERM; sleep ${mark}; sleep ${mark}" & wait`,
  "a double fork": (mark) =>
    `echo begun; (setsid sh -c "trap '' TERM HUP; sleep ${mark} & wait" >/dev/null 2>&1 &) ; sleep ${mark}`,
  "one that has stopped itself": (mark) => `echo begun; sleep ${mark} & kill -STOP $$`,
  "one that writes for ever, slowly": (mark) => `echo begun; while :; do sleep 0.05; : ${mark}; done`,
};
const events = ["tool:start", "run:end"];
for (const [position, [name, command]] of Object.entries(TREES).entries()) {
  const event = events[position % events.length];
  test(`${name} at ${event}: reason timeout, the run goes on, and the whole tree is gone`, async (t) => {
    const mark = marker();
    const { failures, result, lines } = await runHooked(t, {
      project: { [event]: [{ command: command(mark), timeoutMs: 400 }, { command: "echo next >> order" }] },
      calls: [call()],
    });
    assert.equal(failures.length, 1);
    const [{ hook }] = failures;
    assert.deepEqual([hook.reason, hook.event, hook.index, hook.output], ["timeout", event, 0, "begun\n"]);
    assert.ok(hook.durationMs >= 399 && hook.durationMs < 400 + SLACK_MS, `${hook.durationMs}`);
    assert.deepEqual(lines("order"), ["next"]);
    assert.equal(result.text, "done");
    await gone(mark);
  });
}

test("the tool runs after a tool:start command that timed out, and the diagnostic comes before its result", async (t) => {
  const mark = marker();
  const { stream } = await runHooked(t, {
    project: { "tool:start": [{ command: `sleep ${mark}`, timeoutMs: 200 }] },
    calls: [call()],
  });
  const types = stream.map(({ type }) => type);
  assert.ok(types.indexOf("diagnostic") < types.indexOf("tool_result"));
  assert.equal(stream.find(({ type }) => type === "tool_result").result.content, "worked");
  await gone(mark);
});

test("a deadline with 200 KB that nobody reads is kept", async (t) => {
  const mark = marker();
  const { failures } = await runHooked(t, {
    project: { "tool:end": [{ command: `sleep ${mark}`, timeoutMs: 500 }] },
    calls: [call()],
    tools: [plainTool("work", () => "x".repeat(200_000))],
  });
  assert.deepEqual(
    failures.map(({ hook }) => hook.reason),
    ["timeout"],
  );
  assert.ok(failures[0].hook.durationMs < 500 + SLACK_MS);
  await gone(mark);
});

test("1 ms is a timeout, and nothing of it is left", async (t) => {
  const mark = marker();
  const { reasons } = await runHooked(t, {
    project: { "run:end": Array(5).fill({ command: `sleep ${mark}`, timeoutMs: 1 }) },
  });
  assert.deepEqual(reasons, Array(5).fill("timeout"));
  await gone(mark);
});

test("the time that an approval takes is not the command's", async (t) => {
  const { failures, lines } = await runHooked(t, {
    project: { "run:end": [{ command: "echo ran >> order", timeoutMs: 400 }] },
    permission: undefined,
    onApproval: { request: () => pause(700).then(() => "allow") },
  });
  assert.deepEqual(failures, []);
  assert.deepEqual(lines("order"), ["ran"]);
});

test("the sandbox's time is the command's", async (t) => {
  const { failures, read } = await runHooked(t, {
    project: { "run:end": [{ command: "sleep 0.3; touch ran", timeoutMs: 500 }] },
    sandbox: { id: "slow", wrap: (command) => pause(350).then(() => command) },
  });
  assert.deepEqual(
    failures.map(({ hook }) => hook.reason),
    ["timeout"],
  );
  assert.equal(read("ran"), undefined);
});

for (const part of ["wrap", "initialize"]) {
  test(`a sandbox whose ${part} never answers is a timeout, nothing is started, and close() resolves`, async (t) => {
    const sandbox = { id: "stuck", wrap: (command) => command, [part]: () => new Promise(() => {}) };
    const made = await hookAgent(t, { project: { "run:end": [{ command: "touch ran", timeoutMs: 200 }] }, sandbox });
    const { events } = await within(collect(made.agent.run("go")), "the run", 5_000);
    assert.deepEqual(
      events.filter(({ code }) => code === "hook_failed").map(({ hook }) => hook.reason),
      ["timeout"],
    );
    await within(made.agent.close(), "close()", 5_000);
    assert.equal(made.read("ran"), undefined);
  });
}

test("8 calls at once, each with a hook of 300 ms and a limit of 500 ms: none waits for another, none times out", async (t) => {
  // Where they waited for one another, no attempt could pass; a machine that is busy may cost some.
  const attempts = [];
  for (let attempt = 0; attempt < 5; attempt += 1) {
    const began = performance.now();
    const { failures, lines } = await runHooked(t, {
      project: { "tool:end": [{ command: "sleep 0.3; echo over >> order", timeoutMs: 500 }] },
      calls: Array.from({ length: 8 }, (_, number) => call(`call-${number}`)),
    });
    const took = performance.now() - began;
    if (failures.length === 0 && lines("order").length === 8 && took < 2_000) return;
    attempts.push([took, failures.length]);
  }
  assert.fail(`time and timeouts of each attempt: ${JSON.stringify(attempts)}`);
});

test("the deadlines of commands and handlers in one dispatch are each their own", async (t) => {
  const mark = marker();
  const made = await hookAgent(t, {
    project: {
      "run:end": [
        { command: "sleep 0.25", timeoutMs: 1_500 },
        { command: `sleep ${mark}`, timeoutMs: 150 },
        { command: "sleep 0.25", timeoutMs: 1_500 },
      ],
    },
  });
  made.agent.hook("run:end", () => pause(20), { timeoutMs: 1_500 });
  await made.agent.send("go");
  assert.deepEqual(
    made.heard.filter(({ code }) => code === "hook_failed").map(({ hook }) => [hook.index, hook.reason]),
    [[1, "timeout"]],
  );
  await gone(mark);
});
