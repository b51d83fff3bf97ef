// The copy of an event that handlers get: frozen to its depths, the same for all of one dispatch, and nobody else's.
import { test } from "node:test";
import assert from "node:assert/strict";
import { agentFor, collect, hookFailures, pause, plainTool, scriptedModel } from "../support/model.mjs";

const call = (id = "call-1", name = "work", input = {}) => ({ id, name, input });
const working = (calls = [call()], config = {}) => ({
  model: scriptedModel([{ calls }, { text: "done" }]),
  tools: [plainTool("work", () => "worked")],
  ...config,
});

function assertDeepFrozen(value, path = "event") {
  if (typeof value !== "object" || value === null) return;
  assert.ok(Object.isFrozen(value), `${path} is not frozen`);
  for (const key of Reflect.ownKeys(value)) assertDeepFrozen(value[key], `${path}.${String(key)}`);
}

test("every event is frozen to its depths", async (t) => {
  const agent = agentFor(t, {
    model: scriptedModel([{ calls: [call("1", "work", { a: { b: [{ c: [1] }] } })] }, { text: "done" }]),
    tools: [plainTool("work", () => [{ type: "text", text: "worked" }])],
  });
  const seen = [];
  for (const name of ["run:start", "tool:start", "tool:end", "run:end"]) {
    agent.hook(name, (event) => {
      assertDeepFrozen(event);
      seen.push(name);
    });
  }
  const { events } = await collect(agent.run([{ role: "user", content: [{ type: "text", text: "go" }] }]));
  assert.deepEqual(
    hookFailures(events).map(({ message }) => message),
    [],
  );
  assert.deepEqual(seen, ["run:start", "tool:start", "tool:end", "run:end"]);
});

test("the event of a failed run is frozen to its depths", async (t) => {
  const agent = agentFor(t, { model: [{ error: new Error("broken") }] });
  let end;
  agent.hook("run:end", (event) => {
    end = event;
  });
  await assert.rejects(agent.send("go"), /broken/);
  assertDeepFrozen(end);
});

test("the handlers of one dispatch get the same copy", async (t) => {
  const agent = agentFor(t, working());
  const seen = [];
  agent.hook("tool:end", (event) => void seen.push(event));
  agent.hook("tool:end", (event) => void seen.push(event));
  await agent.send("go");
  assert.equal(seen[0], seen[1]);
});

const writes = {
  "sets a member": (event) => {
    event.call = {};
  },
  "adds a member": (event) => {
    event.extra = 1;
  },
  "deletes a member": (event) => {
    delete event.call;
  },
  "sets a nested member": (event) => {
    event.call.input.path = "b";
  },
  "pushes on a nested array": (event) => {
    event.call.input.list.push(2);
  },
  "sorts a nested array": (event) => {
    event.call.input.list.sort();
  },
  "sets a prototype": (event) => {
    Object.setPrototypeOf(event.call.input, null);
  },
  "defines a property": (event) => {
    Object.defineProperty(event.call, "name", { value: "other" });
  },
};
for (const [what, write] of Object.entries(writes)) {
  test(`a handler that ${what} fails, and neither the tool, the next handler nor the model sees it`, async (t) => {
    const model = scriptedModel([{ calls: [call("1", "work", { path: "a", list: [3, 1] })] }, { text: "done" }]);
    let executedWith;
    const agent = agentFor(t, {
      model,
      tools: [
        plainTool("work", (input) => {
          executedWith = structuredClone(input);
          return "ok";
        }),
      ],
    });
    const seen = [];
    agent.hook("tool:start", write);
    agent.hook("tool:start", (event) => void seen.push(event.call));
    agent.hook("tool:end", (event) => void seen.push(event.call));
    const { events } = await collect(agent.run("go"));
    assert.deepEqual(
      hookFailures(events).map(({ hook: { event, index, reason } }) => [event, index, reason]),
      [["tool:start", 0, "error"]],
    );
    const original = call("1", "work", { path: "a", list: [3, 1] });
    assert.deepEqual(seen, [original, original]);
    assert.deepEqual(executedWith, original.input);
    const sent = model.requests[1].messages.flatMap(({ content }) => content).find(({ type }) => type === "tool_call");
    assert.deepEqual(sent.input, original.input);
  });
}

