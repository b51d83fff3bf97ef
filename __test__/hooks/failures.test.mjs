// What a failing handler leaves behind: one diagnostic, and nothing else.
import { test } from "node:test";
import assert from "node:assert/strict";
import {
  agentFor,
  collect,
  hookFailures,
  pause,
  plainTool,
  recordHooks,
  scriptedModel,
  within,
} from "../support/model.mjs";

const call = (id = "call-1", name = "work", input = {}) => ({ id, name, input });
const working = (calls = [call()], config = {}) => ({
  model: scriptedModel([{ calls }, { text: "done" }]),
  tools: [plainTool("work", () => "worked")],
  ...config,
});
const keys = (object) => Object.keys(object).sort();
const NAMES = ["run:start", "tool:start", "tool:end", "run:end"];

for (const name of NAMES) {
  test(`a ${name} handler that throws makes one diagnostic with exactly these fields`, async (t) => {
    const agent = agentFor(t, working());
    agent.hook(name, () => {});
    agent.hook(name, () => {
      throw new TypeError("this is broken");
    });
    const { events } = await collect(agent.run("go"));
    const failures = hookFailures(events);
    assert.equal(failures.length, 1);
    const [diagnostic] = failures;
    assert.deepEqual(keys(diagnostic), ["code", "hook", "level", "message", "type"]);
    assert.equal(diagnostic.level, "error");
    assert.equal(diagnostic.code, "hook_failed");
    assert.deepEqual(keys(diagnostic.hook), ["durationMs", "event", "index", "reason", "source"]);
    const { durationMs, ...rest } = diagnostic.hook;
    assert.deepEqual(rest, { event: name, source: "programmatic", index: 1, reason: "error" });
    assert.ok(Number.isFinite(durationMs) && durationMs >= 0);
    for (const part of [name, "programmatic", "error", "this is broken"]) {
      assert.ok(diagnostic.message.includes(part), `"${part}" in: ${diagnostic.message}`);
    }
  });
}

test("a timeout's diagnostic has the same fields and says that it timed out", async (t) => {
  const agent = agentFor(t);
  agent.hook("run:start", () => new Promise(() => {}), { timeoutMs: 15 });
  const { events } = await collect(agent.run("go"));
  const [diagnostic] = hookFailures(events);
  assert.deepEqual(keys(diagnostic), ["code", "hook", "level", "message", "type"]);
  assert.deepEqual(keys(diagnostic.hook), ["durationMs", "event", "index", "reason", "source"]);
  assert.equal(diagnostic.hook.reason, "timeout");
  assert.ok(diagnostic.message.includes("run:start"));
  assert.ok(diagnostic.message.includes("programmatic"));
  assert.match(diagnostic.message, /time(d )?\s?out/i);
});

test("a handler that rejects is reported like one that throws", async (t) => {
  const agent = agentFor(t);
  agent.hook("run:start", async () => {
    await pause(20);
    throw new Error("rejected");
  });
  const { events } = await collect(agent.run("go"));
  const [diagnostic] = hookFailures(events);
  assert.equal(diagnostic.hook.reason, "error");
  assert.ok(diagnostic.message.includes("rejected"));
  assert.ok(diagnostic.hook.durationMs >= 18, `${diagnostic.hook.durationMs}`);
});

