// Runs that are aborted, broken out of or closed: their one run:end, and what is left of them.
import { test } from "node:test";
import assert from "node:assert/strict";
import {
  aborted,
  agentFor,
  collect,
  deferred,
  pause,
  plainTool,
  recordHooks,
  scriptedModel,
  until,
  within,
} from "../support/model.mjs";

const call = (id = "call-1", name = "work", input = {}) => ({ id, name, input });
const names = (fired) => fired.map(({ event }) => event);

test("a run with an already aborted signal pairs whatever it fires, and resolves as aborted", async (t) => {
  const model = scriptedModel([{ text: "ok" }]);
  const agent = agentFor(t, { model });
  const fired = recordHooks(agent);
  const result = await within(agent.send("go", { signal: AbortSignal.abort() }), "aborted send");
  assert.equal(result.stopReason, "aborted");
  assert.equal(model.requests.length, 0);
  assertPaired(fired);
});

test("a run that is aborted while it waits for its turn resolves as aborted at once and pairs whatever it fires", async (t) => {
  const gate = deferred();
  const model = scriptedModel([{ text: "ok", wait: gate.promise }, { text: "ok" }]);
  const agent = agentFor(t, { model });
  const fired = recordHooks(agent);
  const controller = new AbortController();
  const first = agent.send("first");
  const second = agent.send("second", { signal: controller.signal });
  const third = agent.send("third");
  await until(() => model.requests.length === 1);
  controller.abort();
  assert.equal((await within(second, "the aborted run, while the first is still going")).stopReason, "aborted");
  gate.resolve();
  assert.equal((await first).stopReason, "stop");
  assert.equal((await third).stopReason, "stop");
  assert.equal(model.requests.length, 2);
  assertPaired(fired);
  assert.deepEqual(
    fired
      .filter(({ event }) => event === "run:start")
      .map(({ input }) => input)
      .filter((input) => input !== "second"),
    ["first", "third"],
  );
});

test("a run that is aborted in the moment in which its turn comes has no run:end without a run:start", async (t) => {
  const controller = new AbortController();
  const agent = agentFor(t);
  const fired = recordHooks(agent);
  agent.subscribe(({ event }) => {
    if (event.type === "done") controller.abort();
  });
  const results = await Promise.all([
    agent.send("first"),
    agent.send("second", { signal: controller.signal }),
    agent.send("third"),
  ]);
  assert.deepEqual(
    results.map(({ stopReason }) => stopReason),
    ["stop", "aborted", "stop"],
  );
  assertPaired(fired);
});

test("a call that is cancelled in the moment in which it begins has no tool:end without a tool:start", async (t) => {
  const controller = new AbortController();
  const agent = agentFor(t, {
    model: [{ calls: [call("1"), call("2"), call("3"), call("4")] }, { text: "done" }],
    maxParallelTools: 2,
    tools: [plainTool("work", () => "ok")],
  });
  const fired = recordHooks(agent);
  agent.hook("tool:end", ({ call: { id } }) => {
    if (id === "2") controller.abort();
  });
  await agent.send("go", { signal: controller.signal });
  assertPaired(fired);
});

test("an aborted model call that ignores its signal holds the run up no longer", async (t) => {
  const controller = new AbortController();
  const model = scriptedModel([{ wait: new Promise(() => {}) }], { honoursAbort: false });
  const agent = agentFor(t, { model });
  const fired = recordHooks(agent);
  const sending = agent.send("go", { signal: controller.signal });
  await until(() => model.requests.length === 1);
  controller.abort();
  assert.equal((await within(sending, "the aborted run", 1_000)).stopReason, "aborted");
  assert.deepEqual(names(fired), ["run:start", "run:end"]);
  assert.equal(fired[1].status, "cancelled");
});

test("an abort after the run has completed, while run:end is pending, changes neither status nor the number of events", async (t) => {
  const controller = new AbortController();
  const agent = agentFor(t);
  const fired = recordHooks(agent, ["run:end"]);
  let signalAborted;
  agent.hook("run:end", async (_, { signal }) => {
    controller.abort();
    await new Promise(setImmediate);
    signalAborted = signal.aborted;
  });
  await agent.send("go", { signal: controller.signal });
  assert.deepEqual(
    fired.map(({ status }) => status),
    ["completed"],
  );
  assert.equal(signalAborted, false);
});

test("break out of run() fires one run:end, cancelled, that the break waits for", async (t) => {
  const agent = agentFor(t);
  const order = [];
  agent.hook("run:end", async ({ status }) => {
    await new Promise(setImmediate);
    order.push(`run:end ${status}`);
  });
  for await (const event of agent.run("go")) {
    order.push(event.type);
    break;
  }
  order.push("after the loop");
  assert.equal(order.length, 3);
  assert.deepEqual(order.slice(1), ["run:end cancelled", "after the loop"]);
});

