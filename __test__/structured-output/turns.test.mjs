// Turns that hold more than one good answer: other calls, second answers, bad answers that are repaired. Knows the public
// face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { assertConversation, contentText, eventsOf, resultFor, textOf } from "../runs/reading.mjs";
import { deferred, plainTool, recordHooks, until } from "../support/model.mjs";
import { answer, answered, answeringAgent, BERN, ROME, withoutAnswer } from "./answering.mjs";

const work = (id) => ({ id, name: "work", input: {} });

// -- repair ---------------------------------------------------------------------------------------------------------------

test("an answer that the schema refuses is a failed result that names the field, and the model repairs it", async (t) => {
  const turns = [{ calls: [answer({ city: "Bern", degrees: "warm" }, "bad")] }, { calls: [answer(BERN, "good")] }];
  const { result, model, events } = await answered(t, turns);
  const block = resultFor(model.requests[1].messages, "bad");
  assert.equal(block.isError, true);
  assert.match(contentText(block), /degrees/);
  assert.deepEqual(result.output, BERN);
  assert.deepEqual(withoutAnswer(events), []);
});

test("an answer without a field that is required names it", async (t) => {
  const { model } = await answered(t, [{ calls: [answer({ city: "Bern" }, "bad")] }, { calls: [answer(BERN)] }]);
  assert.match(contentText(resultFor(model.requests[1].messages, "bad")), /degrees/);
});

test("an answer with a field too many names it", async (t) => {
  const { model } = await answered(t, [
    { calls: [answer({ ...BERN, mood: "fine" }, "bad")] },
    { calls: [answer(BERN)] },
  ]);
  assert.match(contentText(resultFor(model.requests[1].messages, "bad")), /mood/);
});

test("a fault deep in an answer names the whole way to it", async (t) => {
  const outputSchema = {
    type: "object",
    properties: {
      places: { type: "array", items: { type: "object", properties: { name: { type: "string" } } } },
    },
  };
  const good = { places: [{ name: "a" }, { name: "b" }] };
  const { model, result } = await answered(
    t,
    [{ calls: [answer({ places: [{ name: "a" }, { name: 5 }] }, "bad")] }, { calls: [answer(good)] }],
    { outputSchema },
  );
  const text = contentText(resultFor(model.requests[1].messages, "bad"));
  assert.match(text, /places.*\b1\b.*name/);
  assert.deepEqual(result.output, good);
});

for (const input of [null, "text", 5, [], [BERN], true]) {
  test(`an answer of ${JSON.stringify(input)} is a failed result that can be repaired`, async (t) => {
    const { result, model } = await answered(t, [{ calls: [answer(input, "bad")] }, { calls: [answer(BERN)] }]);
    assert.equal(resultFor(model.requests[1].messages, "bad").isError, true);
    assert.deepEqual(result.output, BERN);
  });
}

test("bad answers are given back until one is good", async (t) => {
  const bad = Array.from({ length: 5 }, (_, number) => ({ calls: [answer({ city: number }, `bad-${number}`)] }));
  const { result, model } = await answered(t, [...bad, { calls: [answer(BERN, "good")] }]);
  assert.deepEqual(result.output, BERN);
  assert.equal(model.requests.length, 6);
  assertConversation(result.messages);
});

test("a bad answer is failed to the hooks, and the good one completed", async (t) => {
  const { agent } = answeringAgent(t, [{ calls: [answer({}, "bad")] }, { calls: [answer(BERN, "good")] }]);
  const fired = recordHooks(agent, ["tool:end"]);
  await agent.send("go");
  assert.deepEqual(
    fired.map(({ call, status, error }) => [call.id, status, error]),
    [
      ["bad", "failed", undefined],
      ["good", "completed", undefined],
    ],
  );
});

// -- two in one turn ------------------------------------------------------------------------------------------------------

