// What the model is asked: the fields of a request, the conversation in it, the tools. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { runInNewContext } from "node:vm";
import { agentFor, deferred, plainTool, scriptedModel, until } from "../support/model.mjs";
import { tool } from "../../index.js";
import { blocksOf, call, textOf } from "./reading.mjs";

test("the system prompt is in request.system, and messages are the conversation alone", async (t) => {
  const model = scriptedModel([{ text: "ok" }]);
  await agentFor(t, { model, system: "be brief" }).send("hi");
  const [request] = model.requests;
  assert.equal(request.system, "be brief");
  assert.deepEqual(
    request.messages.map((message) => message.role),
    ["user"],
  );
  assert.equal(textOf(request.messages[0]), "hi");
});

test("without a system prompt the request has none", async (t) => {
  const model = scriptedModel([{ text: "ok" }]);
  await agentFor(t, { model }).send("hi");
  assert.ok(model.requests[0].system === undefined || model.requests[0].system === "");
});

test("the request names the model: its id, or modelName", async (t) => {
  const model = scriptedModel([{ text: "ok" }], { id: "the-id" });
  await agentFor(t, { model }).send("hi");
  await agentFor(t, { model, modelName: "the-name" }).send("hi");
  assert.deepEqual(
    model.requests.map((request) => request.model),
    ["the-id", "the-name"],
  );
});

test("sampling options reach the request as they were given", async (t) => {
  const model = scriptedModel([{ text: "ok" }]);
  const options = {
    maxTokens: 77,
    temperature: 0.25,
    topP: 0.5,
    seed: 9,
    reasoningEffort: "low",
    toolChoice: { tool: "echo" },
  };
  await agentFor(t, { model, tools: [plainTool("echo", () => "x")], ...options }).send("hi");
  const [request] = model.requests;
  for (const [name, value] of Object.entries(options)) assert.deepEqual(request[name], value, name);
});

test("a temperature, seed and topP of 0 are sent, not dropped", async (t) => {
  const model = scriptedModel([{ text: "ok" }]);
  await agentFor(t, { model, temperature: 0, seed: 0, topP: 0 }).send("hi");
  const { temperature, seed, topP } = model.requests[0];
  assert.deepEqual({ temperature, seed, topP }, { temperature: 0, seed: 0, topP: 0 });
});

test("options that were not given are absent from the request", async (t) => {
  const model = scriptedModel([{ text: "ok" }]);
  await agentFor(t, { model }).send("hi");
  for (const name of ["maxTokens", "temperature", "topP", "seed", "reasoningEffort", "toolChoice", "stopSequences"]) {
    assert.equal(model.requests[0][name], undefined, name);
  }
});

test("tools are described by name, description and parameters", async (t) => {
  const model = scriptedModel([{ text: "ok" }]);
  const parameters = { type: "object", properties: { path: { type: "string" } }, required: ["path"] };
  const shown = { type: "object", properties: { shown: { type: "number" } } };
  await agentFor(t, {
    model,
    tools: [
      tool("read", "reads a file", parameters, () => "x"),
      tool("other", "another", { type: "object" }, () => "x", { jsonSchema: shown }),
    ],
  }).send("hi");
  assert.deepEqual(model.requests[0].tools.slice(0, 2), [
    { name: "read", description: "reads a file", parameters },
    { name: "other", description: "another", parameters: shown },
  ]);
});

test("an agent without tools offers none", async (t) => {
  const model = scriptedModel([{ text: "ok" }]);
  await agentFor(t, { model, allowedTools: [] }).send("hi");
  assert.deepEqual(model.requests[0].tools ?? [], []);
});

