// The order of handlers, what is awaited, and the snapshot of registrations.
import { test } from "node:test";
import assert from "node:assert/strict";
import vm from "node:vm";
import {
  agentFor,
  collect,
  deferred,
  hookFailures,
  pause,
  plainTool,
  scriptedModel,
  until,
  within,
} from "../support/model.mjs";

const call = (id = "call-1", name = "work", input = {}) => ({ id, name, input });
const working = (calls = [call()], config = {}) => ({
  model: scriptedModel([{ calls }, { text: "done" }]),
  tools: [plainTool("work", () => "worked")],
  ...config,
});

test("handlers run in the order of their registration, each awaited before the next", async (t) => {
  const agent = agentFor(t);
  const order = [];
  for (const [name, durationMs] of [
    ["a", 20],
    ["b", 0],
    ["c", 10],
    ["d", 1],
  ]) {
    agent.hook("run:start", async () => {
      order.push(`${name} in`);
      await pause(durationMs);
      order.push(`${name} out`);
    });
  }
  agent.hook("run:start", () => void order.push("sync"));
  await agent.send("go");
  assert.deepEqual(order, ["a in", "a out", "b in", "b out", "c in", "c out", "d in", "d out", "sync"]);
});

test("a slow first handler cannot let a fast second one overtake it, nor show it a change of the event", async (t) => {
  const agent = agentFor(t, working([call("1", "work", { path: "a" })]));
  const order = [];
  agent.hook("tool:start", async ({ call: { input } }) => {
    await pause(20);
    try {
      input.path = "changed";
    } catch {
      order.push("refused");
    }
    order.push("slow");
  });
  agent.hook("tool:start", ({ call: { input } }) => void order.push(`fast ${input.path}`));
  await agent.send("go");
  assert.deepEqual(order, ["refused", "slow", "fast a"]);
});

test("tool:start handlers of the calls of one turn are awaited at the same time", async (t) => {
  const agent = agentFor(t, working([call("1"), call("2"), call("3")]));
  const met = deferred();
  const arrived = [];
  agent.hook("tool:start", ({ call: { id } }) => {
    arrived.push(id);
    if (arrived.length === 3) met.resolve();
    return met.promise;
  });
  await within(agent.send("go"), "three dispatches that wait for one another");
  assert.deepEqual(arrived.sort(), ["1", "2", "3"]);
});

test("tool:end handlers of the calls of one turn are awaited at the same time", async (t) => {
  const agent = agentFor(t, working([call("1"), call("2"), call("3")]));
  const met = deferred();
  let arrived = 0;
  agent.hook("tool:end", () => {
    arrived += 1;
    if (arrived === 3) met.resolve();
    return met.promise;
  });
  await within(agent.send("go"), "three dispatches that wait for one another");
});

test("within each of several dispatches at once the order is kept", async (t) => {
  const calls = Array.from({ length: 8 }, (_, position) => call(`c${position}`));
  const agent = agentFor(t, working(calls));
  const orders = new Map(calls.map(({ id }) => [id, []]));
  for (const name of ["a", "b", "c"]) {
    agent.hook("tool:start", async ({ call: { id } }) => {
      orders.get(id).push(`${name} in`);
      await pause((Number(id.slice(1)) * 7) % 5);
      orders.get(id).push(`${name} out`);
    });
  }
  await agent.send("go");
  for (const order of orders.values()) assert.deepEqual(order, ["a in", "a out", "b in", "b out", "c in", "c out"]);
});

test("a tool does not run while its tool:start handler is pending, and another call of the turn does", async (t) => {
  const gate = deferred();
  const executed = [];
  const agent = agentFor(
    t,
    working([call("held"), call("free")], {
      tools: [
        plainTool("work", (_, context) => {
          executed.push(context.call.id);
          return "ok";
        }),
      ],
    }),
  );
  agent.hook("tool:start", ({ call: { id } }) => (id === "held" ? gate.promise : undefined));
  const sending = agent.send("go");
  await until(() => executed.length > 0);
  assert.deepEqual(executed, ["free"]);
  gate.resolve();
  await sending;
  assert.deepEqual(executed, ["free", "held"]);
});

