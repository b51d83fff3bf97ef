// Many commands: at once, and one after another, with nothing left over. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { createLiteAgent, policy } from "../../index.js";
import { scriptedModel, temporaryFolder, until, within } from "../support/model.mjs";
import { bashAgent, bashCall, written } from "./bashing.mjs";
import { childrenOf, descriptors, gone, marker } from "./processes.mjs";

const long = process.env.LITE_AGENT_LONG === "1";
/** An ordinary user's round is mostly a second one. */
const RUNS = long ? 2_000 : process.getuid() === 0 ? 200 : 100;

test("100 commands at once all answer, each with its own output, and the host's loop is not held", async (t) => {
  const commands = Array.from({ length: 100 }, (_, number) => `echo ${number}; sleep 0.2; echo ${number} >&2`);
  const { agent, model, ends } = await bashAgent(t, commands, { maxParallelTools: 100 });
  await within(agent.send("go"), "the run", 60_000);
  assert.equal(ends.length, 100);
  const contents = model.requests[1].messages.at(-1).content.map(({ content }) => written(content));
  assert.deepEqual(
    contents,
    commands.map((_, number) => `${number}\n${number}\n`),
  );
  await agent.close();
  assert.deepEqual(childrenOf(), []);
});

test(`${RUNS} runs of a command, every tenth of which times out or is aborted, leave no zombie and no descriptor`, async (t) => {
  const { workdir, home } = await temporaryFolder(t);
  const mark = marker();
  const kinds = [
    { command: "true" },
    { command: "echo x; exit 3" },
    { command: `sleep ${mark} & exit 0` },
    { command: "kill -KILL $$" },
    { command: `setsid sleep ${mark} >/dev/null 2>&1 & yes | head -c 100000` },
    { command: `sleep ${mark}`, timeoutMs: 20 },
    { command: "cat" },
    { command: `sleep ${mark}`, abort: true },
    { command: "no-such-program" },
    { command: "head -c 3000 /dev/zero >&2" },
  ];
  let next;
  const model = scriptedModel([{ text: "ok" }]);
  model.stream = async function* (request) {
    const last = request.messages.at(-1);
    const asked = typeof last.content === "string" || last.content.some(({ type }) => type === "text");
    const { abort: _, ...input } = next;
    const content = asked ? [{ type: "tool_call", ...bashCall(input, "1") }] : [{ type: "text", text: "ok" }];
    yield { type: "message_done", message: { role: "assistant", content }, usage: { inputTokens: 1, outputTokens: 1 } };
  };
  const agent = createLiteAgent({ workdir, home, model, sessions: false, permission: policy() });
  const runOne = async (number) => {
    next = kinds[number % kinds.length];
    const controller = new AbortController();
    if (next.abort) setTimeout(() => controller.abort(), number % 7);
    const sessionId = `session-${number}`;
    const { stopReason } = await within(
      agent.send("go", { sessionId, signal: controller.signal }),
      `run ${number}`,
      30_000,
    );
    assert.equal(stopReason, next.abort ? "aborted" : "stop");
  };
  // What is opened once for good is open after these.
  for (let number = 0; number < kinds.length; number += 1) await runOne(number);
  await until(() => childrenOf().length === 0, "no child after the first runs");
  const before = descriptors();
  for (let number = 0; number < RUNS; number += 1) await runOne(number);
  await until(() => childrenOf().length === 0, `no child left, not ${JSON.stringify(childrenOf())}`);
  await gone(mark);
  await until(() => descriptors().length <= before.length, `no descriptor more than before: ${descriptors()}`);
  await agent.close();
  assert.ok(descriptors().length <= before.length, "close() opens nothing");
});

test("the children that the host has itself are left to the host", async (t) => {
  const { spawn } = await import("node:child_process");
  const { agent } = await bashAgent(t, Array(8).fill("true"));
  const children = Array.from({ length: 20 }, () => spawn("sh", ["-c", "sleep 0.05; exit 7"]));
  const codes = children.map((child) => new Promise((resolve) => child.on("exit", resolve)));
  await agent.send("go");
  assert.deepEqual(await within(Promise.all(codes), "the host's own children"), Array(20).fill(7));
});
