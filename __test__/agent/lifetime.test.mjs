// What only a whole process can show: natural exit, nothing kept, no unhandled rejection, no slowing down.
// Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { runChild } from "../support/child.mjs";

async function passes(script, options) {
  const outcome = await runChild(script, options);
  assert.equal(outcome.overdue, false, `still alive after its time\n${outcome.stdout}\n${outcome.stderr}`);
  assert.equal(outcome.code, 0, outcome.stderr || outcome.stdout);
  return outcome.stdout;
}

test("an idle agent keeps no process alive: fresh, used, closed", async () => {
  assert.match(
    await passes(
      `
    makeAgent();
    const used = makeAgent();
    await used.send("hi");
    await used.send("hi", { sessionId: "other" });
    used.hook("run:end", () => {});
    used.subscribe(() => {});
    const closed = makeAgent();
    await closed.send("hi");
    await closed.close();
    console.log("end");
  `,
      { limitMs: 10_000 },
    ),
    /end/,
  );
});

test("a pending send() and a pending next() keep the process alive, though all else is unref'd", async () => {
  assert.match(
    await passes(
      `
    const slow = () => ({ id: "slow", async *stream() {
      await new Promise((resolve) => setTimeout(resolve, 150).unref());
      yield { type: "message_done", message: { role: "assistant", content: [{ type: "text", text: "x" }] }, usage: { inputTokens: 1, outputTokens: 1 } };
    } });
    makeAgent({ model: slow() }).send("hi").then(async () => {
      console.log("sent");
      for await (const event of makeAgent({ model: slow() }).run("hi"));
      console.log("ran");
    });
  `,
      { limitMs: 10_000 },
    ),
    /sent\nran/,
  );
});

test("a tool that waits on an unref'd timer is waited for by send()", async () => {
  assert.match(
    await passes(
      `
    const agent = makeAgent({
      model: support.scriptedModel([{ calls: [{ id: "a", name: "wait", input: {} }] }, { text: "end" }]),
      tools: [support.plainTool("wait", () => new Promise((resolve) => setTimeout(() => resolve("x"), 100).unref()))],
    });
    agent.send("hi").then(() => console.log("end"));
  `,
      { limitMs: 10_000 },
    ),
    /end/,
  );
});

test("a run that nobody pulls keeps no process alive", async () => {
  await passes(
    `
    const forever = { id: "forever", async *stream() { for (;;) yield { type: "text_delta", text: "x" }; } };
    const generator = makeAgent({ model: forever }).run("hi");
    await generator.next();
    await generator.next();
  `,
    { limitMs: 10_000 },
  );
});

test("a tool deadline that is far off keeps no process alive after the run", async () => {
  await passes(
    `
    const agent = makeAgent({
      model: support.scriptedModel([{ calls: [{ id: "a", name: "quick", input: {} }] }, { text: "end" }]),
      tools: [support.plainTool("quick", async () => "x", { timeoutMs: 100_000 })],
    });
    await agent.send("hi");
  `,
    { limitMs: 10_000 },
  );
});

test("a query keeps no process alive after its end, nor after break", async () => {
  await passes(
    `
    const options = () => ({ prompt: "hi", cwd: work, home: join(work, "home"), model: support.scriptedModel([{ deltas: ["a", "b"] }]) });
    for await (const event of lite.query(options()));
    for await (const event of lite.query(options())) break;
    lite.query(options());
  `,
    { limitMs: 10_000 },
  );
});

