// Operations on an agent from inside its own callbacks: what is refused, for how long, and what stays allowed.
import { test } from "node:test";
import assert from "node:assert/strict";
import { AsyncResource } from "node:async_hooks";
import { EventEmitter } from "node:events";
import { AgentError, ReentrancyError } from "../../index.js";
import { agentFor, collect, deferred, hookFailures, pause, plainTool, until, within } from "../support/model.mjs";
import { attempt, operations, outcome } from "../support/operations.mjs";

const call = (id = "call-1", name = "work", input = {}) => ({ id, name, input });
const NAMES = ["run:start", "tool:start", "tool:end", "run:end"];

for (const [operation, perform] of Object.entries(operations)) {
  for (const name of NAMES) {
    test(`${operation}() awaited inside a ${name} handler rejects with a ReentrancyError, and the run goes on`, async (t) => {
      const agent = agentFor(t, {
        model: [{ calls: [call()] }, { text: "done" }],
        tools: [plainTool("work", () => "ok")],
      });
      let error;
      let calledSync = true;
      agent.hook(name, async () => {
        let promise;
        try {
          promise = perform(agent);
        } catch {
          calledSync = false;
        }
        await Promise.resolve(promise).catch((reason) => {
          error = reason;
        });
      });
      const result = await within(agent.send("go"), "the run", 5_000);
      assert.equal(result.stopReason, "stop");
      assert.equal(calledSync, true, "it threw at once instead of rejecting");
      assert.ok(error instanceof ReentrancyError, `${error}`);
      assert.ok(error instanceof AgentError);
      assert.equal(typeof error.code, "string");
      assert.ok(error.message.includes("same agent family"), error.message);
      assert.match(error.message, /after the (handler|callback|hook)/);
    });
  }
}

test("Symbol.asyncDispose inside a handler is refused like close()", async (t) => {
  const agent = agentFor(t);
  let seen;
  agent.hook("run:start", async () => {
    seen = await outcome(agent[Symbol.asyncDispose]());
  });
  await agent.send("go");
  assert.equal(seen, "refused");
});

test("run() inside a handler is refused at its first next(), not when it is made", async (t) => {
  const agent = agentFor(t);
  let made;
  agent.hook("run:start", () => {
    made ??= agent.run("later");
  });
  await agent.send("go");
  const { result } = await within(collect(made), "the run that was made in a handler");
  assert.equal(result.stopReason, "stop");
});

test("a run() made outside is refused when a handler pulls it first", async (t) => {
  const agent = agentFor(t);
  const run = agent.run("made outside");
  let seen;
  agent.hook("run:start", async () => {
    seen ??= await outcome(run.next());
  });
  await agent.send("go");
  assert.equal(seen, "refused");
});

test("another session of the same family is refused inside a handler too", async (t) => {
  const agent = agentFor(t);
  const seen = [];
  agent.hook("run:start", async ({ sessionId }) => {
    if (sessionId !== agent.sessionId) return;
    seen.push(await outcome(agent.send("go", { sessionId: "other" })));
    seen.push(await outcome(agent.run("go", { sessionId: "other" }).next()));
    seen.push(await outcome(agent.awaitIdle("other")));
    seen.push(await outcome(agent.deleteSession("other")));
  });
  await agent.send("go");
  assert.deepEqual(seen, ["refused", "refused", "refused", "refused"]);
});

test("a refusal that the handler does not catch is the handler's failure", async (t) => {
  const agent = agentFor(t);
  agent.hook("run:start", () => agent.send("again"));
  const { events, result } = await collect(agent.run("go"));
  assert.equal(result.stopReason, "stop");
  const [failure] = hookFailures(events);
  assert.equal(failure.hook.reason, "error");
  assert.ok(failure.message.includes("same agent family"));
});

test("the refusal comes before every other check", async (t) => {
  const agent = agentFor(t, { model: [{ wait: new Promise(() => {}) }] });
  const seen = [];
  const started = deferred();
  agent.hook("run:start", async () => {
    seen.push(await outcome(agent.send(42)));
    seen.push(await outcome(agent.send("go", { sessionId: "a/b" })));
    seen.push(await outcome(agent.send("go", { signal: AbortSignal.abort() })));
    seen.push(await outcome(agent.run(null).next()));
    seen.push(await outcome(agent.restore(7, "x")));
    seen.push(await outcome(agent.deleteSession()));
    seen.push(await outcome(agent.awaitIdle(null)));
    seen.push(await outcome(agent.compact(5).next()));
    started.resolve();
  });
  agent.hook("run:end", async () => {
    for (const operation of Object.keys(operations)) seen.push(await outcome(attempt(operation, agent)));
  });
  const sending = agent.send("go");
  await started.promise;
  await agent.close();
  await sending;
  assert.deepEqual(seen, Array(15).fill("refused"));
});