test("the model is not asked again while a tool:end handler is pending", async (t) => {
  const gate = deferred();
  const invoked = deferred();
  const config = working();
  const agent = agentFor(t, config);
  agent.hook("tool:end", () => {
    invoked.resolve();
    return gate.promise;
  });
  const sending = agent.send("go");
  await invoked.promise;
  await pause(5);
  assert.equal(config.model.requests.length, 1);
  gate.resolve();
  await sending;
  assert.equal(config.model.requests.length, 2);
});

test("returned values are ignored", async (t) => {
  const values = [
    false,
    null,
    0,
    "deny",
    { decision: "deny" },
    { input: { path: "b" } },
    new Error("returned"),
    { content: "changed", isError: true },
    Symbol("x"),
    () => assert.fail("must not be called"),
    [1],
    new Map(),
    hostileProxy(),
    revokedProxy(),
  ];
  let executedWith;
  const agent = agentFor(
    t,
    working([call("1", "work", { path: "a" })], {
      tools: [
        plainTool("work", (input) => {
          executedWith = { ...input };
          return "worked";
        }),
      ],
    }),
  );
  let calls = 0;
  for (const name of ["run:start", "tool:start", "tool:end", "run:end"]) {
    for (const value of values)
      agent.hook(name, () => {
        calls += 1;
        return value;
      });
  }
  const result = await agent.send("go");
  assert.equal(calls, values.length * 4);
  assert.deepEqual(executedWith, { path: "a" });
  assert.equal(result.text, "done");
  const results = result.messages.flatMap(({ content }) => content).filter(({ type }) => type === "tool_result");
  assert.equal(results[0].content, "worked");
  assert.notEqual(results[0].isError, true);
});

test("a plain returned value is no failure, whatever it is", async (t) => {
  const agent = agentFor(t);
  for (const value of [
    false,
    new Error("returned"),
    {},
    { then: 5 },
    { then: null },
    function* () {},
    Symbol("x"),
    5n,
  ]) {
    agent.hook("run:start", () => value);
    agent.hook("run:start", async () => value);
  }
  const { events } = await collect(agent.run("go"));
  assert.deepEqual(hookFailures(events), []);
});

test("a thenable of any make is awaited", async (t) => {
  const agent = agentFor(t);
  const order = [];
  class Later extends Promise {}
  const makers = {
    "a promise": (done) =>
      new Promise((resolve) =>
        setTimeout(() => {
          done();
          resolve();
        }, 5),
      ),
    "a subclass": (done) =>
      new Later((resolve) =>
        setTimeout(() => {
          done();
          resolve();
        }, 5),
      ),
    "a promise of another realm": (done) =>
      vm.runInNewContext("new Promise((resolve) => later(resolve))", {
        later: (resolve) =>
          setTimeout(() => {
            done();
            resolve();
          }, 5),
      }),
    "an object with then": (done) => ({
      then(resolve) {
        setTimeout(() => {
          done();
          resolve();
        }, 5);
      },
    }),
    "a function with then": (done) =>
      Object.assign(() => {}, {
        then(resolve) {
          setTimeout(() => {
            done();
            resolve();
          }, 5);
        },
      }),
    "a thenable of a thenable": (done) => ({
      then(resolve) {
        resolve({
          then(inner) {
            setTimeout(() => {
              done();
              inner();
            }, 5);
          },
        });
      },
    }),
    "an inherited then": (done) =>
      Object.create({
        then(resolve) {
          setTimeout(() => {
            done();
            resolve();
          }, 5);
        },
      }),
  };
  for (const [name, make] of Object.entries(makers)) {
    agent.hook("run:start", () => {
      order.push(`${name} in`);
      return make(() => order.push(`${name} out`));
    });
  }
  const { events } = await within(collect(agent.run("go")), "the run");
  assert.deepEqual(
    order,
    Object.keys(makers).flatMap((name) => [`${name} in`, `${name} out`]),
  );
  assert.deepEqual(hookFailures(events), []);
});

test("a generator that a handler returns is not run", async (t) => {
  const agent = agentFor(t);
  let ran = false;
  agent.hook("run:start", function* () {
    ran = true;
  });
  agent.hook("run:start", async function* () {
    ran = true;
  });
  const { events } = await collect(agent.run("go"));
  assert.equal(ran, false);
  assert.deepEqual(hookFailures(events), []);
});

