// What is not there yet says so: a ConfigError with "not available yet", never something half done.
// A value that turns a feature off is accepted. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as lite from "../../index.js";
import { agentFor, scriptedModel, temporaryFolder } from "../support/model.mjs";
import { rejectionOf } from "../runs/reading.mjs";

const { ConfigError, createLiteAgent } = lite;
const unavailable = (part) => (error) => {
  assert.ok(error instanceof ConfigError, `a ConfigError, not ${error?.stack}`);
  assert.match(error.message, /not available yet/);
  if (part) assert.ok(error.message.includes(part), `${part} in: ${error.message}`);
  return true;
};

const provider = scriptedModel([{ text: "ok" }]);
const OPTIONS = {
  codec: { encode: (request) => request, decode: () => ({ text: "", calls: [] }) },
  mcpServers: { one: { command: "true" } },
};
for (const [name, value] of Object.entries(OPTIONS)) {
  test(`the option ${name} is not available yet, and says so by name`, async (t) => {
    const { workdir, home } = await temporaryFolder(t);
    const config = { workdir, home, [name]: value, model: provider };
    assert.throws(() => createLiteAgent(config), unavailable(name));
  });
}

test("a string model is not available yet", async (t) => {
  const { workdir, home } = await temporaryFolder(t);
  for (const model of ["anthropic:claude-sonnet-4-6", "openai:gpt-5", "ollama:qwen3:8b"]) {
    assert.throws(() => createLiteAgent({ workdir, home, model }), unavailable("model"));
  }
});

test("a value that turns a feature off is accepted", async (t) => {
  const agent = agentFor(t, {
    sessions: false,
    tasks: false,
    agents: false,
    background: false,
    context: false,
    compactor: false,
    cleanup: false,
    permissionAudit: false,
    hookFiles: false,
    crashRecovery: "off",
    permissionMode: "enforce",
  });
  assert.equal((await agent.send("hi")).text, "ok");
});

const METHODS = {
  "mcp.register": (agent) => agent.mcp.register("one", { command: "true" }),
  "mcp.unregister": (agent) => agent.mcp.unregister("one"),
};
for (const [name, attempt] of Object.entries(METHODS)) {
  test(`${name}() is not available yet, and the agent goes on`, async (t) => {
    const agent = agentFor(t);
    const { error } = await rejectionOf((async () => attempt(agent))());
    unavailable()(error);
    assert.equal((await agent.send("hi")).text, "ok");
  });
}

test("what returns a promise rejects, it does not throw", async (t) => {
  const agent = agentFor(t);
  for (const attempt of [() => agent.mcp.register("one", { command: "true" }), () => agent.mcp.unregister("one")]) {
    let promise;
    assert.doesNotThrow(() => {
      promise = attempt();
    });
    assert.ok(promise instanceof Promise);
    await assert.rejects(promise, ConfigError);
  }
});

test("mcp.list() fails in the same way, or lists no server", (t) => {
  const agent = agentFor(t);
  let listed;
  try {
    listed = agent.mcp.list();
  } catch (error) {
    unavailable()(error);
    return;
  }
  assert.deepEqual(listed, []);
});

const FUNCTIONS = {
  anthropic: [],
  openai: [],
  aiSdk: [{}],
  localOpenAI: [{ runtime: "ollama", contextWindow: 1 }],
  nativeCodec: [],
  jsonCodec: [],
  reactCodec: [],
  sandboxRuntime: [],
  noopSandbox: [],
};
for (const [name, given] of Object.entries(FUNCTIONS)) {
  test(`${name}() is not available yet, and says so by name`, () => {
    assert.equal(typeof lite[name], "function");
    assert.throws(() => lite[name](...given), unavailable(name));
  });
}

for (const [name, given] of Object.entries({
  providerConformance: [() => provider],
})) {
  test(`${name}() rejects: it is not available yet`, async () => {
    await assert.rejects(async () => lite[name](...given), unavailable(name));
  });
}

test("LITE_AGENT_HOME is the home where none is given", async (t) => {
  const { workdir, home } = await temporaryFolder(t);
  writeFileSync(join(home, "hooks.json"), "{}");
  const before = process.env.LITE_AGENT_HOME;
  process.env.LITE_AGENT_HOME = home;
  try {
    assert.throws(() => createLiteAgent({ workdir, model: provider }), ConfigError);
  } finally {
    if (before === undefined) delete process.env.LITE_AGENT_HOME;
    else process.env.LITE_AGENT_HOME = before;
  }
});
