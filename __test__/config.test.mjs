// Options of createLiteAgent, query and runs: what is accepted, what is refused and in which words, and what applies when
// nothing is said.

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { after, test } from "node:test";
import vm from "node:vm";

import { ConfigError, createLiteAgent, fakeProvider, query, SteerController } from "lite-agent";

const base = realpathSync(mkdtempSync(join(tmpdir(), "lite-agent-config-")));
after(() => rmSync(base, { recursive: true, force: true }));
const workdir = join(base, "work");
const home = join(base, "home");
mkdirSync(workdir);
mkdirSync(home);
process.env.LITE_AGENT_HOME = home;

const turn = { message: { role: "assistant", content: [{ type: "text", text: "done" }] } };
const model = fakeProvider([turn]);

/** A model that keeps the requests that it was sent. */
function recorder(id = "recorder") {
  const requests = [];
  const scripted = fakeProvider([turn]);
  const stream = (request, signal) => {
    requests.push(request);
    return scripted.stream(request, signal);
  };
  return { id, stream, requests };
}

async function accept(options) {
  const agent = createLiteAgent({ model, workdir, ...options });
  await agent.close();
}

/** The ConfigError that the options cause, in createLiteAgent and in query alike. */
function refuse(options, message) {
  const expected = { name: "ConfigError", code: "config_error", message };
  assert.throws(() => createLiteAgent({ model, workdir, ...options }), expected);
  assert.throws(() => query({ model, cwd: workdir, prompt: "hello", ...options }), expected);
}

const checkpointer = { append() {}, read() {}, head() {}, list() {}, delete() {} };

