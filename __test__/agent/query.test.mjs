// query(): one question, one agent, closed at the end. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { ConfigError, SteerController, query } from "../../index.js";
import {
  aborted,
  collect,
  collectUntilError,
  deferred,
  plainTool,
  scriptedModel,
  temporaryFolder,
  until,
  within,
} from "../support/model.mjs";
import { call, rejectionOf, textOf, typesOf } from "../runs/reading.mjs";

/** Options in a fresh cwd and home. */
async function options(t, given) {
  const { workdir, home } = await temporaryFolder(t);
  return { prompt: "hi", cwd: workdir, home, model: scriptedModel([{ text: "ok" }]), ...given };
}

test("query() streams the events of a run and returns its result", async (t) => {
  const { events, result } = await collect(query(await options(t, { model: scriptedModel([{ deltas: ["a", "b"] }]) })));
  assert.deepEqual(typesOf(events), [
    "turn_start",
    "model_call_start",
    "text_delta",
    "text_delta",
    "model_call_end",
    "message",
    "turn_end",
    "done",
  ]);
  assert.equal(result.text, "ab");
  assert.equal(result.stopReason, "stop");
});

test("systemPrompt, prompt, tools and the other options reach the model", async (t) => {
  const model = scriptedModel([{ text: "ok" }]);
  await collect(
    query(await options(t, { model, systemPrompt: "be brief", maxTokens: 9, tools: [plainTool("echo", () => "x")] })),
  );
  const [request] = model.requests;
  assert.deepEqual(
    [request.system, request.maxTokens, textOf(request.messages[0]), request.tools[0].name],
    ["be brief", 9, "hi", "echo"],
  );
});

test("the prompt may be messages", async (t) => {
  const model = scriptedModel([{ text: "ok" }]);
  await collect(
    query(
      await options(t, {
        model,
        prompt: [
          { role: "user", content: "a" },
          { role: "assistant", content: [{ type: "text", text: "b" }] },
          { role: "user", content: "c" },
        ],
      }),
    ),
  );
  assert.deepEqual(model.requests[0].messages.map(textOf), ["a", "b", "c"]);
});

test("cwd is by default process.cwd()", async (t) => {
  const given = await options(t);
  delete given.cwd;
  assert.equal((await collect(query(given))).result.text, "ok");
});

test("a cwd that is not there is a ConfigError", async (t) => {
  const given = await options(t, { cwd: "/nowhere/at/all" });
  assert.ok((await rejectionOf((async () => query(given).next())())).error instanceof ConfigError);
});

test("an unknown option is a ConfigError with its near miss, in query's own names", async (t) => {
  for (const [wrong, right] of [
    ["promt", "prompt"],
    ["systemPromt", "systemPrompt"],
    ["maxTurn", "maxTurns"],
  ]) {
    const given = await options(t, { [wrong]: "x" });
    const { error } = await rejectionOf((async () => query(given).next())());
    assert.ok(error instanceof ConfigError, error.stack);
    assert.ok(error.message.includes(wrong) && error.message.includes(right), error.message);
  }
  for (const wrong of ["workdir", "system"]) {
    const given = await options(t, { [wrong]: "." });
    const { error } = await rejectionOf((async () => query(given).next())());
    assert.ok(error instanceof ConfigError && error.message.includes(wrong), error.stack);
  }
});

test("a prompt is needed, and a model", async (t) => {
  for (const [name, value] of [
    ["prompt", undefined],
    ["prompt", 5],
    ["model", undefined],
  ]) {
    const given = await options(t, { [name]: value });
    const { error } = await rejectionOf((async () => query(given).next())());
    assert.ok(error.message.includes(name), error.message);
  }
});

test("a provider's error is thrown as itself", async (t) => {
  const failure = new Error("down");
  const { events, error } = await collectUntilError(
    query(await options(t, { model: scriptedModel([{ error: failure }]) })),
  );
  assert.equal(error, failure);
  assert.equal(events.at(-1).type, "error");
});

test("break ends it: the tool's signal fires, and nothing more is asked of the model", async (t) => {
  const model = scriptedModel([{ calls: [call("a", "wait")] }, { text: "end" }]);
  let sawAbort = false;
  const started = deferred();
  const tool = plainTool("wait", async (_, { signal }) => {
    started.resolve();
    await aborted(signal);
    sawAbort = true;
    return "x";
  });
  const generator = query(await options(t, { model, tools: [tool] }));
  const pulling = (async () => {
    for (;;) if ((await generator.next()).done) return;
  })();
  await started.promise;
  await within(generator.return(), "return()");
  await within(pulling, "the pending next()");
  await until(() => sawAbort, "the tool saw the abort");
  assert.equal(model.requests.length, 1);
  assert.deepEqual(await generator.next(), { value: undefined, done: true });
});

test("signal, sessionId, steer and maxTurns are the run's", async (t) => {
  const { result } = await collect(query(await options(t, { signal: AbortSignal.abort() })));
  assert.equal(result.stopReason, "aborted");
  const steer = new SteerController();
  steer.followUp("more");
  const model = scriptedModel([{ text: "one" }, { text: "two" }]);
  let session;
  const use = [
    {
      name: "m",
      beforeModel({ sessionId }) {
        session = sessionId;
      },
    },
  ];
  assert.equal((await collect(query(await options(t, { model, steer, use, sessionId: "mine" })))).result.text, "two");
  assert.equal(session, "mine");
  const endless = scriptedModel([() => ({ calls: [call(`c${endless.requests.length}`, "echo")] })]);
  const capped = await collect(
    query(await options(t, { model: endless, maxTurns: 2, tools: [plainTool("echo", () => "x")] })),
  );
  assert.equal(capped.result.stopReason, "max_turns");
});

test("a query that is never pulled asks nothing", async (t) => {
  const model = scriptedModel([{ text: "ok" }]);
  const generator = query(await options(t, { model }));
  await new Promise(setImmediate);
  assert.equal(model.requests.length, 0);
  await within(generator.return(), "return()");
  assert.equal(model.requests.length, 0);
});

test("a prompt list that the caller changes afterwards is not seen", async (t) => {
  const model = scriptedModel([{ text: "ok" }]);
  const prompt = [{ role: "user", content: "original" }];
  const generator = query(await options(t, { model, prompt }));
  const first = generator.next();
  prompt[0].content = "forged";
  await first;
  await collect(generator);
  assert.deepEqual(model.requests[0].messages.map(textOf), ["original"]);
});
