// The onion of `use`: order, shared state, what beforeModel changes, failures. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { agentFor, collect, collectUntilError, plainTool, recordHooks, scriptedModel } from "../support/model.mjs";
import { ConfigError } from "../../index.js";
import { assertConversation, call, eventsOf, rejectionOf, textOf } from "../runs/reading.mjs";

/** A middleware that notes everything that it is asked, in `order`. */
function noting(name, order) {
  return {
    name,
    beforeAgent() {
      order.push(`${name} beforeAgent`);
    },
    afterAgent() {
      order.push(`${name} afterAgent`);
    },
    beforeModel() {
      order.push(`${name} beforeModel`);
    },
    async *wrapModelCall(_, next) {
      order.push(`${name} model in`);
      yield* next();
      order.push(`${name} model out`);
    },
    async wrapToolCall(_, next) {
      order.push(`${name} tool in`);
      const result = await next();
      order.push(`${name} tool out`);
      return result;
    },
  };
}

test("the first middleware is the outermost, around everything", async (t) => {
  const order = [];
  const model = scriptedModel([
    () => {
      order.push("model");
      return { calls: [call("a", "echo")] };
    },
    () => {
      order.push("model");
      return { text: "end" };
    },
  ]);
  await agentFor(t, {
    model,
    use: [noting("a", order), noting("b", order)],
    tools: [
      plainTool("echo", () => {
        order.push("tool");
        return "x";
      }),
    ],
  }).send("hi");
  assert.deepEqual(order, [
    "a beforeAgent",
    "b beforeAgent",
    "a beforeModel",
    "b beforeModel",
    "a model in",
    "b model in",
    "model",
    "b model out",
    "a model out",
    "a tool in",
    "b tool in",
    "tool",
    "b tool out",
    "a tool out",
    "a beforeModel",
    "b beforeModel",
    "a model in",
    "b model in",
    "model",
    "b model out",
    "a model out",
    "b afterAgent",
    "a afterAgent",
  ]);
});

test("beforeAgent comes after run:start and before turn 1, afterAgent after the last turn and before run:end", async (t) => {
  const order = [];
  const agent = agentFor(t, {
    use: [
      {
        name: "m",
        async beforeAgent() {
          order.push("beforeAgent");
        },
        async afterAgent() {
          order.push("afterAgent");
        },
      },
    ],
  });
  agent.hook("run:start", () => {
    order.push("run:start");
  });
  agent.hook("run:end", () => {
    order.push("run:end");
  });
  for await (const event of agent.run("hi")) if (/^turn_|^done/.test(event.type)) order.push(event.type);
  assert.deepEqual(
    order.filter((step) => !step.startsWith("turn_") && step !== "done"),
    ["run:start", "beforeAgent", "afterAgent", "run:end"],
  );
  assert.ok(order.indexOf("beforeAgent") < order.indexOf("turn_start"));
  assert.equal(order.at(-1), "done");
});

test("each middleware is awaited before the run proceeds", async (t) => {
  const order = [];
  const slowly = (step) => async () => {
    await new Promise((resolve) => setTimeout(resolve, 10));
    order.push(step);
  };
  const model = scriptedModel([
    () => {
      order.push("model");
      return { text: "end" };
    },
  ]);
  await agentFor(t, {
    model,
    use: [
      {
        name: "slow",
        beforeAgent: slowly("beforeAgent"),
        beforeModel: slowly("beforeModel"),
        afterAgent: slowly("afterAgent"),
      },
    ],
  }).send("hi");
  assert.deepEqual(order, ["beforeAgent", "beforeModel", "model", "afterAgent"]);
});

test("middlewares are called as methods, and may leave out what they do not need", async (t) => {
  class Counting {
    name = "counting";
    #seen = 0;
    beforeModel() {
      this.#seen += 1;
    }
    get seen() {
      return this.#seen;
    }
  }
  const counting = new Counting();
  await agentFor(t, { use: [{ name: "empty" }, counting, { name: "undefined", beforeModel: undefined }] }).send("hi");
  assert.equal(counting.seen, 1);
});

