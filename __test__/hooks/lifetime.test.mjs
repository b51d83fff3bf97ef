// Agents and the process: natural exit, worker threads, and what agents that come and go leave behind.
import { test } from "node:test";
import assert from "node:assert/strict";
import { Worker } from "node:worker_threads";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { runChild } from "../support/child.mjs";
import { within } from "../support/model.mjs";

/** Ran to its end by itself, cleanly, and said this. */
function assertEnded({ code, signal, stdout, stderr, overdue }, said) {
  assert.equal(overdue, false, `still running; it had said: ${stdout}`);
  assert.equal(stderr, "");
  assert.deepEqual([code, signal], [0, null]);
  if (said !== undefined) assert.equal(stdout.trim(), said);
}

const LIMIT = { limitMs: 20_000 };

test("an agent that was only made does not keep Node alive", async () => {
  assertEnded(await runChild(`makeAgent(); console.log("made");`, LIMIT), "made");
});

test("importing the package does not keep Node alive", async () => {
  assertEnded(await runChild(`console.log(typeof lite.createLiteAgent);`, LIMIT), "function");
});

test("an agent that has run and is not closed does not keep Node alive, with hooks, subscribers and tools", async () => {
  assertEnded(
    await runChild(
      `
    const agent = makeAgent({
      model: support.scriptedModel([{ calls: [{ id: "1", name: "work", input: {} }] }, { text: "done" }]),
      tools: [support.plainTool("work", () => "ok", { timeoutMs: 60_000 })],
    });
    for (const name of ["run:start", "run:end", "tool:start", "tool:end"]) agent.hook(name, async () => {}, { timeoutMs: 120_000 });
    agent.subscribe(() => {});
    console.log((await agent.send("go")).text);
  `,
      LIMIT,
    ),
    "done",
  );
});

test("the deadline of a handler that settled, or was left behind, does not keep Node alive", async () => {
  assertEnded(
    await runChild(
      `
    const agent = makeAgent();
    agent.hook("run:start", async (_, { signal }) => { signal.aborted; await support.pause(5); }, { timeoutMs: 120_000 });
    agent.hook("run:start", () => new Promise(() => {}), { timeoutMs: 10 });
    console.log((await agent.send("go")).text);
  `,
      LIMIT,
    ),
    "ok",
  );
});

test("a pending send() keeps Node alive, though nothing else would", async () => {
  assertEnded(
    await runChild(
      `
    const agent = makeAgent({
      model: support.scriptedModel([{ calls: [{ id: "1", name: "work", input: {} }] }, { text: "done" }]),
      tools: [support.plainTool("work", () => new Promise(() => {}), { timeoutMs: 300 })],
    });
    agent.send("go").then(({ text }) => console.log(text));
  `,
      LIMIT,
    ),
    "done",
  );
});

test("a pending next() keeps Node alive, though nothing else would", async () => {
  assertEnded(
    await runChild(
      `
    const agent = makeAgent();
    agent.hook("run:start", () => new Promise(() => {}), { timeoutMs: 300 });
    (async () => { for await (const { type } of agent.run("go")) if (type === "done") console.log(type); })();
  `,
      LIMIT,
    ),
    "done",
  );
});

test("a pending close() and a pending return() keep Node alive until the end handlers are done", async () => {
  assertEnded(
    await runChild(
      `
    const never = () => new Promise(() => {});
    const closing = makeAgent({ model: support.scriptedModel([{ wait: never() }]) });
    closing.hook("run:end", never, { timeoutMs: 200 });
    const run = closing.run("go");
    await run.next();
    closing.close().then(() => console.log("closed"));
    const breaking = makeAgent({ model: support.scriptedModel([{ wait: never() }]) });
    breaking.hook("run:end", never, { timeoutMs: 400 });
    const other = breaking.run("go");
    await other.next();
    other.return().then(() => console.log("returned"));
  `,
      LIMIT,
    ),
    "closed\nreturned",
  );
});

test("a run that nobody pulls does not keep Node alive", async () => {
  assertEnded(
    await runChild(
      `
    const agent = makeAgent({ model: support.scriptedModel([{ wait: new Promise(() => {}) }]) });
    const run = agent.run("go");
    await run.next();
    console.log("first event");
  `,
      LIMIT,
    ),
    "first event",
  );
});

