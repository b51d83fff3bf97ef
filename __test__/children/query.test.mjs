// query() over groups: it goes on until the children and their completion runs are over, in one stream with one done.
// Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { policy, query } from "../../index.js";
import { aborted, collect, collectUntilError, deferred, plainTool, until, within } from "../support/model.mjs";
import { eventsOf, typesOf } from "../runs/reading.mjs";
import { gone, marker, sleeping } from "../commands/processes.mjs";
import { fileOf } from "../hook-commands/hooked.mjs";
import { agentCall, call, familyFolder, familyModel, familyTools, sectionsOf, spawning, starts } from "./family.mjs";

/** A query in a folder of its own, and the model that plays its family. */
function asked(t, { roles, files, ...options }) {
  const folder = familyFolder(t, { files });
  const model = familyModel(roles);
  const { workdir: cwd, home } = folder;
  const generator = query({ prompt: "go", cwd, home, model, tools: familyTools(), ...options });
  t.after(() => assert.deepEqual(model.malformed, []));
  return { ...folder, model, generator };
}
/** A query to its end. */
async function runQuery(t, given) {
  const made = asked(t, given);
  return { ...made, ...(await within(collectUntilError(made.generator), "the query")) };
}
const texts = (events) =>
  eventsOf(events, "text_delta")
    .map(({ text }) => text)
    .join("|");
const completionsIn = (events) => eventsOf(events, "background_completed").map(({ completion }) => completion);

test("the stream goes on with the children's events and the completion run's, in order", async (t) => {
  const { events } = await runQuery(t, {
    roles: { go: starts("one"), one: [{ text: "1" }] },
  });
  const said = eventsOf(events, "text_delta").map(({ text, agentId }) => [text, typeof agentId]);
  assert.deepEqual(
    said.filter(([, type]) => type === "undefined").map(([text]) => text),
    ["started", "over"],
  );
  assert.deepEqual(
    said.filter(([, type]) => type === "string").map(([text]) => text),
    ["1"],
  );
  const positions = [
    events.findIndex(({ type, agentId }) => type === "message" && agentId),
    events.findIndex(({ type }) => type === "background_completed"),
    events.findIndex(({ type, text }) => type === "text_delta" && text === "over"),
  ];
  assert.ok(positions[0] !== -1 && positions[0] < positions[1] && positions[1] < positions[2], String(positions));
});

test("there is one done, the last event, and it has the result that the query returns", async (t) => {
  const { events, result } = await runQuery(t, {
    roles: { go: starts("one", "two"), one: [{ text: "1" }], two: [{ text: "2" }] },
  });
  const dones = eventsOf(events, "done");
  assert.equal(dones.length, 1);
  assert.equal(events.at(-1), dones[0]);
  assert.ok(!("agentId" in dones[0]));
  assert.equal(dones[0].reason, "stop");
  assert.deepEqual(dones[0].result, result);
});

test("the result is the last run's: its text, and the whole conversation", async (t) => {
  const { result } = await runQuery(t, { roles: { go: starts("one"), one: [{ text: "1" }] } });
  assert.equal(result.text, "over");
  assert.equal(result.stopReason, "stop");
  assert.deepEqual(
    result.messages.map(({ role }) => role),
    ["user", "assistant", "user", "assistant", "user", "assistant"],
  );
  assert.ok(JSON.stringify(result.messages[4]).includes("background-task-completed"));
});

test("the usage is summed over the user's run and the completion runs, the children's left out", async (t) => {
  const usage = (inputTokens, outputTokens) => ({ usage: { inputTokens, outputTokens } });
  const { result } = await runQuery(t, {
    roles: {
      go: [
        { ...spawning("one"), ...usage(1, 10) },
        { text: "started", ...usage(2, 20) },
        { calls: [agentCall(["two"], "again")], ...usage(3, 30) },
        { text: "more", ...usage(4, 40) },
        { text: "over", ...usage(5, 50) },
      ],
      one: [{ text: "1", ...usage(1_000, 1_000) }],
      two: [{ text: "2", ...usage(1_000, 1_000) }],
    },
  });
  assert.deepEqual({ ...result.usage }, { inputTokens: 15, outputTokens: 150 });
});

test("groups that completion runs start are waited for as well", async (t) => {
  const { events, result } = await runQuery(t, {
    roles: {
      go: [
        spawning("one"),
        { text: "started" },
        { calls: [agentCall(["two", "three"], "again")] },
        { text: "more" },
        { text: "end" },
      ],
      one: [{ text: "1" }],
      two: [{ text: "2" }],
      three: [{ calls: [call("work")] }, { text: "3" }],
    },
  });
  assert.equal(result.text, "end");
  assert.deepEqual(
    completionsIn(events).map(({ content }) => sectionsOf(content).map(({ text }) => text)),
    [["1"], ["2", "3"]],
  );
  assert.equal(eventsOf(events, "done").length, 1);
});

