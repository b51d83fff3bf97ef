// Completion runs stand in their session's queue like any run: first come first served, none lost, none twice. Knows
// the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { deferred, until, within } from "../support/model.mjs";
import {
  agentCall,
  answerOf,
  assertPaired,
  childRunsOf,
  completionEntriesOf,
  completionRunsOf,
  completionsOf,
  familyFor,
  runsOf,
  sectionsOf,
  settled,
  spawning,
  starts,
} from "./family.mjs";

/** Waits until so many children of the family are over, and whatever that brings along has happened. */
async function childrenOver(family, count) {
  const done = () => family.heard.filter(({ event }) => event.agentId && event.type === "done").length;
  await until(() => done() >= count, `${count} children are done`);
  await settled();
}
/** The runs of the root, as "<source> <input>", in the order in which they began. */
const order = (family) =>
  runsOf(family)
    .filter(({ agentId }) => agentId === undefined)
    .map(({ source, input }) => `${source} ${input.startsWith("<") ? "completion" : input}`);

test("a completion that arrives during a run waits for its end", async (t) => {
  const family = familyFor(t, {
    roles: { go: [spawning("one"), { hold: "parent", text: "started" }, { text: "over" }], one: [{ text: "1" }] },
  });
  const sent = family.send();
  await family.model.reached("parent");
  await childrenOver(family, 1);
  assert.deepEqual(completionRunsOf(family), []);
  family.model.release("parent");
  const result = await sent;
  assert.equal(result.text, "started");
  assert.ok(!JSON.stringify(result.messages).includes("background-task-completed"));
  await family.idle();
  const moments = family.fired.filter(({ event, agentId }) => event.startsWith("run:") && !agentId);
  assert.deepEqual(
    moments.map(({ event, source }) => `${event} ${source}`),
    ["run:start user", "run:end user", "run:start background", "run:end background"],
  );
});

test("a run that was sent before the group ended goes before its completion run", async (t) => {
  const family = familyFor(t, {
    roles: {
      go: [spawning("one"), { text: "started" }, { hold: "second", text: "2" }, { text: "over" }],
      one: [{ hold: "one", text: "1" }],
    },
    sessions: false,
  });
  await family.send();
  const second = family.send("second");
  await family.model.reached("second");
  const third = family.send("third");
  family.model.release("one");
  await childrenOver(family, 1);
  family.model.release("second");
  await Promise.all([second, third]);
  await family.idle();
  assert.deepEqual(order(family), ["user go", "user second", "user third", "background completion"]);
});

test("a run that was sent after the group ended goes after its completion run", async (t) => {
  const family = familyFor(t, {
    roles: { go: [spawning("one"), { hold: "parent", text: "started" }, { text: "over" }], one: [{ text: "1" }] },
    sessions: false,
  });
  const first = family.send();
  await family.model.reached("parent");
  await childrenOver(family, 1);
  const second = family.send("second");
  family.model.release("parent");
  await first;
  const { messages } = await second;
  assert.deepEqual(order(family), ["user go", "background completion", "user second"]);
  assert.ok(JSON.stringify(messages).includes("background-task-completed"));
  await family.idle();
});

test("two groups that end at once give two completion runs, one after the other", async (t) => {
  const family = familyFor(t, {
    roles: {
      go: [
        { calls: [agentCall(["one"], "first"), agentCall(["two"], "second")] },
        { text: "started" },
        { text: "heard the first" },
        { text: "heard the second" },
      ],
      one: [{ hold: "children", text: "1" }],
      two: [{ hold: "children", text: "2" }],
    },
  });
  const result = await family.send();
  await family.model.reached("children", 2);
  family.model.release("children");
  await family.idle();
  assertPaired(family);
  const groups = ["first", "second"].map((id) => answerOf(result, id).groupId);
  const told = completionsOf(family).map(({ id }) => id);
  assert.deepEqual([...told].sort(), [...groups].sort());
  const runs = completionRunsOf(family);
  assert.deepEqual(
    runs.map(({ result: { text } }) => text),
    ["heard the first", "heard the second"],
  );
  for (const [index, { input }] of runs.entries()) assert.ok(input.includes(told[index]));
  const moments = family.fired.filter(({ event, source }) => event.startsWith("run:") && source === "background");
  assert.deepEqual(
    moments.map(({ event }) => event),
    ["run:start", "run:end", "run:start", "run:end"],
  );
});