test("a run that was never pulled does not keep Node alive", async () => {
  assertEnded(await runChild(`const run = makeAgent().run("go"); console.log(typeof run.next);`, LIMIT), "function");
});

test("a caught failing run does not keep Node alive", async () => {
  assertEnded(
    await runChild(
      `
    const agent = makeAgent({ model: support.scriptedModel([{ error: new Error("broken") }]) });
    await agent.send("go").catch(({ message }) => console.log(message));
  `,
      LIMIT,
    ),
    "broken",
  );
});

test("an aborted run whose tool, model and handlers never settle does not keep Node alive", async () => {
  assertEnded(
    await runChild(
      `
    const never = () => new Promise(() => {});
    const controller = new AbortController();
    const agent = makeAgent({
      model: support.scriptedModel([{ calls: [{ id: "1", name: "work", input: {} }] }]),
      tools: [support.plainTool("work", () => { controller.abort(); return never(); }, { timeoutMs: 60_000 })],
    });
    agent.hook("run:end", never, { timeoutMs: 50 });
    console.log((await agent.send("go", { signal: controller.signal })).stopReason);
  `,
      LIMIT,
    ),
    "aborted",
  );
});

test("nothing is left of a closed agent among the process's active resources", async () => {
  assertEnded(
    await runChild(
      `
    const before = process.getActiveResourcesInfo();
    const agent = makeAgent({
      model: support.scriptedModel([{ calls: [{ id: "1", name: "work", input: {} }] }, { text: "done" }]),
      tools: [support.plainTool("work", () => new Promise(() => {}), { timeoutMs: 20 })],
    });
    agent.hook("run:start", () => new Promise(() => {}), { timeoutMs: 20 });
    agent.hook("run:end", async () => {}, { timeoutMs: 120_000 });
    await agent.send("go");
    await agent.close();
    await new Promise(setImmediate);
    const after = process.getActiveResourcesInfo();
    // What was there before may have gone (files that are being read at the start), but nothing may have come.
    for (const resource of before) after.includes(resource) && after.splice(after.indexOf(resource), 1);
    console.log(after.length === 0 ? "nothing new" : after.join());
  `,
      LIMIT,
    ),
    "nothing new",
  );
});

test("process.exit() in the middle of a run ends the process with that code", async () => {
  const { code, stderr, overdue } = await runChild(
    `
    const agent = makeAgent({ model: support.scriptedModel([{ wait: new Promise(() => {}) }]) });
    agent.hook("run:start", () => { setTimeout(() => process.exit(7), 20); });
    await agent.send("go");
  `,
    LIMIT,
  );
  assert.deepEqual([code, stderr, overdue], [7, "", false]);
});

test("an exception of the host in the middle of a run ends the process as usual", async () => {
  const { code, stderr, overdue } = await runChild(
    `
    const agent = makeAgent({ model: support.scriptedModel([{ wait: new Promise(() => {}) }]) });
    agent.hook("run:start", () => { setTimeout(() => { throw new Error("of the host"); }, 20); });
    await agent.send("go");
  `,
    LIMIT,
  );
  assert.equal(code, 1);
  assert.equal(overdue, false);
  assert.match(stderr, /of the host/);
  assert.doesNotMatch(stderr, /panicked|SIGSEGV|SIGABRT/);
});

// -- worker threads -----------------------------------------------------------------------------------------------------

const inWorker = (script) => `
  import { workerData, parentPort } from "node:worker_threads";
  const lite = await import(workerData.index);
  const support = await import(workerData.support);
  const makeAgent = (config = {}) => lite.createLiteAgent({ workdir: workerData.work, home: workerData.home, model: support.scriptedModel([{ text: "ok" }]), ...config });
  ${script}
`;

function startWorker(t, script) {
  const home = mkdtempSync(join(tmpdir(), "lite-agent-test-"));
  t.after(() => rmSync(home, { recursive: true, force: true }));
  return new Worker(new URL(`data:text/javascript,${encodeURIComponent(inWorker(script))}`), {
    workerData: {
      index: new URL("../../index.js", import.meta.url).href,
      support: new URL("../support/model.mjs", import.meta.url).href,
      home,
      work: fileURLToPath(new URL(".", import.meta.url)),
    },
  });
}

