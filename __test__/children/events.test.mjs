// Where a child's events go: to subscribers, and to its parent's stream until that is done. Knows the public face
// only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { collect, plainTool, until, within } from "../support/model.mjs";
import { eventsOf, typesOf } from "../runs/reading.mjs";
import { answerOf, call, completionEntriesOf, familyFor, familyTools, runFamily, spawning, starts } from "./family.mjs";

const working = [{ deltas: ["let ", "me"], calls: [call("work")] }, { text: "did it" }];
/** What subscribers heard of one agent; undefined is the root. */
const heardOf = ({ heard }, agentId) => heard.filter(({ event }) => event.agentId === agentId);

/** A run that a stream follows, whose parent waits until its child is over. */
async function streamed(t, roles, config = {}) {
  const family = familyFor(t, {
    roles: { go: [spawning(...Object.keys(roles)), { hold: "parent", text: "started" }, { text: "over" }], ...roles },
    ...config,
  });
  const collecting = within(collect(family.agent.run("go")), "the stream");
  await family.model.reached("parent");
  return { ...family, collecting };
}

test("subscribers hear the whole of a child's run, each event with its agentId, session and source", async (t) => {
  const family = await runFamily(t, { roles: { one: working } });
  const [agentId] = answerOf(family.result).agentIds;
  const entries = heardOf(family, agentId);
  assert.ok(entries.every(({ sessionId, source }) => sessionId === agentId && source === "user"));
  assert.deepEqual(
    typesOf(entries.map(({ event }) => event)).filter((type) => type !== "permission_decision"),
    [
      "turn_start",
      "model_call_start",
      "text_delta",
      "text_delta",
      "model_call_end",
      "message",
      "tool_use",
      "tool_call_start",
      "tool_call_end",
      "tool_result",
      "turn_end",
      "turn_start",
      "model_call_start",
      "text_delta",
      "model_call_end",
      "message",
      "turn_end",
      "done",
    ],
  );
  const done = entries.at(-1).event;
  assert.deepEqual([done.reason, done.result.text], ["stop", "did it"]);
});

test("the root's own events have no agentId, those of its completion run neither", async (t) => {
  const family = await runFamily(t, { roles: { one: working } });
  const own = family.heard.filter(({ event }) => !("agentId" in event));
  assert.ok(own.every(({ sessionId }) => sessionId === family.agent.sessionId));
  const user = own.filter(({ source }) => source === "user").map(({ event }) => event);
  assert.equal(user.at(-1).type, "done");
  assert.equal(user.at(-1).result.text, "started");
  const background = own
    .filter(({ source, event }) => source === "background" && event.type !== "background_completed")
    .map(({ event }) => event);
  assert.equal(background[0].type, "turn_start");
  assert.equal(background.at(-1).type, "done");
  assert.equal(background.at(-1).result.text, "over");
});

test("two children's events are each in their own order, told apart by agentId", async (t) => {
  const family = await runFamily(t, { roles: { one: working, two: working } });
  const [first, second] = answerOf(family.result).agentIds.map((id) =>
    typesOf(heardOf(family, id).map(({ event }) => event)),
  );
  assert.deepEqual(first, second);
  assert.equal(first.filter((type) => type === "done").length, 1);
});

test("subscribers hear a child's done once, as the last of its events, and before the completion", async (t) => {
  const family = await runFamily(t, { roles: { one: working, two: [{ error: new Error("down") }] } });
  const [first, second] = answerOf(family.result).agentIds;
  const events = heardOf(family, first).map(({ event }) => event);
  assert.equal(eventsOf(events, "done").length, 1);
  assert.equal(events.at(-1).type, "done");
  const last = heardOf(family, second).at(-1).event;
  assert.deepEqual([last.type, last.fatal], ["error", true]);
  const position = (entry) => family.heard.indexOf(entry);
  const [told] = completionEntriesOf(family);
  for (const id of [first, second]) assert.ok(position(heardOf(family, id).at(-1)) < position(told));
});

test("the parent's stream has its children's events while it goes on, but not their done", async (t) => {
  const family = await streamed(t, { one: working });
  await until(() => family.heard.some(({ event }) => event.type === "done" && event.agentId), "the child is done");
  family.model.release("parent");
  const { events, result } = await family.collecting;
  const [agentId] = answerOf(result).agentIds;
  const mine = events.filter((event) => event.agentId === agentId);
  assert.deepEqual(
    mine,
    heardOf(family, agentId)
      .map(({ event }) => event)
      .filter(({ type }) => type !== "done"),
  );
  assert.ok(typesOf(mine).includes("text_delta") && typesOf(mine).includes("tool_result"));
  await family.idle();
});