test("late rejections of tools, models, middleware and listeners are nobody's unhandled rejection", async () => {
  assert.match(
    await passes(`
    const later = (ms) => new Promise((_, reject) => setTimeout(() => reject(new Error("late")), ms));
    const call = (name) => ({ calls: [{ id: "a", name, input: {} }] });
    const tools = [
      support.plainTool("overrun", () => later(60), { timeoutMs: 20 }),
      support.plainTool("abandoned", () => later(60)),
    ];
    const timed = makeAgent({ model: support.scriptedModel([call("overrun"), { text: "end" }]), tools });
    timed.subscribe(async () => { throw new Error("listener"); });
    await timed.send("hi");
    const abort = async (config) => {
      const controller = new AbortController();
      const sent = makeAgent(config).send("hi", { signal: controller.signal });
      setTimeout(() => controller.abort(), 20);
      const { stopReason } = await sent;
      if (stopReason !== "aborted") throw new Error("not aborted: " + stopReason);
    };
    await abort({ model: support.scriptedModel([call("abandoned"), { text: "end" }]), tools });
    await abort({ model: { id: "m", stream: () => ({ [Symbol.asyncIterator]: () => ({ next: () => later(60), return: () => later(60) }) }) } });
    await abort({ model: { id: "m", async *stream() { await later(60); } } });
    await abort({ use: [{ name: "m", beforeModel: () => later(60) }] });
    await abort({ use: [{ name: "m", beforeAgent: () => later(60) }] });
    await abort({ use: [{ name: "m", async *wrapModelCall() { await later(60); } }] });
    await abort({ model: support.scriptedModel([call("abandoned"), { text: "end" }]), tools, use: [{ name: "m", wrapToolCall: () => later(60) }] });
    await new Promise((resolve) => setTimeout(resolve, 200));
    console.log("end");
  `),
    /end/,
  );
});

test("a run that throws while nobody pulls, or is dropped, is nobody's unhandled rejection", async () => {
  assert.match(
    await passes(`
    const broken = makeAgent({ model: support.scriptedModel([{ deltas: ["a"], error: new Error("down") }]) });
    const generator = broken.run("hi");
    await generator.next();
    await new Promise((resolve) => setTimeout(resolve, 50));
    const left = broken.run("hi");
    await left.next();
    await left.return();
    await broken.close();
    console.log("end");
  `),
    /end/,
  );
});