const RUN_WITH_HOOKS = `
  const agent = makeAgent({
    model: support.scriptedModel([{ calls: [{ id: "1", name: "work", input: {} }] }, { text: "done" }]),
    tools: [support.plainTool("work", async () => { await support.pause(1); return "ok"; })],
  });
  const fired = support.recordHooks(agent);
  agent.hook("run:start", () => new Promise(() => {}), { timeoutMs: 10 });
  await agent.send("go");
  parentPort.postMessage(fired.map(({ event }) => event).join());
`;

test("an agent works in a worker thread, whose thread ends by itself", async (t) => {
  const worker = startWorker(t, RUN_WITH_HOOKS);
  const messages = [];
  worker.on("message", (message) => messages.push(message));
  const [code] = await within(once(worker, "exit"), "the worker's own end", 20_000);
  assert.equal(code, 0);
  assert.deepEqual(messages, ["run:start,tool:start,tool:end,run:end"]);
});

test("agents in several worker threads and in the main one run at the same time", async (t) => {
  const workers = Array.from({ length: 4 }, () => startWorker(t, RUN_WITH_HOOKS));
  const messages = await within(
    Promise.all(
      workers.map(async (worker) => {
        const [[message], [code]] = await Promise.all([once(worker, "message"), once(worker, "exit")]);
        return [message, code];
      }),
    ),
    "the workers",
    30_000,
  );
  assert.deepEqual(messages, Array(4).fill(["run:start,tool:start,tool:end,run:end", 0]));
});

test("terminating a worker in the middle of a run is harmless, wherever the run is", async () => {
  const { code, stdout, stderr, overdue } = await runChild(
    `
    import { Worker } from "node:worker_threads";
    const places = {
      model: 'const agent = makeAgent({ model: support.scriptedModel([() => { parentPort.postMessage(1); return { wait: new Promise(() => {}) }; }]) });',
      hook: 'const agent = makeAgent(); agent.hook("run:start", () => { parentPort.postMessage(1); return new Promise(() => {}); });',
      deadline: 'const agent = makeAgent(); agent.hook("run:start", () => { parentPort.postMessage(1); return new Promise(() => {}); }, { timeoutMs: 1 });',
      end: 'const agent = makeAgent(); agent.hook("run:end", () => { parentPort.postMessage(1); return new Promise(() => {}); });',
      sync: 'const agent = makeAgent(); agent.hook("run:start", () => { parentPort.postMessage(1); for (;;); });',
      tool: 'const agent = makeAgent({ model: support.scriptedModel([{ calls: [{ id: "1", name: "work", input: {} }] }]), tools: [support.plainTool("work", () => { parentPort.postMessage(1); return new Promise(() => {}); }, { timeoutMs: 5 })] });',
    };
    for (let round = 0; round < 3; round += 1) {
      for (const [place, script] of Object.entries(places)) {
        const source = ${JSON.stringify(inWorker("__SCRIPT__ await agent.send('go');"))}.replace("__SCRIPT__", () => script);
        const worker = new Worker(new URL("data:text/javascript," + encodeURIComponent(source)), { workerData: {
          index: ${JSON.stringify(new URL("../../index.js", import.meta.url).href)}, support: ${JSON.stringify(new URL("../support/model.mjs", import.meta.url).href)}, work } });
        await new Promise((resolve, reject) => { worker.once("message", resolve); worker.once("error", reject); });
        await worker.terminate();
      }
    }
    const agent = makeAgent();
    console.log((await agent.send("the main thread still works")).text);
  `,
    { limitMs: 60_000 },
  );
  assertEnded({ code, signal: null, stdout, stderr, overdue }, "ok");
});

// -- agents that come and go --------------------------------------------------------------------------------------------