test("the context says which session, turn and signal it is about", async (t) => {
  const seen = [];
  const model = scriptedModel([{ calls: [call("a", "echo")] }, { text: "end" }]);
  const agent = agentFor(t, {
    model,
    use: [
      {
        name: "m",
        beforeModel(context) {
          seen.push(["beforeModel", context.turn, context.sessionId]);
          assert.ok(context.signal instanceof AbortSignal);
        },
        wrapToolCall(context, next) {
          seen.push(["wrapToolCall", context.turn, context.sessionId, { ...context.call }]);
          return next();
        },
      },
    ],
    tools: [plainTool("echo", () => "x")],
  });
  await agent.send("hi", { sessionId: "mine" });
  assert.deepEqual(seen, [
    ["beforeModel", 1, "mine"],
    ["wrapToolCall", 1, "mine", { id: "a", name: "echo", input: {} }],
    ["beforeModel", 2, "mine"],
  ]);
});

test("state is one Map for all middlewares and steps of a run, and a new one for the next", async (t) => {
  const seen = [];
  const agent = agentFor(t, {
    model: [{ calls: [call("a", "echo")] }, { text: "end" }, { text: "end" }],
    tools: [plainTool("echo", () => "x")],
    use: [
      {
        name: "writer",
        beforeAgent({ state }) {
          seen.push(state.size);
          state.set("key", 1);
        },
      },
      {
        name: "reader",
        beforeModel({ state }) {
          state.set("key", state.get("key") + 1);
        },
        wrapToolCall({ state }, next) {
          state.set("tool", true);
          return next();
        },
        afterAgent({ state }) {
          seen.push(state instanceof Map, state.get("key"), state.get("tool"));
        },
      },
    ],
  });
  await agent.send("hi");
  await agent.send("again");
  assert.deepEqual(seen, [0, true, 3, true, 0, true, 2, undefined]);
});

test("two runs at once do not share their state", async (t) => {
  const seen = {};
  const agent = agentFor(t, {
    use: [
      {
        name: "m",
        beforeAgent({ state, sessionId }) {
          state.set("id", sessionId);
        },
        async afterAgent({ state, sessionId }) {
          await new Promise(setImmediate);
          seen[sessionId] = state.get("id");
        },
      },
    ],
  });
  await Promise.all(["a", "b"].map((sessionId) => agent.send("hi", { sessionId })));
  assert.deepEqual(seen, { a: "a", b: "b" });
});

for (const [how, change] of Object.entries({
  assigns: (context, extra) => {
    context.messages = [...context.messages, extra];
  },
  pushes: (context, extra) => {
    context.messages.push(extra);
  },
})) {
  test(`what beforeModel ${how} to context.messages is sent and not stored`, async (t) => {
    const model = scriptedModel([{ text: "one" }, { text: "two" }]);
    let use = true;
    const agent = agentFor(t, {
      model,
      use: [
        {
          name: "m",
          beforeModel(context) {
            if (use) change(context, { role: "assistant", content: [{ type: "text", text: "extra" }] });
            use = false;
          },
        },
      ],
    });
    const first = await agent.send("hi");
    const second = await agent.send("again");
    assert.deepEqual(model.requests[0].messages.map(textOf), ["hi", "extra"]);
    assert.deepEqual(model.requests[1].messages.map(textOf), ["hi", "one", "again"]);
    assert.deepEqual(first.messages.map(textOf), ["hi", "one"]);
    assert.deepEqual(second.messages.map(textOf), ["hi", "one", "again", "two"]);
  });
}

test("beforeModel may cut the conversation that is sent, for that call alone", async (t) => {
  const model = scriptedModel([{ text: "one" }, { text: "two" }, { text: "three" }]);
  const agent = agentFor(t, {
    model,
    use: [
      {
        name: "m",
        beforeModel(context) {
          context.messages = context.messages.slice(-1);
        },
      },
    ],
  });
  await agent.send("a");
  await agent.send("b");
  const { messages } = await agent.send("c");
  assert.deepEqual(
    model.requests.map((request) => request.messages.map(textOf)),
    [["a"], ["b"], ["c"]],
  );
  assert.equal(messages.length, 6);
});

test("a later beforeModel sees what an earlier one left", async (t) => {
  const seen = [];
  await agentFor(t, {
    use: [
      {
        name: "a",
        beforeModel(context) {
          context.messages = [{ role: "user", content: "replaced" }];
        },
      },
      {
        name: "b",
        beforeModel(context) {
          seen.push(context.messages.map(textOf));
        },
      },
    ],
  }).send("hi");
  assert.deepEqual(seen, [["replaced"]]);
});

test("beforeModel cannot change a stored message through context.messages", async (t) => {
  const agent = agentFor(t, {
    use: [
      {
        name: "m",
        beforeModel({ messages }) {
          try {
            messages[0].content = "forged";
          } catch {
            /* frozen */
          }
        },
      },
    ],
  });
  assert.deepEqual((await agent.send("hi")).messages.map(textOf), ["hi", "ok"]);
});

