// Agents in worker threads: they work there, and a worker that is ended in the middle of a run takes nothing along.
// Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { Worker } from "node:worker_threads";
import { agentFor, temporaryFolder, within } from "../support/model.mjs";

const packageAddress = new URL("../../index.js", import.meta.url).href;
const supportAddress = new URL("../support/model.mjs", import.meta.url).href;

/** A worker that runs `script`, with `makeAgent(config)`, `support` and `parentPort` in scope. */
async function work(t, script) {
  const { workdir, home } = await temporaryFolder(t);
  const worker = new Worker(
    `
    const { parentPort } = require("node:worker_threads");
    (async () => {
      const lite = await import(${JSON.stringify(packageAddress)});
      const support = await import(${JSON.stringify(supportAddress)});
      const makeAgent = (config) => lite.createLiteAgent({ workdir: ${JSON.stringify(workdir)}, home: ${JSON.stringify(home)}, ...config });
      const never = new Promise(() => {});
      ${script}
    })();
  `,
    { eval: true },
  );
  const messages = [];
  const failures = [];
  worker.on("error", (error) => failures.push(error));
  worker.on("message", (message) => messages.push(message));
  const exited = new Promise((resolve) => {
    worker.on("exit", resolve);
  });
  return { worker, messages, failures, exited };
}

test("an agent works in a worker, whose thread then ends by itself", async (t) => {
  const { messages, failures, exited } = await work(
    t,
    `
    const agent = makeAgent({ model: support.scriptedModel([{ calls: [{ id: "a", name: "echo", input: {} }] }, { text: "from the worker" }]),
      tools: [support.plainTool("echo", async () => "x")] });
    agent.hook("tool:start", async () => {});
    parentPort.postMessage((await agent.send("hi")).text);
  `,
  );
  await within(exited, "the worker's end");
  assert.deepEqual(failures, []);
  assert.deepEqual(messages, ["from the worker"]);
});

test("eight workers at once each run agents, beside the main thread's", async (t) => {
  const workers = await Promise.all(
    Array.from({ length: 8 }, (_, index) =>
      work(
        t,
        `
    const agents = Array.from({ length: 5 }, () => makeAgent({ model: support.scriptedModel([{ calls: [{ id: "a", name: "slow", input: {} }] }, { text: "${index}" }]),
      tools: [support.plainTool("slow", () => never, { timeoutMs: 20 })] }));
    parentPort.postMessage((await Promise.all(agents.map((agent) => agent.send("hi")))).map(({ text }) => text).join(""));
    await Promise.all(agents.map((agent) => agent.close()));
  `,
      ),
    ),
  );
  assert.equal((await agentFor(t).send("hi")).text, "ok");
  await within(Promise.all(workers.map(({ exited }) => exited)), "the workers' end", 30_000);
  workers.forEach(({ messages, failures }, index) => {
    assert.deepEqual(failures, []);
    assert.deepEqual(messages, [`${index}`.repeat(5)]);
  });
});

for (const [moment, script] of Object.entries({
  "a tool with a deadline": `makeAgent({ model: support.scriptedModel([{ calls: [{ id: "a", name: "slow", input: {} }] }]), tools: [support.plainTool("slow", () => never, { timeoutMs: 40 })] }).send("hi");`,
  "a model call": `makeAgent({ model: support.scriptedModel([{ wait: never, text: "x" }]) }).send("hi");`,
  "a hook": `const agent = makeAgent({ model: support.scriptedModel([{ text: "x" }]) }); agent.hook("run:start", () => never, { timeoutMs: 40 }); agent.send("hi");`,
})) {
  test(`a worker that is terminated during ${moment} takes nothing along`, async (t) => {
    const { worker, failures, exited } = await work(t, `${script} parentPort.postMessage("running");`);
    await within(
      new Promise((resolve) => {
        worker.once("message", resolve);
      }),
      "the run began",
    );
    await worker.terminate();
    await within(exited, "the worker's end");
    // Past the deadlines that were left behind.
    await new Promise((resolve) => setTimeout(resolve, 80));
    assert.deepEqual(failures, []);
    assert.equal((await agentFor(t).send("hi")).text, "ok");
  });
}
