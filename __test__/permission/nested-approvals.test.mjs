// An approval that is wanted by a run which an approval handler started and waits for: approvals are one at a time, so
// it could never be asked. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { agentFor, deferred, plainTool, until, within } from "../support/model.mjs";

/** Calls `work` once in each session, then says "done". */
const callingOnce = (name = "work") => ({
  id: "calling-once",
  async *stream({ messages }) {
    const called = messages.length > 1;
    const content = called
      ? [{ type: "text", text: "done" }]
      : [{ type: "tool_call", id: `call-${messages[0].content}`, name, input: {} }];
    yield { type: "message_done", usage: { inputTokens: 1, outputTokens: 1 }, message: { role: "assistant", content } };
  },
});
const asking = { check: () => "ask" };
const resultOf = ({ messages }) => messages[2].content[0];
const NESTED = "it was asked for inside another approval";

function heard(agent) {
  const events = [];
  agent.subscribe(({ sessionId, event }) => {
    if (/^(approval|permission)_/.test(event.type)) events.push([sessionId, event]);
  });
  return events;
}

test("a run that an approval handler waits for is denied what it asks for, at once and with the reason", async (t) => {
  let inner;
  const agent = agentFor(t, {
    model: callingOnce(),
    tools: [plainTool("work", () => "worked")],
    permission: asking,
    onApproval: {
      async request() {
        assert.equal(inner, undefined, "the handler was asked inside itself");
        inner = await agent.send("inner", { sessionId: "other" });
        return "allow";
      },
    },
  });
  const events = heard(agent);
  const outer = await within(agent.send("outer"), "the outer run");
  assert.equal(resultOf(outer).content, "worked");
  assert.deepEqual(resultOf(inner), {
    type: "tool_result",
    id: "call-inner",
    content: `Error: blocked by policy: ${NESTED}`,
    isError: true,
  });
  assert.deepEqual(
    events
      .filter(([sessionId]) => sessionId === "other")
      .map(([, { type, decision, by, reason }]) => [type, decision, by, reason]),
    [
      ["approval_request", undefined, undefined, NESTED],
      ["approval_resolved", "deny", "auto", undefined],
      ["permission_decision", "deny", "auto", NESTED],
    ],
  );
});

test("so is a run that a tool of such a run starts, and one that goes through another agent", async (t) => {
  let reached;
  const relay = agentFor(t, {
    model: callingOnce("relay"),
    tools: [
      plainTool("relay", async () => {
        reached = await agent.send("third", { sessionId: "third" });
        return "relayed";
      }),
    ],
    permission: { check: () => "allow" },
  });
  const agent = agentFor(t, {
    model: callingOnce(),
    tools: [plainTool("work", () => "worked")],
    permission: asking,
    onApproval: {
      async request() {
        assert.equal(resultOf(await relay.send("second")).content, "relayed");
        return "allow";
      },
    },
  });
  const outer = await within(agent.send("outer"), "the outer run");
  assert.equal(resultOf(outer).content, "worked");
  assert.match(resultOf(reached).content, new RegExp(NESTED));
});

test("a run that an approval handler starts and does not wait for is asked for once the handler has answered", async (t) => {
  let later;
  const asked = [];
  const gate = deferred();
  const agent = agentFor(t, {
    model: {
      id: "gated",
      async *stream(request, signal) {
        if (request.messages[0].content === "later") await gate.promise;
        yield* callingOnce().stream(request, signal);
      },
    },
    tools: [plainTool("work", () => "worked")],
    permission: asking,
    onApproval: {
      request({ id }) {
        asked.push(id);
        later ??= agent.send("later", { sessionId: "other" });
        return "allow";
      },
    },
  });
  assert.equal(resultOf(await within(agent.send("outer"), "the outer run")).content, "worked");
  gate.resolve();
  assert.equal(resultOf(await within(later, "the later run")).content, "worked");
  assert.deepEqual(asked, ["call-outer", "call-later"]);
});

test("runs that began outside wait for their turn, however long the approval before them takes", async (t) => {
  const gate = deferred();
  const asked = [];
  const agent = agentFor(t, {
    model: callingOnce(),
    tools: [plainTool("work", () => "worked")],
    permission: asking,
    onApproval: {
      async request({ id }) {
        asked.push(id);
        if (asked.length === 1) await gate.promise;
        return "allow";
      },
    },
  });
  const first = agent.send("first", { sessionId: "one" });
  await until(() => asked.length === 1, "the first approval");
  const second = agent.send("second", { sessionId: "two" });
  gate.resolve();
  assert.equal(resultOf(await within(first, "the first run")).content, "worked");
  assert.equal(resultOf(await within(second, "the second run")).content, "worked");
  assert.deepEqual(asked, ["call-first", "call-second"]);
});

test("a run of another agent is asked for inside an approval handler", async (t) => {
  const second = agentFor(t, {
    model: callingOnce(),
    tools: [plainTool("work", () => "worked")],
    permission: asking,
    onApproval: { request: () => "allow" },
  });
  const first = agentFor(t, {
    model: callingOnce(),
    tools: [plainTool("work", () => "worked")],
    permission: asking,
    onApproval: {
      async request() {
        return resultOf(await second.send("inner")).content === "worked" ? "allow" : "deny";
      },
    },
  });
  assert.equal(resultOf(await within(first.send("outer"), "the run")).content, "worked");
});
