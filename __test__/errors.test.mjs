// The error classes as hosts see them: names, codes, causes, fields, and classes that a host derives.

import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";

import * as api from "lite-agent";

const { AbortError, AgentError, CheckpointConflictError, ConfigError, ProviderError } = api;

const CODES = {
  AgentError: "agent_error",
  ProviderError: "provider_error",
  ToolError: "tool_error",
  CodecError: "codec_error",
  AbortError: "aborted",
  ReentrancyError: "reentrancy",
  ClosedError: "closed",
  ConfigError: "config_error",
  SandboxError: "sandbox_error",
};

for (const [name, code] of Object.entries(CODES)) {
  test(`${name} is an AgentError with its name, its message and the code ${code}`, () => {
    const error = new api[name]("what happened");
    assert.ok(error instanceof api[name]);
    assert.ok(error instanceof AgentError);
    assert.ok(error instanceof Error);
    assert.equal(error.name, name);
    assert.equal(error.message, "what happened");
    assert.equal(error.code, code);
    assert.equal(String(error), `${name}: what happened`);
    assert.ok(error.stack.startsWith(`${name}: what happened\n`), error.stack);
    assert.deepEqual(Object.keys(error), ["code"]);
  });

  test(`${name} takes a code and a cause`, () => {
    const cause = new Error("first");
    const error = new api[name]("then", { code: "own_code", cause });
    assert.equal(error.code, "own_code");
    assert.equal(error.cause, cause);
  });
}

test("options that are undefined count as not given", () => {
  const error = new ProviderError("m", { code: undefined, cause: undefined, status: undefined });
  assert.equal(error.code, "provider_error");
  assert.ok(!("cause" in error));
  assert.ok(!("status" in error));
  assert.ok(!("file" in new ConfigError("m", { file: undefined, path: undefined })));
});

test("a falsy cause is a cause", () => {
  assert.equal(new AgentError("m", { cause: 0 }).cause, 0);
  assert.equal(new AgentError("m", { cause: null }).cause, null);
});

test("a ProviderError carries its status", () => {
  const error = new ProviderError("too many requests", { status: 429 });
  assert.equal(error.status, 429);
  assert.match(inspect(error), /status: 429/);
});

test("a ConfigError carries its file and the place in it", () => {
  const error = new ConfigError("m", { file: "/home/me/hooks.json", path: "$.hooks" });
  assert.equal(error.file, "/home/me/hooks.json");
  assert.equal(error.path, "$.hooks");
});

test("a CheckpointConflictError tells the session and both heads", () => {
  const error = new CheckpointConflictError("s1", 3, 5);
  assert.ok(error instanceof AgentError);
  assert.equal(error.name, "CheckpointConflictError");
  assert.equal(error.code, "checkpoint_conflict");
  const { sessionId, expected, actual } = error;
  assert.deepEqual({ sessionId, expected, actual }, { sessionId: "s1", expected: 3, actual: 5 });
  assert.match(error.message, /s1.*3.*5/);
});

test("a class that a host derives inherits the name and the code", () => {
  class HostError extends AbortError {}
  const error = new HostError("stopped");
  assert.ok(error instanceof AbortError);
  assert.equal(error.code, "aborted");
  assert.equal(error.name, "AbortError");
});

test("the name of one error can be set without changing others", () => {
  const error = new AgentError("m");
  error.name = "Other";
  assert.equal(error.name, "Other");
  assert.equal(new AgentError("m").name, "AgentError");
});