test("done is the last event of the parent's stream, its own, and comes once", async (t) => {
  const family = await streamed(t, { one: working, two: [{ hold: "late", text: "2" }] });
  await family.model.reached("late");
  family.model.release("parent");
  const { events, result } = await family.collecting;
  assert.deepEqual(
    eventsOf(events, "done").map(({ agentId, result: { text } }) => [agentId, text]),
    [[undefined, "started"]],
  );
  assert.equal(events.at(-1).type, "done");
  assert.equal(result.text, "started");
  family.model.release("late");
  await family.idle();
});

test("what children do after the parent's done is in no stream, and subscribers hear it", async (t) => {
  const family = familyFor(t, { roles: { go: starts("one"), one: [{ hold: "late", text: "afterwards" }] } });
  const { events } = await within(collect(family.agent.run("go")), "the stream");
  await family.model.reached("late");
  family.model.release("late");
  await family.idle();
  assert.ok(!JSON.stringify(events).includes("afterwards"));
  assert.ok(family.heard.some(({ event }) => event.agentId && event.type === "text_delta"));
});

test("the stream of another session has nothing of these children", async (t) => {
  const family = familyFor(t, {
    roles: { go: starts("one"), "go other": [{ hold: "other", text: "mine" }], one: working },
  });
  const other = within(collect(family.agent.run("go other", { sessionId: "other" })), "the other stream");
  await family.model.reached("other");
  await family.send();
  await family.idle();
  family.model.release("other");
  const { events } = await other;
  assert.ok(events.every((event) => !("agentId" in event)));
  assert.ok(!typesOf(events).includes("background_completed"));
});

test("a later run of the same session has nothing of an earlier run's children in its stream", async (t) => {
  const family = familyFor(t, {
    roles: { go: [...starts("one").slice(0, 2), { text: "more" }], one: [{ hold: "late", text: "1" }] },
  });
  await family.send();
  await family.model.reached("late");
  const { events } = await within(
    collect(
      (async function* () {
        family.model.release("late");
        return yield* family.agent.run("more");
      })(),
    ),
    "the second run",
  );
  await family.idle();
  assert.ok(events.every((event) => !("agentId" in event)));
});

test("a completion run's events are in no user's stream", async (t) => {
  const family = familyFor(t, { roles: { go: starts("one"), one: [{ text: "1" }] } });
  const { events } = await within(collect(family.agent.run("go")), "the stream");
  await family.idle();
  assert.ok(!JSON.stringify(eventsOf(events, "text_delta")).includes("over"));
  assert.ok(family.heard.some(({ event, source }) => source === "background" && event.type === "text_delta"));
});

test("what a child's tool and middleware emit carries the child's agentId", async (t) => {
  const progress = (name) => ({ type: "tool_progress", id: "call-work", name, progress: 1 });
  const tools = [
    ...familyTools().filter(({ name }) => name !== "work"),
    plainTool("work", (_, { emit }) => {
      emit(progress("tool"));
      return "worked";
    }),
  ];
  const use = [
    {
      name: "m",
      async wrapToolCall({ emit, call: { name } }, next) {
        if (name === "work") emit(progress("middleware"));
        return next();
      },
    },
  ];
  const family = await runFamily(t, { roles: { one: working }, tools, use });
  const [agentId] = answerOf(family.result).agentIds;
  const emitted = family.heard.filter(({ event }) => event.type === "tool_progress");
  assert.deepEqual(
    emitted.map(({ event, sessionId }) => [event.name, event.agentId, sessionId]),
    [
      ["middleware", agentId, agentId],
      ["tool", agentId, agentId],
    ],
  );
});

test("a child's tool cannot pass its events off as another's", async (t) => {
  const tools = [
    plainTool("work", (_, { emit }) => {
      emit({ type: "tool_progress", id: "x", name: "work", progress: 1, agentId: "agent-somebody-else" });
      return "worked";
    }),
  ];
  const family = await runFamily(t, { roles: { one: working }, tools });
  const [{ event }] = family.heard.filter(({ event }) => event.type === "tool_progress");
  assert.equal(event.agentId, answerOf(family.result).agentIds[0]);
});

test("a subscriber that throws, or changes what it hears, disturbs no child", async (t) => {
  const family = familyFor(t, { roles: { go: starts("one"), one: working } });
  family.agent.subscribe((entry) => {
    if (entry.event.type === "background_completed") entry.event.completion.content = "forged";
    throw new Error("listener");
  });
  await family.send();
  await family.idle();
  const prompt = JSON.stringify(family.model.callsOf("go").at(-1).request.messages.at(-1));
  assert.ok(prompt.includes("did it") && !prompt.includes("forged"));
});

test("a stream that nobody pulls holds its children up no longer than its run", async (t) => {
  const family = familyFor(t, { roles: { go: starts("one"), one: working } });
  const generator = family.agent.run("go");
  await generator.next();
  await until(() => family.heard.some(({ event }) => event.type === "background_completed"), "the completion");
  await family.idle();
  const { events } = await within(collect(generator), "the rest of the stream");
  assert.equal(events.at(-1).type, "done");
});
