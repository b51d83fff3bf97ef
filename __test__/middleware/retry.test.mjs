// retry(): transient provider failures that happen before anything was streamed. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { retry } from "../../index.js";
import { agentFor, collect, scriptedModel, until, within } from "../support/model.mjs";
import { eventsOf, rejectionOf } from "../runs/reading.mjs";

const failing = (fields) => Object.assign(new Error("transient"), fields);
const quick = { baseDelayMs: 1, maxDelayMs: 5 };

for (const fields of [
  { status: 408 },
  { status: 409 },
  { status: 429 },
  { status: 500 },
  { status: 503 },
  { status: 529 },
  { code: "ECONNRESET" },
  { code: "ETIMEDOUT" },
]) {
  test(`a failure with ${JSON.stringify(fields)} before anything was streamed is retried`, async (t) => {
    const model = scriptedModel([{ error: failing(fields) }, { text: "up" }]);
    const { events, result } = await collect(agentFor(t, { model, use: [retry(quick)] }).run("hi"));
    assert.equal(result.text, "up");
    assert.equal(model.requests.length, 2);
    assert.equal(eventsOf(events, "error").length, 0);
    assert.equal(eventsOf(events, "message").length, 1);
  });
}

for (const fields of [{ status: 400 }, { status: 401 }, { status: 403 }, { status: 404 }, { status: 422 }]) {
  test(`a failure with ${JSON.stringify(fields)} is not retried`, async (t) => {
    const error = failing(fields);
    const model = scriptedModel([{ error }, { text: "up" }]);
    assert.equal((await rejectionOf(agentFor(t, { model, use: [retry(quick)] }).send("hi"))).error, error);
    assert.equal(model.requests.length, 1);
  });
}

test("a failure after something was streamed is not retried", async (t) => {
  const error = failing({ status: 503 });
  const model = scriptedModel([{ deltas: ["half"], error }, { text: "up" }]);
  assert.equal((await rejectionOf(agentFor(t, { model, use: [retry(quick)] }).send("hi"))).error, error);
  assert.equal(model.requests.length, 1);
});

test("when attempts are used up the run fails with the last error, itself", async (t) => {
  const errors = Array.from({ length: 10 }, (_, index) => failing({ status: 503, index }));
  const model = scriptedModel(errors.map((error) => ({ error })));
  const { error } = await rejectionOf(agentFor(t, { model, use: [retry({ attempts: 3, ...quick })] }).send("hi"));
  assert.ok(model.requests.length === 3 || model.requests.length === 4, `${model.requests.length} calls`);
  assert.equal(error, errors[model.requests.length - 1]);
});

test("retries of a later turn start anew", async (t) => {
  const down = () => ({ error: failing({ status: 503 }) });
  const model = scriptedModel([down(), { text: "one" }, down(), { text: "two" }]);
  const agent = agentFor(t, { model, use: [retry({ attempts: 2, ...quick })] });
  assert.equal((await agent.send("a")).text, "one");
  assert.equal((await agent.send("b")).text, "two");
});

test("each retry asks with the same request", async (t) => {
  const model = scriptedModel([{ error: failing({ status: 503 }) }, { text: "up" }]);
  await agentFor(t, { model, system: "s", use: [retry(quick)] }).send("hi");
  assert.deepEqual(model.requests[1], model.requests[0]);
});

test("an abort while a retry waits ends the run at once", async (t) => {
  const model = scriptedModel([{ error: failing({ status: 503 }) }]);
  const agent = agentFor(t, { model, use: [retry({ baseDelayMs: 60_000, maxDelayMs: 60_000 })] });
  const controller = new AbortController();
  const sent = agent.send("hi", { signal: controller.signal });
  await until(() => model.requests.length === 1, "the first attempt");
  await new Promise(setImmediate);
  controller.abort();
  assert.equal((await within(sent, "send()", 1_000)).stopReason, "aborted");
});

test("options of retry() that cannot be are refused by name", () => {
  for (const [name, values] of [
    ["attempts", [0, -1, 1.5, "3", NaN]],
    ["baseDelayMs", [-1, "5", NaN]],
    ["maxDelayMs", [-1, "5", NaN]],
  ]) {
    for (const value of values)
      assert.throws(
        () => retry({ [name]: value }),
        (error) => error.message.includes(name),
        `${name}: ${value}`,
      );
  }
});
