// The host's sandbox around the bash tool: asked once for each command, awaited before the first, let go at close, and
// never gone around. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { ClosedError, ConfigError, createLiteAgent, policy, SandboxError } from "../../index.js";
import { agentFor, deferred, pause, scriptedModel, temporaryFolder, until, within } from "../support/model.mjs";
import { bash, bashAgent, written } from "./bashing.mjs";
import { gone, marker, sleeping } from "./processes.mjs";

/** A sandbox that tells what it was asked, and wraps by an echo. */
function recording(parts = {}) {
  const asked = [];
  return {
    id: "recording",
    asked,
    initialize() {
      asked.push("initialize");
    },
    wrap(command, options) {
      asked.push(["wrap", command, options]);
      return `echo wrapped; ${command}`;
    },
    dispose() {
      asked.push("dispose");
    },
    ...parts,
  };
}

test("initialize is awaited once before the first wrap, wrap is asked once for each command, dispose once at close", async (t) => {
  const ready = deferred();
  const sandbox = recording();
  const initialize = sandbox.initialize;
  sandbox.initialize = async () => {
    initialize();
    await ready.promise;
    sandbox.asked.push("ready");
  };
  const { agent, model, workdir } = await bashAgent(t, ["echo one", "echo two"], { sandbox });
  const running = agent.send("go");
  await until(() => sandbox.asked.length > 0);
  await pause(30);
  assert.deepEqual(sandbox.asked, ["initialize"]);
  ready.resolve();
  await running;
  const contents = model.requests[1].messages.at(-1).content.map(({ content }) => written(content));
  assert.deepEqual(contents, ["wrapped\none\n", "wrapped\ntwo\n"]);
  assert.deepEqual(sandbox.asked.slice(0, 2), ["initialize", "ready"]);
  assert.deepEqual(
    sandbox.asked.slice(2).sort(),
    [
      ["wrap", "echo one", { cwd: workdir }],
      ["wrap", "echo two", { cwd: workdir }],
    ].sort(),
  );
  await Promise.all([agent.close(), agent.close()]);
  assert.equal(sandbox.asked.filter((entry) => entry === "dispose").length, 1);
  assert.equal(sandbox.asked.at(-1), "dispose");
});

test("a sandbox is called with itself as this, and may have wrap alone", async (t) => {
  class Boundary {
    id = "class";
    #prefix = "echo boundary;";
    wrap(command) {
      return `${this.#prefix} ${command}`;
    }
  }
  const { content } = await bash(t, "echo in", { sandbox: new Boundary() });
  assert.equal(written(content), "boundary\nin\n");
});

test("dispose is called only when the last command's tree is gone", async (t) => {
  const mark = marker();
  const alive = [];
  const sandbox = recording({
    async dispose() {
      alive.push(await gone(mark, 0).then(() => "gone", String));
    },
  });
  const { agent } = await bashAgent(t, [`trap '' TERM; sleep ${mark}; sleep ${mark}`], { sandbox });
  const running = agent.send("go");
  await sleeping(mark);
  await agent.close();
  await running;
  assert.deepEqual(alive, ["gone"]);
});

const FAILING = {
  "a wrap that throws": {
    wrap() {
      throw new SandboxError("no boundary here");
    },
  },
  "a wrap that rejects": { wrap: async () => Promise.reject(new Error("no boundary here")) },
  "a wrap that throws no error": {
    wrap() {
      throw "no boundary here";
    },
  },
  "an initialize that throws": {
    initialize() {
      throw new Error("no boundary here");
    },
  },
  "an initialize that rejects": { initialize: () => Promise.reject(new Error("no boundary here")) },
};
for (const [name, parts] of Object.entries(FAILING)) {
  test(`${name}: the command is not run, the result says why, and the run goes on`, async (t) => {
    const { content, isError, result, workdir } = await bash(t, "touch ran", { sandbox: recording(parts) });
    assert.equal(isError, true);
    assert.match(content, /no boundary here/);
    assert.match(content, /sandbox/);
    assert.equal(result.text, "done");
    assert.equal(existsSync(join(workdir, "ran")), false);
  });
}

for (const value of [undefined, null, "", "  \n", 5, {}, ["touch ran"], new String("touch ran")]) {
  test(`a wrap that returns ${JSON.stringify(value) ?? "undefined"}: the command is not run`, async (t) => {
    const { content, isError, workdir } = await bash(t, "touch ran", { sandbox: recording({ wrap: () => value }) });
    assert.equal(isError, true);
    assert.match(content, /wrap/);
    assert.equal(existsSync(join(workdir, "ran")), false);
  });
}

