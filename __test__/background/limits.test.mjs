// How much goes on in the background at once. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { marker, sleeping } from "../commands/processes.mjs";
import { deferred, until, within } from "../support/model.mjs";
import { drivenAgent, idIn } from "./driving.mjs";

const agentCall = ["Agent", { tasks: [{ display_name: "one", subagent_type: "general-purpose", prompt: "child" }] }];
const long = () => `sleep ${marker()}`;

for (const limit of ["maxDetached", "maxTotal"]) {
  test(`a command over ${limit} is a failed result that names the limit, and is not started`, async (t) => {
    const driven = drivenAgent(t, { backgroundLimits: { [limit]: 2 } });
    await driven.start(long());
    await driven.start(long());
    const { content, isError } = await driven.ask("touch ran");
    assert.equal(isError, true);
    assert.match(content, new RegExp(`^Error: .*${limit}`));
    await driven.close();
    assert.equal(existsSync(join(driven.workdir, "ran")), false);
  });

  test(`a command that was killed has left its place under ${limit}`, async (t) => {
    const driven = drivenAgent(t, { backgroundLimits: { [limit]: 1 } });
    await driven.kill(await driven.start(long()));
    const id = await driven.start("echo next");
    assert.equal((await driven.readToEnd(id)).text, "next\n");
  });

  test(`a command that ended by itself has left its place under ${limit}`, async (t) => {
    const driven = drivenAgent(t, { backgroundLimits: { [limit]: 1 } });
    await driven.completionOf(await driven.start("true"));
    assert.equal((await driven.ask("true")).isError, false);
  });

  test(`of a turn's calls as many start as ${limit} allows`, async (t) => {
    const driven = drivenAgent(t, { backgroundLimits: { [limit]: 3 } });
    const calls = Array.from({ length: 5 }, () => ["bash", { command: long(), run_in_background: true }]);
    const answers = await driven.calls(calls);
    assert.equal(answers.filter(({ isError }) => isError).length, 2);
  });

  test(`a command that is waited for does not count to ${limit}`, async (t) => {
    const driven = drivenAgent(t, { backgroundLimits: { [limit]: 1 } });
    await driven.start(long());
    assert.equal((await driven.call("bash", { command: "true" })).isError, false);
  });

  test(`a call that fails over ${limit} does not take a place`, async (t) => {
    const driven = drivenAgent(t, { backgroundLimits: { [limit]: 1 } });
    const id = await driven.start(long());
    for (let round = 0; round < 3; round += 1) assert.equal((await driven.ask("true")).isError, true);
    await driven.kill(id);
    assert.equal((await driven.ask("true")).isError, false);
  });

  for (const value of [-1, 1.5, "5", NaN, null]) {
    test(`${limit} ${value} is refused by name`, (t) => {
      assert.throws(
        () => drivenAgent(t, { backgroundLimits: { [limit]: value } }),
        (error) => /Config|Type/.test(error.name) && error.message.includes(`backgroundLimits.${limit}`),
      );
    });
  }
}

test("by default 20 commands go on at once", async (t) => {
  const driven = drivenAgent(t, { maxParallelTools: 21 });
  const mark = marker();
  const calls = Array.from({ length: 21 }, () => ["bash", { command: `sleep ${mark}`, run_in_background: true }]);
  const answers = await driven.calls(calls);
  const refused = answers.filter(({ isError }) => isError);
  assert.equal(refused.length, 1);
  assert.match(refused[0].content, /maxDetached/);
  await sleeping(mark, 20);
});

test("a child group takes one of maxTotal, and gives it back", async (t) => {
  const gate = deferred();
  const driven = drivenAgent(t, {
    backgroundLimits: { maxTotal: 1 },
    child: () => ({ text: "child done", wait: gate.promise }),
  });
  assert.equal((await driven.call(...agentCall)).isError, false);
  const refused = await driven.ask("true");
  assert.equal(refused.isError, true);
  assert.match(refused.content, /maxTotal/);
  gate.resolve();
  await within(driven.agent.awaitIdle(), "awaitIdle()");
  assert.equal((await driven.ask("true")).isError, false);
});

test("a command takes one of maxTotal from child groups", async (t) => {
  const driven = drivenAgent(t, { backgroundLimits: { maxTotal: 1 }, child: () => ({ text: "child done" }) });
  const id = await driven.start(long());
  const refused = await driven.call(...agentCall);
  assert.equal(refused.isError, true);
  assert.match(refused.content, /maxTotal/);
  await driven.kill(id);
  assert.equal((await driven.call(...agentCall)).isError, false);
  await within(driven.agent.awaitIdle(), "awaitIdle()");
});

test("a child group does not count to maxDetached", async (t) => {
  const gate = deferred();
  t.after(() => gate.resolve());
  const driven = drivenAgent(t, {
    backgroundLimits: { maxDetached: 1 },
    child: () => ({ text: "child done", wait: gate.promise }),
  });
  await driven.call(...agentCall);
  const { content, isError } = await driven.ask("echo free");
  assert.equal(isError, false, content);
  await until(async () => (await driven.read(idIn(content))).ending === "[exit code: 0]");
});

for (const value of [5, "x", null, [], true]) {
  test(`backgroundLimits ${JSON.stringify(value)} is refused by name`, (t) => {
    assert.throws(
      () => drivenAgent(t, { backgroundLimits: value }),
      (error) => /Config|Type/.test(error.name) && error.message.includes("backgroundLimits"),
    );
  });
}

test("an unknown limit is a ConfigError that names it and the near miss", (t) => {
  assert.throws(
    () => drivenAgent(t, { backgroundLimits: { maxTotl: 5 } }),
    ({ name, message }) => name === "ConfigError" && message.includes("maxTotl") && /\bmaxTotal\b/.test(message),
  );
});

test("undefined is a limit that is not given", async (t) => {
  const limits = { maxTotal: undefined, maxDetached: undefined, bufferBytes: undefined, maxTaskMs: undefined };
  const driven = drivenAgent(t, { backgroundLimits: limits, bash: { backgroundTimeoutMs: undefined } });
  assert.equal((await driven.ask("true")).isError, false);
});
