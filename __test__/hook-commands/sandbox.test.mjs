// The host's sandbox around hook commands: the same one, asked once for each, and never gone around. Knows the public
// face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { policy } from "../../index.js";
import { hookFailures, pause, deferred, within } from "../support/model.mjs";
import { call, hookAgent, runHooked } from "./hooked.mjs";

test("one sandbox for hooks and bash: initialized once before the first, asked once for each command, disposed at close", async (t) => {
  const asked = [];
  const sandbox = {
    id: "recording",
    async initialize() {
      await pause(20);
      asked.push("initialize");
    },
    wrap(command, options) {
      asked.push([command, options]);
      return `echo wrapped >> order; ${command}`;
    },
    dispose: () => void asked.push("dispose"),
  };
  const made = await hookAgent(t, {
    project: {
      "run:start": [{ command: "cat >> start" }],
      "tool:end": [
        { match: "bash", command: "true 2" },
        { match: "other", command: "true 3" },
      ],
    },
    calls: [call("1", "bash", { command: "true 1" })],
    sandbox,
  });
  await made.agent.send("go");
  await made.agent.close();
  const { workdir } = made;
  assert.deepEqual(asked, [
    "initialize",
    ["cat >> start", { cwd: workdir }],
    ["true 1", { cwd: workdir }],
    ["true 2", { cwd: workdir }],
    "dispose",
  ]);
  assert.deepEqual(made.lines("order"), ["wrapped", "wrapped", "wrapped"]);
  assert.equal(made.events("start").length, 1, "what wraps passes standard input on");
  assert.deepEqual(hookFailures(made.heard), []);
});

const broken = new Error("no boundary here");
const FAILING = {
  "wrap throws": {
    wrap: () => {
      throw broken;
    },
  },
  "wrap rejects": { wrap: () => Promise.reject(broken) },
  "initialize throws": {
    initialize: () => {
      throw broken;
    },
  },
  "initialize rejects": { initialize: () => Promise.reject(broken) },
  "wrap answers nothing": { wrap: () => undefined },
  "wrap answers an empty command": { wrap: () => "" },
  "wrap answers a blank command": { wrap: () => " \n" },
  "wrap answers what is no text of the system": { wrap: (command) => `${command} # \ud800` },
};
for (const [name, parts] of Object.entries(FAILING)) {
  test(`${name}: reason sandbox for each command, nothing is started, and the run goes on`, async (t) => {
    const { failures, read, result } = await runHooked(t, {
      project: { "run:start": [{ command: "touch ran" }], "run:end": [{ command: "touch ran" }] },
      sandbox: { id: "broken", wrap: (command) => command, ...parts },
    });
    assert.deepEqual(
      failures.map(({ hook }) => [hook.reason, "output" in hook, "exitCode" in hook]),
      [
        ["sandbox", false, false],
        ["sandbox", false, false],
      ],
    );
    if (!name.includes("answers")) for (const { message } of failures) assert.match(message, /no boundary here/);
    assert.equal(read("ran"), undefined);
    assert.equal(result.text, "done");
  });
}

test("a denied command is not shown to the sandbox, in a dry run neither", async (t) => {
  for (const permissionMode of ["enforce", "dry-run"]) {
    const asked = [];
    const { reasons } = await runHooked(t, {
      project: { "run:end": [{ command: "true" }] },
      permission: policy({ deny: ["hook"] }),
      permissionMode,
      sandbox: { id: "x", wrap: (command) => (asked.push(command), command) },
    });
    assert.deepEqual([asked, reasons], [[], ["denied"]]);
  }
});

test("the policy sees the command as it is written, not as it is wrapped", async (t) => {
  const seen = [];
  await runHooked(t, {
    project: { "run:end": [{ command: "true" }] },
    permission: { check: ({ input }) => (seen.push(input.command), "allow") },
    sandbox: { id: "x", wrap: (command) => `env -i ${command}` },
  });
  assert.deepEqual(seen, ["true"]);
});

test("a stop while a start command is being wrapped starts nothing, not even when it is wrapped later", async (t) => {
  const asked = deferred();
  const answer = deferred();
  const sandbox = { id: "slow", wrap: async (command) => (asked.resolve(), await answer.promise, command) };
  const made = await hookAgent(t, { project: { "run:start": [{ command: "touch ran" }] }, sandbox });
  const controller = new AbortController();
  const running = made.agent.send("go", { signal: controller.signal });
  await asked.promise;
  controller.abort();
  await within(running, "the run", 5_000);
  answer.resolve();
  await pause(100);
  await made.agent.close();
  assert.equal(made.read("ran"), undefined);
  assert.deepEqual(hookFailures(made.heard), []);
});

test("a command that was wrapped after its deadline is not started", async (t) => {
  const sandbox = { id: "late", wrap: (command) => pause(500).then(() => command) };
  const made = await hookAgent(t, { project: { "run:end": [{ command: "touch ran", timeoutMs: 100 }] }, sandbox });
  await made.agent.send("go");
  assert.deepEqual(
    hookFailures(made.heard).map(({ hook }) => hook.reason),
    ["timeout"],
  );
  await pause(600);
  assert.equal(made.read("ran"), undefined);
});
