// How many children run at once: a bound over the whole family, first come first served. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { plainTool, until } from "../support/model.mjs";
import {
  agentCall,
  call,
  childRunsOf,
  childrenOrder,
  completionsOf,
  familyFor,
  runsOf,
  settled,
  spawning,
  starts,
} from "./family.mjs";

const names = (prefix, count) => Array.from({ length: count }, (_, index) => `${prefix}${index + 1}`);
/** Whether a run is that of this child, and over. */
const doneAs = (name) => (run) => run.input === name && run.status !== undefined;
/** Checks in which order children began. Those that began together, at most `together`, may overtake each other. */
function assertBegan({ model }, expected, together) {
  const began = childrenOrder(model);
  assert.deepEqual(began.slice(0, together).sort(), expected.slice(0, together).sort());
  assert.deepEqual(began.slice(together), expected.slice(together, began.length));
}
/** Roles of children, each of which waits at a gate of its own name. */
const gated = (...all) => Object.fromEntries(all.flat().map((name) => [name, [{ hold: name, text: `did ${name}` }]]));

for (const [maxParallelSubagents, bound] of [
  [1, 1],
  [3, 3],
  [undefined, 5],
]) {
  test(`with maxParallelSubagents ${maxParallelSubagents} at most ${bound} of 12 children run at once`, async (t) => {
    const children = names("c", 12);
    const family = familyFor(t, {
      roles: { go: starts(...children), ...gated(children) },
      maxParallelSubagents,
    });
    const { model } = family;
    await family.send();
    for (let finished = 0; finished < children.length; finished += 1) {
      await until(
        () => childrenOrder(model).length === Math.min(children.length, finished + bound),
        `${finished + bound} began`,
      );
      await settled(10);
      assert.ok(model.inside <= bound);
      // The newest first, so that the order of finishing and that of beginning differ.
      const waiting = childrenOrder(model).filter((name) => !childRunsOf(family).some(doneAs(name)));
      model.release(waiting.at(-1));
      await until(() => childRunsOf(family).some(doneAs(waiting.at(-1))), `${waiting.at(-1)} ended`);
    }
    await family.idle();
    assert.equal(model.most, bound);
    assertBegan(family, children, bound);
    assert.equal(childrenOrder(model).length, children.length);
    assert.equal(completionsOf(family)[0].status, "completed");
  });
}

test("the bound holds over several sessions, and the places go to whoever asked first", async (t) => {
  const [a, b, c] = [names("a", 3), names("b", 2), names("c", 2)];
  const family = familyFor(t, {
    roles: { "go a": starts(...a), "go b": starts(...b), "go c": starts(...c), ...gated(a, b, c) },
    maxParallelSubagents: 2,
  });
  const { model } = family;
  for (const name of ["a", "b", "c"]) await family.send(`go ${name}`, { sessionId: name });
  const expected = [...a, ...b, ...c];
  for (let index = 0; index < expected.length; index += 1) {
    await until(() => childrenOrder(model).length === Math.min(expected.length, index + 2), "the next child");
    await settled(10);
    assertBegan(family, expected, 2);
    assert.ok(childrenOrder(model).length <= index + 2);
    model.release(expected[index]);
  }
  for (const name of ["a", "b", "c"]) await family.idle(name);
  assert.equal(model.most, 2);
  assert.equal(completionsOf(family).length, 3);
});

test("the bound holds over several groups of one run", async (t) => {
  const [a, b] = [names("a", 3), names("b", 3)];
  const family = familyFor(t, {
    roles: {
      go: [{ calls: [agentCall(a, "first"), agentCall(b, "second")] }, { text: "started" }, { text: "over" }],
      ...gated(a, b),
    },
    maxParallelSubagents: 4,
  });
  await family.send();
  await until(() => childrenOrder(family.model).length === 4, "four children");
  await settled();
  assert.equal(family.model.inside, 4);
  family.model.release(...a, ...b);
  await family.idle();
  assert.equal(family.model.most, 4);
});