test("the results of a turn are one user message of tool_result blocks in call order, whatever finished first", async (t) => {
  const gates = { a: deferred(), b: deferred(), c: deferred() };
  const model = scriptedModel([{ calls: [call("a", "wait"), call("b", "wait"), call("c", "wait")] }, { text: "end" }]);
  const ended = [];
  const agent = agentFor(t, {
    model,
    tools: [
      plainTool("wait", async (_, { call: { id } }) => {
        await gates[id].promise;
        ended.push(id);
        return `r-${id}`;
      }),
    ],
  });
  const sent = agent.send("hi");
  for (const id of ["b", "c", "a"]) {
    gates[id].resolve();
    await until(() => ended.includes(id), `${id} ended`);
  }
  const result = await sent;
  assert.deepEqual(ended, ["b", "c", "a"]);
  const { messages } = model.requests[1];
  assert.deepEqual(
    messages.map((message) => message.role),
    ["user", "assistant", "user"],
  );
  assert.deepEqual(
    messages[2].content.map(({ type, id, content }) => ({ type, id, content })),
    [
      { type: "tool_result", id: "a", content: "r-a" },
      { type: "tool_result", id: "b", content: "r-b" },
      { type: "tool_result", id: "c", content: "r-c" },
    ],
  );
  assert.deepEqual(result.messages[2], messages[2]);
});

test("a failed result is marked as one in the request", async (t) => {
  const model = scriptedModel([{ calls: [call("a", "bad"), call("b", "good")] }, { text: "end" }]);
  await agentFor(t, {
    model,
    tools: [
      plainTool("bad", () => {
        throw new Error("no");
      }),
      plainTool("good", () => "yes"),
    ],
  }).send("hi");
  const [bad, good] = blocksOf(model.requests[1].messages, "tool_result");
  assert.equal(bad.isError, true);
  assert.notEqual(good.isError, true);
});

test("the conversation grows from send to send", async (t) => {
  const model = scriptedModel([{ text: "one" }, { text: "two" }]);
  const agent = agentFor(t, { model });
  await agent.send("first");
  await agent.send("second");
  assert.deepEqual(
    model.requests[1].messages.map((message) => [message.role, textOf(message)]),
    [
      ["user", "first"],
      ["assistant", "one"],
      ["user", "second"],
    ],
  );
});

test("input may be messages, which join the conversation in order", async (t) => {
  const model = scriptedModel([{ text: "ok" }]);
  const agent = agentFor(t, { model });
  const image = { type: "image", mediaType: "image/png", data: "AAAA" };
  await agent.send([
    { role: "user", content: "q" },
    { role: "assistant", content: [{ type: "text", text: "a" }] },
    { role: "user", content: [{ type: "text", text: "look" }, image] },
  ]);
  const { messages } = model.requests[0];
  assert.deepEqual(
    messages.map((message) => [message.role, textOf(message)]),
    [
      ["user", "q"],
      ["assistant", "a"],
      ["user", "look"],
    ],
  );
  assert.deepEqual(messages[2].content[1], image);
});

test("what the caller does to its input after send() is not seen", async (t) => {
  const model = scriptedModel([{ text: "ok" }]);
  const agent = agentFor(t, { model });
  const input = [{ role: "user", content: [{ type: "text", text: "original" }] }];
  const sent = agent.send(input);
  input[0].content[0].text = "changed";
  input.push({ role: "user", content: "more" });
  await sent;
  assert.deepEqual(model.requests[0].messages.map(textOf), ["original"]);
});

test("what a provider does to its request's messages is not seen by the conversation", async (t) => {
  const seen = [];
  const model = scriptedModel([{ text: "one" }, { text: "two" }], {
    onRequest(request) {
      seen.push(request.messages.map(textOf));
      request.messages.length = 0;
      request.messages.push({ role: "user", content: "forged" });
    },
  });
  const agent = agentFor(t, { model });
  await agent.send("first");
  const result = await agent.send("second");
  assert.deepEqual(seen, [["first"], ["first", "one", "second"]]);
  assert.deepEqual(result.messages.map(textOf), ["first", "one", "second", "two"]);
});