test("a handler that writes to the result of tool:end fails, and the model gets the result as it was", async (t) => {
  const model = scriptedModel([{ calls: [call()] }, { text: "done" }]);
  const agent = agentFor(t, { model, tools: [plainTool("work", () => [{ type: "text", text: "worked" }])] });
  agent.hook("tool:end", (event) => {
    event.result.isError = true;
  });
  agent.hook("tool:end", (event) => {
    event.result.content[0].text = "changed";
  });
  agent.hook("tool:end", (event) => {
    event.status = "failed";
  });
  const { events } = await collect(agent.run("go"));
  assert.equal(hookFailures(events).length, 3);
  const [result] = model.requests[1].messages.at(-1).content;
  assert.deepEqual(result.content, [{ type: "text", text: "worked" }]);
  assert.notEqual(result.isError, true);
});

test("a handler that writes to run:end's result does not change what send() resolves with", async (t) => {
  const agent = agentFor(t, { model: [{ text: "ok", usage: { inputTokens: 1, outputTokens: 2 } }] });
  agent.hook("run:end", (event) => {
    event.result.text = "changed";
  });
  agent.hook("run:end", (event) => {
    event.result.usage.inputTokens = 99;
  });
  agent.hook("run:end", (event) => {
    event.status = "failed";
  });
  const result = await agent.send("go");
  assert.equal(result.text, "ok");
  assert.equal(result.usage.inputTokens, 1);
  assert.equal(result.stopReason, "stop");
});

test("the host's own input is copied, not frozen, and later changes to it are not seen", async (t) => {
  const model = scriptedModel([{ text: "ok" }]);
  const agent = agentFor(t, { model });
  const input = [{ role: "user", content: [{ type: "text", text: "original" }] }];
  let seen;
  agent.hook("run:start", async (event) => {
    input[0].content[0].text = "changed";
    input.push({ role: "user", content: "more" });
    await pause(1);
    seen = event.input;
  });
  await agent.send(input);
  assert.deepEqual(seen, [{ role: "user", content: [{ type: "text", text: "original" }] }]);
  for (const value of [input, input[0], input[0].content, input[0].content[0]])
    assert.equal(Object.isFrozen(value), false);
  assert.equal(JSON.stringify(model.requests[0].messages).includes("original"), true);
  assert.equal(JSON.stringify(model.requests[0].messages).includes("changed"), false);
});

test("what a tool returned is copied, not frozen, and later changes to it are not seen", async (t) => {
  const content = [{ type: "text", text: "original" }];
  const model = scriptedModel([{ calls: [call()] }, { text: "done" }]);
  const agent = agentFor(t, { model, tools: [plainTool("work", () => content)] });
  let seen;
  agent.hook("tool:end", (event) => {
    content[0].text = "changed";
    content.push({ type: "text", text: "more" });
    seen = event.result.content;
  });
  await agent.send("go");
  assert.deepEqual(seen, [{ type: "text", text: "original" }]);
  assert.equal(Object.isFrozen(content), false);
  assert.deepEqual(model.requests[1].messages.at(-1).content[0].content, [{ type: "text", text: "original" }]);
});

test("events stay as they were after the run has gone on", async (t) => {
  const agent = agentFor(t, {
    model: [{ calls: [call("1", "work", { n: 1 })] }, { calls: [call("2", "work", { n: 2 })] }, { text: "done" }],
    tools: [plainTool("work", () => "ok")],
  });
  const kept = [];
  for (const name of ["run:start", "tool:start", "tool:end", "run:end"])
    agent.hook(name, (event) => void kept.push([event, JSON.stringify(event)]));
  await agent.send("go");
  assert.equal(kept.length, 6);
  for (const [event, then] of kept) assert.equal(JSON.stringify(event), then);
});

test("an event can be cloned, stringified and sent to another thread", async (t) => {
  const agent = agentFor(t, working([call("1", "work", { a: [1, { b: "c" }] })]));
  const seen = [];
  for (const name of ["run:start", "tool:start", "tool:end", "run:end"]) {
    agent.hook(name, (event) => {
      assert.deepEqual(structuredClone(event), event);
      assert.deepEqual(JSON.parse(JSON.stringify(event)), event);
      seen.push(name);
    });
  }
  const { events } = await collect(agent.run("go"));
  assert.deepEqual(
    hookFailures(events).map(({ message }) => message),
    [],
  );
  assert.equal(seen.length, 4);
});