const ACCEPTED = {
  modelName: ["some-model"],
  tools: [[]],
  allowedTools: [[], ["read"]],
  disallowedTools: [[], ["read"]],
  maxDecodeRetries: [2, 0],
  maxTurns: [1, 50, 4_294_967_295],
  maxTokens: [1, 100_000],
  temperature: [0, 0.5, 2],
  topP: [0, 0.5, 1],
  toolChoice: ["auto", "none", "required", { tool: "read" }],
  seed: [0, -1, 42],
  reasoningEffort: ["minimal", "low", "medium", "high"],
  maxParallelTools: [1, 10, 1_000],
  maxParallelSubagents: [1, 5, 1_000],
  outputSchema: [{ type: "object" }],
  subagentPermission: [{ check() {} }],
  onAskUser: [{ request() {} }],
  use: [[], [{ name: "audit" }], [{ name: "audit", beforeModel() {}, afterAgent: undefined }]],
  hookFiles: [true, false],
  home: [home, "relative-home"],
  permission: [{ check() {} }],
  permissionMode: ["enforce", "dry-run"],
  onApproval: [{ request() {} }],
  permissionAudit: [false, true],
  sandbox: [
    { id: "own", wrap() {} },
    { id: "own", wrap() {}, initialize() {}, dispose: undefined },
  ],
  bash: [
    {},
    { timeoutMs: 1, backgroundTimeoutMs: 5, maxOutputBytes: 1, memoryBytes: 1, env: { A: "b", C: undefined } },
  ],
  maxSnapshotBytesPerSession: [0, 1, 2 ** 40],
  fileTools: [{}, { symlinks: "inside" }, { symlinks: "deny", maxSnapshotBytes: 0 }, { symlinks: undefined }],
  checkpointer: [checkpointer, { ...checkpointer, truncate() {}, close: undefined }],
  redact: [(value) => value],
  sessions: [false, true],
  crashRecovery: ["safe", "off"],
  cleanup: [false, true, {}, { maxAgeDays: 3 }, { maxAgeDays: 0.5, maxBytes: 0 }],
  context: [false, {}, { windowTokens: 1_000 }],
  compactor: [false, { maybeCompact() {} }],
  tasks: [false, true],
  taskListId: ["list", "a_B-9"],
  agents: [false, true],
  agentsDir: [home],
  skillsDir: [home],
  background: [false, true],
  backgroundLimits: [{}, { maxTotal: 1, maxDetached: 1, bufferBytes: 1, maxTaskMs: 1 }],
  mcpServers: [{}],
  strictMcpConfig: [false],
};
const UNAVAILABLE = {
  codec: [{}],
  maxDecodeRetries: [1, 3],
  mcpServers: [{ files: { command: "files" } }],
  strictMcpConfig: [true],
};
const WRONG = {
  modelName: ["", 3, null],
  model: [null, 3, {}, { id: "x" }, { id: "", stream() {} }, { id: 3, stream() {} }, { id: "x", stream: {} }],
  system: [3, null],
  tools: [{}, "read", null],
  allowedTools: ["read", [""], [3]],
  disallowedTools: ["read", [null]],
  maxDecodeRetries: [-1, 1.5, "2"],
  maxTurns: [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 32, "3", null, true],
  maxTokens: [0, 1.5, "3"],
  temperature: [-0.1, 2.1, Number.NaN, "1"],
  topP: [-0.1, 1.1, Number.NaN, "1"],
  toolChoice: ["any", {}, { tool: "" }, { tool: 3 }, { tool: "read", more: 1 }, [], null, 3],
  seed: [1.5, "1", Number.NaN],
  reasoningEffort: ["huge", 3, null],
  maxParallelTools: [0, -1, 1.5, "10", Number.POSITIVE_INFINITY],
  maxParallelSubagents: [0, 1.5, "5"],
  use: [{}, [null], [{}], [{ name: "" }], [{ name: "x", beforeModel: 3 }], [() => {}]],
  hookFiles: ["no", 0, null],
  home: ["", 3, null],
  permissionMode: ["off", null],
  permissionAudit: ["yes", 1],
  fileTools: [
    null,
    [],
    { symlinks: "outside" },
    { maxSnapshotBytes: -1 },
    { maxSnapshotBytes: 1.5 },
    { symlink: "deny" },
  ],
  maxSnapshotBytesPerSession: [-1, 1.5, "1", null],
  checkpointer: [null, {}, [], { ...checkpointer, read: undefined }, { ...checkpointer, truncate: 3 }],
  redact: [{}, true, null],
  sessions: ["no", {}, null],
  crashRecovery: [true, "on"],
  tasks: [1],
  taskListId: ["", "a/b", "..", "a".repeat(129), 3, null],
  agents: ["yes"],
  agentsDir: ["", 3, "/nowhere/at/all"],
  skillsDir: ["", 3, "/nowhere/at/all"],
  background: [null],
  backgroundLimits: [null, { maxTotal: 0 }, { maxDetached: 1.5 }, { bufferBytes: -1 }, { maxTaskMs: "1" }, { max: 1 }],
  outputSchema: [null, 3, "object", [], { type: "string" }],
  subagentPermission: [null, {}, { check: true }],
  onAskUser: [null, {}, () => {}],
  models: [null, {}, { simple: {} }],
  defaultModel: ["simple", "huge", 3],
  mcpServers: [[], true, null],
  strictMcpConfig: [1],
};

for (const [name, values] of Object.entries(ACCEPTED)) {
  test(`${name} is accepted where its value can be used, and undefined counts as not given`, async () => {
    for (const value of [...values, undefined]) await accept({ [name]: value });
  });
}

for (const [name, values] of Object.entries(UNAVAILABLE)) {
  test(`${name} is refused as not available yet where it asks for what is not there`, () => {
    for (const value of values) refuse({ [name]: value }, new RegExp(`^${name}\\b.* not available yet`));
  });

  test(`${name} may be undefined`, () => accept({ [name]: undefined }));
}

