// createLiteAgent: options that are wrong, by name, at once; and the error classes. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { writeFileSync, mkdirSync, symlinkSync } from "node:fs";
import { relative, join } from "node:path";
import * as lite from "../../index.js";
import { agentFor, plainTool, scriptedModel, temporaryFolder } from "../support/model.mjs";

const { AgentError, ConfigError, ClosedError, createLiteAgent } = lite;
const mistake = (error) => error instanceof ConfigError || error instanceof TypeError;
const naming =
  (...parts) =>
  (error) => {
    assert.ok(mistake(error), `a ConfigError or TypeError, not ${error?.stack}`);
    for (const part of parts) assert.ok(error.message.includes(part), `${part} in: ${error.message}`);
    return true;
  };

test("an unknown option is a ConfigError that names it and the near miss", async (t) => {
  for (const [wrong, right] of [
    ["maxTurn", "maxTurns"],
    ["sytem", "system"],
    ["tool", "tools"],
    ["workDir", "workdir"],
    ["max_turns", "maxTurns"],
    ["modelname", "modelName"],
  ]) {
    assert.throws(
      () => agentFor(t, { [wrong]: undefined ?? 5 }),
      (error) => error instanceof ConfigError && naming(wrong, right)(error),
    );
  }
});

test("an unknown option that resembles none is a ConfigError that names it", (t) => {
  assert.throws(
    () => agentFor(t, { zzzzqqqq: 1 }),
    (error) => error instanceof ConfigError && naming("zzzzqqqq")(error) && !/did you mean/i.test(error.message),
  );
});

test("a config that is no object is refused", () => {
  for (const value of [undefined, null, 5, "x", []]) assert.throws(() => createLiteAgent(value), mistake);
});

test("a missing workdir is a config mistake that names it", () => {
  assert.throws(() => createLiteAgent({ model: scriptedModel([{ text: "ok" }]) }), naming("workdir"));
  for (const workdir of [5, null, "", {}])
    assert.throws(() => createLiteAgent({ model: scriptedModel([{ text: "ok" }]), workdir }), naming("workdir"));
});

test("a workdir that is not there, or is no directory, is a ConfigError that names it and the path", async (t) => {
  const { root, home } = await temporaryFolder(t);
  const file = join(root, "file");
  writeFileSync(file, "x");
  const dangling = join(root, "dangling");
  symlinkSync(join(root, "nowhere"), dangling);
  for (const workdir of [join(root, "absent"), file, dangling]) {
    assert.throws(
      () => createLiteAgent({ model: scriptedModel([{ text: "ok" }]), workdir, home }),
      (error) => error instanceof ConfigError && naming("workdir", workdir)(error),
    );
  }
});

test("a relative workdir resolves against process.cwd(), and a link to a folder is one", async (t) => {
  const { root, workdir, home } = await temporaryFolder(t);
  symlinkSync(workdir, join(root, "link"));
  for (const given of [relative(process.cwd(), workdir), join(root, "link")]) {
    const agent = createLiteAgent({ model: scriptedModel([{ text: "ok" }]), workdir: given, home });
    assert.equal((await agent.send("hi")).text, "ok");
    await agent.close();
  }
});

test("exactly one of model and models is needed", async (t) => {
  const { workdir, home } = await temporaryFolder(t);
  assert.throws(() => createLiteAgent({ workdir, home }), naming("model"));
  const provider = scriptedModel([{ text: "ok" }]);
  const profile = { provider, modelName: "m" };
  assert.throws(
    () =>
      createLiteAgent({
        workdir,
        home,
        model: provider,
        models: { simple: profile, medium: profile, complex: profile },
      }),
    naming("models"),
  );
});

test("a model that is no provider is a config mistake that names it", async (t) => {
  const { workdir, home } = await temporaryFolder(t);
  for (const model of [
    5,
    null,
    {},
    { id: "x" },
    { id: "x", stream: "y" },
    { id: 5, stream() {} },
    { stream() {} },
    () => {},
  ]) {
    assert.throws(() => createLiteAgent({ workdir, home, model }), naming("model"), JSON.stringify(model));
  }
});

for (const [name, values] of Object.entries({
  maxTurns: [0, -1, 1.5, NaN, Infinity, "5", null, 5n],
  maxParallelTools: [0, -1, 1.5, NaN, "5", null],
  maxTokens: [0, -1, 1.5, NaN, "5"],
  temperature: ["1", NaN, null],
  topP: ["1", NaN],
  seed: ["1", 1.5, NaN],
  reasoningEffort: ["huge", 5],
  system: [5, {}, null],
  modelName: [5, {}, ""],
  home: [5, {}],
  allowedTools: ["x", [5], {}],
  disallowedTools: ["x", [5], {}],
  hookFiles: ["yes", 1],
})) {
  test(`a bad ${name} is refused at creation, by name`, (t) => {
    for (const value of values) {
      assert.throws(
        () => agentFor(t, { [name]: value, tools: [plainTool("x", () => "x")] }),
        naming(name),
        `${name}: ${String(value)}`,
      );
    }
  });
}