test("a child that waits for its place has not begun: no run:start, no event, no request", async (t) => {
  const family = familyFor(t, {
    roles: { go: starts("one", "two"), ...gated("one", "two") },
    maxParallelSubagents: 1,
  });
  await family.send();
  await family.model.reached("one");
  await settled();
  assert.deepEqual(
    childRunsOf(family).map(({ input }) => input),
    ["one"],
  );
  const ids = new Set(family.heard.map(({ event }) => event.agentId).filter(Boolean));
  assert.equal(ids.size, 1);
  family.model.release("one", "two");
  await family.idle();
});

test("a child keeps its place for the whole of its run, hooks at its end included", async (t) => {
  const family = familyFor(t, {
    roles: { go: starts("one", "two"), one: [{ text: "1" }], two: [{ text: "2" }] },
    maxParallelSubagents: 1,
  });
  const inside = new Set();
  let most = 0;
  family.agent.hook("run:start", ({ agentId, runId }) => {
    if (agentId) inside.add(runId);
    most = Math.max(most, inside.size);
  });
  family.agent.hook("run:end", async ({ agentId, runId }) => {
    if (agentId) await settled(5);
    inside.delete(runId);
  });
  await family.send();
  await family.idle();
  assert.equal(most, 1);
});

test("a child that fails gives its place on", async (t) => {
  const family = familyFor(t, {
    roles: { go: starts("bad", "one"), bad: [{ error: new Error("down") }], one: [{ text: "1" }] },
    maxParallelSubagents: 1,
  });
  await family.send();
  await family.idle();
  assert.deepEqual(
    childRunsOf(family).map(({ status }) => status),
    ["failed", "completed"],
  );
});

test("a group that is cancelled gives its places on, those that waited included", async (t) => {
  const [a, b] = [names("a", 3), names("b", 1)];
  const family = familyFor(t, {
    roles: {
      "go a": [spawning(...a), { hold: "parent", text: "started" }],
      "go b": starts(...b),
      ...gated(a, b),
    },
    maxParallelSubagents: 1,
  });
  const controller = new AbortController();
  const first = family.send("go a", { sessionId: "a", signal: controller.signal });
  await family.model.reached("a1");
  await family.send("go b", { sessionId: "b" });
  controller.abort();
  await first;
  await family.model.reached("b1");
  family.model.release("b1");
  await family.idle("b");
  assert.deepEqual(childrenOrder(family.model), ["a1", "b1"]);
});

test("the root's own runs take no place: they go on while the pool is full", async (t) => {
  const family = familyFor(t, {
    roles: { go: starts("one"), "go on": [{ text: "still here" }], ...gated("one") },
    maxParallelSubagents: 1,
  });
  await family.send();
  await family.model.reached("one");
  assert.equal((await family.send("go on", { sessionId: "other" })).text, "still here");
  family.model.release("one");
  await family.idle();
});

test("two agents have pools of their own", async (t) => {
  const made = ["one", "two"].map((name) =>
    familyFor(t, { roles: { go: starts(name), ...gated(name) }, maxParallelSubagents: 1 }),
  );
  for (const family of made) await family.send();
  await made[0].model.reached("one");
  await made[1].model.reached("two");
  for (const [index, family] of made.entries()) {
    family.model.release(["one", "two"][index]);
    await family.idle();
  }
});

test("children of one group run at the same time", async (t) => {
  const family = familyFor(t, { roles: { go: starts("one", "two"), ...gated("one", "two") } });
  await family.send();
  await family.model.reached("one");
  await family.model.reached("two");
  assert.equal(family.model.inside, 2);
  family.model.release("two", "one");
  await family.idle();
  assert.equal(runsOf(family).filter(({ status }) => status === "completed").length, 4);
});

test("a maxParallelSubagents that is no positive integer is refused by name", (t) => {
  for (const maxParallelSubagents of [0, -1, 1.5, NaN, Infinity, "3", null]) {
    assert.throws(
      () => familyFor(t, { roles: { go: [{ text: "ok" }] }, maxParallelSubagents }),
      (error) => /maxParallelSubagents/.test(error.message),
      String(maxParallelSubagents),
    );
  }
});

