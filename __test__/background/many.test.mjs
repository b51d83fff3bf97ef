// Many background commands, and much output: nothing grows, nothing is left, nothing is mixed up. Knows the public face
// only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { childrenOf, descriptors, gone, marker } from "../commands/processes.mjs";
import { runChild } from "../support/child.mjs";
import { until } from "../support/model.mjs";
import { drivenAgent, idIn } from "./driving.mjs";
import { childScript } from "./hosting.mjs";

const long = process.env.LITE_AGENT_LONG === "1";
const RUNS = long ? 500 : 50;
const FLOOD_BYTES = (long ? 2_000 : 200) * 2 ** 20;
const GROWN_MIB = 60;

test("100 commands at once all end, each with its own output", async (t) => {
  const driven = drivenAgent(t, { backgroundLimits: { maxDetached: 100 }, maxParallelTools: 100 });
  const calls = Array.from({ length: 100 }, (_, number) => [
    "bash",
    { command: `echo ${number}; sleep 0.2; echo ${number} >&2`, run_in_background: true },
  ]);
  const ids = (await driven.calls(calls)).map(({ content }) => idIn(content));
  for (const id of ids) await driven.completionOf(id, 60_000);
  const read = await driven.calls(ids.map((id) => ["BashOutput", { id }]));
  assert.deepEqual(
    read.map(({ content }) => content),
    ids.map((_, number) => `${number}\n${number}\n[exit code: 0]`),
  );
  await driven.close();
  assert.deepEqual(childrenOf(), []);
});

test("100 commands that go on are gone with close()", async (t) => {
  const driven = drivenAgent(t, { backgroundLimits: { maxDetached: 100 }, maxParallelTools: 100 });
  const mark = marker();
  const call = ["bash", { command: `trap '' TERM; sleep ${mark}; sleep ${mark}`, run_in_background: true }];
  await driven.calls(Array(100).fill(call));
  await driven.close();
  await gone(mark, 0);
  assert.deepEqual(childrenOf(), []);
});

test(`${RUNS} commands one after another leave no child and no descriptor`, async (t) => {
  const driven = drivenAgent(t);
  const mark = marker();
  const kinds = [
    [`sleep ${mark} & echo x`],
    ["exit 3"],
    [`setsid sleep ${mark}`, { timeoutMs: 30 }],
    ["seq 1 10000"],
    ["kill -KILL $$"],
  ];
  const one = async (number) => {
    const options = { sessionId: `session-${number}` };
    const [command, input] = kinds[number % kinds.length];
    await driven.completionOf(await driven.start(command, input, options));
    await driven.deleteSession(options.sessionId);
  };
  // What is opened once for good is open after these.
  for (let number = 0; number < kinds.length; number += 1) await one(number);
  await until(() => childrenOf().length === 0, "no child after the first commands");
  const before = descriptors();
  for (let number = 0; number < RUNS; number += 1) await one(number);
  await until(() => childrenOf().length === 0, "no child left");
  await until(() => descriptors().length <= before.length, `no descriptor more than before: ${descriptors()}`);
  await gone(mark);
});

test(`the host's memory stays where it was while ${FLOOD_BYTES / 2 ** 20} MiB come that nobody reads`, async () => {
  const after = `
    const before = process.memoryUsage().rss;
    let peak = before;
    const timer = setInterval(() => { peak = Math.max(peak, process.memoryUsage().rss); }, 10);
    const { status, content } = await over.promise;
    clearInterval(timer);
    console.log(JSON.stringify({ status, length: content.length, grown: (peak - before) / 2 ** 20 }));
    await agent.close();`;
  const script = `
    const over = support.deferred();
    const listen = (agent) => agent.subscribe(({ event }) => event.type === "background_completed" && over.resolve(event.completion));
    ${childScript(`until [ -e go ]; do sleep 0.02; done; head -c ${FLOOD_BYTES} /dev/zero`, {
      after: `listen(agent); (await import("node:fs")).writeFileSync(join(work, "go"), "");\n${after}`,
    })}`;
  const { code, stdout, stderr } = await runChild(script, { limitMs: 300_000 });
  assert.deepEqual([code, stderr], [0, ""]);
  const { status, length, grown } = JSON.parse(stdout.trim().split("\n").at(-1));
  assert.equal(status, "completed");
  assert.ok(length < 128 * 1024, `${length} characters in the completion`);
  assert.ok(grown < GROWN_MIB, `${grown} MiB more`);
});

test("8 commands that flood at once can be read, and are gone with close()", async (t) => {
  const driven = drivenAgent(t, { backgroundLimits: { bufferBytes: 10_000 } });
  const mark = marker();
  const call = ["bash", { command: `yes ${mark}`, run_in_background: true }];
  const ids = (await driven.calls(Array(8).fill(call))).map(({ content }) => idIn(content));
  for (const id of ids) await driven.readUntil(id, (text) => text.includes("bytes dropped"), "its flood");
  await driven.close();
  await gone(mark, 0);
});

test("commands whose sessions are gone do not stay in memory", async () => {
  const script = `
    const wanted = [];
    const waiting = [];
    const model = support.scriptedModel([() => (waiting.length > 0 ? { calls: waiting.splice(0) } : { text: "ok" })]);
    const agent = makeAgent({ sessions: false, permission: lite.policy(), model });
    const alive = setInterval(() => {}, 1_000);
    agent.subscribe(({ event }) => event.type === "background_completed" && wanted.shift()?.resolve());
    const one = async (number) => {
      const over = support.deferred();
      wanted.push(over);
      waiting.push({ id: "1", name: "bash", input: { command: "head -c 1000000 /dev/zero", run_in_background: true } });
      await agent.send("go", { sessionId: "s" + number });
      await over.promise;
      await agent.deleteSession("s" + number);
    };
    for (let number = 0; number < 20; number += 1) await one(number);
    const before = process.memoryUsage().rss;
    for (let number = 0; number < 200; number += 1) await one(number);
    console.log(JSON.stringify({ grown: (process.memoryUsage().rss - before) / 2 ** 20 }));
    clearInterval(alive);
    await agent.close();`;
  const { code, stdout, stderr } = await runChild(script, { limitMs: 120_000 });
  assert.deepEqual([code, stderr], [0, ""]);
  const { grown } = JSON.parse(stdout);
  assert.ok(grown < GROWN_MIB, `${grown} MiB more, of 190 MiB that were written`);
});