for (const maxParallelTools of [1, 10]) {
  // Without a store nothing parts the beginnings of two calls.
  for (const sessions of [true, false]) {
    const how = `${maxParallelTools} at a time, sessions: ${sessions}`;
    test(`of two valid answers in one turn the first counts and the second fails, ${how}`, async (t) => {
      const { result, model } = await answered(t, [{ calls: [answer(BERN, "first"), answer(ROME, "second")] }], {
        maxParallelTools,
        sessions,
      });
      assert.deepEqual(result.output, BERN);
      assert.ok(!resultFor(result.messages, "first").isError);
      assert.equal(resultFor(result.messages, "second").isError, true);
      assert.equal(model.requests.length, 1);
    });
  }

  test(`of a bad and a valid answer in one turn the valid one counts, ${maxParallelTools} at a time`, async (t) => {
    const { result } = await answered(t, [{ calls: [answer({}, "bad"), answer(ROME, "good")] }], { maxParallelTools });
    assert.deepEqual(result.output, ROME);
    assert.equal(resultFor(result.messages, "bad").isError, true);
    assert.ok(!resultFor(result.messages, "good").isError);
  });

  test(`a bad answer after a valid one does not undo it, ${maxParallelTools} at a time`, async (t) => {
    const { result, model } = await answered(t, [{ calls: [answer(BERN, "good"), answer({}, "bad")] }], {
      maxParallelTools,
    });
    assert.deepEqual(result.output, BERN);
    assert.equal(model.requests.length, 1);
  });
}

// -- other calls ----------------------------------------------------------------------------------------------------------

for (const [where, calls] of [
  ["before", [work("w"), answer(BERN)]],
  ["after", [answer(BERN), work("w")]],
]) {
  for (const maxParallelTools of [1, 10]) {
    test(`a call ${where} the answer in its turn runs, and its result is kept, ${maxParallelTools} at a time`, async (t) => {
      const ran = [];
      const { result, events } = await answered(t, [{ calls }], {
        maxParallelTools,
        tools: [plainTool("work", () => (ran.push("work"), "worked"))],
      });
      assert.deepEqual(ran, ["work"]);
      assert.equal(contentText(resultFor(result.messages, "w")), "worked");
      assert.deepEqual(result.output, BERN);
      assert.deepEqual(
        eventsOf(events, "tool_result").map(({ result: { id } }) => id),
        calls.map(({ id }) => id),
      );
    });
  }
}

test("the run ends only when the turn's other calls have", async (t) => {
  const gate = deferred();
  const begun = deferred();
  const { agent } = answeringAgent(t, [{ calls: [answer(BERN), work("slow")] }], {
    tools: [plainTool("work", () => (begun.resolve(), gate.promise.then(() => "worked")))],
  });
  const ends = recordHooks(agent, ["run:end", "tool:end"]);
  const running = agent.send("go");
  await begun.promise;
  await until(() => ends.some(({ call }) => call?.name === "final_answer"), "the answer's own end");
  assert.ok(!ends.some(({ event }) => event === "run:end"));
  gate.resolve();
  assert.deepEqual((await running).output, BERN);
  assert.deepEqual(
    ends.map(({ event, call }) => call?.name ?? event),
    ["final_answer", "work", "run:end"],
  );
});

test("a call that fails beside the answer changes nothing of it", async (t) => {
  const tools = [
    plainTool("work", () => {
      throw new Error("broke");
    }),
  ];
  const { result } = await answered(
    t,
    [{ calls: [work("w"), answer(BERN), { id: "u", name: "unknown", input: {} }] }],
    {
      tools,
    },
  );
  assert.deepEqual(result.output, BERN);
  assert.equal(result.stopReason, "stop");
  for (const id of ["w", "u"]) assert.equal(resultFor(result.messages, id).isError, true);
});

test("the conversation after such a turn is well formed, and the next run goes on from it", async (t) => {
  const { agent, model } = answeringAgent(
    t,
    [{ calls: [work("w"), answer(BERN, "first"), answer(ROME, "second")] }, { calls: [answer(ROME, "third")] }],
    { tools: [plainTool("work", () => "worked")] },
  );
  assertConversation((await agent.send("one")).messages);
  assert.deepEqual((await agent.send("two")).output, ROME);
  assert.ok(textOf(model.requests[1].messages.at(-1)).includes("two"));
});