for (const where of ["a tool:end hook", "middleware"]) {
  test(`a child that is over before ${where} lets the call's own answer through: answer first, completion after`, async (t) => {
    const over = deferred();
    const use = [
      {
        name: "slow",
        async wrapToolCall({ call }, next) {
          const result = await next();
          if (call.name === "Agent") await over.promise;
          return result;
        },
      },
    ];
    const family = familyFor(t, {
      roles: { go: starts("one"), one: [{ text: "1" }] },
      ...(where === "middleware" && { use }),
    });
    if (where !== "middleware") {
      family.agent.hook("tool:end", async ({ call }) => {
        if (call.name === "Agent") await over.promise;
      });
    }
    const sent = family.send();
    await childrenOver(family, 1);
    assert.equal(family.model.callsOf("go").length, 1);
    over.resolve();
    const result = await sent;
    assert.equal(answerOf(result).agentIds.length, 1);
    assert.equal(result.text, "started");
    await family.idle();
    assert.equal(completionsOf(family).length, 1);
    assert.deepEqual(order(family), ["user go", "background completion"]);
  });
}

test("a group that a completion run starts is completed in its turn, and awaitIdle() waits for it all", async (t) => {
  const family = familyFor(t, {
    roles: {
      go: [
        spawning("one"),
        { text: "started" },
        { calls: [agentCall(["two"], "again")] },
        { text: "more" },
        { calls: [agentCall(["three"], "and again")] },
        { text: "still more" },
        { text: "end" },
      ],
      one: [{ text: "1" }],
      two: [{ text: "2" }],
      three: [{ text: "3" }],
    },
  });
  await family.send();
  await family.idle();
  assertPaired(family);
  assert.deepEqual(
    completionsOf(family).map(({ content }) => sectionsOf(content)[0].text),
    ["1", "2", "3"],
  );
  assert.equal(completionRunsOf(family).at(-1).result.text, "end");
});

test("a completion run that fails: an error event, run:end failed, awaitIdle() resolves, and the session goes on", async (t) => {
  const failure = new Error("down");
  let broken = true;
  const family = familyFor(t, {
    roles: {
      go: [...starts("one").slice(0, 2), () => (broken ? { error: failure } : { text: "well again" })],
      one: [{ text: "1" }],
    },
  });
  await family.send();
  await family.idle();
  const [run] = completionRunsOf(family);
  assert.deepEqual([run.status, run.error], ["failed", { name: "Error", message: "down" }]);
  const [{ event, source }] = family.heard.filter((entry) => entry.event.type === "error");
  assert.deepEqual([event.error, event.fatal, source, event.agentId], [failure, true, "background", undefined]);
  broken = false;
  const result = await family.send("and now?");
  assert.equal(result.text, "well again");
  assert.ok(JSON.stringify(result.messages).includes("background-task-completed"), "what was told is not lost");
  assert.equal(completionsOf(family).length, 1);
});

test("a completion run is bounded by maxTurns like any run", async (t) => {
  let count = 0;
  const endless = () => ({ calls: [{ id: `c${(count += 1)}`, name: "work", input: {} }] });
  const family = familyFor(t, {
    roles: { go: [...starts("one").slice(0, 2), endless], one: [{ text: "1" }] },
    maxTurns: 3,
  });
  await family.send();
  await family.idle();
  assert.deepEqual(
    completionRunsOf(family).map(({ status }) => status),
    ["max_turns"],
  );
  assert.equal(family.model.callsOf("go").length, 2 + 3);
});

