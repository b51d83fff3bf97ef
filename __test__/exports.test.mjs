// The values that index.js exports, the values that the types promise, and what unavailable ones do.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";

import * as api from "lite-agent";

const declared = (file, pattern) => {
  const source = readFileSync(new URL(`../${file}`, import.meta.url), "utf8");
  return [...new Set([...source.matchAll(pattern)].map(([, name]) => name))].sort();
};
const VALUES = declared("index.d.ts", /^export (?:declare )?(?:async )?(?:abstract )?(?:function|class|const) (\w+)/gm);

const ERRORS = [
  "AbortError",
  "AgentError",
  "CheckpointConflictError",
  "ClosedError",
  "CodecError",
  "ConfigError",
  "ProviderError",
  "ReentrancyError",
  "SandboxError",
  "ToolError",
];
const UNAVAILABLE = [
  "aiSdk",
  "anthropic",
  "jsonCodec",
  "localOpenAI",
  "nativeCodec",
  "noopSandbox",
  "openai",
  "reactCodec",
  "sandboxRuntime",
];
const UNAVAILABLE_ASYNC = ["providerConformance"];

test("every value of the types exists at run time, and every value at run time has a type", () => {
  assert.ok(VALUES.length > 40, `only ${VALUES.length} values found in index.d.ts`);
  assert.deepEqual(Object.keys(api).sort(), VALUES);
});

test("CommonJS hosts have the type of every value", () => {
  assert.deepEqual(declared("index.d.cts", /^export declare const (\w+): typeof api\.\1;/gm), VALUES);
});

test("CommonJS hosts can name every class as a type", () => {
  const classes = declared("index.d.ts", /^export class (\w+)/gm);
  assert.deepEqual(declared("index.d.cts", /^export type (\w+) = api\.\1;/gm), classes);
});

test("require gives the very values that import gives", () => {
  const required = createRequire(import.meta.url)("lite-agent");
  for (const name of VALUES) assert.equal(required[name], api[name], name);
});

test("every value is of the kind that its type says", () => {
  for (const name of VALUES) {
    const expected = name === "DEFAULT_RESOURCE_LIMITS" ? "object" : "function";
    assert.equal(typeof api[name], expected, name);
  }
  for (const name of [...ERRORS, "SteerController"]) assert.match(String(api[name]), /^class /, name);
});

test("functions carry the names that they are exported by", () => {
  for (const name of VALUES) {
    if (typeof api[name] === "function" && name !== "defaultRedactor") assert.equal(api[name].name, name);
  }
});

for (const name of UNAVAILABLE) {
  test(`${name}() throws a ConfigError that says it is not available yet`, () => {
    assert.throws(() => api[name](), {
      name: "ConfigError",
      code: "config_error",
      message: `${name}() is not available yet`,
    });
  });
}

for (const name of UNAVAILABLE_ASYNC) {
  test(`${name}() rejects with a ConfigError that says it is not available yet`, async () => {
    await assert.rejects(api[name](), { name: "ConfigError", message: `${name}() is not available yet` });
  });
}

test("DEFAULT_RESOURCE_LIMITS are 120 s, 2 GiB and 128 processes, frozen", () => {
  assert.deepEqual(api.DEFAULT_RESOURCE_LIMITS, { cpuSeconds: 120, memoryBytes: 2 ** 31, maxProcesses: 128 });
  assert.ok(Object.isFrozen(api.DEFAULT_RESOURCE_LIMITS));
});