for (const [name, values] of Object.entries(WRONG)) {
  test(`${name} is refused by name where its value cannot be used`, () => {
    for (const value of values) {
      const expected = { name: "ConfigError", message: new RegExp(`^${name}\\b(?!.*not available yet)`) };
      assert.throws(() => createLiteAgent({ model, workdir, [name]: value }), expected, `${name}: ${String(value)}`);
    }
  });
}

test("every option of the types is known at run time", () => {
  const source = readFileSync(new URL("../index.d.ts", import.meta.url), "utf8");
  const [, body] = /interface CreateLiteAgentConfig.*?\{\n(.*?)\n\}/s.exec(source);
  const declared = [...body.matchAll(/^ {2}(\w+)\??:/gm)].map(([, name]) => name);
  assert.ok(declared.length > 40, `only ${declared.length} options found`);
  for (const name of declared) {
    try {
      createLiteAgent({ [name]: null });
    } catch (error) {
      assert.doesNotMatch(error.message, /is not an option here/);
    }
  }
});

test("a message says what was wrong, and what would be right", () => {
  refuse({ maxTurns: 0 }, "maxTurns must be an integer from 1 to 4294967295, got 0");
  refuse({ maxTurns: "3" }, 'maxTurns must be an integer from 1 to 4294967295, got "3"');
  refuse(
    { reasoningEffort: "hihg" },
    'reasoningEffort must be one of minimal, low, medium, high, got "hihg"; did you mean high?',
  );
  refuse({ tools: {} }, "tools must be an array, got object");
  refuse({ use: [{ name: "audit", wrapToolCall: 1 }] }, "use[0].wrapToolCall must be a function, got 1");
  refuse({ fileTools: { symlink: "deny" } }, "fileTools.symlink is not an option here; did you mean symlinks?");
  refuse({ checkpointer: { append() {} } }, "checkpointer.read must be a function, got undefined");
});

test("a string model is refused until there are native providers", () => {
  refuse({ model: "anthropic:claude" }, /^model: native providers are not available yet; pass a ModelProvider/);
});

test("a model is required", () => {
  refuse({ model: undefined }, /^model is required/);
});

test("an unknown option is refused with the nearest name", () => {
  refuse({ maxTurn: 3 }, "maxTurn is not an option here; did you mean maxTurns?");
  refuse({ MaxTurns: 3 }, "MaxTurns is not an option here; did you mean maxTurns?");
  refuse({ entirelyUnknown: undefined }, "entirelyUnknown is not an option here");
  for (const name of ["constructor", "toString", "__proto__", "hasOwnProperty"]) {
    const config = JSON.parse(`{"${name}":1}`);
    assert.throws(
      () =>
        createLiteAgent(Object.defineProperty({ model, workdir }, name, Object.getOwnPropertyDescriptor(config, name))),
      {
        name: "ConfigError",
        message: new RegExp(`^${name} is not an option here`),
      },
    );
  }
});

test("an option of the other function is refused with this one's name for it", () => {
  const wrong = (call, message) => assert.throws(call, { name: "ConfigError", message });
  wrong(() => createLiteAgent({ model, cwd: workdir }), "cwd is not an option here; did you mean workdir?");
  wrong(
    () => createLiteAgent({ model, workdir, systemPrompt: "x" }),
    "systemPrompt is not an option here; did you mean system?",
  );
  wrong(() => query({ model, prompt: "x", workdir }), "workdir is not an option here; did you mean cwd?");
  wrong(() => query({ model, prompt: "x", system: "x" }), "system is not an option here; did you mean systemPrompt?");
  wrong(() => createLiteAgent({ model, workdir, prompt: "x" }), /^prompt is not an option here/);
});

test("a config that is no object is a TypeError", () => {
  for (const config of [undefined, null, 3, "x", [], () => {}]) {
    assert.throws(() => createLiteAgent(config), TypeError);
    assert.throws(() => query(config), TypeError);
  }
});