test("200 children over 8 places all run, and their sections are in the order of the tasks", async (t) => {
  const groups = Array.from({ length: 4 }, (_, group) => names(`g${group}-`, 50));
  const quick = (name) => [name, [() => ({ text: `did ${name}` })]];
  const family = familyFor(t, {
    roles: {
      go: [
        { calls: groups.map((tasks, index) => agentCall(tasks, `spawn-${index}`)) },
        { text: "started" },
        { text: "over" },
      ],
      ...Object.fromEntries(groups.flat().map(quick)),
    },
    maxParallelSubagents: 8,
    sessions: false,
  });
  await family.send();
  await family.agent.awaitIdle();
  assert.ok(family.model.most <= 8);
  assert.equal(childRunsOf(family).length, 200);
  const contents = completionsOf(family).map(({ content }) => content);
  assert.equal(contents.length, 4);
  for (const tasks of groups) {
    const mine = contents.find((content) => content.startsWith(`## ${tasks[0]} `));
    assert.deepEqual(
      [...mine.matchAll(/^did (.*)$/gm)].map(([, name]) => name),
      tasks,
    );
  }
});

for (const maxParallelSubagents of [1, 2]) {
  test(`children that wait for children of another session do not wait for their own ${maxParallelSubagents} places`, async (t) => {
    let family;
    const deep = plainTool("deep", async (_, context) => {
      const sessionId = `other-${context.sessionId}`;
      await family.agent.send("go there", { sessionId });
      await family.agent.awaitIdle(sessionId);
      return "done";
    });
    const holders = names("holder", maxParallelSubagents + 1);
    const again = [{ calls: [call("deep")] }, { text: "it is" }];
    family = familyFor(t, {
      roles: {
        go: starts(...holders),
        ...Object.fromEntries(holders.map((name) => [name, again])),
        // Its completion run starts a group as well.
        "go there": [
          spawning("quick"),
          { text: "started" },
          { calls: [agentCall(["quick"], "more")] },
          { text: "over" },
        ],
        quick: [{ text: "quick" }],
      },
      tools: [deep],
      maxParallelSubagents,
    });
    await family.send();
    await family.idle();
    const [holding] = completionsOf(family).filter(({ content }) => content.includes("## holder1 "));
    assert.equal(holding.status, "completed", holding.content);
    assert.equal(childrenOrder(family.model).filter((name) => name === "quick").length, 2 * holders.length);
  });
}

test("children that a child waits for are bounded as well, each group by itself", async (t) => {
  let family;
  const deep = plainTool("deep", async () => {
    await family.agent.send("go there", { sessionId: "other" });
    await family.agent.awaitIdle("other");
    return "done";
  });
  const inner = names("inner", 5);
  family = familyFor(t, {
    roles: {
      go: starts("holder"),
      holder: [{ calls: [call("deep")] }, { text: "it is" }],
      "go there": starts(...inner),
      ...gated(inner),
    },
    tools: [deep],
    maxParallelSubagents: 2,
  });
  await family.send();
  for (let finished = 0; finished < inner.length; finished += 1) {
    const begun = () => childrenOrder(family.model).filter((name) => name !== "holder");
    await until(() => begun().length === Math.min(inner.length, finished + 2), "the next child");
    await settled(10);
    assert.ok(family.model.inside <= 2);
    family.model.release(inner[finished]);
  }
  await family.idle();
});

test("a run that a child's tool leaves behind, and does not wait for, takes places of the family", async (t) => {
  let family;
  let left;
  const deep = plainTool("deep", () => {
    left = new Promise((resolve) => setImmediate(resolve)).then(() =>
      family.agent.send("go there", { sessionId: "other" }),
    );
    return "left";
  });
  family = familyFor(t, {
    roles: {
      go: starts("holder"),
      holder: [{ calls: [call("deep")] }, { hold: "holder", text: "it is" }],
      "go there": starts("inner"),
      inner: [{ text: "1" }],
    },
    tools: [deep],
    maxParallelSubagents: 1,
  });
  await family.send();
  await family.model.reached("holder");
  await left;
  await settled();
  assert.equal(family.model.callsOf("inner").length, 0);
  family.model.release("holder");
  await family.idle();
  await family.idle("other");
  assert.equal(family.model.callsOf("inner").length, 1);
});