test("throw() into run() and an exception in the loop's body fire one run:end, cancelled", async (t) => {
  const agent = agentFor(t);
  const fired = recordHooks(agent, ["run:end"]);
  const mine = new Error("mine");
  await assert.rejects(
    async () => {
      for await (const _ of agent.run("go")) throw mine;
    },
    (error) => error === mine,
  );
  const run = agent.run("go");
  await run.next();
  await assert.rejects(run.throw(mine), (error) => error === mine);
  assert.deepEqual(
    fired.map(({ status }) => status),
    ["cancelled", "cancelled"],
  );
});

test("a break at any event fires exactly one run:end, and the session works afterwards", async (t) => {
  const script = [
    { text: "let me see", deltas: ["let ", "me ", "see"], calls: [call("1"), call("2")] },
    { text: "done" },
  ];
  const tools = [
    plainTool("work", async () => {
      await new Promise(setImmediate);
      return "worked";
    }),
  ];
  const { events } = await collect(agentFor(t, { model: script, tools }).run("go"));
  for (let position = 0; position < events.length; position += 1) {
    const agent = agentFor(t, { model: script, tools });
    const fired = recordHooks(agent);
    let seen = 0;
    let last;
    let over = false;
    for await (const event of agent.run("go")) {
      last = event.type;
      seen += 1;
      // A run may be ahead of its reader: a run that has ended before the break is not cancelled by it.
      over = fired.at(-1)?.event === "run:end";
      if (seen > position) break;
    }
    const ends = fired.filter(({ event }) => event === "run:end");
    assert.equal(ends.length, 1, `break at event ${position}, ${last}`);
    assert.equal(fired.at(-1).event, "run:end", `break at event ${position}, ${last}`);
    assert.equal(ends[0].status, over ? "completed" : "cancelled", `break at event ${position}, ${last}`);
    assertPaired(fired);
    const result = await within(agent.send("again"), `the next send after a break at ${last}`);
    assert.equal(result.stopReason, "stop");
  }
});

test("return() while a next() is pending cancels the run and resolves when run:end has", async (t) => {
  const agent = agentFor(t, { model: [{ wait: new Promise(() => {}) }] });
  const fired = recordHooks(agent);
  const run = agent.run("go");
  while ((await run.next()).value.type !== "model_call_start");
  const pending = run.next();
  await new Promise(setImmediate);
  await within(Promise.allSettled([run.return(), pending]), "return() with a pending next()");
  assert.deepEqual(names(fired), ["run:start", "run:end"]);
  assert.equal(fired[1].status, "cancelled");
});

test("close() fires one run:end, cancelled, for each run that is going", async (t) => {
  const agent = agentFor(t, { model: [{ wait: new Promise(() => {}) }] });
  const fired = recordHooks(agent);
  const runs = ["a", "b", "c"].map((sessionId) => agent.send("go", { sessionId }));
  await until(() => fired.length === 3);
  await agent.close();
  const ends = fired.filter(({ event }) => event === "run:end");
  assert.deepEqual(ends.map(({ sessionId }) => sessionId).sort(), ["a", "b", "c"]);
  assert.deepEqual(new Set(ends.map(({ status }) => status)), new Set(["cancelled"]));
  for (const result of await Promise.all(runs)) assert.equal(result.stopReason, "aborted");
});

test("close() ends a run that nobody pulls any more, with its run:end", async (t) => {
  const agent = agentFor(t);
  const fired = recordHooks(agent);
  const run = agent.run("go");
  await run.next();
  await within(agent.close(), "close() with a run that nobody pulls");
  assert.deepEqual(names(fired), ["run:start", "run:end"]);
});

test("after a cancelled run:end nothing else of that run fires, even when its tool, model and handlers finish later", async (t) => {
  const gate = deferred();
  const controller = new AbortController();
  const started = deferred();
  const agent = agentFor(t, {
    model: [{ calls: [call("1"), call("2")] }, { text: "done" }],
    tools: [
      plainTool("work", async () => {
        started.resolve();
        await gate.promise;
        return "late";
      }),
    ],
  });
  const fired = recordHooks(agent);
  const heard = [];
  agent.subscribe(({ event }) => heard.push(event.type));
  const sending = agent.send("go", { signal: controller.signal });
  await started.promise;
  controller.abort();
  await within(sending, "the aborted run", 1_000);
  const hooks = fired.length;
  const events = heard.length;
  assert.equal(fired.at(-1).event, "run:end");
  gate.resolve();
  await new Promise((resolve) => setTimeout(resolve, 30));
  assert.equal(fired.length, hooks);
  assert.equal(heard.length, events);
  assertPaired(fired);
});

