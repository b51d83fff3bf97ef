// Methods that were taken off their agent, and calls near the end of the stack. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { agentFor, recordHooks, within } from "../support/model.mjs";

const METHODS = [
  "run",
  "send",
  "hook",
  "subscribe",
  "awaitIdle",
  "compact",
  "resume",
  "clear",
  "listSessions",
  "deleteSession",
  "listCheckpoints",
  "restore",
  "close",
];

for (const name of METHODS) {
  test(`${name} without its agent is a TypeError that says how to call it`, async (t) => {
    const agent = agentFor(t);
    const method = agent[name];
    assert.equal(method.name, name);
    for (const wrong of [undefined, null, {}, Object.create(agent)]) {
      await assert.rejects(async () => method.call(wrong, "x"), {
        name: "TypeError",
        message: `${name} was called without its agent: call it as agent.${name}(…)`,
      });
    }
  });
}

/** Calls `action` so near to the end of the stack that it runs out of it at some depth. */
function nearTheEndOfTheStack(stepsBack, action) {
  let left = -1;
  const result = {};
  const descend = () => {
    try {
      descend();
    } catch (error) {
      if (left === -1) left = stepsBack;
      if (left > 0) {
        left -= 1;
        throw error;
      }
      if (left === 0) {
        left = -2;
        try {
          result.value = action();
        } catch (thrown) {
          result.error = thrown;
        }
      }
    }
  };
  descend();
  return result;
}

/** Whatever is there to be waited for settles; a rejection is a RangeError of the stack. */
async function settles({ value, error }, what) {
  if (error !== undefined) {
    assert.ok(error instanceof RangeError, String(error));
    return;
  }
  await within(Promise.resolve(value), what).catch((rejection) =>
    assert.ok(rejection instanceof RangeError, `${what}: ${rejection}`),
  );
}

const endless = {
  id: "endless",
  async *stream() {
    yield { type: "text_delta", text: "x" };
    await new Promise(() => {});
  },
};

for (let stepsBack = 0; stepsBack <= 60; stepsBack += 5) {
  test(`close() ${stepsBack} frames from the end of the stack settles, and so does one that follows it`, async (t) => {
    const agent = agentFor(t, { model: endless });
    const fired = recordHooks(agent, ["run:start", "run:end"]);
    const sending = agent.send("go");
    await settles(
      nearTheEndOfTheStack(stepsBack, () => agent.close()),
      "close()",
    );
    await within(agent.close(), "the second close()");
    assert.equal((await within(sending, "the run")).stopReason, "aborted");
    assert.deepEqual(
      fired.map(({ event }) => event),
      ["run:start", "run:end"],
    );
  });

  test(`return() ${stepsBack} frames from the end of the stack settles, and so does one that follows it`, async (t) => {
    const agent = agentFor(t, { model: endless });
    const generator = agent.run("go");
    await generator.next();
    await settles(
      nearTheEndOfTheStack(stepsBack, () => generator.return()),
      "return()",
    );
    await within(generator.return(), "the second return()");
    await within(agent.awaitIdle(), "the session");
  });
}