test("an initialize that failed is not forgotten: the second command does not run bare either", async (t) => {
  const sandbox = recording({ initialize: async () => Promise.reject(new Error("no boundary here")) });
  const { agent, ends, workdir } = await bashAgent(t, ["touch one", "touch two"], { sandbox, maxParallelTools: 1 });
  await agent.send("go");
  assert.ok(ends.every(({ status }) => status === "failed"));
  assert.equal(existsSync(join(workdir, "one")) || existsSync(join(workdir, "two")), false);
});

for (const part of ["initialize", "wrap"]) {
  test(`a stop while ${part} is pending starts nothing, not even when it answers later`, async (t) => {
    const answer = deferred();
    const asked = deferred();
    const sandbox = recording({
      [part]: async (command) => {
        asked.resolve();
        await answer.promise;
        return command;
      },
    });
    const { agent, workdir } = await bashAgent(t, ["touch ran"], { sandbox });
    const controller = new AbortController();
    const running = agent.send("go", { signal: controller.signal });
    await asked.promise;
    controller.abort();
    assert.equal((await within(running, "the run")).stopReason, "aborted");
    answer.resolve();
    await pause(100);
    await within(agent.close(), "close()");
    assert.equal(existsSync(join(workdir, "ran")), false);
  });

  test(`the deadline covers ${part}: one that never answers is a timeout, and the run goes on`, async (t) => {
    const sandbox = recording({ [part]: () => new Promise(() => {}) });
    const { agent, ends } = await bashAgent(t, [{ command: "touch ran", timeoutMs: 200 }], { sandbox });
    const { text } = await within(agent.send("go"), "the run", 3_000);
    assert.equal(text, "done");
    assert.equal(ends[0].status, "failed");
    assert.match(ends[0].result.content, /timed out/);
  });
}

test("a denied command is not shown to the sandbox", async (t) => {
  const sandbox = recording();
  await bash(t, "true", { sandbox, permission: policy({ deny: ["bash"] }) });
  assert.deepEqual(sandbox.asked, []);
});

test("the wrapped command line is what /bin/sh or bash runs, quotes and line breaks as they are", async (t) => {
  const sandbox = recording({ wrap: (command) => `sh -c '${command.replaceAll("'", `'\\''`)}'` });
  const { content } = await bash(t, `echo 'a "b"'\necho "it's"`, { sandbox });
  assert.equal(written(content), `a "b"\nit's\n`);
});

test("send on the same session inside wrap is refused for re-entrancy, and on another session is allowed", async (t) => {
  const outcomes = [];
  let agent;
  const sandbox = recording({
    async wrap(command) {
      outcomes.push(
        await agent.send("again").then(
          () => "allowed",
          ({ name }) => name,
        ),
      );
      return command;
    },
  });
  ({ agent } = await bashAgent(t, ["true"], { sandbox }));
  await within(agent.send("go"), "the run");
  assert.deepEqual(outcomes, ["ReentrancyError"]);
});

test("a dispose that throws makes close() reject with it, after everything else was let go", async (t) => {
  const { workdir, home } = await temporaryFolder(t);
  const thrown = new Error("cannot let go");
  const dispose = () => Promise.reject(thrown);
  const model = scriptedModel([{ text: "ok" }]);
  const agent = createLiteAgent({ workdir, home, model, sessions: false, sandbox: recording({ dispose }) });
  await agent.send("go");
  await assert.rejects(within(agent.close(), "close()"), (error) => error === thrown);
  await assert.rejects(agent.send("again"), ClosedError);
});

for (const [name, sandbox] of [
  ["no wrap", { id: "x" }],
  ["no id", { wrap: (command) => command }],
  ["an empty id", { id: "", wrap: (command) => command }],
  ["an initialize that is no function", { id: "x", wrap: (command) => command, initialize: true }],
  ["a string", "seatbelt"],
]) {
  test(`a sandbox with ${name} is refused when the agent is made`, (t) => {
    assert.throws(
      () => agentFor(t, { model: scriptedModel([{ text: "ok" }]), sandbox }),
      (error) => error instanceof ConfigError && error.message.includes("sandbox"),
    );
  });
}