test("workdir must be a directory that exists", () => {
  const file = join(base, "file");
  writeFileSync(file, "");
  symlinkSync(join(base, "nowhere"), join(base, "dangling"));
  const wrong = [
    undefined,
    "",
    3,
    null,
    join(base, "missing"),
    file,
    join(file, "below"),
    join(base, "dangling"),
    "a\0b",
  ];
  for (const value of wrong) {
    assert.throws(
      () => createLiteAgent({ model, workdir: value }),
      { name: "ConfigError", message: /^workdir / },
      String(value),
    );
  }
  assert.throws(() => query({ model, prompt: "x", cwd: join(base, "missing") }), {
    name: "ConfigError",
    message: /^cwd /,
  });
});

test("workdir may be relative to the current directory, and a link to a directory", async () => {
  symlinkSync(workdir, join(base, "link"));
  await accept({ workdir: relative(process.cwd(), workdir) });
  await accept({ workdir: join(base, "link") });
});

test("query works in the current directory when no cwd is given", async () => {
  const run = query({ model, prompt: "hello", hookFiles: false });
  let step = await run.next();
  while (!step.done) step = await run.next();
  assert.equal(step.value.text, "done");
});

test("a prompt that is no conversation is a TypeError, at once", () => {
  for (const prompt of [undefined, "", 3, null, [], [{ role: "assistant", content: "x" }]]) {
    assert.throws(() => query({ model, cwd: workdir, prompt }), { name: "TypeError", message: /^prompt/ });
  }
});

test("options of the run that query takes are refused at once, by name", () => {
  const wrong = { signal: {}, sessionId: "a/b", steer: {} };
  for (const [name, value] of Object.entries(wrong)) {
    const call = () => query({ model, cwd: workdir, prompt: "x", [name]: value });
    assert.throws(call, { name: "ConfigError", message: new RegExp(`^${name} must be `) });
  }
});

test("what is said of the model reaches its requests", async () => {
  const provider = recorder();
  const options = {
    modelName: "named",
    system: "be brief",
    maxTokens: 100,
    temperature: 0.5,
    topP: 0.9,
    toolChoice: "auto",
    seed: 7,
    reasoningEffort: "low",
  };
  const agent = createLiteAgent({ model: provider, workdir, ...options });
  await agent.send("hello");
  await agent.close();
  const { modelName, ...same } = options;
  const { messages, tools, ...request } = provider.requests[0];
  assert.deepEqual(request, { model: modelName, ...same });
  assert.ok(
    tools.some(({ name }) => name === "read_file"),
    "the built-in tools are offered",
  );
  assert.deepEqual(messages, [{ role: "user", content: "hello" }]);
});

test("a request holds nothing that was not said, and names the provider's id as the model", async () => {
  const provider = recorder("its-id");
  const agent = createLiteAgent({ model: provider, workdir, allowedTools: [] });
  await agent.send("hello");
  await agent.close();
  assert.deepEqual(Object.keys(provider.requests[0]).sort(), ["messages", "model"]);
  assert.equal(provider.requests[0].model, "its-id");
});

test("arrays are taken as they were when the agent was made", async () => {
  const use = [];
  const agent = createLiteAgent({ model, workdir, use });
  use.push({
    name: "late",
    beforeModel() {
      throw new Error("too late");
    },
  });
  assert.equal((await agent.send("hello")).text, "done");
  await agent.close();
});

function hookFile(folder, make) {
  const directory = join(base, folder);
  mkdirSync(directory, { recursive: true });
  const file = join(directory, "hooks.json");
  make(file);
  return { directory, file, remove: () => rmSync(file, { recursive: true, force: true }) };
}