test("clear() while children run: their completion goes to the session that started them", async (t) => {
  const family = familyFor(t, {
    roles: { go: starts("one"), "go fresh": [{ text: "new" }], one: [{ hold: "one", text: "1" }] },
  });
  const old = family.agent.sessionId;
  await family.send();
  await family.model.reached("one");
  const fresh = family.agent.clear();
  assert.equal((await family.send("go fresh")).messages.length, 2);
  family.model.release("one");
  await family.idle(old);
  assert.deepEqual(
    completionEntriesOf(family).map(({ sessionId }) => sessionId),
    [old],
  );
  assert.deepEqual(
    completionRunsOf(family).map(({ sessionId }) => sessionId),
    [old],
  );
  await family.idle(fresh);
});

// -- awaitIdle ------------------------------------------------------------------------------------------------------------

test("awaitIdle() waits for the children, for the completion run, and for what is between", async (t) => {
  const family = familyFor(t, {
    roles: {
      go: [...starts("one").slice(0, 2), { hold: "completion", text: "over" }],
      one: [{ hold: "one", text: "1" }],
    },
  });
  await family.send();
  let idle = false;
  const waiting = family.idle().then(() => {
    idle = true;
  });
  await family.model.reached("one");
  await settled();
  assert.equal(idle, false);
  family.model.release("one");
  await family.model.reached("completion");
  await settled();
  assert.equal(idle, false);
  family.model.release("completion");
  await waiting;
  assert.equal(completionRunsOf(family)[0].status, "completed");
});

test("awaitIdle() waits for children that wait for a place", async (t) => {
  const family = familyFor(t, {
    roles: { go: starts("one"), "go b": starts("two"), one: [{ hold: "one", text: "1" }], two: [{ text: "2" }] },
    maxParallelSubagents: 1,
  });
  await family.send("go", { sessionId: "a" });
  await family.send("go b", { sessionId: "b" });
  let idle = false;
  const waiting = family.idle("b").then(() => {
    idle = true;
  });
  await settled();
  assert.equal(idle, false);
  family.model.release("one");
  await waiting;
  await family.idle("a");
});

test("awaitIdle() of one session does not wait for another's children", async (t) => {
  const family = familyFor(t, {
    roles: { go: starts("one"), "go other": [{ text: "ok" }], one: [{ hold: "one", text: "1" }] },
  });
  await family.send("go", { sessionId: "busy" });
  await family.send("go other", { sessionId: "other" });
  await within(family.agent.awaitIdle("other"), "awaitIdle() of the idle session", 1_000);
  await within(family.agent.awaitIdle(), "awaitIdle() of the agent's own session", 1_000);
  family.model.release("one");
  await family.idle("busy");
});

test("many awaitIdle() at once all resolve, and resolve again at once afterwards", async (t) => {
  const family = familyFor(t, { roles: { go: starts("one"), one: [{ text: "1" }] } });
  await family.send();
  await within(Promise.all(Array.from({ length: 20 }, () => family.agent.awaitIdle())), "20 awaitIdle()");
  await within(family.agent.awaitIdle(), "awaitIdle() afterwards", 1_000);
});

test("20 sessions with 3 children each: every completion in its own session, none lost, none twice", async (t) => {
  const names = Array.from({ length: 20 }, (_, index) => `s${index}`);
  const children = (name) => ["x", "y", "z"].map((letter) => `${letter} of ${name}.`);
  const roles = Object.fromEntries(
    names.flatMap((name) => [
      [`go ${name}.`, starts(...children(name))],
      ...children(name).map((child) => [child, [{ text: `did ${child}` }]]),
    ]),
  );
  const family = familyFor(t, { roles });
  await Promise.all(names.map((name) => family.send(`go ${name}.`, { sessionId: name })));
  await Promise.all(names.map((name) => family.idle(name)));
  assertPaired(family);
  assert.equal(childRunsOf(family).length, 60);
  const told = Object.fromEntries(
    completionEntriesOf(family).map((entry) => [entry.sessionId, entry.event.completion]),
  );
  assert.deepEqual(Object.keys(told).sort(), [...names].sort());
  for (const name of names) {
    assert.deepEqual(
      sectionsOf(told[name].content).map(({ text }) => text),
      children(name).map((child) => `did ${child}`),
    );
  }
  assert.equal(completionRunsOf(family).length, 20);
});