const depths = {
  "after an await": async (perform) => {
    await null;
    return perform();
  },
  "after ten awaits": async (perform) => {
    for (let count = 0; count < 10; count += 1) await null;
    return perform();
  },
  "in a timer": (perform) => new Promise((resolve) => setTimeout(() => resolve(perform()), 2)),
  "in an immediate": (perform) => new Promise((resolve) => setImmediate(() => resolve(perform()))),
  "in a microtask": (perform) => new Promise((resolve) => queueMicrotask(() => resolve(perform()))),
  "in a next tick": (perform) => new Promise((resolve) => process.nextTick(() => resolve(perform()))),
  "in a promise chain": (perform) =>
    Promise.resolve()
      .then(() => pause(1))
      .then(() => Promise.all([pause(1)]))
      .then(perform),
  "in a thenable": (perform) =>
    Promise.resolve({
      then(resolve) {
        resolve(perform());
      },
    }),
  "in a timer in a timer": (perform) =>
    new Promise((resolve) => setTimeout(() => setTimeout(() => resolve(perform()), 1), 1)),
  "in an interval": (perform) =>
    new Promise((resolve) => {
      const timer = setInterval(() => {
        clearInterval(timer);
        resolve(perform());
      }, 1);
    }),
  "in an async generator": async (perform) => {
    for await (const value of (async function* () {
      await null;
      yield await perform();
    })())
      return value;
  },
  "in an event listener": (perform) => {
    const emitter = new EventEmitter();
    return new Promise((resolve) => {
      emitter.on("x", () => resolve(perform()));
      setTimeout(() => emitter.emit("x"), 1);
    });
  },
  "in an AsyncResource of the handler's": (perform) => {
    const resource = new AsyncResource("test");
    return new Promise((resolve) => setTimeout(() => resolve(resource.runInAsyncScope(perform)), 1));
  },
  "in a finally": async (perform) => {
    try {
      await pause(1);
    } finally {
      await perform().catch(() => {});
    }
    return perform();
  },
  "in an abort listener": (perform) => {
    const controller = new AbortController();
    return new Promise((resolve) => {
      controller.signal.addEventListener("abort", () => resolve(perform()));
      setTimeout(() => controller.abort(), 1);
    });
  },
};
for (const [depth, wrap] of Object.entries(depths)) {
  test(`send() ${depth} of a handler that is still awaited is refused`, async (t) => {
    const agent = agentFor(t);
    let seen;
    agent.hook("run:start", async () => {
      seen = await outcome(wrap(() => agent.send("again")));
    });
    const result = await within(agent.send("go"), "the run");
    assert.equal(seen, "refused");
    assert.equal(result.stopReason, "stop");
  });
}

test("after the handler has settled, what it left behind may call every operation", async (t) => {
  const agent = agentFor(t);
  const later = deferred();
  const remove = agent.hook("run:start", () => {
    remove();
    setTimeout(async () => {
      const seen = {};
      for (const operation of ["send", "run", "awaitIdle", "compact", "restore", "deleteSession", "close"])
        seen[operation] = await outcome(attempt(operation, agent));
      later.resolve(seen);
    }, 10);
  });
  await agent.send("go");
  const seen = await within(later.promise, "the operations", 20_000);
  for (const [operation, result] of Object.entries(seen)) {
    if (operation === "run") continue; // Its first next() alone leaves the run open; what counts is that it was not refused.
    assert.equal(result, "allowed", operation);
  }
  assert.notEqual(seen.run, "refused");
});

test("a handler that has settled may have its send() queue while the next handler of the dispatch is pending", async (t) => {
  const agent = agentFor(t);
  const gate = deferred();
  const sent = deferred();
  const remove = agent.hook("run:start", () => {
    remove();
    setTimeout(() => sent.resolve(outcome(agent.send("follow-up"))), 1);
  });
  const removeSecond = agent.hook("run:start", () => {
    removeSecond();
    return gate.promise;
  });
  const sending = agent.send("go");
  await pause(15);
  gate.resolve();
  await sending;
  assert.equal(await sent.promise, "allowed");
});

