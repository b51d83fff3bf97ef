// subscribe(): observe, never steer. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { agentFor, collect, plainTool, scriptedModel } from "../support/model.mjs";
import { call, typesOf } from "../runs/reading.mjs";

const calling = () => ({
  model: [{ calls: [call("a", "echo")] }, { text: "end" }],
  tools: [plainTool("echo", () => "x")],
});

test("a listener hears every event of a stream, in its order, with session and source", async (t) => {
  const agent = agentFor(t, calling());
  const heard = [];
  agent.subscribe((entry) => heard.push(entry));
  const { events } = await collect(agent.run("hi", { sessionId: "mine" }));
  assert.deepEqual(typesOf(heard.map((entry) => entry.event)), typesOf(events));
  assert.deepEqual(
    heard.map((entry) => entry.event),
    events,
  );
  assert.ok(heard.every((entry) => entry.sessionId === "mine" && entry.source === "user"));
  assert.deepEqual(Object.keys(heard[0]).sort(), ["event", "sessionId", "source"]);
});

test("a listener hears runs of send(), and of every session", async (t) => {
  const agent = agentFor(t);
  const heard = [];
  agent.subscribe(({ sessionId, event }) => {
    if (event.type === "done") heard.push(sessionId);
  });
  await agent.send("a", { sessionId: "one" });
  await agent.send("b", { sessionId: "two" });
  assert.deepEqual(heard, ["one", "two"]);
});

test("a listener has heard done before send() resolves", async (t) => {
  const agent = agentFor(t);
  let done = false;
  agent.subscribe(({ event }) => {
    done ||= event.type === "done";
  });
  await agent.send("hi");
  assert.equal(done, true);
});

test("a failing run's error event is heard", async (t) => {
  const agent = agentFor(t, { model: [{ error: new Error("down") }] });
  const heard = [];
  agent.subscribe(({ event }) => heard.push(event));
  await assert.rejects(agent.send("hi"));
  assert.equal(heard.at(-1).type, "error");
  assert.equal(heard.at(-1).fatal, true);
});

test("listeners are called in the order in which they subscribed, each with every event", async (t) => {
  const agent = agentFor(t);
  const order = [];
  for (const name of ["a", "b", "c"]) agent.subscribe(({ event }) => order.push(`${name} ${event.type}`));
  const { events } = await collect(agent.run("hi"));
  assert.deepEqual(
    order,
    events.flatMap(({ type }) => [`a ${type}`, `b ${type}`, `c ${type}`]),
  );
});

test("the same function subscribed twice is two subscriptions, removed one at a time", async (t) => {
  const agent = agentFor(t);
  let count = 0;
  const listener = ({ event }) => {
    if (event.type === "done") count += 1;
  };
  const first = agent.subscribe(listener);
  agent.subscribe(listener);
  await agent.send("a");
  assert.equal(count, 2);
  first();
  first();
  await agent.send("b");
  assert.equal(count, 3);
});

test("what a listener throws, or rejects with, is swallowed, and the others hear on", async (t) => {
  const agent = agentFor(t, calling());
  const heard = [];
  agent.subscribe(() => {
    throw new Error("listener broke");
  });
  agent.subscribe(async () => {
    throw new Error("listener broke later");
  });
  agent.subscribe(() => {
    throw undefined;
  });
  agent.subscribe(() => ({
    then() {
      throw new Error("bad thenable");
    },
  }));
  agent.subscribe(({ event }) => {
    heard.push(event.type);
  });
  const { events, result } = await collect(agent.run("hi"));
  assert.equal(result.text, "end");
  assert.deepEqual(heard, typesOf(events));
  assert.ok(!heard.includes("diagnostic"));
});

test("a listener that never settles holds nothing up", async (t) => {
  const agent = agentFor(t);
  agent.subscribe(() => new Promise(() => {}));
  assert.equal((await agent.send("hi")).text, "ok");
});

test("the unsubscriber ends it, at once and for good, and may be called from the listener", async (t) => {
  const agent = agentFor(t);
  let heard = 0;
  const unsubscribe = agent.subscribe(() => {
    heard += 1;
    unsubscribe();
  });
  let others = 0;
  agent.subscribe(() => {
    others += 1;
  });
  const { events } = await collect(agent.run("hi"));
  assert.equal(heard, 1);
  assert.equal(others, events.length);
  unsubscribe();
});

test("a listener that subscribes another does not disturb the round", async (t) => {
  const agent = agentFor(t);
  let added = 0;
  let late = 0;
  agent.subscribe(() => {
    if (added === 0) {
      added += 1;
      agent.subscribe(() => {
        late += 1;
      });
    }
  });
  const { events } = await collect(agent.run("hi"));
  assert.ok(late >= events.length - 1 && late <= events.length);
});

test("what a listener does to an event reaches neither the run nor the conversation", async (t) => {
  const model = scriptedModel([{ text: "true", calls: [call("a", "echo", { x: 1 })] }, { text: "end" }]);
  const agent = agentFor(t, { model, tools: [plainTool("echo", ({ x }) => `x is ${x}`)] });
  agent.subscribe(({ event }) => {
    if (event.type === "message") event.message.content[0].text = "forged";
  });
  agent.subscribe(({ event }) => {
    if (event.call) event.call.input.x = 2;
  });
  const result = await agent.send("hi");
  assert.doesNotMatch(JSON.stringify(result.messages), /forged/);
  assert.match(JSON.stringify(result.messages), /x is 1/);
});

test("a listener that is no function is a TypeError", (t) => {
  const agent = agentFor(t);
  for (const value of [undefined, null, 5, {}, "x"]) assert.throws(() => agent.subscribe(value), TypeError);
});

test("a listener may send on the agent: it is not awaited, so nothing waits for itself", async (t) => {
  const agent = agentFor(t);
  let inner;
  agent.subscribe(({ event }) => {
    if (event.type === "turn_start") inner ??= agent.send("inner");
  });
  await agent.send("outer");
  assert.equal((await inner).messages.length, 4);
});

test("a listener that changes what it hears changes nothing for the caller and other listeners", async (t) => {
  const agent = agentFor(t, { model: [{ text: "mine" }] });
  agent.hook("run:start", () => {
    throw new Error("x");
  });
  const reasons = [];
  agent.subscribe(({ event }) => {
    if (event.type === "done") event.result.text = "forged";
    if (event.type === "diagnostic") event.hook.reason = "forged";
  });
  agent.subscribe(({ event }) => {
    if (event.type === "diagnostic") reasons.push(event.hook.reason);
  });
  assert.equal((await agent.send("hi")).text, "mine");
  assert.deepEqual(reasons, ["error"]);
});

test("a listener may start a run of the same session, also when it hears a delta or an event of a tool", async (t) => {
  for (const type of ["text_delta", "tool_progress"]) {
    const agent = agentFor(t, {
      model: scriptedModel([{ deltas: ["a"], calls: [call("a", "echo")] }, { text: "end" }]),
      tools: [
        plainTool("echo", (_input, { emit }) => {
          emit({ type: "tool_progress", id: "a", name: "echo", progress: 1 });
          return "x";
        }),
      ],
    });
    let followed;
    agent.subscribe(({ event }) => {
      if (event.type === type) followed ??= agent.send("more");
    });
    await agent.send("hi");
    assert.equal((await followed).stopReason, "stop", type);
  }
});