test("several groups at once give several completion runs, and one done", async (t) => {
  const { events, result } = await runQuery(t, {
    roles: {
      go: [
        { calls: [agentCall(["one"], "first"), agentCall(["two"], "second")] },
        { text: "started" },
        { text: "heard one" },
        { text: "heard both" },
      ],
      one: [{ text: "1" }],
      two: [{ text: "2" }],
    },
  });
  assert.equal(result.text, "heard both");
  assert.equal(completionsIn(events).length, 2);
  assert.equal(eventsOf(events, "done").length, 1);
});

test("it does not end before its children have: their text is in the result", async (t) => {
  const { model, generator } = asked(t, {
    roles: {
      go: [spawning("one"), { text: "started" }, ({ messages }) => ({ text: JSON.stringify(messages.at(-1)) })],
      one: [{ hold: "one", text: "what I found" }],
    },
  });
  let ended = false;
  const collecting = within(collect(generator), "the query").finally(() => {
    ended = true;
  });
  await model.reached("one");
  await until(() => model.callsOf("go").length === 2, "the user's run");
  for (let round = 0; round < 30; round += 1) await new Promise(setImmediate);
  assert.equal(ended, false);
  model.release("one");
  assert.ok((await collecting).result.text.includes("what I found"));
});

test("a child's failure is in the completion; the query itself does not fail", async (t) => {
  const { events, error, result } = await runQuery(t, {
    roles: { go: starts("one", "two"), one: [{ error: new Error("down") }], two: [{ text: "2" }] },
  });
  assert.equal(error, undefined);
  assert.equal(result.text, "over");
  const [completion] = completionsIn(events);
  assert.equal(completion.status, "partial");
  const failures = eventsOf(events, "error");
  assert.equal(failures.length, 1);
  assert.equal(typeof failures[0].agentId, "string");
});

test("a completion run that fails: the query throws the very error that was thrown, after its error event", async (t) => {
  const failure = new Error("down");
  const { events, error } = await runQuery(t, {
    roles: { go: [...starts("one").slice(0, 2), { error: failure }], one: [{ text: "1" }] },
  });
  assert.equal(error, failure);
  assert.equal(events.at(-1).type, "error");
  assert.equal(events.at(-1).error, failure);
  assert.ok(!typesOf(events).includes("done"));
});

test("a user's run that fails: the query throws its error, and nothing is left that goes on", async (t) => {
  const failure = new Error("down");
  const { model, generator } = asked(t, {
    roles: { go: [spawning("one"), { hold: "parent", error: failure }], one: [{ hold: "one", text: "1" }] },
  });
  const collecting = within(collectUntilError(generator), "the query");
  await model.reached("parent");
  await model.reached("one");
  model.release("parent");
  assert.equal((await collecting).error, failure);
  assert.equal(model.inside, 0);
});

for (const [when, roles] of Object.entries({
  "in its model call": { one: [{ hold: "child", text: "never said" }] },
  "in a tool": { one: [{ calls: [call("wait")] }, { text: "never said" }] },
})) {
  for (const [how, end] of Object.entries({
    break: async ({ generator }) => within(generator.return(), "return()"),
    "its signal": async ({ controller }) => controller.abort(new Error("enough")),
  })) {
    test(`${how} while a child is ${when} ends it all: the child's signal fires, and nothing more is asked`, async (t) => {
      const controller = new AbortController();
      const seen = {};
      const entered = deferred();
      const tools = [
        plainTool("wait", async (_, { signal }) => {
          entered.resolve();
          await aborted(signal);
          seen.aborted = true;
          return "left";
        }),
      ];
      const made = asked(t, { roles: { go: starts("one"), ...roles }, tools, signal: controller.signal });
      const collecting = within(collectUntilError(made.generator), "the query");
      if (when === "in a tool") await within(entered.promise, "the tool");
      else await made.model.reached("child");
      await until(() => made.model.callsOf("go").length === 2, "the user's run");
      for (let round = 0; round < 30; round += 1) await new Promise(setImmediate);
      await end({ ...made, controller });
      const { events, error } = await collecting;
      assert.equal(error, undefined);
      if (how !== "break") assert.equal(eventsOf(events, "done").length, 1);
      if (when === "in a tool") await until(() => seen.aborted, "the tool saw the abort");
      else assert.ok(made.model.callsOf("one")[0].signal.aborted);
      const calls = made.model.calls.length;
      for (let round = 0; round < 30; round += 1) await new Promise(setImmediate);
      assert.equal(made.model.calls.length, calls);
      assert.equal(made.model.callsOf("go").length, 2, "no autonomous run");
      assert.equal((await made.generator.next()).done, true);
    });
  }
}

