// What hook() accepts, what it refuses, and what the function that it returns removes.
import { test } from "node:test";
import assert from "node:assert/strict";
import { ClosedError } from "../../index.js";
import { agentFor, collect, hookFailures, plainTool, scriptedModel } from "../support/model.mjs";

const NAMES = ["run:start", "run:end", "tool:start", "tool:end", "compact:start", "compact:end"];

test("every event of the table can be registered for", (t) => {
  const agent = agentFor(t);
  for (const name of NAMES) assert.equal(typeof agent.hook(name, () => {}), "function");
});

for (const name of [
  "Run:Start",
  "run:Start",
  "run_start",
  "run",
  "",
  " run:start",
  "run:start ",
  "toString",
  "__proto__",
  "constructor",
  "error",
  "turn:start",
  undefined,
  null,
  0,
  {},
  ["run:start"],
  Symbol("run:start"),
]) {
  test(`an unknown event name is a TypeError: ${describe(name)}`, (t) => {
    const agent = agentFor(t);
    assert.throws(() => agent.hook(name, () => {}), TypeError);
  });
}

test("the TypeError for a misspelt event name shows the name that was given", (t) => {
  const agent = agentFor(t);
  assert.throws(
    () => agent.hook("tool:edn", () => {}),
    (error) => error instanceof TypeError && error.message.includes("tool:edn"),
  );
});

for (const handler of [
  undefined,
  null,
  "console.log(1)",
  1,
  {},
  [],
  { handleEvent() {} },
  Promise.resolve(() => {}),
  true,
]) {
  test(`a handler that is no function is a TypeError: ${describe(handler)}`, (t) => {
    const agent = agentFor(t);
    assert.throws(() => agent.hook("run:start", handler), TypeError);
  });
}

const BAD_TIMEOUTS = [
  0,
  -0,
  -1,
  NaN,
  1.5,
  2 ** 31,
  2 ** 32 + 1,
  Infinity,
  -Infinity,
  120_001,
  1e9,
  Number.MIN_VALUE,
  Number.MAX_SAFE_INTEGER,
  "5",
  "",
  "10000",
  null,
  true,
  false,
  5n,
  {},
  [],
  [5],
  Symbol("5"),
  () => 5,
  new Date(5),
  { valueOf: () => 5 },
];
for (const timeoutMs of BAD_TIMEOUTS) {
  test(`timeoutMs ${describe(timeoutMs)} is a RangeError at registration`, (t) => {
    const agent = agentFor(t);
    assert.throws(() => agent.hook("run:start", () => {}, { timeoutMs }), RangeError);
  });
}

test("the RangeError names timeoutMs, its range and the value", (t) => {
  const agent = agentFor(t);
  assert.throws(
    () => agent.hook("run:start", () => {}, { timeoutMs: 120_001 }),
    (error) => {
      assert.match(error.message, /timeoutMs/);
      assert.match(error.message, /\b1\b.*\b120_?000\b/);
      assert.match(error.message, /120_?001/);
      return true;
    },
  );
});

for (const timeoutMs of [1, 2, 10_000, 119_999, 120_000, 5.0, undefined]) {
  test(`timeoutMs ${describe(timeoutMs)} is accepted`, (t) => {
    const agent = agentFor(t);
    assert.equal(typeof agent.hook("run:start", () => {}, { timeoutMs }), "function");
  });
}

test("options that are undefined or empty are accepted", async (t) => {
  const agent = agentFor(t);
  let calls = 0;
  agent.hook(
    "run:start",
    () => {
      calls += 1;
    },
    undefined,
  );
  agent.hook(
    "run:start",
    () => {
      calls += 1;
    },
    {},
  );
  await agent.send("go");
  assert.equal(calls, 2);
});

for (const options of [5000, "5000", true, () => {}]) {
  test(`options that are no object are a TypeError: ${describe(options)}`, (t) => {
    const agent = agentFor(t);
    assert.throws(() => agent.hook("run:start", () => {}, options), TypeError);
  });
}

test("a refused registration registers nothing", async (t) => {
  const agent = agentFor(t);
  const forbidden = () => assert.fail("a handler ran that was never registered");
  assert.throws(() => agent.hook("run:start", forbidden, { timeoutMs: 0 }), RangeError);
  assert.throws(() => agent.hook("run:start", forbidden, { timeoutMs: "5" }), RangeError);
  assert.throws(() => agent.hook("run:strat", forbidden), TypeError);
  const heard = [];
  agent.subscribe((entry) => heard.push(entry));
  await agent.send("go");
  assert.deepEqual(hookFailures(heard), []);
});

test("the same function registered three times is called three times for one event", async (t) => {
  const agent = agentFor(t);
  let calls = 0;
  const handler = () => {
    calls += 1;
  };
  agent.hook("run:start", handler);
  agent.hook("run:start", handler);
  agent.hook("run:start", handler);
  await agent.send("go");
  assert.equal(calls, 3);
});

test("removing one registration of a function leaves its other registrations", async (t) => {
  const agent = agentFor(t);
  let calls = 0;
  const handler = () => {
    calls += 1;
  };
  agent.hook("run:start", handler);
  const remove = agent.hook("run:start", handler);
  agent.hook("run:start", handler);
  agent.hook("run:end", handler);
  remove();
  await agent.send("go");
  assert.equal(calls, 3);
});

test("removing a registration twice removes no other", async (t) => {
  const agent = agentFor(t);
  const called = [];
  const remove = agent.hook("run:start", () => called.push("a"));
  agent.hook("run:start", () => called.push("b"));
  remove();
  remove();
  remove();
  await agent.send("go");
  assert.deepEqual(called, ["b"]);
});