test("every optional option also takes undefined", async (t) => {
  const names = [
    "modelName",
    "models",
    "defaultModel",
    "system",
    "tools",
    "allowedTools",
    "disallowedTools",
    "codec",
    "maxDecodeRetries",
    "maxTurns",
    "maxTokens",
    "temperature",
    "topP",
    "toolChoice",
    "seed",
    "reasoningEffort",
    "outputSchema",
    "maxParallelTools",
    "maxParallelSubagents",
    "use",
    "hookFiles",
    "permission",
    "subagentPermission",
    "permissionMode",
    "permissionAudit",
    "redact",
    "onApproval",
    "onAskUser",
    "sandbox",
    "bash",
    "fileTools",
    "sessions",
    "checkpointer",
    "crashRecovery",
    "maxSnapshotBytesPerSession",
    "cleanup",
    "context",
    "compactor",
    "tasks",
    "taskListId",
    "skillsDir",
    "agents",
    "agentsDir",
    "background",
    "backgroundLimits",
    "mcpServers",
    "strictMcpConfig",
  ];
  const agent = agentFor(t, Object.fromEntries(names.map((name) => [name, undefined])));
  assert.equal(
    (
      await agent.send("hi", {
        signal: undefined,
        sessionId: undefined,
        steer: undefined,
        maxTurns: undefined,
        maxTotalTokens: undefined,
      })
    ).text,
    "ok",
  );
});

test("the config is read at creation: what the caller changes later is not seen", async (t) => {
  const model = scriptedModel([{ text: "ok" }]);
  const { workdir, home } = await temporaryFolder(t);
  const config = { model, workdir, home, system: "first" };
  const agent = createLiteAgent(config);
  config.system = "second";
  await agent.send("hi");
  await agent.close();
  assert.equal(model.requests[0].system, "first");
});

test("an unknown run option is refused with its near miss, and nothing runs", async (t) => {
  const model = scriptedModel([{ text: "ok" }]);
  const agent = agentFor(t, { model });
  for (const attempt of [() => agent.send("hi", { maxTurn: 3 }), () => agent.run("hi", { maxTurn: 3 }).next()]) {
    await assert.rejects(async () => attempt(), naming("maxTurn", "maxTurns"));
  }
  assert.equal(model.requests.length, 0);
});

test("an input that is neither text nor messages is refused, and nothing runs", async (t) => {
  const model = scriptedModel([{ text: "ok" }]);
  const agent = agentFor(t, { model });
  for (const input of [
    undefined,
    null,
    5,
    {},
    [null],
    ["text"],
    [{ role: "nobody", content: "x" }],
    [{ role: "user" }],
    [{ role: "user", content: 5 }],
    [{ role: "user", content: [{ type: "text" }] }],
  ]) {
    await assert.rejects(async () => agent.send(input), mistake, JSON.stringify(input));
    await assert.rejects(async () => agent.run(input).next(), mistake, JSON.stringify(input));
  }
  assert.equal(model.requests.length, 0);
  assert.equal((await agent.send("hi")).text, "ok");
});

test("an empty input is refused or made well formed, and never reaches the model as an empty block", async (t) => {
  for (const input of ["", [], [{ role: "user", content: "" }], [{ role: "user", content: [] }]]) {
    const agent = agentFor(t);
    try {
      await agent.send(input);
    } catch (error) {
      assert.ok(mistake(error) || (error instanceof AgentError && !(error instanceof lite.ProviderError)), error.stack);
    }
    assert.equal((await agent.send("hi")).text, "ok");
  }
});