test("its signal during the user's run: aborted, one done, and the children are cancelled", async (t) => {
  const controller = new AbortController();
  const made = asked(t, {
    roles: { go: [spawning("one"), { hold: "parent", text: "x" }], one: [{ hold: "one", text: "1" }] },
    signal: controller.signal,
  });
  const collecting = within(collect(made.generator), "the query");
  await made.model.reached("parent");
  await made.model.reached("one");
  controller.abort();
  const { events, result } = await collecting;
  assert.equal(result.stopReason, "aborted");
  assert.deepEqual(
    eventsOf(events, "done").map(({ reason }) => reason),
    ["aborted"],
  );
  assert.equal(events.at(-1).type, "done");
  assert.ok(made.model.callsOf("one")[0].signal.aborted);
});

for (const how of ["break", "its signal"]) {
  test(`${how} during a completion run ends it`, async (t) => {
    const controller = new AbortController();
    const made = asked(t, {
      roles: {
        go: [...starts("one").slice(0, 2), { hold: "completion", text: "never said" }],
        one: [{ text: "1" }],
      },
      signal: controller.signal,
    });
    const collecting = within(collectUntilError(made.generator), "the query");
    await made.model.reached("completion");
    if (how === "break") await within(made.generator.return(), "return()");
    else controller.abort();
    const { events, result } = await collecting;
    assert.ok(made.model.calls.at(-1).signal.aborted);
    if (how === "break") return;
    assert.equal(result.stopReason, "aborted");
    assert.equal(eventsOf(events, "done").length, 1);
  });
}

test("break at a child's event, by for await, resolves", async (t) => {
  const made = asked(t, { roles: { go: starts("one"), one: [{ deltas: ["a", "b"] }] } });
  await within(
    (async () => {
      for await (const event of made.generator) if (event.agentId && event.type === "text_delta") break;
    })(),
    "the loop",
  );
  assert.deepEqual(await made.generator.next(), { value: undefined, done: true });
});

test("break kills the processes of a child's commands, and its run:end command has run, with cancelled", async (t) => {
  const mark = marker();
  const made = asked(t, {
    roles: { go: starts("one"), one: [{ calls: [call("bash", "b", { command: `sleep ${mark}` })] }, { text: "x" }] },
    permission: policy(),
    files: { "work/.lite-agent/hooks.json": fileOf({ "run:end": [{ command: "cat >> ended" }] }) },
  });
  const collecting = within(collectUntilError(made.generator), "the query");
  await sleeping(mark);
  await within(made.generator.return(), "return()");
  await collecting;
  await gone(mark);
  const [child, ...others] = made.events("ended").filter(({ agentId }) => agentId);
  assert.deepEqual(others, []);
  assert.equal(child.status, "cancelled");
});

test("hooks.json sees each run of the family once: the user's, the child's, the completion's", async (t) => {
  const command = [{ command: "cat >> seen" }];
  const made = asked(t, {
    roles: { go: starts("one"), one: [{ text: "1" }] },
    permission: policy(),
    files: { "work/.lite-agent/hooks.json": fileOf({ "run:start": command, "run:end": command }) },
  });
  await within(collect(made.generator), "the query");
  const seen = made.events("seen").map(({ event, source, agentId }) => `${event} ${source} ${typeof agentId}`);
  assert.deepEqual(
    seen.sort(),
    ["run:start", "run:end"]
      .flatMap((event) => [`${event} user undefined`, `${event} user string`, `${event} background undefined`])
      .sort(),
  );
});

test("a query without groups ends as before", async (t) => {
  const { events, result } = await runQuery(t, { roles: { go: [{ calls: [call("work")] }, { text: "end" }] } });
  assert.equal(result.text, "end");
  assert.equal(events.at(-1).type, "done");
  assert.equal(texts(events), "end");
});

test("a query with agents: false is not offered the tool", async (t) => {
  const { model } = await runQuery(t, { roles: { go: [{ text: "ok" }] }, agents: false });
  assert.ok(!model.calls[0].request.tools.some(({ name }) => name === "Agent"));
});

test("a slow reader gets everything: nothing is lost while it does not pull", async (t) => {
  const deltas = Array.from({ length: 3_000 }, (_, index) => `${index},`);
  const made = asked(t, { roles: { go: starts("one"), one: [{ deltas }] } });
  const events = [];
  await within(
    (async () => {
      for await (const event of made.generator) {
        events.push(event);
        if (events.length % 100 === 0) await new Promise(setImmediate);
      }
    })(),
    "the query",
    30_000,
  );
  const said = events.filter(({ type, agentId }) => type === "text_delta" && agentId).map(({ text }) => text);
  assert.deepEqual(said, deltas);
  assert.equal(events.at(-1).type, "done");
});

test("children and completion runs of two queries at once do not mix", async (t) => {
  const made = ["a", "b"].map((name) =>
    asked(t, {
      prompt: `go ${name}`,
      roles: { [`go ${name}`]: starts(`child ${name}`), [`child ${name}`]: [{ text: `from ${name}` }] },
    }),
  );
  const all = await within(Promise.all(made.map(({ generator }) => collect(generator))), "two queries");
  for (const [index, { events }] of all.entries()) {
    const [completion] = completionsIn(events);
    assert.equal(sectionsOf(completion.content)[0].text, `from ${["a", "b"][index]}`);
  }
});