const thrownValues = {
  undefined: () => undefined,
  null: () => null,
  "a string": () => "plain words",
  "an empty string": () => "",
  zero: () => 0,
  NaN: () => NaN,
  false: () => false,
  "a bigint": () => 5n,
  "a symbol": () => Symbol("odd"),
  "a function": () => () => {},
  "a frozen object": () => Object.freeze({ code: "EODD" }),
  "a frozen error": () => Object.freeze(new Error("frozen words")),
  "an object without prototype": () => Object.create(null),
  "an array": () => [1, 2],
  "a circular object": () => {
    const circular = {};
    circular.self = circular;
    return circular;
  },
  "a promise": () => Promise.resolve(),
  "an object whose toString throws": () => ({
    toString() {
      throw new Error("trap");
    },
    [Symbol.toPrimitive]() {
      throw new Error("trap");
    },
  }),
  "an object whose toJSON throws": () => ({
    toJSON() {
      throw new Error("trap");
    },
  }),
  "an error whose message throws": () =>
    Object.defineProperty(new Error("x"), "message", {
      get() {
        throw new Error("trap");
      },
    }),
  "an error whose name and message are objects": () =>
    Object.assign(new Error(), {
      name: {},
      message: {
        toString() {
          throw new Error("trap");
        },
      },
    }),
  "an error whose message is a symbol": () => Object.assign(new Error(), { message: Symbol("m") }),
  "an error of a megabyte": () => new Error("x".repeat(1 << 20)),
  "an error with lone surrogates": () => new Error("\ud800 \udfff"),
  "an aggregate error": () => new AggregateError([new Error("one")], "several"),
  "a DOMException": () => new DOMException("aborted by me", "AbortError"),
  "a proxy that throws on everything": () => {
    const trap = () => {
      throw new Error("trap");
    };
    return new Proxy({}, { get: trap, has: trap, ownKeys: trap, getPrototypeOf: trap, getOwnPropertyDescriptor: trap });
  },
  "a revoked proxy": () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    return proxy;
  },
};
for (const [what, make] of Object.entries(thrownValues)) {
  test(`a handler that throws ${what}, or rejects with it, is one failure each time; the others run and the run goes on`, async (t) => {
    const agent = agentFor(t, working());
    const order = [];
    for (const name of NAMES) {
      agent.hook(name, () => {
        throw make();
      });
      agent.hook(name, () => Promise.reject(make()));
      agent.hook(name, () => ({
        then() {
          throw make();
        },
      }));
      agent.hook(name, () => ({
        get then() {
          throw make();
        },
      }));
      agent.hook(name, () => void order.push(name));
    }
    const { events, result } = await within(collect(agent.run("go")), "the run");
    assert.equal(result.stopReason, "stop");
    assert.deepEqual(order, NAMES);
    const failures = hookFailures(events);
    assert.deepEqual(
      failures.map(({ hook: { event, index, reason } }) => [event, index, reason]),
      NAMES.flatMap((name) => [0, 1, 2, 3].map((index) => [name, index, "error"])),
    );
    for (const { message } of failures) assert.equal(typeof message, "string");
  });
}

test("what was thrown is named in the message when it is no error", async (t) => {
  const agent = agentFor(t);
  agent.hook("run:start", () => {
    throw "plain words";
  });
  const { events } = await collect(agent.run("go"));
  assert.ok(hookFailures(events)[0].message.includes("plain words"));
});

test("secrets in what was thrown are masked in the diagnostic", async (t) => {
  const secrets = [
    "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789",
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    "hunter2hunter2",
  ];
  const agent = agentFor(t);
  const heard = [];
  agent.subscribe((entry) => heard.push(entry));
  agent.hook("run:start", () => {
    throw new Error(`401 for Authorization: Bearer ${secrets[0]}`);
  });
  agent.hook("run:start", () => {
    throw new Error(`cannot push with ${secrets[1]}`);
  });
  agent.hook("run:start", () => {
    throw new Error(`connect postgres://admin:${secrets[2]}@db.local/x failed`);
  });
  const { events } = await collect(agent.run("go"));
  assert.equal(hookFailures(events).length, 3);
  assert.equal(hookFailures(heard).length, 3);
  const text = JSON.stringify([events, heard]);
  for (const secret of secrets) assert.equal(text.includes(secret), false, secret);
});

test("the host's own redactor masks what was thrown", async (t) => {
  const mask = (value) => {
    if (typeof value === "string") return value.replaceAll("tango", "[masked]");
    if (Array.isArray(value)) return value.map(mask);
    if (typeof value === "object" && value !== null)
      return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, mask(member)]));
    return value;
  };
  const agent = agentFor(t, { redact: mask });
  agent.hook("run:start", () => {
    throw new Error("the word is tango");
  });
  const { events } = await collect(agent.run("go"));
  const [failure] = hookFailures(events);
  assert.ok(failure.message.includes("[masked]"), failure.message);
  assert.equal(failure.message.includes("tango"), false);
});