test("a send() whose rejection the host handles is handled, and one that it does not is its own", async () => {
  const outcome = await runChild(
    `
    const failure = new Error("down");
    const agent = makeAgent({ model: support.scriptedModel([{ error: failure }]) });
    await agent.send("hi").catch(() => {});
    process.on("unhandledRejection", (error) => { console.log(error === failure ? "the host's own" : "another"); });
    agent.send("hi");
    await new Promise((resolve) => setTimeout(resolve, 50));
  `,
    { flags: ["--unhandled-rejections=warn"] },
  );
  assert.match(outcome.stdout, /^the host's own\n$/);
});

test("requests, signals, contexts and controllers of finished runs are collected while the agent lives", async () => {
  assert.match(
    await passes(
      `
    const kept = [];
    const keep = (name, value) => kept.push([name, new WeakRef(value)]);
    const agent = makeAgent({
      model: { id: "m", calls: 0, async *stream(request, signal) {
        keep("request", request); keep("signal", signal);
        const calling = (this.calls += 1) % 2 === 1;
        yield { type: "message_done", usage: { inputTokens: 1, outputTokens: 1 }, message: { role: "assistant",
          content: calling ? [{ type: "tool_call", id: "c" + this.calls, name: "echo", input: {} }] : [{ type: "text", text: "x" }] } };
      } },
      use: [{ name: "m", beforeModel(context) { keep("context", context); keep("state", context.state); } }],
      tools: [support.plainTool("echo", (_, context) => { keep("tool context", context); keep("tool signal", context.signal); return "x"; })],
    });
    for (let round = 0; round < 20; round += 1) {
      const controller = new AbortController();
      const steer = new lite.SteerController();
      keep("caller's signal", controller.signal); keep("steer", steer);
      await agent.send("hi", { signal: controller.signal, steer });
    }
    for (let round = 0; round < 10; round += 1) { await new Promise(setImmediate); globalThis.gc(); }
    const alive = {};
    const total = {};
    for (const [name, reference] of kept) { total[name] = (total[name] ?? 0) + 1; if (reference.deref()) alive[name] = (alive[name] ?? 0) + 1; }
    // The last run's may be held by a stack slot or a registry until the next run: a few, never many.
    for (const [name, count] of Object.entries(alive)) if (count > 4) throw new Error(name + ": " + count + " of " + total[name] + " alive");
    await agent.send("still works");
    console.log("end");
  `,
      { flags: ["--unhandled-rejections=strict", "--expose-gc"] },
    ),
    /end/,
  );
});

test("3,000 sends on sessions of their own, or one after another, keep no more than their conversations", async () => {
  assert.match(
    await passes(
      `
    const model = { id: "m", async *stream() {
      yield { type: "message_done", usage: { inputTokens: 1, outputTokens: 1 }, message: { role: "assistant", content: [{ type: "text", text: "x" }] } };
    } };
    const settle = async () => { for (let round = 0; round < 5; round += 1) { await new Promise(setImmediate); globalThis.gc(); } return process.memoryUsage().heapUsed; };
    const agent = makeAgent({ model });
    for (let count = 0; count < 500; count += 1) await agent.send("hi");
    const before = await settle();
    for (let count = 0; count < 3_000; count += 1) await agent.send("hi");
    const each = (await settle() - before) / 3_000;
    // A user and an assistant message, frozen, are about 600 bytes; a run that was kept would be several KB.
    if (each > 2_000) throw new Error(Math.round(each) + " bytes kept for each send");
    await agent.close();
    console.log("end");
  `,
      { flags: ["--unhandled-rejections=strict", "--expose-gc"] },
    ),
    /end/,
  );
});

test("400 agents made, used and closed: the last is as fast as the first, and so is an unrelated await", async () => {
  assert.match(
    await passes(
      `
    const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];
    const awaits = async () => {
      const times = [];
      for (let round = 0; round < 50; round += 1) {
        const began = performance.now();
        for (let count = 0; count < 200; count += 1) await null;
        times.push(performance.now() - began);
      }
      return median(times);
    };
    const use = async () => {
      const began = performance.now();
      const agent = makeAgent({ model: support.scriptedModel([{ calls: [{ id: "a", name: "echo", input: {} }] }, { text: "end" }]), tools: [support.plainTool("echo", async () => "x")] });
      agent.hook("run:end", async () => {});
      await agent.send("hi");
      await agent.close();
      return performance.now() - began;
    };
    for (let count = 0; count < 50; count += 1) await use();
    const times = [];
    const first = await awaits();
    for (let count = 0; count < 400; count += 1) times.push(await use());
    const last = await awaits();
    const [early, late] = [median(times.slice(0, 50)), median(times.slice(-50))];
    // Twice would be noise on a busy machine; what this looks for is growth with the number of agents.
    if (late > early * 2.5 + 0.5) throw new Error("agents: " + early + " ms at first, " + late + " ms at last");
    if (last > first * 2.5 + 0.2) throw new Error("200 awaits: " + first + " ms at first, " + last + " ms at last");
    console.log("end");
  `,
      { limitMs: 120_000 },
    ),
    /end/,
  );
});

test("200 live agents, each used, cost less than 100 KB of heap each and are collected once closed and dropped", async () => {
  assert.match(
    await passes(
      `
    const settle = async () => { for (let round = 0; round < 5; round += 1) { await new Promise(setImmediate); globalThis.gc(); } return process.memoryUsage().heapUsed; };
    await makeAgent().send("warm");
    const before = await settle();
    let agents = Array.from({ length: 200 }, () => makeAgent());
    await Promise.all(agents.map((agent) => agent.send("hi")));
    const live = (await settle() - before) / 200;
    if (live > 100_000) throw new Error(Math.round(live) + " bytes for each live agent");
    const references = agents.map((agent) => new WeakRef(agent));
    await Promise.all(agents.map((agent) => agent.close()));
    agents = undefined;
    await settle();
    const alive = references.filter((reference) => reference.deref()).length;
    if (alive > 2) throw new Error(alive + " closed agents alive");
    console.log("end");
  `,
      { flags: ["--unhandled-rejections=strict", "--expose-gc"] },
    ),
    /end/,
  );
});
