// Public functions whose feature is not there yet. Each fails with a ConfigError that says so, and does nothing else:
// a feature is never half there. A function leaves this file for its own module when its feature comes.

import { ConfigError } from "./errors.js";

function unavailableError(name) {
  return new ConfigError(`${name}() is not available yet`);
}

/** A function of that name which throws. */
function unavailable(name) {
  const holder = {
    [name]() {
      throw unavailableError(name);
    },
  };
  return holder[name];
}

/** A function of that name which rejects, as its callers expect of it. */
function unavailableAsync(name) {
  const holder = {
    async [name]() {
      throw unavailableError(name);
    },
  };
  return holder[name];
}

export const anthropic = unavailable("anthropic");
export const openai = unavailable("openai");
export const aiSdk = unavailable("aiSdk");
export const localOpenAI = unavailable("localOpenAI");
export const providerConformance = unavailableAsync("providerConformance");

export const nativeCodec = unavailable("nativeCodec");
export const jsonCodec = unavailable("jsonCodec");
export const reactCodec = unavailable("reactCodec");

export const sandboxRuntime = unavailable("sandboxRuntime");
export const noopSandbox = unavailable("noopSandbox");
/** What limits apply where a host names none. A constant, so it is here whole before the sandbox is. */
export const DEFAULT_RESOURCE_LIMITS = Object.freeze({
  cpuSeconds: 120,
  memoryBytes: 2 * 1024 * 1024 * 1024,
  maxProcesses: 128,
});