test("a registration made after a removal is not removed by calling the old remover again", async (t) => {
  const agent = agentFor(t);
  const called = [];
  const handler = () => called.push("again");
  const remove = agent.hook("run:start", handler);
  remove();
  agent.hook("run:start", handler);
  remove();
  await agent.send("go");
  assert.deepEqual(called, ["again"]);
});

test("each of 200 registrations of one function is removed by its own remover alone", async (t) => {
  const agent = agentFor(t);
  let calls = 0;
  const handler = () => {
    calls += 1;
  };
  const removers = Array.from({ length: 200 }, () => agent.hook("run:end", handler));
  removers.forEach((remove, position) => {
    if (position % 2 === 0) remove();
  });
  await agent.send("go");
  assert.equal(calls, 100);
});

test("a registration is for its own event alone", async (t) => {
  const called = [];
  const agent = agentFor(t, {
    model: [{ calls: [{ id: "1", name: "work", input: {} }] }, { text: "done" }],
    tools: [plainTool("work", () => "worked")],
  });
  for (const name of NAMES) agent.hook(name, (event) => called.push([name, event.event]));
  await agent.send("go");
  assert.deepEqual(called, [
    ["run:start", "run:start"],
    ["tool:start", "tool:start"],
    ["tool:end", "tool:end"],
    ["run:end", "run:end"],
  ]);
});

test("registrations of one agent are not those of another", async (t) => {
  const first = agentFor(t);
  const second = agentFor(t);
  const called = [];
  first.hook("run:start", () => called.push("first"));
  await second.send("go");
  assert.deepEqual(called, []);
});

test("registrations cover every session of the agent", async (t) => {
  const agent = agentFor(t);
  const sessions = [];
  agent.hook("run:end", ({ sessionId }) => sessions.push(sessionId));
  await agent.send("go", { sessionId: "one" });
  await agent.send("go", { sessionId: "two" });
  const cleared = agent.clear();
  await agent.send("go");
  assert.deepEqual(sessions, ["one", "two", cleared]);
});

test("a handler may be an async function, a bound function, a proxy of a function or a class method", async (t) => {
  const agent = agentFor(t);
  const called = [];
  class Audit {
    record() {
      called.push("method");
    }
  }
  agent.hook("run:start", async () => called.push("async"));
  agent.hook(
    "run:start",
    function () {
      called.push(this.name);
    }.bind({ name: "bound" }),
  );
  agent.hook("run:start", new Proxy(() => called.push("proxy"), {}));
  agent.hook("run:start", new Audit().record);
  await agent.send("go");
  assert.deepEqual(called, ["async", "bound", "proxy", "method"]);
});

test("a handler is called with the event and the context, and nothing else", async (t) => {
  const agent = agentFor(t);
  let given;
  agent.hook("run:start", (...received) => {
    given = received;
  });
  await agent.send("go");
  assert.equal(given.length, 2);
  assert.ok(given[1].signal instanceof AbortSignal);
});

test("registering after close() is a ClosedError", async (t) => {
  const agent = agentFor(t);
  await agent.close();
  assert.throws(() => agent.hook("run:start", () => {}), ClosedError);
});

test("registering while close() is still waiting is a ClosedError", async (t) => {
  const agent = agentFor(t);
  const closing = agent.close();
  assert.throws(() => agent.hook("run:start", () => {}), ClosedError);
  await closing;
});

test("a remover called after close() does nothing", async (t) => {
  const agent = agentFor(t);
  const remove = agent.hook("run:start", () => {});
  await agent.close();
  remove();
  remove();
});

test("hooks may be registered before, between and during runs", async (t) => {
  const called = [];
  let agent;
  const model = scriptedModel([
    () => {
      agent.hook("run:end", () => called.push("during"));
      return { text: "ok" };
    },
    { text: "ok" },
  ]);
  agent = agentFor(t, { model });
  agent.hook("run:end", () => called.push("before"));
  await agent.send("go");
  agent.hook("run:end", () => called.push("between"));
  await agent.send("go");
  assert.deepEqual(called, ["before", "during", "before", "during", "between"]);
});

function describe(value) {
  if (Object.is(value, -0)) return "-0";
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value === "object" && value !== null)
    return `${Object.prototype.toString.call(value)} ${JSON.stringify(value)}`;
  if (typeof value === "string") return JSON.stringify(value);
  return String(value);
}

test("a promise of the host whose own then throws, and a signal that cannot be used, harm their own run at most", async (t) => {
  const agent = agentFor(t, { model: [{ text: "ok" }] });
  const remove = agent.hook("run:start", () =>
    Object.assign(Promise.resolve(), {
      then() {
        throw new Error("own then");
      },
    }),
  );
  const { events } = await collect(agent.run("go"));
  assert.equal(hookFailures(events).length, 1);
  remove();
  const broken = {
    aborted: false,
    addEventListener() {},
    removeEventListener() {
      throw new Error("no");
    },
  };
  assert.equal((await agent.send("go", { signal: broken })).text, "ok");
  assert.equal((await agent.send("go")).text, "ok");
});

for (const [name, hint] of [
  ["timeout", "did you mean timeoutMs?"],
  ["timeoutms", "did you mean timeoutMs?"],
  ["timeOutMs", "did you mean timeoutMs?"],
  ["signal", "there is only timeoutMs"],
  ["match", "there is only timeoutMs"],
]) {
  test(`the option ${name} is a TypeError that names it, and nothing is registered`, async (t) => {
    const agent = agentFor(t);
    let calls = 0;
    assert.throws(
      () => agent.hook("run:start", () => void (calls += 1), { [name]: 5 }),
      new TypeError(`hook: unknown option '${name}'; ${hint}`),
    );
    await agent.send("go");
    assert.equal(calls, 0);
  });
}