const FORMS = {
  "a file that is no configuration": (file) => writeFileSync(file, '{"version":1,"hook":{}}'),
  "a dangling link": (file) => symlinkSync(join(base, "nowhere"), file),
  "a folder": (file) => mkdirSync(file),
};
for (const [form, make] of Object.entries(FORMS)) {
  test(`a hooks.json that is ${form} is refused, not ignored, in the home and in workdir`, async () => {
    const project = hookFile("work/.lite-agent", make);
    const message = /^Invalid hooks configuration .*hooks\.json/;
    assert.throws(() => createLiteAgent({ model, workdir }), { name: "ConfigError", file: project.file, message });
    assert.throws(() => query({ model, cwd: workdir, prompt: "x" }), { name: "ConfigError", file: project.file });
    await accept({ hookFiles: false });
    project.remove();

    const global = hookFile("other-home", make);
    assert.throws(() => createLiteAgent({ model, workdir, home: global.directory }), {
      name: "ConfigError",
      file: global.file,
    });
    await accept({ home: global.directory, hookFiles: false });
    await accept({});
    process.env.LITE_AGENT_HOME = global.directory;
    try {
      assert.throws(() => createLiteAgent({ model, workdir }), { name: "ConfigError", file: global.file });
      await accept({ home });
    } finally {
      process.env.LITE_AGENT_HOME = home;
    }
    global.remove();
  });
}

test("a home that is not there has no hooks.json; one that is a file is refused", async () => {
  const file = join(base, "no-home");
  writeFileSync(file, "");
  await accept({ home: join(base, "missing-home") });
  assert.throws(() => createLiteAgent({ model, workdir, home: file }), { name: "ConfigError", message: /no-home/ });
  await accept({ home: file, hookFiles: false, sessions: false });
});

const RUN_WRONG = {
  signal: [{}, "x", null, { aborted: true }],
  sessionId: ["", "a/b", "a b", "a".repeat(129), "ä", "a\n", 3, null],
  steer: [{}, null, { steer() {}, followUp() {} }],
  maxTurns: [0, 1.5, "3", null, Number.POSITIVE_INFINITY],
  maxTotalTokens: [0, -1, 1.5, "3", null],
};
for (const [name, values] of Object.entries(RUN_WRONG)) {
  test(`a run refuses ${name} by name where its value cannot be used`, async () => {
    const agent = createLiteAgent({ model, workdir });
    for (const value of values) {
      const expected = { name: "ConfigError", message: new RegExp(`^${name} must be `) };
      await assert.rejects(agent.send("hello", { [name]: value }), expected, String(value));
      await assert.rejects(agent.run("hello", { [name]: value }).next(), expected, String(value));
    }
    await agent.close();
  });
}

test("a run refuses unknown options with the nearest name, and options that are no object", async () => {
  const agent = createLiteAgent({ model, workdir });
  await assert.rejects(agent.send("x", { sesionId: "a" }), {
    name: "ConfigError",
    message: "sesionId is not an option here; did you mean sessionId?",
  });
  for (const options of [null, 3, "x", []]) await assert.rejects(agent.send("x", options), TypeError);
  await agent.close();
});

test("a run accepts what it can use, and undefined for all of it", async () => {
  const agent = createLiteAgent({ model, workdir });
  const foreign = vm.runInNewContext(
    "class Signal { aborted = false; addEventListener() {} removeEventListener() {} } new Signal()",
  );
  const full = {
    signal: new AbortController().signal,
    sessionId: "A-z_9",
    steer: new (class extends SteerController {})(),
    maxTurns: 1,
    maxTotalTokens: 1_000_000,
  };
  for (const options of [full, { signal: foreign }, { sessionId: "a".repeat(128) }, {}, undefined]) {
    assert.equal((await agent.send("hello", options)).text, "done");
  }
  for (const name of Object.keys(full)) assert.equal((await agent.send("hello", { [name]: undefined })).text, "done");
  await agent.close();
});

test("a ConfigError for a hooks.json carries the file, others do not", () => {
  try {
    createLiteAgent({ model, workdir, maxTurns: 0 });
    assert.fail("accepted");
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    assert.ok(!("file" in error));
  }
});