test("a handler that has rejected is settled as well", async (t) => {
  const agent = agentFor(t);
  const sent = deferred();
  const remove = agent.hook("run:start", async () => {
    remove();
    setTimeout(() => sent.resolve(outcome(agent.send("follow-up"))), 1);
    throw new Error("broken");
  });
  await agent.send("go");
  assert.equal(await within(sent.promise, "the follow-up"), "allowed");
});

test("a handler that was left behind at its deadline may call from then on", async (t) => {
  const agent = agentFor(t);
  const seen = deferred();
  const remove = agent.hook(
    "run:start",
    async () => {
      remove();
      const before = await outcome(agent.send("too early"));
      await pause(60);
      seen.resolve([before, await outcome(agent.send("follow-up"))]);
    },
    { timeoutMs: 20 },
  );
  await agent.send("go");
  assert.deepEqual(await within(seen.promise, "the handler that was left behind"), ["refused", "allowed"]);
});

test("a handler that was abandoned by a cancellation may call from then on", async (t) => {
  const controller = new AbortController();
  const agent = agentFor(t);
  const seen = deferred();
  const remove = agent.hook("run:start", async (_, { signal }) => {
    remove();
    setImmediate(() => controller.abort());
    await until(() => signal.aborted);
    await pause(5);
    seen.resolve(await outcome(agent.send("follow-up")));
  });
  await agent.send("go", { signal: controller.signal });
  assert.equal(await within(seen.promise, "the abandoned handler"), "allowed");
});

test("unrelated code of the host may call while a handler is pending", async (t) => {
  const agent = agentFor(t);
  const gate = deferred();
  const invoked = deferred();
  const remove = agent.hook("run:start", async () => {
    remove();
    invoked.resolve();
    await gate.promise;
  });
  const first = agent.send("go");
  await invoked.promise;
  const others = [
    outcome(agent.send("queued")),
    outcome(collect(agent.run("elsewhere", { sessionId: "other" }))),
    outcome(agent.awaitIdle()),
  ];
  assert.equal(await within(others[1], "a run of another session while the handler is pending"), "allowed");
  gate.resolve();
  await first;
  assert.deepEqual(await Promise.all(others), ["allowed", "allowed", "allowed"]);
});

test("code that a handler merely wakes is not in the handler's context", async (t) => {
  const agent = agentFor(t);
  const wake = deferred();
  const elsewhere = (async () => {
    await wake.promise;
    return outcome(agent.send("queued"));
  })();
  const remove = agent.hook("run:start", async () => {
    remove();
    wake.resolve();
    await pause(10);
  });
  await agent.send("go");
  assert.equal(await elsewhere, "allowed");
});

test("close() from outside while a handler is pending is allowed", async (t) => {
  const agent = agentFor(t);
  const invoked = deferred();
  agent.hook("run:start", () => {
    invoked.resolve();
    return new Promise(() => {});
  });
  const sending = agent.send("go");
  await invoked.promise;
  assert.equal(await outcome(agent.close()), "allowed");
  assert.equal((await sending).stopReason, "aborted");
});

test("a caller's context is unaffected after a run with handlers", async (t) => {
  const agent = agentFor(t);
  agent.hook("run:start", async () => {
    await pause(1);
  });
  agent.hook("run:end", () => {});
  for (let round = 0; round < 3; round += 1) {
    for await (const _ of agent.run("go")) await pause(0);
    await agent.send("go");
    await agent.awaitIdle();
  }
});

test("a subscriber may start a run, as nobody awaits it", async (t) => {
  const agent = agentFor(t);
  let follow;
  agent.hook("run:start", () => pause(1));
  const stop = agent.subscribe(({ event }) => {
    if (event.type !== "turn_start") return;
    stop();
    follow = outcome(agent.send("follow-up"));
  });
  await agent.send("go");
  assert.equal(await follow, "allowed");
});

test("registering, subscribing, clearing and reading are allowed inside a handler", async (t) => {
  const agent = agentFor(t);
  const { events } = await (async () => {
    const remove = agent.hook("run:end", () => {
      remove();
      agent.hook("run:start", () => {})();
      agent.subscribe(() => {})();
      assert.equal(typeof agent.sessionId, "string");
      agent.clear();
      agent.resume("elsewhere");
    });
    return collect(agent.run("go"));
  })();
  assert.deepEqual(
    hookFailures(events).map(({ message }) => message),
    [],
  );
  assert.equal(agent.sessionId, "elsewhere");
});