test("a thenable that calls back twice counts once", async (t) => {
  const agent = agentFor(t);
  const order = [];
  agent.hook("run:start", () => ({
    then(resolve, reject) {
      resolve();
      reject(new Error("second"));
      resolve();
    },
  }));
  agent.hook("run:start", () => ({
    then(resolve, reject) {
      reject(new Error("first"));
      reject(new Error("second"));
      resolve();
      throw new Error("third");
    },
  }));
  agent.hook("run:start", () => void order.push("last"));
  const { events } = await collect(agent.run("go"));
  const failures = hookFailures(events);
  assert.deepEqual(
    failures.map(({ hook }) => [hook.index, hook.reason]),
    [[1, "error"]],
  );
  assert.match(failures[0].message, /first/);
  assert.deepEqual(order, ["last"]);
});

test("a handler registered by a handler is not called in the same dispatch, and is in the next", async (t) => {
  const agent = agentFor(t);
  const order = [];
  let registered = false;
  agent.hook("run:start", () => {
    order.push("first");
    if (registered) return;
    registered = true;
    agent.hook("run:start", () => void order.push("added"));
  });
  agent.hook("run:start", () => void order.push("second"));
  await agent.send("go");
  assert.deepEqual(order, ["first", "second"]);
  await agent.send("go");
  assert.deepEqual(order, ["first", "second", "first", "second", "added"]);
});

test("a handler removed by a handler before it is still called in the same dispatch, and not in the next", async (t) => {
  const agent = agentFor(t);
  const order = [];
  let remove = () => {};
  agent.hook("run:start", async () => {
    await pause(1);
    order.push("remover");
    remove();
  });
  remove = agent.hook("run:start", () => void order.push("removed"));
  await agent.send("go");
  await agent.send("go");
  assert.deepEqual(order, ["remover", "removed", "remover"]);
});

test("a handler may remove itself", async (t) => {
  const agent = agentFor(t);
  let calls = 0;
  const remove = agent.hook("run:start", () => {
    calls += 1;
    remove();
  });
  const order = [];
  agent.hook("run:start", () => void order.push("next"));
  await agent.send("go");
  await agent.send("go");
  assert.equal(calls, 1);
  assert.deepEqual(order, ["next", "next"]);
});

test("what a tool:start handler registers for tool:end is called for the same call", async (t) => {
  const agent = agentFor(t, working());
  const order = [];
  const remove = agent.hook("tool:start", () => {
    remove();
    agent.hook("tool:end", () => void order.push("tool:end"));
    agent.hook("run:end", () => void order.push("run:end"));
  });
  await agent.send("go");
  assert.deepEqual(order, ["tool:end", "run:end"]);
});

test("each dispatch has its own snapshot, also when dispatches overlap", async (t) => {
  const agent = agentFor(t, working([call("1"), call("2")], { maxParallelTools: 2 }));
  const order = [];
  const gate = deferred();
  agent.hook("tool:start", async ({ call: { id } }) => {
    if (id === "1") await gate.promise;
  });
  const release = agent.hook("tool:end", ({ call: { id } }) => {
    if (id !== "2") return;
    agent.hook("tool:start", ({ call: { id: later } }) => void order.push(`added ${later}`));
    agent.hook("tool:end", ({ call: { id: later } }) => void order.push(`end ${later}`));
    release();
    gate.resolve();
  });
  await within(agent.send("go"), "the run");
  assert.deepEqual(order, ["end 1"]);
});

test("a dispatch of 1,000 handlers that all settle at once runs them in order", async (t) => {
  const agent = agentFor(t);
  const order = [];
  for (let position = 0; position < 1_000; position += 1) {
    agent.hook("run:start", position % 2 ? () => void order.push(position) : async () => void order.push(position));
  }
  await agent.send("go");
  assert.deepEqual(
    order,
    Array.from({ length: 1_000 }, (_, position) => position),
  );
});

function hostileProxy() {
  const trap = () => {
    throw new Error("trap");
  };
  return new Proxy({}, { get: trap, has: trap, ownKeys: trap, getPrototypeOf: trap });
}

function revokedProxy() {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}