test("400 agents made, used and closed leave no resources, listeners, contexts or memory behind", async () => {
  const result = await runChild(
    `
    import { createHook, executionAsyncResource } from "node:async_hooks";
    const emitters = ["exit", "beforeExit", "uncaughtException", "unhandledRejection", "warning", "SIGINT", "SIGTERM"];
    const shared = new AbortController();
    import { getEventListeners } from "node:events";
    const look = () => ({
      resources: process.getActiveResourcesInfo().length,
      listeners: emitters.reduce((sum, name) => sum + process.listenerCount(name), 0),
      signalListeners: getEventListeners(shared.signal, "abort").length,
      // What each async resource carries is what makes every await of the process slow: one key a storage in use.
      contexts: Object.getOwnPropertySymbols(executionAsyncResource()).length,
    });
    const heap = async () => { for (let round = 0; round < 4; round += 1) { gc(); await new Promise(setImmediate); } return process.memoryUsage().heapUsed; };
    const useOne = async () => {
      const agent = makeAgent({
        model: support.scriptedModel([{ calls: [{ id: "1", name: "work", input: { text: "x".repeat(1000) } }] }, { text: "done" }]),
        tools: [support.plainTool("work", () => "y".repeat(1000), { timeoutMs: 60_000 })],
      });
      for (const name of ["run:start", "run:end", "tool:start", "tool:end"]) agent.hook(name, async (_, { signal }) => { signal.aborted; }, { timeoutMs: 60_000 });
      agent.subscribe(() => {});
      await agent.send("go", { signal: shared.signal });
      await agent.close();
    };
    for (let count = 0; count < 100; count += 1) await useOne();
    const before = { ...look(), heap: await heap() };
    for (let count = 0; count < 300; count += 1) await useOne();
    await new Promise(setImmediate);
    const after = { ...look(), heap: await heap() };
    console.log(JSON.stringify({ before, after }));
  `,
    { flags: ["--expose-gc", "--unhandled-rejections=strict"], limitMs: 60_000 },
  );
  assertEnded(result);
  const { before, after } = JSON.parse(result.stdout);
  for (const what of ["listeners", "signalListeners", "contexts"]) assert.equal(after[what], before[what], what);
  // There may be fewer: files of the start that were still being closed.
  assert.ok(after.resources <= before.resources, `${after.resources} resources, ${before.resources} before`);
  // An agent that stays behind is at least 5 KB; the rest is what the engine keeps for itself.
  assert.ok(after.heap - before.heap < 600 * 1024, `300 agents left ${after.heap - before.heap} bytes`);
});

test("agents that are dropped without close() are collected with all that they hold", async () => {
  const result = await runChild(
    `
    let collected = 0;
    const registry = new FinalizationRegistry(() => { collected += 1; });
    for (let count = 0; count < 20; count += 1) {
      await (async () => {
        const agent = makeAgent();
        agent.hook("run:end", () => {});
        await agent.send("go");
        registry.register(agent, 0);
      })();
    }
    await support.until(async () => { gc(); await new Promise(setImmediate); return collected >= 19; }, "collection", 5000).catch(() => {});
    console.log(collected >= 19 ? "collected" : "only " + collected);
  `,
    { flags: ["--expose-gc", "--unhandled-rejections=strict"], limitMs: 30_000 },
  );
  assertEnded(result, "collected");
});

test("one signal may serve many runs at once without a warning of too many listeners", async () => {
  const result = await runChild(
    `
    const { signal } = new AbortController();
    const agents = [makeAgent(), makeAgent()];
    for (const agent of agents) {
      for (let count = 0; count < 15; count += 1) agent.hook("run:start", async (_, context) => { await support.pause(1); context.signal.aborted; });
    }
    const results = await Promise.all(agents.flatMap((agent, which) => Array.from({ length: 30 }, (_, position) => agent.send("go", { sessionId: which + "_" + position, signal }))));
    console.log(results.length);
  `,
    LIMIT,
  );
  assertEnded(result, "60");
});

test("listeners on a caller's signal are gone after each run, however it ended", async () => {
  const result = await runChild(
    `
    import { getEventListeners } from "node:events";
    const controller = new AbortController();
    const { signal } = controller;
    const agent = makeAgent({ model: support.scriptedModel([
      { text: "ok" }, { error: new Error("broken") }, { text: "ok" }, { text: "ok" }, { wait: new Promise(() => {}) }]) });
    agent.hook("run:start", async () => {});
    await agent.send("go", { signal });
    await agent.send("go", { signal }).catch(() => {});
    for await (const _ of agent.run("go", { signal })) break;
    await agent.send("go", { signal });
    console.log(getEventListeners(signal, "abort").length);
  `,
    LIMIT,
  );
  assertEnded(result, "0");
});