for (const [name, input] of Object.entries({
  "begins with the assistant": [
    { role: "assistant", content: [{ type: "text", text: "a" }] },
    { role: "user", content: "q" },
  ],
  "ends with the assistant": [
    { role: "user", content: "q" },
    { role: "assistant", content: [{ type: "text", text: "a" }] },
  ],
  "ends with a call that has no result": [
    { role: "user", content: "q" },
    { role: "assistant", content: [{ type: "tool_call", id: "dangling", name: "x", input: {} }] },
  ],
  "has a call without a result inside": [
    { role: "user", content: "q" },
    { role: "assistant", content: [{ type: "tool_call", id: "dangling", name: "x", input: {} }] },
    { role: "user", content: "more" },
  ],
  "has a result without a call": [{ role: "user", content: [{ type: "tool_result", id: "ghost", content: "x" }] }],
  "has two results for one call": [
    { role: "user", content: "q" },
    { role: "assistant", content: [{ type: "tool_call", id: "c", name: "x", input: {} }] },
    {
      role: "user",
      content: [
        { type: "tool_result", id: "c", content: "x" },
        { type: "tool_result", id: "c", content: "y" },
      ],
    },
  ],
  "has a user message with a tool call": [
    { role: "user", content: [{ type: "tool_call", id: "c", name: "x", input: {} }] },
  ],
  "has two user messages in a row": [
    { role: "user", content: "a" },
    { role: "user", content: "b" },
  ],
})) {
  test(`an input that ${name} is refused or made well formed, never sent as it is, and the session stays usable`, async (t) => {
    const model = scriptedModel([{ text: "ok" }]);
    const agent = agentFor(t, { model });
    // The scripted model checks each request; one that was refused beforehand is never asked.
    const error = await agent.send(input).then(
      () => undefined,
      (reason) => reason,
    );
    if (error) {
      assert.ok(mistake(error), error.stack);
      assert.equal(model.requests.length, 0);
    }
    assert.equal((await agent.send("hi")).text, "ok");
  });
}

test("an input that begins with the assistant follows a user message that had no answer, or is refused", async (t) => {
  const model = scriptedModel([{ error: new Error("down") }, { text: "ok" }]);
  const agent = agentFor(t, { model });
  await assert.rejects(agent.send("unanswered"), /down/);
  const input = [
    { role: "assistant", content: [{ type: "text", text: "a" }] },
    { role: "user", content: "q" },
  ];
  for (let round = 0; round < 2; round += 1) {
    const error = await agent.send(input).then(
      () => undefined,
      (reason) => reason,
    );
    if (error) assert.ok(mistake(error), error.stack);
  }
  assert.equal((await agent.send("hi")).text, "ok");
});

test("a session id of other characters, or of another length, is refused and never rewritten", async (t) => {
  const model = scriptedModel([{ text: "ok" }]);
  const agent = agentFor(t, { model });
  await agent.send("first", { sessionId: "a_b" });
  for (const sessionId of ["a/b", "", "a b", "..", "é", "x".repeat(129), 5, null, "a\n"]) {
    await assert.rejects(
      async () => agent.send("hi", { sessionId }),
      (error) => mistake(error) && /sessionId|session id|session/.test(error.message),
      JSON.stringify(sessionId),
    );
    await assert.rejects(async () => agent.awaitIdle(sessionId), mistake, JSON.stringify(sessionId));
    assert.throws(() => agent.resume(sessionId), mistake, JSON.stringify(sessionId));
  }
  assert.equal(model.requests.length, 1);
  for (const sessionId of ["A-z_09", "x".repeat(128), "__proto__", "constructor"]) {
    assert.equal((await agent.send("hi", { sessionId })).messages.length, 2);
  }
});

test("two agents, and two sessions, have ids of their own", (t) => {
  const [a, b] = [agentFor(t), agentFor(t)];
  assert.match(a.sessionId, /^[A-Za-z0-9_-]{1,128}$/);
  assert.notEqual(a.sessionId, b.sessionId);
});

test("sessionId cannot be written", (t) => {
  const agent = agentFor(t);
  const before = agent.sessionId;
  try {
    agent.sessionId = "forged";
  } catch {
    /* throwing is right too */
  }
  assert.equal(agent.sessionId, before);
});

test("every error class is an AgentError with its own name and a code", () => {
  for (const name of [
    "ProviderError",
    "ToolError",
    "CodecError",
    "AbortError",
    "ReentrancyError",
    "ClosedError",
    "ConfigError",
    "SandboxError",
  ]) {
    const error = new lite[name]("what happened", { cause: "why" });
    assert.ok(error instanceof AgentError && error instanceof Error);
    assert.equal(error.name, name);
    assert.equal(error.message, "what happened");
    assert.equal(error.cause, "why");
    assert.equal(typeof error.code, "string");
    assert.ok(error.code.length > 0);
    assert.match(error.stack, new RegExp(`^${name}: what happened`));
  }
  assert.equal(new AgentError("x", { code: "mine" }).code, "mine");
  const conflict = new lite.CheckpointConflictError("s", 1, 2);
  assert.deepEqual([conflict.sessionId, conflict.expected, conflict.actual], ["s", 1, 2]);
  assert.ok(conflict instanceof AgentError);
  assert.ok(new ClosedError("x").code !== new ConfigError("x").code);
});

test("a folder called hooks.json makes no agent without a word", async (t) => {
  const { workdir, home } = await temporaryFolder(t);
  mkdirSync(join(home, "hooks.json"));
  assert.throws(
    () => createLiteAgent({ model: scriptedModel([{ text: "ok" }]), workdir, home }),
    (error) => error instanceof ConfigError && /hooks\.json/.test(error.message),
  );
});
