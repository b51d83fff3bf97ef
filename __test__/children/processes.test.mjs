// What only a whole process can show of families: that it ends by itself, and that no rejection is nobody's. Knows the
// public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { runChild } from "../support/child.mjs";
import { gone, marker } from "../commands/processes.mjs";

const familyAddress = new URL("./family.mjs", import.meta.url).href;
const prelude = `
const { agentCall, call, familyModel, familyTools, spawning, starts, task } = await import(${JSON.stringify(familyAddress)});
const familyOf = (roles, config = {}) => {
  const model = familyModel(roles);
  return { model, agent: makeAgent({ model, tools: familyTools(), ...config }) };
};
const assert = (value, what) => { if (!value) throw new Error(what); };
const unref = (ms) => new Promise((resolve) => setTimeout(resolve, ms).unref());
const unrefTurn = (turn, ms = 100) => async () => { await unref(ms); return turn; };
`;

async function passes(script, options) {
  const outcome = await runChild(prelude + script, options);
  assert.equal(outcome.overdue, false, `still alive after its time\n${outcome.stdout}\n${outcome.stderr}`);
  assert.equal(outcome.code, 0, outcome.stderr || outcome.stdout);
  return outcome.stdout;
}

test("a process whose groups are over ends by itself, its agents closed or not", async () => {
  const printed = await passes(
    `
    const roles = () => ({ go: starts("one", "two"), one: [{ calls: [call("work")] }, { text: "1" }], two: [{ error: new Error("down") }] });
    const open = familyOf(roles());
    await open.agent.send("go");
    await open.agent.awaitIdle();
    const closed = familyOf(roles());
    await closed.agent.send("go");
    await closed.agent.awaitIdle();
    await closed.agent.close();
    const aborted = familyOf({ go: [spawning("one"), { hold: "never", text: "x" }], one: [{ hold: "never", text: "1" }] });
    const controller = new AbortController();
    const sent = aborted.agent.send("go", { signal: controller.signal });
    await aborted.model.reached("never", 2);
    controller.abort();
    await sent;
    await aborted.agent.awaitIdle();
    console.log("end");
  `,
    { limitMs: 15_000 },
  );
  assert.match(printed, /end/);
});

test("awaitIdle() keeps the process alive until the children and the completion run are over, though all else is unref'd", async () => {
  const printed = await passes(
    `
    const { agent } = familyOf({
      go: [spawning("one"), { text: "started" }, unrefTurn({ text: "over" })],
      one: [unrefTurn({ calls: [call("work")] }), unrefTurn({ text: "1" })],
    });
    agent.hook("run:end", ({ source, agentId }) => console.log(source, typeof agentId));
    agent.send("go").then(() => agent.awaitIdle()).then(() => console.log("idle"));
  `,
    { limitMs: 15_000 },
  );
  assert.match(printed, /user undefined\nuser string\nbackground undefined\nidle/);
});

test("a query keeps the process alive until its completion runs are over", async () => {
  const printed = await passes(
    `
    const model = familyModel({
      go: [spawning("one"), { text: "started" }, unrefTurn({ text: "over" })],
      one: [unrefTurn({ text: "1" })],
    });
    (async () => {
      for await (const event of lite.query({ prompt: "go", cwd: work, home: join(work, "home"), model }))
        if (event.type === "done") console.log(event.result.text);
    })();
  `,
    { limitMs: 15_000 },
  );
  assert.match(printed, /over/);
});

test("children that nobody waits for keep no process alive", async () => {
  await passes(
    `
    const { agent, model } = familyOf({ go: starts("one"), one: [{ hold: "never", text: "1" }] });
    await agent.send("go");
    await model.reached("never");
  `,
    { limitMs: 15_000 },
  );
});

test("children that wait for a place, and nobody waits for, keep no process alive", async () => {
  await passes(
    `
    const { agent, model } = familyOf({ go: starts("one", "two"), one: [{ hold: "never", text: "1" }], two: [{ text: "2" }] }, { maxParallelSubagents: 1 });
    await agent.send("go");
    await model.reached("never");
  `,
    { limitMs: 15_000 },
  );
});

test("a query that was broken out of keeps no process alive", async () => {
  await passes(
    `
    const model = familyModel({ go: starts("one"), one: [{ deltas: ["a", "b"] }] });
    for await (const event of lite.query({ prompt: "go", cwd: work, home: join(work, "home"), model })) if (event.agentId) break;
  `,
    { limitMs: 15_000 },
  );
});