test("what a caller does to a result is not seen by the conversation", async (t) => {
  const model = scriptedModel([{ text: "one" }, { text: "two" }]);
  const agent = agentFor(t, { model });
  const result = await agent.send("first");
  for (const attempt of [
    () => {
      result.messages.length = 0;
    },
    () => {
      result.messages[0].content = "forged";
    },
  ]) {
    try {
      attempt();
    } catch {
      /* frozen is as good as copied */
    }
  }
  await agent.send("second");
  assert.deepEqual(model.requests[1].messages.map(textOf), ["first", "one", "second"]);
});

test("what a provider does to a message after yielding it is not seen", async (t) => {
  const given = { role: "assistant", content: [{ type: "text", text: "true" }] };
  let requests = 0;
  let second;
  const model = {
    id: "m",
    async *stream(request) {
      requests += 1;
      if (requests === 2) second = request;
      yield { type: "message_done", message: given, usage: { inputTokens: 1, outputTokens: 1 } };
    },
  };
  const agent = agentFor(t, { model });
  await agent.send("first");
  given.content[0].text = "forged";
  await agent.send("second");
  assert.equal(textOf(second.messages[1]), "true");
});

test("native blocks and unknown fields of a provider come back to it as they were", async (t) => {
  const native = { type: "native", provider: "acme", data: { nested: [1, null, { é: "\u2028" }], big: 1e21 } };
  const model = scriptedModel([{ content: [native, { type: "text", text: "x" }] }, { text: "end" }]);
  const agent = agentFor(t, { model });
  await agent.send("one");
  await agent.send("two");
  assert.deepEqual(model.requests[1].messages[1].content[0], native);
});

test("text of every kind survives to the next request: emoji, lone surrogates, NUL, line separators", async (t) => {
  const odd = '\u{1F600} \ud800 \u0000 \u2028 \u00e9 \ufeff "\\';
  const model = scriptedModel([{ text: odd, calls: [call("a", "echo", { odd })] }, { text: "end" }]);
  const agent = agentFor(t, { model, tools: [plainTool("echo", (input) => input.odd)] });
  const result = await agent.send(odd);
  const { messages } = model.requests[1];
  assert.equal(textOf(messages[0]), odd);
  assert.equal(textOf(messages[1]), odd);
  assert.equal(messages[2].content[0].content, odd);
  assert.equal(blocksOf(result.messages, "tool_call")[0].input.odd, odd);
});

test("a provider may give the calls of different turns the same id", async (t) => {
  const model = scriptedModel([
    { calls: [call("call_0", "echo", { n: 1 })] },
    { calls: [call("call_0", "echo", { n: 2 })] },
    { text: "end" },
  ]);
  const { messages } = await agentFor(t, { model, tools: [plainTool("echo", ({ n }) => `ran ${n}`)] }).send("hi");
  assert.deepEqual(
    blocksOf(messages, "tool_result").map((block) => block.content),
    ["ran 1", "ran 2"],
  );
});

test("objects of another realm are messages, options and inputs like any other", async (t) => {
  const foreign = (source) => runInNewContext(`(${source})`);
  const model = scriptedModel([
    { calls: [call("a", "echo", foreign("{ list: [1, { deep: true }] }"))] },
    { text: "end" },
  ]);
  const seen = [];
  const agent = agentFor(t, {
    model,
    tools: [
      plainTool("echo", (input) => {
        seen.push(JSON.stringify(input));
        return "x";
      }),
    ],
  });
  await agent.send(foreign('[{ role: "user", content: [{ type: "text", text: "hi" }] }]'), foreign("{ maxTurns: 2 }"));
  assert.deepEqual(seen, ['{"list":[1,{"deep":true}]}']);
  assert.equal(textOf(model.requests[0].messages[0]), "hi");
});

test("stream() is called as a method of its provider, with a signal", async (t) => {
  class Provider {
    id = "class";
    #answer = "private";
    async *stream(_, signal) {
      assert.ok(signal instanceof AbortSignal);
      yield {
        type: "message_done",
        message: { role: "assistant", content: [{ type: "text", text: this.#answer }] },
        usage: { inputTokens: 1, outputTokens: 1 },
      };
    }
  }
  assert.equal((await agentFor(t, { model: new Provider() }).send("hi")).text, "private");
});
