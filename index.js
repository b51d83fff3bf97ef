// The public face of lite-agent: names only. What a name does is in lib/, its type in index.d.ts.

export { createLiteAgent, query } from "./lib/agent.js";
export { bashCommand, composePolicies, filePath, policy, strictPolicy } from "./lib/policy.js";
export { defineTool, tool } from "./lib/tools.js";
export { isTextBlock, isToolCallBlock, textBlock, toolResultBlock } from "./lib/messages.js";
export { SteerController } from "./lib/steer.js";
export { retry } from "./lib/retry.js";
export { fakeProvider } from "./lib/models/fake.js";
export { assertWellFormed } from "./lib/well-formed.js";
export { checkpointerConformance } from "./lib/sessions/conformance.js";
export { foldEvents } from "./lib/sessions/fold.js";
export { fileCheckpointer, sqliteCheckpointer } from "./lib/sessions/native.js";
export { memoryCheckpointer } from "./lib/sessions/memory.js";
export { resolveProjectPaths } from "./lib/sessions/project-paths.js";
export { estimateTokens } from "./lib/tokens.js";
export { defaultRedactor } from "./lib/redact.js";
export {
  AbortError,
  AgentError,
  CheckpointConflictError,
  ClosedError,
  CodecError,
  ConfigError,
  ProviderError,
  ReentrancyError,
  SandboxError,
  ToolError,
} from "./lib/errors.js";
export {
  aiSdk,
  anthropic,
  DEFAULT_RESOURCE_LIMITS,
  jsonCodec,
  localOpenAI,
  nativeCodec,
  noopSandbox,
  openai,
  providerConformance,
  reactCodec,
  sandboxRuntime,
} from "./lib/unavailable.js";
