// SteerController: input for a run that is already going. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { SteerController } from "../../index.js";
import { agentFor, collect, plainTool, recordHooks, scriptedModel } from "../support/model.mjs";
import { assertConversation, assertOrder, call, eventsOf, textOf, typesOf } from "./reading.mjs";

test("a steered message is taken at the start of the next turn, and the model sees it after the results", async (t) => {
  const steer = new SteerController();
  const model = scriptedModel([{ calls: [call("a", "nudge")] }, { text: "end" }]);
  const agent = agentFor(t, {
    model,
    tools: [
      plainTool("nudge", () => {
        steer.steer("look left");
        return "result";
      }),
    ],
  });
  const { events, result } = await collect(agent.run("hi", { steer }));
  const turn = events.slice(events.findIndex((event) => event.type === "turn_start" && event.turn === 2));
  assert.deepEqual(typesOf(turn).slice(0, 3), ["turn_start", "steer", "model_call_start"]);
  assert.deepEqual(
    turn[1].messages.map((message) => [message.role, textOf(message)]),
    [["user", "look left"]],
  );
  const sent = JSON.stringify(model.requests[1].messages);
  assert.ok(sent.indexOf("result") < sent.indexOf("look left"), sent);
  assert.match(JSON.stringify(result.messages), /look left/);
  assertConversation(result.messages);
});

test("a message steered before the run begins is taken in its first turn", async (t) => {
  const steer = new SteerController();
  steer.steer("early");
  const model = scriptedModel([{ text: "end" }]);
  const { events } = await collect(agentFor(t, { model }).run("hi", { steer }));
  assertOrder(events, ["turn_start", "steer", "model_call_start"]);
  const sent = JSON.stringify(model.requests[0].messages);
  assert.ok(sent.indexOf("hi") < sent.indexOf("early"));
});

test("several steered messages are taken together, in order", async (t) => {
  const steer = new SteerController();
  steer.steer("one");
  steer.steer({ role: "user", content: [{ type: "text", text: "two" }] });
  steer.steer("three");
  const { events } = await collect(agentFor(t).run("hi", { steer }));
  assert.deepEqual(
    eventsOf(events, "steer").flatMap((event) => event.messages.map(textOf)),
    ["one", "two", "three"],
  );
});

test("a run without steered messages has no steer event", async (t) => {
  const { events } = await collect(agentFor(t).run("hi", { steer: new SteerController() }));
  assert.equal(eventsOf(events, "steer").length, 0);
});

test("a follow-up continues the run that would have stopped", async (t) => {
  const steer = new SteerController();
  steer.followUp("and then?");
  const model = scriptedModel([{ text: "first" }, { text: "second" }]);
  const agent = agentFor(t, { model });
  const fired = recordHooks(agent, ["run:start", "run:end"]);
  const { events, result } = await collect(agent.run("hi", { steer }));
  assert.equal(result.text, "second");
  assert.deepEqual(result.messages.map(textOf), ["hi", "first", "and then?", "second"]);
  assert.equal(eventsOf(events, "done").length, 1);
  assert.deepEqual(
    eventsOf(events, "turn_start").map((event) => event.turn),
    [1, 2],
  );
  assert.deepEqual(
    fired.map((event) => event.event),
    ["run:start", "run:end"],
  );
});

test("a follow-up waits until the calls are done", async (t) => {
  const steer = new SteerController();
  steer.followUp("later");
  const model = scriptedModel([{ calls: [call("a", "echo")] }, { text: "first" }, { text: "second" }]);
  await agentFor(t, { model, tools: [plainTool("echo", () => "x")] }).send("hi", { steer });
  assert.doesNotMatch(JSON.stringify(model.requests[1].messages), /later/);
  assert.equal(textOf(model.requests[2].messages.at(-1)), "later");
});

test("follow-ups reach the conversation in the order in which they were given", async (t) => {
  const steer = new SteerController();
  steer.followUp("one");
  steer.followUp("two");
  steer.followUp("three");
  const result = await agentFor(t).send("hi", { steer });
  const text = JSON.stringify(result.messages);
  assert.ok(text.indexOf("one") < text.indexOf("two") && text.indexOf("two") < text.indexOf("three"), text);
  assertConversation(result.messages);
});

test("a follow-up given during the last model call is taken", async (t) => {
  const steer = new SteerController();
  const model = scriptedModel([
    () => {
      steer.followUp("more");
      return { text: "first" };
    },
    { text: "second" },
  ]);
  assert.equal((await agentFor(t, { model }).send("hi", { steer })).text, "second");
});

test("follow-ups count against maxTurns", async (t) => {
  const steer = new SteerController();
  const model = scriptedModel([
    () => {
      steer.followUp("more");
      return { text: "again" };
    },
  ]);
  const result = await agentFor(t, { model, maxTurns: 3 }).send("hi", { steer });
  assert.equal(result.stopReason, "max_turns");
  assert.equal(model.requests.length, 3);
  assertConversation(result.messages);
});

test("a controller steers only the runs that were given it", async (t) => {
  const steer = new SteerController();
  steer.steer("for another");
  const model = scriptedModel([{ text: "ok" }]);
  const agent = agentFor(t, { model });
  await agent.send("hi");
  assert.doesNotMatch(JSON.stringify(model.requests[0].messages), /another/);
  await agent.send("now", { steer });
  assert.match(JSON.stringify(model.requests[1].messages), /another/);
});

test("what was steered is taken once", async (t) => {
  const steer = new SteerController();
  steer.steer("once");
  const model = scriptedModel([{ calls: [call("a", "echo")] }, { text: "end" }]);
  const agent = agentFor(t, { model, tools: [plainTool("echo", () => "x")] });
  const { messages } = await agent.send("hi", { steer });
  assert.equal(JSON.stringify(messages).split("once").length - 1, 1);
  const again = await agent.send("hi", { steer });
  assert.equal(JSON.stringify(again.messages).split("once").length - 1, 1);
});

test("what a caller does to a steered message afterwards is not seen", async (t) => {
  const steer = new SteerController();
  const given = { role: "user", content: [{ type: "text", text: "true" }] };
  steer.steer(given);
  const result = await agentFor(t).send("hi", { steer });
  try {
    given.content[0].text = "forged";
  } catch {
    /* frozen is as good as copied */
  }
  assert.match(JSON.stringify(result.messages), /true/);
});

test("steer() and followUp() refuse what is neither text nor a message", () => {
  const steer = new SteerController();
  for (const value of [undefined, null, 5, {}, [], { role: "user" }, { role: "nobody", content: "x" }]) {
    assert.throws(() => steer.steer(value), TypeError, `steer ${JSON.stringify(value)}`);
    assert.throws(() => steer.followUp(value), TypeError, `followUp ${JSON.stringify(value)}`);
  }
});

test("a steer option that is no SteerController is refused by name", async (t) => {
  await assert.rejects(
    async () => agentFor(t).send("hi", { steer: {} }),
    (error) => /steer/i.test(error.message),
  );
});