test("index is the position among the registrations at the dispatch, not at registration", async (t) => {
  const agent = agentFor(t);
  const fail = () => {
    throw new Error("broken");
  };
  const remove = agent.hook("run:start", () => {});
  agent.hook("run:end", fail);
  agent.hook("run:start", fail);
  agent.hook("run:start", () => {});
  agent.hook("run:start", fail);
  remove();
  const { events } = await collect(agent.run("go"));
  assert.deepEqual(
    hookFailures(events).map(({ hook: { event, index } }) => [event, index]),
    [
      ["run:start", 0],
      ["run:start", 2],
      ["run:end", 0],
    ],
  );
});

test("every handler after a failing one runs, however many fail and time out", async (t) => {
  const agent = agentFor(t);
  const order = [];
  for (let position = 0; position < 30; position += 1) {
    agent.hook(
      "run:start",
      () => {
        order.push(position);
        if (position % 3 === 0) throw new Error("broken");
        if (position % 3 === 1) return new Promise(() => {});
        return undefined;
      },
      { timeoutMs: position % 3 === 1 ? 5 : 5_000 },
    );
  }
  const { events } = await collect(agent.run("go"));
  assert.deepEqual(
    order,
    Array.from({ length: 30 }, (_, position) => position),
  );
  const failures = hookFailures(events).map(({ hook: { index, reason } }) => [index, reason]);
  assert.deepEqual(
    failures,
    order.filter((position) => position % 3 < 2).map((position) => [position, position % 3 ? "timeout" : "error"]),
  );
});

// -- what failures do not change ------------------------------------------------------------------------------------------

test("failing hooks change no tool result, no number of calls and no status", async (t) => {
  const outcome = async (broken) => {
    const model = scriptedModel([{ calls: [call("1"), call("2", "fails"), call("3", "throws")] }, { text: "done" }]);
    let executed = 0;
    const agent = agentFor(t, {
      model,
      tools: [
        plainTool("work", () => {
          executed += 1;
          return "worked";
        }),
        plainTool("fails", () => {
          executed += 1;
          return { content: "no", isError: true };
        }),
        plainTool("throws", () => {
          executed += 1;
          throw new Error("oops");
        }),
      ],
    });
    if (broken) {
      for (const name of NAMES) {
        agent.hook(name, () => {
          throw new Error("broken");
        });
        agent.hook(name, () => new Promise(() => {}), { timeoutMs: 5 });
      }
    }
    const fired = recordHooks(agent);
    const result = await agent.send("go");
    return {
      executed,
      result,
      requests: model.requests,
      statuses: fired.map(({ event, status, call: made }) => `${event} ${made?.id} ${status}`).sort(),
    };
  };
  assert.deepEqual(await outcome(true), await outcome(false));
});

test("a failing run:end handler does not change the error of a failed run", async (t) => {
  const thrown = new Error("provider broke");
  const agent = agentFor(t, { model: [{ error: thrown }, { text: "ok" }] });
  agent.hook("run:end", () => {
    throw new Error("hook broke");
  });
  await assert.rejects(agent.send("go"), (error) => error === thrown);
  assert.equal((await agent.send("go")).text, "ok");
});

test("a slow tool:start handler that times out does not stop its tool, and the diagnostic says so", async (t) => {
  let executed = false;
  const agent = agentFor(
    t,
    working([call()], {
      tools: [
        plainTool("work", () => {
          executed = true;
          return "worked";
        }),
      ],
    }),
  );
  agent.hook("tool:start", () => pause(5_000), { timeoutMs: 20 });
  const { events, result } = await within(collect(agent.run("go")), "the run", 3_000);
  assert.equal(executed, true);
  assert.equal(result.stopReason, "stop");
  assert.deepEqual(
    hookFailures(events).map(({ hook: { event, reason } }) => [event, reason]),
    [["tool:start", "timeout"]],
  );
});

test("a subscriber that throws disturbs neither hooks nor run", async (t) => {
  const agent = agentFor(t, working());
  agent.subscribe(() => {
    throw new Error("listener broke");
  });
  const fired = recordHooks(agent);
  agent.hook("run:end", () => {
    throw new Error("broken");
  });
  const heard = [];
  agent.subscribe((entry) => heard.push(entry));
  const result = await agent.send("go");
  assert.equal(result.stopReason, "stop");
  assert.deepEqual(
    fired.map(({ event }) => event),
    NAMES,
  );
  assert.equal(hookFailures(heard).length, 1);
});