for (const [moment, wait] of [
  ["before its first await", () => {}],
  ["after an await", () => new Promise(setImmediate)],
]) {
  test(`a tool that aborts its run ${moment} sees its signal aborted, and may then use the session`, async (t) => {
    const controller = new AbortController();
    const seen = deferred();
    let agent;
    agent = agentFor(t, {
      model: [{ calls: [call()] }, { text: "done" }],
      tools: [
        plainTool("work", async (_, { signal }) => {
          const waiting = wait();
          if (waiting) await waiting;
          controller.abort();
          await pause(5);
          seen.resolve({ aborted: signal.aborted, sent: await agent.send("later").then(({ text }) => text, String) });
        }),
      ],
    });
    const result = await within(agent.send("go", { signal: controller.signal }), "the aborted run", 1_000);
    assert.equal(result.stopReason, "aborted");
    assert.deepEqual(await within(seen.promise, "the tool"), { aborted: true, sent: "done" });
  });

  test(`a provider that aborts its run ${moment} sees its signal aborted, and may then use the session`, async (t) => {
    const controller = new AbortController();
    const seen = deferred();
    let agent;
    let asked = 0;
    agent = agentFor(t, {
      model: {
        id: "self-aborting",
        async *stream(_, signal) {
          asked += 1;
          if (asked === 1) {
            const waiting = wait();
            if (waiting) await waiting;
            controller.abort();
            await pause(5);
            seen.resolve({ aborted: signal.aborted, sent: await agent.send("later").then(({ text }) => text, String) });
          }
          yield {
            type: "message_done",
            message: { role: "assistant", content: [{ type: "text", text: "done" }] },
            usage: { inputTokens: 1, outputTokens: 1 },
          };
        },
      },
    });
    const result = await within(agent.send("go", { signal: controller.signal }), "the aborted run", 1_000);
    assert.equal(result.stopReason, "aborted");
    assert.deepEqual(await within(seen.promise, "the provider"), { aborted: true, sent: "done" });
  });

  for (const step of ["beforeAgent", "beforeModel", "afterAgent", "wrapToolCall"]) {
    test(`a ${step} that aborts its run ${moment} sees its signal aborted, and may then use the session`, async (t) => {
      const controller = new AbortController();
      const seen = deferred();
      let agent;
      let used = false;
      agent = agentFor(t, {
        model: [{ calls: [call()] }, { text: "done" }],
        tools: [plainTool("work", () => "ok")],
        use: [
          {
            name: "self-aborting",
            async [step]({ signal }, next) {
              if (used) return next?.();
              used = true;
              const waiting = wait();
              if (waiting) await waiting;
              controller.abort();
              await pause(5);
              seen.resolve({
                aborted: signal.aborted,
                sent: await agent.send("later").then(({ text }) => text, String),
              });
              return next?.();
            },
          },
        ],
      });
      const result = await within(agent.send("go", { signal: controller.signal }), "the aborted run", 1_000);
      assert.equal(result.stopReason, "aborted");
      assert.deepEqual(await within(seen.promise, "the middleware"), { aborted: true, sent: "done" });
    });
  }
}

test("run:end of a cancelled run comes after the tool:end of its open calls", async (t) => {
  const controller = new AbortController();
  const agent = agentFor(t, {
    model: [{ calls: [call()] }],
    tools: [
      plainTool("work", (_, { signal }) => {
        controller.abort();
        return aborted(signal);
      }),
    ],
  });
  const fired = recordHooks(agent);
  await agent.send("go", { signal: controller.signal });
  assert.deepEqual(names(fired), ["run:start", "tool:start", "tool:end", "run:end"]);
  assert.equal(fired[2].status, "cancelled");
  assert.equal(fired[3].status, "cancelled");
});

test("the conversation of a cancelled run stays well formed for the next one", async (t) => {
  const controller = new AbortController();
  const model = scriptedModel([{ calls: [call("1"), call("2"), call("3")] }, { text: "done" }]);
  const agent = agentFor(t, {
    model,
    maxParallelTools: 2,
    tools: [
      plainTool("work", () => {
        controller.abort();
        return new Promise(() => {});
      }),
    ],
  });
  await within(agent.send("go", { signal: controller.signal }), "the aborted run");
  await agent.send("again");
  const results = model.requests[1].messages
    .flatMap(({ content }) => (Array.isArray(content) ? content : []))
    .filter(({ type }) => type === "tool_result");
  assert.deepEqual(
    results.map(({ id, isError }) => [id, isError]),
    [
      ["1", true],
      ["2", true],
      ["3", true],
    ],
  );
  for (const { content } of results) assert.match(JSON.stringify(content), /interrupted/);
});

/** One run:end a run:start, one tool:end a tool:start, by run and call. */
function assertPaired(fired) {
  const open = new Map();
  for (const { event, runId, call: made } of fired) {
    const [kind, phase] = event.split(":");
    const key = `${kind} ${runId} ${made?.id ?? ""}`;
    open.set(key, (open.get(key) ?? 0) + (phase === "start" ? 1 : -1));
  }
  assert.deepEqual(
    [...open].filter(([, count]) => count !== 0),
    [],
  );
}