test("messages that beforeModel leaves and that are none fail the run with a message that says so, and the session lives on", async (t) => {
  for (const value of [undefined, null, "text", [null], [{ role: "nobody", content: "x" }]]) {
    let bad = true;
    const agent = agentFor(t, {
      use: [
        {
          name: "cutter",
          beforeModel(context) {
            if (bad) context.messages = value;
            bad = false;
          },
        },
      ],
    });
    const { error } = await rejectionOf(agent.send("hi"));
    assert.match(error.message, /messages|message|role/);
    assert.equal((await agent.send("again")).text, "ok");
  }
});

test("what a middleware emits is in the stream", async (t) => {
  const agent = agentFor(t, {
    use: [
      {
        name: "m",
        beforeModel({ emit }) {
          emit({ type: "diagnostic", level: "info", code: "mine", message: "note" });
        },
      },
    ],
  });
  const { events } = await collect(agent.run("hi"));
  const [event] = eventsOf(events, "diagnostic");
  assert.deepEqual([event.level, event.code, event.message], ["info", "mine", "note"]);
  assert.ok(events.indexOf(event) < events.findIndex((entry) => entry.type === "model_call_start"));
});

for (const moment of ["beforeAgent", "beforeModel", "afterAgent"]) {
  for (const [how, make] of Object.entries({
    throws: (value) => () => {
      throw value;
    },
    rejects: (value) => async () => {
      throw value;
    },
  })) {
    test(`a ${moment} that ${how} fails the run with that very error, and the session lives on`, async (t) => {
      const failure = new Error("middleware broke");
      let bad = true;
      const fail = make(failure);
      const agent = agentFor(t, {
        use: [
          {
            name: "m",
            [moment]() {
              if (!bad) return undefined;
              bad = false;
              return fail();
            },
          },
        ],
      });
      const fired = recordHooks(agent, ["run:end"]);
      const { events, error } = await collectUntilError(agent.run("hi"));
      assert.equal(error, failure);
      assert.equal(events.at(-1).type, "error");
      assert.equal(events.at(-1).fatal, true);
      assert.deepEqual(
        fired.map((event) => [event.status, event.error.message]),
        [["failed", "middleware broke"]],
      );
      const result = await agent.send("again");
      assert.equal(result.text, "ok");
      assertConversation(result.messages);
    });
  }
}

test("a middleware that throws a value that is no Error fails the run with that value", async (t) => {
  for (const value of [undefined, null, "text", 5]) {
    const agent = agentFor(t, {
      use: [
        {
          name: "m",
          beforeModel() {
            throw value;
          },
        },
      ],
    });
    assert.ok(Object.is((await rejectionOf(agent.send("hi"))).error, value));
  }
});

test("a use that is no list of middlewares is a config mistake that names it", (t) => {
  for (const use of ["x", {}, [null], [5], [{ name: "m", beforeModel: 5 }]]) {
    assert.throws(
      () => agentFor(t, { use }),
      (error) => /use/.test(error.message),
      JSON.stringify(use),
    );
  }
});

for (const [misspelt, meant] of [
  ["beforeModell", "beforeModel"],
  ["before_model", "beforeModel"],
  ["BeforeAgent", "beforeAgent"],
  ["afterAgents", "afterAgent"],
  ["wrapModelcall", "wrapModelCall"],
  ["wrapToolCalls", "wrapToolCall"],
]) {
  test(`a middleware function ${misspelt} is a ConfigError that names ${meant}`, (t) => {
    class Derived {
      name = "derived";
    }
    Derived.prototype[misspelt] = () => {};
    for (const middleware of [{ name: "literal", [misspelt]() {} }, new Derived()]) {
      assert.throws(
        () => agentFor(t, { use: [{ name: "sound" }, middleware] }),
        (error) =>
          error instanceof ConfigError &&
          error.message === `use[1].${misspelt} is no function of middleware; did you mean ${meant}?`,
      );
    }
  });
}

test("middleware may have members of its own, a variant of a function that it has among them", async (t) => {
  const asked = [];
  const middleware = {
    name: "rich",
    beforeModels: [],
    log() {},
    count: 3,
    beforeModel() {
      asked.push("beforeModel");
      this.beforeModel2();
    },
    beforeModel2() {
      asked.push("its own");
    },
  };
  await agentFor(t, { use: [middleware] }).send("go");
  assert.deepEqual(asked, ["beforeModel", "its own"]);
});