test("a process that ends with a child's command at work leaves no process behind", async () => {
  const mark = marker();
  await passes(
    `
    const { agent } = familyOf(
      { go: starts("one"), one: [{ calls: [call("bash", "b", { command: "echo up > up; setsid sleep ${mark} & sleep ${mark}" })] }, { text: "1" }] },
      { permission: lite.policy() },
    );
    await agent.send("go");
    const { existsSync } = await import("node:fs");
    while (!existsSync(join(work, "up"))) await new Promise((resolve) => setTimeout(resolve, 5));
    process.exit(0);
  `,
    { limitMs: 20_000 },
  );
  await gone(mark);
});

test("no rejection is nobody's, whatever fails and whenever it is ended", async () => {
  const printed = await passes(
    `
    process.on("unhandledRejection", (error) => { console.log("UNHANDLED", error); process.exit(1); });
    const later = (ms) => new Promise((_, reject) => setTimeout(() => reject(new Error("late")), ms));
    const failing = [{ error: new Error("down") }];
    const run = async (roles, config, end = ({ agent }) => agent.awaitIdle()) => {
      const family = familyOf(roles, config);
      family.agent.subscribe(async () => { throw new Error("listener"); });
      await family.agent.send("go");
      await end(family);
      return family;
    };
    const close = ({ agent }) => agent.close();
    const drop = () => {};
    const tools = [...familyTools(), support.plainTool("late", () => later(30))];
    const stuck = { one: [{ hold: "never", text: "1" }] };
    for (const end of [undefined, close, drop]) {
      await run({ go: starts("one"), one: failing }, {}, end);
      await run({ go: [...starts("one").slice(0, 2), ...failing], one: [{ text: "1" }] }, {}, end);
      await run({ go: starts("one"), one: [{ calls: [call("late")] }, { text: "1" }] }, { tools }, end);
      await run({ go: starts("one"), one: [{ calls: [call("work")] }, { text: "1" }] }, { subagentPermission: { check: () => later(5) } }, end);
      await run({ go: starts("one"), one: [{ calls: [call("work")] }, { text: "1" }] }, { permission: { check: ({ name }) => name === "work" ? "ask" : "allow" }, onApproval: { request: () => later(5) } }, end);
      await run({ go: starts("one"), one: [{ text: "1" }] }, { use: [{ name: "m", beforeModel: ({ sessionId }) => sessionId.startsWith("agent-") ? later(5) : undefined }] }, end);
    }
    await run({ go: starts("one"), ...stuck }, {}, close);
    await run({ go: starts("one"), ...stuck }, {}, ({ agent }) => agent.deleteSession(agent.sessionId));
    await run({ go: starts("one"), ...stuck }, {}, async ({ agent }) => { agent.awaitIdle().catch(() => {}); await agent.close(); });
    await run({ go: starts("one"), one: [{ calls: [call("late")] }, { text: "1" }] }, { tools: [support.plainTool("late", () => later(50))] }, async ({ agent }) => { await support.pause(10); await agent.close(); });
    await support.pause(150);
    console.log("end");
  `,
    { limitMs: 60_000 },
  );
  assert.match(printed, /end/);
  assert.doesNotMatch(printed, /UNHANDLED/);
});

test("a hook of a child's that rejects after its deadline is nobody's unhandled rejection", async () => {
  const printed = await passes(
    `
    const { agent } = familyOf({ go: starts("one"), one: [{ text: "1" }] });
    agent.hook("run:start", ({ agentId }) => agentId && new Promise((_, reject) => setTimeout(() => reject(new Error("late")), 100)), { timeoutMs: 20 });
    await agent.send("go");
    await agent.awaitIdle();
    await support.pause(200);
    console.log("end");
  `,
  );
  assert.match(printed, /end/);
});

test("100 families one after another: the process holds no more for each", async () => {
  const printed = await passes(
    `
    const round = async () => {
      const { agent } = familyOf({ go: starts("one", "two"), one: [{ calls: [call("work")] }, { text: "1" }], two: [{ text: "2" }] }, { sessions: false });
      await agent.send("go");
      await agent.awaitIdle();
      await agent.close();
    };
    for (let count = 0; count < 30; count += 1) await round();
    globalThis.gc();
    const before = process.memoryUsage().heapUsed;
    for (let count = 0; count < 100; count += 1) await round();
    globalThis.gc();
    const grown = process.memoryUsage().heapUsed - before;
    assert(grown < 8_000_000, "grown by " + grown);
    console.log("end");
  `,
    { flags: ["--unhandled-rejections=strict", "--expose-gc"], limitMs: 60_000 },
  );
  assert.match(printed, /end/);
});
