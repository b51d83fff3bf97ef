/**
 * lite-agent: an agent SDK for Node.js whose core is Rust. The public types; written by hand, kept equal to what
 * index.js exports by a test. It must never name anything that is only internal.
 *
 * Durations are milliseconds, sizes are bytes, times are ISO 8601 UTC strings, unless a name says otherwise.
 *
 * Everything that is thrown is an {@link AgentError}, save `TypeError` for arguments of the wrong type, `RangeError`
 * for a `timeoutMs` that is no integer in range, and whatever the host's own code threw, which is passed on as itself.
 * What is marked "not available yet" throws a {@link ConfigError} that says so.
 */

// ---------------------------------------------------------------------------------------------------------------
// Messages
// ---------------------------------------------------------------------------------------------------------------

/** Who speaks. `system` is for requests that a provider builds itself: agents take it as the option `system`. */
export type Role = "system" | "user" | "assistant" | "tool";

export type TextBlock = { type: "text"; text: string };
/** What a model thought. `signature` is the provider's, and travels with the text. */
export type ReasoningBlock = { type: "reasoning"; text: string; signature?: string | undefined };
export type ImageBlock = {
  type: "image";
  /** As in `image/png`. */
  mediaType: string;
  /** Base64. */
  data: string;
};
/** A call that the model made. Only in assistant messages. */
export type ToolCallBlock = { type: "tool_call"; id: string; name: string; input: unknown };
/** A string, or text and images (screenshots, MCP). */
export type ToolContent = string | (TextBlock | ImageBlock)[];
/** The result of the call with the same `id`. Only in user and tool messages. */
export type ToolResultBlock = {
  type: "tool_result";
  id: string;
  content: ToolContent;
  /** Default false. */
  isError?: boolean | undefined;
};
/** Provider-specific content that must survive storage and resume byte for byte. */
export type NativeBlock = { type: "native"; provider: string; data: unknown };
/** A provider-side summary that replaced earlier turns. */
export type CompactionBlock = { type: "compaction"; content: string | null };
export type ContentBlock =
  TextBlock | ReasoningBlock | ImageBlock | ToolCallBlock | ToolResultBlock | NativeBlock | CompactionBlock;

export type Message = { role: Role; content: string | ContentBlock[] };
export type AssistantMessage = { role: "assistant"; content: ContentBlock[] };

export type ToolCall = { id: string; name: string; input: unknown };
export type ToolResult = {
  id: string;
  name: string;
  content: ToolContent;
  /** Default false. */
  isError?: boolean | undefined;
};

/** Tokens. */
export type Usage = {
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens?: number | undefined;
  cacheCreationTokens?: number | undefined;
};
/** Why one turn ended. */
export type StopReason = "stop" | "tool_use" | "max_tokens";
/** Why a whole run ended. */
export type RunStopReason = "stop" | "aborted" | "max_turns";

/** A text block. Throws `TypeError` unless `text` is a string. */
export function textBlock(text: string): TextBlock;
/** A tool call's result; `isError` is left out when not given. Throws `TypeError` for arguments of the wrong type. */
export function toolResultBlock(id: string, content: ToolContent, isError?: boolean): ToolResultBlock;
export function isTextBlock(block: ContentBlock): block is TextBlock;
export function isToolCallBlock(block: ContentBlock): block is ToolCallBlock;

// ---------------------------------------------------------------------------------------------------------------
// Models
// ---------------------------------------------------------------------------------------------------------------

/** A tool as the model is shown it; `parameters` is a JSON Schema. */
export type ToolSpec = { name: string; description: string; parameters: Record<string, unknown> };
export type ToolChoice = "auto" | "none" | "required" | { tool: string };
export type ReasoningEffort = "minimal" | "low" | "medium" | "high";

/** What a provider is asked. Messages, and everything in them, are frozen. */
export type ModelRequest = {
  model: string;
  system?: string | undefined;
  messages: Message[];
  tools?: ToolSpec[] | undefined;
  /** Of the answer, in tokens. */
  maxTokens?: number | undefined;
  stopSequences?: string[] | undefined;
  temperature?: number | undefined;
  topP?: number | undefined;
  toolChoice?: ToolChoice | undefined;
  seed?: number | undefined;
  reasoningEffort?: ReasoningEffort | undefined;
};

/** A stream yields any number of deltas, then exactly one message_done. */
export type ModelChunk =
  | { type: "text_delta"; text: string }
  | { type: "reasoning_delta"; text: string }
  | { type: "message_done"; message: AssistantMessage; usage: Usage; stopReason?: StopReason | undefined };

/** A model. What `stream` throws ends the run, and is thrown on by `run()` and `send()` as the very same object. */
export interface ModelProvider {
  readonly id: string;
  /** Ends soon after `signal` aborts. */
  stream(request: ModelRequest, signal?: AbortSignal): AsyncIterable<ModelChunk>;
  /** What automatic compaction may rely on. */
  readonly context?:
    | {
        /** Tokens. */
        readonly contextWindow?: number | undefined;
        readonly countTokens?: ((request: ModelRequest, signal?: AbortSignal) => Promise<number>) | undefined;
      }
    | undefined;
}

export type AnthropicOptions = {
  /** Default `process.env.ANTHROPIC_API_KEY`. */
  apiKey?: string | undefined;
  /** Default `process.env.ANTHROPIC_BASE_URL`, else the public endpoint. */
  baseURL?: string | undefined;
  headers?: Record<string, string> | undefined;
  /** Attempts after the first, on 408, 409, 429, 5xx and connection failures, honouring retry-after. Default 2. */
  maxRetries?: number | undefined;
  /** From the request to the first byte. Default 600_000. */
  timeoutMs?: number | undefined;
  /** Use this fetch in place of the native transport (proxies, mocks). */
  fetch?: typeof globalThis.fetch | undefined;
};
/** As for Anthropic; the variables are `OPENAI_API_KEY` and `OPENAI_BASE_URL`. */
export type OpenAIOptions = AnthropicOptions;
/** Anthropic's Messages API. Not available yet. */
export function anthropic(options?: AnthropicOptions): ModelProvider;
/** OpenAI Chat Completions and all that speak it (Ollama, vLLM, LM Studio, llama.cpp). Not available yet. */
export function openai(options?: OpenAIOptions): ModelProvider;
/** Bridge a model of Vercel's AI SDK (LanguageModelV2 and later). Not available yet. */
export function aiSdk(model: unknown): ModelProvider;

/**
 * For tests of providers and agents: throws unless every tool call has one result and the reverse, roles alternate,
 * and no block is empty.
 */
export function assertWellFormed(request: ModelRequest): void;
/** One suite for every provider; runs under any test runner. Not available yet. */
export function providerConformance(
  make: (baseURL: string) => ModelProvider,
  options?: { wire: "anthropic" | "openai" | "none" },
): Promise<void>;
/** A model that runs on this machine. Not available yet. */
export function localOpenAI(options: {
  runtime: "ollama" | "vllm" | "lm-studio" | "llama.cpp";
  /** Tokens. */
  contextWindow: number;
  /** Default: the runtime's own port on 127.0.0.1. */
  baseURL?: string | undefined;
  apiKey?: string | undefined;
  nativeTools?: boolean | undefined;
  /** Default 3_000. */
  probeTimeoutMs?: number | undefined;
}): ModelProvider;

export type FakeTurn = {
  /** Streamed first, one delta a character (code point). */
  text?: string | undefined;
  message: AssistantMessage;
  /** Default zeros. */
  usage?: Usage | undefined;
};
/**
 * A scripted model for tests and demos, with the id `fake`: answers call n with turn n, the last turn ever after.
 * Throws `TypeError` for turns of the wrong type and {@link ConfigError} when there are none.
 */
export function fakeProvider(turns: FakeTurn[]): ModelProvider;

/** How tool calls are told to a model and read back from it. */
export interface ToolCallCodec {
  /** "buffer": hold deltas back until the whole message has been decoded. Default "passthrough". */
  readonly streaming?: "passthrough" | "buffer" | undefined;
  encode(request: ModelRequest, tools: ToolSpec[]): ModelRequest;
  /** Throws {@link CodecError} on malformed output. */
  decode(message: AssistantMessage): { text: string; calls: ToolCall[] };
  repairPrompt?: ((error: Error, attempt: number, tools: ToolSpec[]) => Message) | undefined;
}
/** Not available yet. */
export function nativeCodec(): ToolCallCodec;
/** Not available yet. */
export function jsonCodec(options?: { instructions?: string | undefined }): ToolCallCodec;
/** Not available yet. */
export function reactCodec(options?: { instructions?: string | undefined }): ToolCallCodec;

/** Three named tiers; a child agent's definition, or a task of the tool `Agent`, may pick one by name. */
export type ModelTier = "simple" | "medium" | "complex";
export type ModelProfile = {
  provider: ModelProvider;
  /** What requests and model events carry. */
  modelName: string;
  /** For the host's own use: the agent does nothing with it. */
  displayName?: string | undefined;
};

// ---------------------------------------------------------------------------------------------------------------
// Tools
// ---------------------------------------------------------------------------------------------------------------

/** Any Standard Schema validator (zod 3.24+/4, valibot, arktype, ...) or a plain JSON Schema object. */
export type ToolSchema<I> = StandardSchema<I> | Record<string, unknown>;

/** What a custom tool reaches; strict local mode asks for it. */
export interface ToolSecurity {
  network: "none" | "loopback" | "private" | "unrestricted";
  filesystem?: "none" | "workspace" | "unrestricted" | undefined;
  sideEffects?: "none" | "workspace" | "external" | undefined;
}

export interface ToolContext {
  /** The session of the run that made the call: in a child's, the child's own. */
  readonly sessionId: string;
  /** Aborts when the run does, and at the tool's `timeoutMs`. */
  readonly signal: AbortSignal;
  readonly call: ToolCall;
  /** Adds an event to the run's stream. */
  emit(event: AgentEvent): void;
  /**
   * Asks the user, as the tool `ask_user` does: one question at a time in a family, in the order in which they came up, with
   * `input_request` and `input_resolved` events that carry this call. Rejects with what `onAskUser` threw, `TypeError` for
   * what is no question and for an answer that is none, and the signal's reason when this call or `signal` is aborted.
   * Absent without `onAskUser`.
   */
  readonly input?: InputHandler | undefined;
  readonly sandbox?: Sandbox | undefined;
  /**
   * Record what a file held before the tool changes it, so that restore() can undo it. `path` is absolute, or relative to
   * workdir; `before` is null where there was no file, and where it was too much to keep (`truncated`). Resolves when it is
   * stored: change the file after that. Rejects with `TypeError`, and with {@link ToolError} for a path that leads out of
   * workdir. Absent without sessions.
   */
  recordSnapshot?:
    | ((path: string, before: string | null, truncated?: boolean, encoding?: "utf8" | "base64") => Promise<void>)
    | undefined;
}

export interface Tool<I = unknown> {
  name: string;
  description: string;
  schema: ToolSchema<I>;
  /** What the model is shown, where the schema cannot say it itself. */
  jsonSchema?: Record<string, unknown> | undefined;
  /** An integer of at least 1. Default none. Over it the call's result is a failure; the run goes on. */
  timeoutMs?: number | undefined;
  security?: ToolSecurity | undefined;
  /** What it throws becomes a failed result (`Error: <message>`), never a failed run. */
  execute(input: I, context: ToolContext): ToolOutput | Promise<ToolOutput>;
}
export type ToolOutput = ToolContent | { content: ToolContent; isError?: boolean | undefined };

/**
 * A tool from its parts. Throws {@link ConfigError} for a name, description or schema that no model could be shown,
 * `TypeError` when `execute` is no function, and `RangeError` for a bad `timeoutMs`.
 */
export function tool<I>(
  name: string,
  description: string,
  schema: ToolSchema<I>,
  execute: (input: I, context: ToolContext) => ToolOutput | Promise<ToolOutput>,
  options?: {
    security?: ToolSecurity | undefined;
    jsonSchema?: Record<string, unknown> | undefined;
    timeoutMs?: number | undefined;
  },
): Tool<I>;
/** Infers the input of a tool that is written as one object. Throws as {@link tool} does. */
export function defineTool<I>(tool: Tool<I>): Tool<I>;

export type BashToolOptions = {
  /** Of a call that waits for its command, where it gives no `timeoutMs` of its own. Default 120_000. */
  timeoutMs?: number | undefined;
  /**
   * Of a call with `run_in_background`, where it gives no `timeoutMs` of its own; never over `backgroundLimits.maxTaskMs`.
   * Default none: the command may run as long as the agent lives.
   */
  backgroundTimeoutMs?: number | undefined;
  /** Of a call that waits for its command: over it the command is killed. Default 50_000_000. */
  maxOutputBytes?: number | undefined;
  /** Resident size of the whole process tree, of background commands as well. Default none. */
  memoryBytes?: number | undefined;
  /** Replaces the inherited environment whole. Default: PATH, HOME, TMPDIR, LANG, LC_ALL, TERM alone. */
  env?: Record<string, string | undefined> | undefined;
};
export type FileToolsOptions = {
  /** Of a file of more bytes it is not stored what it held before a change, so restore() skips it. Default 1 MiB. */
  maxSnapshotBytes?: number | undefined;
  /** Default "inside": follow, but only to targets inside workdir. */
  symlinks?: "inside" | "deny" | undefined;
};

// ---------------------------------------------------------------------------------------------------------------
// Hooks
// ---------------------------------------------------------------------------------------------------------------

export type HookName = "run:start" | "run:end" | "tool:start" | "tool:end" | "compact:start" | "compact:end";
export type HookStatus = "completed" | "failed" | "cancelled" | "max_turns";
/**
 * `user`: run, send, query and the children that they start; `background`: completion runs and the children that those
 * start; `manual`: compact().
 */
export type HookSource = "user" | "background" | "manual";

/** What every event carries. Every event is a deep-frozen copy. */
export interface HookIdentity {
  /** A fresh UUID for each run and each manual compaction. */
  readonly runId: string;
  /** The session of the run; a child's is its own, and has its `agentId` as its id. */
  readonly sessionId: string;
  /** Absent for the root agent; stable for one child, also when it is resumed. */
  readonly agentId?: string | undefined;
  readonly source: HookSource;
  /** For commands: paths of strings that were shortened to fit 256 KiB. */
  readonly truncated?: readonly string[] | undefined;
}
export interface HookError {
  readonly name: string;
  readonly message: string;
}
interface HookEnd {
  readonly status: HookStatus;
  /** Present exactly when something was thrown. */
  readonly error?: HookError | undefined;
}
interface HookCompaction {
  readonly compactionId: string;
  readonly kind: "micro" | "auto" | "manual";
  /** Tokens. */
  readonly before: number;
}
export interface HookRunResult<O = unknown> {
  readonly text: string;
  readonly usage: Readonly<Usage>;
  readonly stopReason: RunStopReason;
  /** With outputSchema: the valid answer; absent where the run ended without one. */
  readonly output?: O | undefined;
}
export interface HookEventMap {
  /** Before anything else of a run: no model was called, no message stored. */
  "run:start": HookIdentity & { readonly event: "run:start"; readonly input: string | readonly Message[] };
  /** Once for each run:start, before `done` and before send() settles. `result` is there unless the run failed. */
  "run:end": HookIdentity & HookEnd & { readonly event: "run:end"; readonly result?: HookRunResult | undefined };
  /** A call that the model attempted, calls that are denied later included. */
  "tool:start": HookIdentity & { readonly event: "tool:start"; readonly call: Readonly<ToolCall> };
  /** After the tool and all middleware, before the result is stored or sent to the model. */
  "tool:end": HookIdentity &
    HookEnd & {
      readonly event: "tool:end";
      readonly call: Readonly<ToolCall>;
      readonly result?: Readonly<ToolResult> | undefined;
      readonly durationMs: number;
    };
  /** `instructions` are those of a manual compaction. */
  "compact:start": HookIdentity &
    HookCompaction & { readonly event: "compact:start"; readonly instructions?: string | undefined };
  /** `after` is in tokens; when the compaction failed it equals `before`. */
  "compact:end": HookIdentity & HookCompaction & HookEnd & { readonly event: "compact:end"; readonly after: number };
}
export type HookEvent = HookEventMap[HookName];
/**
 * What it returns is ignored, what it throws is reported as a diagnostic `hook_failed`. `signal` aborts at the
 * deadline, that of a start event also when the run is cancelled.
 */
export type HookHandler<N extends HookName> = (
  event: HookEventMap[N],
  context: { readonly signal: AbortSignal },
) => unknown;
export interface HookOptions {
  /** An integer from 1 to 120_000. Default 10_000. `RangeError` otherwise. */
  timeoutMs?: number | undefined;
}

/** What a diagnostic of code "hook_failed" carries beside its message. */
export interface HookFailure {
  event: HookName;
  source: "global" | "project" | "programmatic";
  /** The hooks.json file, for a command. */
  configFile?: string | undefined;
  /** Position within that event's registrations at dispatch, from 0. */
  index: number;
  reason:
    | "error"
    | "timeout"
    | "denied"
    | "spawn"
    | "exit"
    | "signal"
    | "input_limit"
    | "output_limit"
    | "memory_limit"
    | "sandbox";
  exitCode?: number | undefined;
  durationMs: number;
  /** The last 2 KiB of what the command wrote, secrets masked. */
  output?: string | undefined;
}

// ---------------------------------------------------------------------------------------------------------------
// Events
// ---------------------------------------------------------------------------------------------------------------

export type RunResult = {
  /** The whole conversation of the session. */
  messages: Message[];
  /** The last assistant message's text. */
  text: string;
  /** Summed over the run. */
  usage: Usage;
  stopReason: RunStopReason;
};
export type LiteAgentResult<O = unknown> = RunResult & {
  /**
   * With outputSchema: the answer, as its schema's validator gave it. Undefined where the run ended without a valid one, of
   * which a `no_final_answer` diagnostic tells unless it was aborted.
   */
  output?: O | undefined;
};

/**
 * Of a group of children: `completed`, all of them are; `partial`, some are; `cancelled`, all were; else `failed`. Of a
 * background command: `completed`, it exited with 0; `cancelled`, KillBackground or deleteSession() killed it; else `failed`.
 */
export type BackgroundStatus = "completed" | "partial" | "failed" | "cancelled";
/** What a group of children, or a background command, came to. */
export interface BackgroundCompletion {
  /** `group_…` or `bg_…`, with 16 hexadecimal digits. */
  id: string;
  /** The display names of the children, joined by ", "; or the command on one line, at most 80 characters of it. */
  label: string;
  /**
   * One section for each child, in the order of the tasks: `## <name> (agentId: …; status: …)`, a blank line, and what it
   * said last, or `Error: <message>`. Or the last 4 KiB that the command wrote, and how it ended: `[exit code: 0]`.
   */
  content: string;
  status: BackgroundStatus;
  /** status !== "completed" */
  isError: boolean;
  /** Present and false for work that awaitIdle() does not wait for: background commands. */
  awaitIdle?: false | undefined;
}

/**
 * One event of a run's stream. `agentId` is there when a child sent it: such events come until the `done` of the run that
 * started the child, those of a query to its end, and a child's own `done` never. `done` is the last of every stream that
 * does not throw.
 */
export type AgentEvent = { agentId?: string | undefined } & (
  | { type: "turn_start"; turn: number }
  | {
      type: "diagnostic";
      level: "info" | "warning" | "error";
      code: string;
      message: string;
      hook?: HookFailure | undefined;
    }
  | { type: "model_call_start"; turn: number; model: string }
  | {
      type: "model_call_end";
      turn: number;
      model: string;
      durationMs: number;
      usage?: Usage | undefined;
      error?: string | undefined;
    }
  | { type: "text_delta"; text: string }
  | { type: "reasoning_delta"; text: string }
  | { type: "message"; message: AssistantMessage }
  | { type: "tool_use"; call: ToolCall }
  | { type: "tool_call_start"; call: ToolCall; turn: number }
  | {
      type: "tool_progress";
      id: string;
      name: string;
      progress: number;
      total?: number | undefined;
      message?: string | undefined;
    }
  | { type: "tool_call_end"; id: string; name: string; turn: number; durationMs: number; isError: boolean }
  | { type: "tool_recovered"; id: string; name: string; turn: number }
  | { type: "approval_request"; call: ToolCall; reason?: string | undefined }
  | { type: "approval_resolved"; id: string; decision: "allow" | "deny"; by: "user" | "auto" }
  | {
      type: "permission_decision";
      call: ToolCall;
      decision: Decision;
      ruleId?: string | undefined;
      reason?: string | undefined;
      simulated?: boolean | undefined;
      by: "policy" | "user" | "auto";
    }
  /** `onAskUser` is about to be asked, for this call of `ask_user` or of a custom tool. */
  | { type: "input_request"; call: ToolCall; question: UserQuestion }
  /** It answered the question of the call with this `id`. There is none where it threw, gave no answer, or was aborted. */
  | { type: "input_resolved"; id: string; answer: UserAnswer }
  | { type: "tool_result"; result: ToolResult }
  | {
      type: "compaction";
      kind: "micro" | "auto" | "manual";
      before: number;
      after: number;
      phase: "start" | "done" | "error" | "cancelled";
      message?: string | undefined;
    }
  | {
      type: "checkpoint_restore";
      phase: "start" | "progress" | "done" | "error";
      sessionId: string;
      toSeq: number;
      completed: number;
      total: number;
      message?: string | undefined;
    }
  | { type: "steer"; messages: Message[] }
  /**
   * A group of children, or a background command, is over. Told to subscribers with source `background` and the session that
   * it belongs to, and in the stream of that session's run that is going on and read, if there is one. After a group comes a
   * run that takes it up, unless the run that started the group was aborted or its session deleted. None while the agent
   * closes.
   */
  | { type: "background_completed"; completion: BackgroundCompletion }
  | { type: "turn_end"; turn: number; stopReason: StopReason }
  | { type: "error"; error: Error; fatal: boolean }
  | { type: "done"; reason: RunStopReason; result: LiteAgentResult }
);

/** What subscribe() hears: the events of every run of the family, background runs and children included. */
export interface LiteAgentEvent {
  /** The session of the run; a child's is its own, and has its `agentId` as its id. */
  sessionId: string;
  source: HookSource;
  event: AgentEvent;
}

// ---------------------------------------------------------------------------------------------------------------
// Errors
// ---------------------------------------------------------------------------------------------------------------

/** The base of every error of this package. `code` is stable; the base's default is `agent_error`. */
export class AgentError extends Error {
  constructor(message: string, options?: { code?: string | undefined; cause?: unknown });
  readonly code: string;
}
/** Code `provider_error`. `status` is the HTTP status, where there was one. */
export class ProviderError extends AgentError {
  constructor(message: string, options?: { code?: string | undefined; cause?: unknown; status?: number | undefined });
  readonly status?: number | undefined;
}
/** Code `tool_error`. */
export class ToolError extends AgentError {}
/** Code `codec_error`: a model's text could not be read as tool calls. */
export class CodecError extends AgentError {}
/** Code `aborted`. Its `name` is "AbortError", as that of the platform's own. */
export class AbortError extends AgentError {}
/**
 * Code `reentrancy`: an operation on the agent's own family was awaited inside a hook, or inside a tool or another
 * awaited callback of the same session. In a child's callbacks awaitIdle() and deleteSession() are also refused for the
 * session that started the child. Schedule it after the callback has returned.
 */
export class ReentrancyError extends AgentError {}
/** Code `closed`: the agent is closed, or closing. */
export class ClosedError extends AgentError {}
/** Code `config_error`: a configuration, a hooks.json, an agent definition or a skill that cannot be used. */
export class ConfigError extends AgentError {
  constructor(
    message: string,
    options?: {
      code?: string | undefined;
      cause?: unknown;
      file?: string | undefined;
      path?: string | undefined;
    },
  );
  /** The file, where it is about one. */
  readonly file?: string | undefined;
  /** The place in the file's JSON. */
  readonly path?: string | undefined;
}
/** Code `sandbox_error`: the boundary that was asked for cannot be had. */
export class SandboxError extends AgentError {}
/** Code `checkpoint_conflict`: the session's log has another head than the writer expected. */
export class CheckpointConflictError extends AgentError {
  constructor(sessionId: string, expected: number, actual: number);
  readonly sessionId: string;
  readonly expected: number;
  readonly actual: number;
}

// ---------------------------------------------------------------------------------------------------------------
// Permissions
// ---------------------------------------------------------------------------------------------------------------

export type Decision = "allow" | "deny" | "ask";
export interface PolicyVerdict {
  decision: Decision;
  ruleId?: string | undefined;
  reason?: string | undefined;
}
export interface PolicyContext {
  /** The session of the run that made the call: in a child's, the child's own. */
  readonly sessionId: string;
}
/** A policy that throws, rejects or answers anything else denies. */
export interface PermissionPolicy {
  check(call: ToolCall, context: PolicyContext): Decision | PolicyVerdict | Promise<Decision | PolicyVerdict>;
}
/** Exactly one operator. */
export type Condition =
  | { equals: unknown }
  | { in: unknown[] }
  | { glob: string }
  | { regex: string }
  | { startsWith: string }
  | { contains: string }
  | { not: Condition };
export interface PermissionRule {
  /** Default `rule-<index>`. */
  id?: string | undefined;
  description?: string | undefined;
  /** Tool-name glob or globs; absent matches every tool. */
  tool?: string | string[] | undefined;
  /** Conditions by dot path into call.input, all of which must hold; a missing field satisfies none. */
  when?: Record<string, Condition> | undefined;
  where?: ((call: ToolCall, context: PolicyContext) => boolean) | undefined;
  effect: Decision;
}
export interface PolicyOptions {
  allow?: string[] | undefined;
  ask?: string[] | undefined;
  deny?: string[] | undefined;
  rules?: PermissionRule[] | undefined;
  /** What a call that no rule matches gets. Default "allow". */
  default?: Decision | undefined;
}
/** Every rule that matches counts, and the strictest wins: deny, ask, allow, `default`. */
export function policy(options?: PolicyOptions): PermissionPolicy;
/** A policy whose default is "deny". */
export function strictPolicy(options?: Omit<PolicyOptions, "default">): PermissionPolicy;
/** The strictest verdict wins; with no policies it denies. */
export function composePolicies(...policies: PermissionPolicy[]): PermissionPolicy;
/** A rule over each simple command in a bash call. */
export function bashCommand(pattern: string, effect: Decision): PermissionRule;
/** A rule over the paths of the file tools. */
export function filePath(glob: string, effect: Decision): PermissionRule;
export interface ApprovalHandler {
  /** Anything but "allow", a throw included, denies. */
  request(call: ToolCall, signal?: AbortSignal): Promise<"allow" | "deny">;
}
export type Redactor = (value: unknown) => unknown;
/** Masks keys, tokens, passwords and addresses in any value; keeps its structure, and never throws. */
export const defaultRedactor: Redactor;

/** A question to the user; frozen where the agent hands it out. */
export type UserQuestion = {
  /** Not empty. */
  question: string;
  /** To choose from; the model gives 1 to 20. */
  options?: string[] | undefined;
  /** More than one may be chosen. Default false. */
  multiSelect?: boolean | undefined;
};
/** At least one of the two. That `selected` are among the options is not checked. */
export type UserAnswer = { text?: string | undefined; selected?: string[] | undefined };
export interface InputHandler {
  /**
   * Asked one question at a time in a family. `signal` aborts when the call that asks does. What it throws, and an answer
   * that is none, is a failed result (`Error: <message>`) of that call; the run goes on.
   */
  request(question: UserQuestion, signal?: AbortSignal): Promise<UserAnswer>;
}

// ---------------------------------------------------------------------------------------------------------------
// Sandbox and local mode
// ---------------------------------------------------------------------------------------------------------------

export interface Sandbox {
  readonly id: string;
  /** Turn a shell command into one that runs inside the boundary. */
  wrap(command: string, options: { readonly cwd: string }): string | Promise<string>;
  initialize?: (() => void | Promise<void>) | undefined;
  dispose?: (() => void | Promise<void>) | undefined;
}
export interface SandboxOptions {
  /** Default `["."]`: workdir. */
  allowWrite?: string[] | undefined;
  /** Besides .git/hooks, .lite-agent and the home, which are always denied. */
  denyWrite?: string[] | undefined;
  /** Default `["~/.ssh", "~/.aws", "~/.gnupg", "~/.config/gh"]`. */
  denyRead?: string[] | undefined;
  /** Re-allowed inside a denied region. */
  allowRead?: string[] | undefined;
  /** Default "none". */
  network?: "none" | "all" | undefined;
  /** true: a missing boundary throws {@link SandboxError}. Default true. */
  requireSandbox?: boolean | undefined;
  /** Called once when requireSandbox is false and commands run without a boundary. */
  onUnavailable?: ((error: Error) => void) | undefined;
}
/**
 * The operating system's own boundary: on Linux namespaces, Landlock and seccomp, with no program to install; on macOS
 * Seatbelt. Not available yet.
 */
export function sandboxRuntime(options?: SandboxOptions): Sandbox;
/** Not available yet. */
export function noopSandbox(): Sandbox;
export interface ResourceLimits {
  cpuSeconds: number;
  memoryBytes: number;
  maxProcesses: number;
}
/** 120 s, 2 GiB, 128 processes. */
export const DEFAULT_RESOURCE_LIMITS: Readonly<ResourceLimits>;

// ---------------------------------------------------------------------------------------------------------------
// Sessions
// ---------------------------------------------------------------------------------------------------------------

export type SessionEvent =
  | { type: "user"; message: Message }
  | { type: "assistant"; message: AssistantMessage }
  | { type: "tool_started"; id: string; name: string; turn: number }
  | { type: "tool_result"; result: ToolResultBlock; turn: number }
  | {
      type: "file_snapshot";
      path: string;
      before: string | null;
      truncated?: boolean | undefined;
      encoding?: "utf8" | "base64" | undefined;
      /**
       * SHA-256, in hexadecimal, of what the file holds after the change. Absent where the file is deleted, and where it
       * is not known: a custom tool's recordSnapshot().
       */
      after?: string | undefined;
      turn: number;
    }
  | {
      type: "permission_decision";
      call: ToolCall;
      decision: Decision;
      ruleId?: string | undefined;
      reason?: string | undefined;
      simulated?: boolean | undefined;
      by: "policy" | "user" | "auto";
      turn: number;
    }
  | { type: "summary"; messages: Message[]; throughSeq: number; before: number; after: number };
export type StoredEvent = {
  seq: number;
  sessionId: string;
  parentSeq: number | null;
  ts: string;
  event: SessionEvent;
};
export interface SessionInfo {
  id: string;
  /** Milliseconds since the epoch. */
  mtime: number;
}
export interface Checkpointer {
  /** Append atomically; resolves to the new head. {@link CheckpointConflictError} when expectedHead is not the head. */
  append(sessionId: string, events: SessionEvent[], expectedHead?: number): Promise<number>;
  /** Events after `sinceSeq`, which itself is left out. */
  read(sessionId: string, options?: { sinceSeq?: number | undefined }): AsyncIterable<StoredEvent>;
  /** 0 for an unknown session. */
  head(sessionId: string): Promise<number>;
  /** Most recent first. */
  list(): Promise<SessionInfo[]>;
  delete(sessionId: string): Promise<void>;
  truncate?: ((sessionId: string, toSeq: number) => Promise<void>) | undefined;
  close?: (() => void | Promise<void>) | undefined;
}
/** Sessions that live as long as the checkpointer does. */
export function memoryCheckpointer(): Checkpointer;
/** One file of checksummed JSON lines a session, in `dir`. */
export function fileCheckpointer(options: { dir: string }): Checkpointer;
/** All sessions in one database (WAL); `busyTimeoutMs` default 5000, `synchronous` default "full". `:memory:` works. */
export function sqliteCheckpointer(options: {
  file: string;
  busyTimeoutMs?: number | undefined;
  synchronous?: "normal" | "full" | undefined;
}): Checkpointer;
/** The conversation that a log tells. TypeError for what is no session event. */
export function foldEvents(events: SessionEvent[]): Message[];
/** Rejects at the first thing that a store does otherwise than the built-in ones. */
export function checkpointerConformance(make: () => Checkpointer | Promise<Checkpointer>): Promise<void>;
/** Where what belongs to one project is kept. Nothing is made on the disk. ConfigError for a path that cannot be used. */
export function resolveProjectPaths(options: { workdir: string; home?: string | undefined }): {
  home: string;
  hash: string;
  sessionsDir: string;
  tasksDir: string;
};

// ---------------------------------------------------------------------------------------------------------------
// Middleware, compaction, steering
// ---------------------------------------------------------------------------------------------------------------

export interface AgentContext {
  readonly sessionId: string;
  /** From 1; 0 before the first turn. */
  readonly turn: number;
  readonly signal: AbortSignal;
  /** What this call sends. What beforeModel leaves here is sent, and is not stored. */
  messages: Message[];
  /** For the middleware's own use; one map a run. */
  state: Map<string, unknown>;
  emit(event: AgentEvent): void;
}
export interface ToolCallContext extends AgentContext {
  readonly call: ToolCall;
}
/** An onion: the first in `use` is the outermost. What it throws fails the run, in wrapToolCall the call. */
export interface Middleware {
  name: string;
  beforeAgent?: ((context: AgentContext) => void | Promise<void>) | undefined;
  afterAgent?: ((context: AgentContext) => void | Promise<void>) | undefined;
  beforeModel?: ((context: AgentContext) => void | Promise<void>) | undefined;
  wrapModelCall?:
    ((context: AgentContext, next: () => AsyncIterable<ModelChunk>) => AsyncIterable<ModelChunk>) | undefined;
  wrapToolCall?: ((context: ToolCallContext, next: () => Promise<ToolResult>) => Promise<ToolResult>) | undefined;
}
/**
 * Retry transient provider failures that happen before anything was streamed. Throws {@link ConfigError} for a value
 * that is no integer in range.
 */
export function retry(options?: {
  /** In all, the first included: 1 to 100. Default 3. */
  attempts?: number | undefined;
  /** Before the second attempt; doubled for each one after it. Default 500. */
  baseDelayMs?: number | undefined;
  /** Default 30_000. */
  maxDelayMs?: number | undefined;
}): Middleware;

export type CompactResult = {
  messages: Message[];
  kind?: "micro" | "auto" | undefined;
  /** Tokens. */
  before?: number | undefined;
  /** Tokens. */
  after?: number | undefined;
};
export interface Compactor {
  maybeCompact(messages: Message[], usage: Usage, instructions?: string, signal?: AbortSignal): Promise<CompactResult>;
}
/** A rough count, in tokens: about one for four Latin letters. */
export function estimateTokens(messages: Message[]): number;

/**
 * Input for a run that is already going, taken at turn boundaries. Both methods take a string or a message of the role
 * `user`, copy it at once, and throw `TypeError` for anything else and for what is empty.
 */
export class SteerController {
  /** Joins the conversation at the next turn. */
  steer(content: string | Message): void;
  /** Goes on with the run when it would stop. */
  followUp(content: string | Message): void;
}

// ---------------------------------------------------------------------------------------------------------------
// The agent
// ---------------------------------------------------------------------------------------------------------------

export interface CreateLiteAgentConfig<O = unknown> {
  /**
   * A provider, or (not available yet) "anthropic:<model>", "openai:<model>", "ollama:<model>". Exactly one of model
   * and models.
   */
  model?: ModelProvider | string | undefined;
  /** Default: the name in a string model, else model.id. Not together with `models`. */
  modelName?: string | undefined;
  /**
   * A provider and the name of a model for each of the three tiers, all of them, in place of `model`. The agent itself is
   * `defaultModel`; an agent definition, or a task of the tool `Agent`, picks one by its tier's name.
   */
  models?: Record<ModelTier, ModelProfile> | undefined;
  /** Which of `models` the agent itself is. Default "medium". Only with `models`. */
  defaultModel?: ModelTier | undefined;
  /** Must exist and be a directory: {@link ConfigError}. Relative paths resolve against process.cwd(). */
  workdir: string;

  /** The system prompt. */
  system?: string | undefined;
  tools?: Tool<any>[] | undefined;
  /** Names of the tools that the model may see; the rest are left out, but for `final_answer`. Default all. */
  allowedTools?: string[] | undefined;
  /** Names of tools that the model must not see. `final_answer` is not among them. */
  disallowedTools?: string[] | undefined;
  /** Not available yet. */
  codec?: ToolCallCodec | undefined;
  /** Default 2. */
  maxDecodeRetries?: number | undefined;
  /** Turns of one run, also of each child's; reaching it is no error. Default 50. */
  maxTurns?: number | undefined;
  /** Of one answer, in tokens. */
  maxTokens?: number | undefined;
  temperature?: number | undefined;
  topP?: number | undefined;
  toolChoice?: ToolChoice | undefined;
  seed?: number | undefined;
  reasoningEffort?: ReasoningEffort | undefined;
  /**
   * A schema of type "object": adds the tool `final_answer`, whose input it is, and a section in the system prompt. A valid
   * call ends the run and becomes `result.output`; an invalid one is a failed result that the model can repair. A run that
   * ends without one has no output, and a `warning` diagnostic `no_final_answer`. Permission is not asked for it. Children do
   * not have it. {@link ConfigError} for a schema that cannot be used, and for a tool of that name in `tools`.
   */
  outputSchema?: ToolSchema<O> | undefined;
  /** Default 10; 1 = one after another. */
  maxParallelTools?: number | undefined;
  /** Children at work at once, over the whole family; others wait their turn, first come first served. Default 5. */
  maxParallelSubagents?: number | undefined;
  /** Around the agent's runs and those of its children. */
  use?: Middleware[] | undefined;

  /** Load `<home>/hooks.json` and `<workdir>/.lite-agent/hooks.json` once, now. Default true. */
  hookFiles?: boolean | undefined;
  /**
   * The agent's own files: hooks.json, definitions of agents and skills, sessions, task lists. Default
   * process.env.LITE_AGENT_HOME, else ~/.lite-agent.
   */
  home?: string | undefined;

  /** What may run. Default: the SDK's, which asks for bash, writes, hooks and MCP, and allows the rest. */
  permission?: PermissionPolicy | undefined;
  /**
   * What children may run, on top of `permission`: the stricter of the two verdicts counts, so that it never loosens
   * anything. Not asked about hook commands. Default: `permission` alone.
   */
  subagentPermission?: PermissionPolicy | undefined;
  /** "dry-run": calls run whatever the policy says, which is told; hook commands are enforced all the same. Default "enforce". */
  permissionMode?: "enforce" | "dry-run" | undefined;
  /** Store each decision of permission with the session, redacted, before the call runs. Default false. */
  permissionAudit?: boolean | undefined;
  /**
   * Masks secrets in permission events, in the stored decisions (`permissionAudit`), in what hooks wrote and in diagnostics.
   * Synchronous; a string for a string. Where it throws, or answers something else, `[withheld: redact() failed]` is shown.
   * Default `defaultRedactor`.
   */
  redact?: Redactor | undefined;
  /** Asked where the policy says "ask", one call at a time, children's included. Without it such calls are denied. */
  onApproval?: ApprovalHandler | undefined;
  /** Adds the tool `ask_user`, for the agent and its children, and `context.input` for custom tools. Default none. */
  onAskUser?: InputHandler | undefined;
  /** Wraps each command, of bash and of hooks. Where it fails, the command does not run. */
  sandbox?: Sandbox | undefined;
  /** Bounds and environment of commands. */
  bash?: BashToolOptions | undefined;
  /** Links and snapshots of the file tools. */
  fileTools?: FileToolsOptions | undefined;

  /** Default true: stored under <home>/projects/<hash>/sessions, children's included. false: they live in memory. */
  sessions?: boolean | undefined;
  /** Where sessions are stored; wins over `sessions: false`. The host closes it. */
  checkpointer?: Checkpointer | undefined;
  /** Default "safe". */
  crashRecovery?: "off" | "safe" | undefined;
  /**
   * Bytes of what files held that one session keeps. Over it snapshots are stored as `truncated`, and one `snapshot_limit`
   * diagnostic says so. Default no limit.
   */
  maxSnapshotBytesPerSession?: number | undefined;
  /** What the agent's own store removes when the agent is made: sessions that last changed so many days ago, and the oldest
   *  until the rest holds no more than so many bytes; never one that is in use. Default true: 30 days. */
  cleanup?: boolean | { maxAgeDays?: number | undefined; maxBytes?: number | undefined } | undefined;

  /** false: no automatic compaction. `windowTokens`: the model's window, where nobody else knows it or it is to be less. */
  context?: false | { windowTokens?: number | undefined } | undefined;
  /** Replaces the built-in compaction; false: no automatic compaction. */
  compactor?: Compactor | false | undefined;

  /**
   * The tools TaskCreate, TaskUpdate, TaskGet and TaskList over a list in `<home>/projects/<hash>/tasks/<listId>`, one JSON
   * file a task, and a reminder of what is not completed in each request. Default true.
   */
  tasks?: boolean | undefined;
  /**
   * The list that all sessions share, and that stays: 1 to 128 of `A-Z a-z 0-9 _ -`, else {@link ConfigError}. Default
   * process.env.LITE_AGENT_TASK_LIST_ID, else a list for each session, which goes with it and which its children share.
   */
  taskListId?: string | undefined;
  /**
   * A third folder of skills, `<skillsDir>/<name>/SKILL.md`, after `<home>/skills` and `<workdir>/.lite-agent/skills`; of
   * skills of one name the last counts. Must exist and be a directory. They are read once, now; {@link ConfigError} with
   * `file` for one that cannot be used.
   */
  skillsDir?: string | undefined;
  /** The tool `Agent`, by which the model starts children. false: no such tool, and no definition is read. Default true. */
  agents?: boolean | undefined;
  /**
   * A third folder of agent definitions, `<agentsDir>/*.md`, after `<home>/agents` and `<workdir>/.lite-agent/agents`; of
   * definitions of one name the last counts. Must exist and be a directory. They are read once, now; {@link ConfigError}
   * with `file` for one that cannot be used.
   */
  agentsDir?: string | undefined;
  /** `run_in_background` of `bash`, and the tools BashOutput and KillBackground. Default true. */
  background?: boolean | undefined;
  /** How much may go on beside runs. Over a limit the call that wants more is a failed result which names the limit. */
  backgroundLimits?:
    | {
        /** Groups of children and background commands that go on at once. At least 1. Default 100. */
        maxTotal?: number | undefined;
        /** Background commands that go on at once. At least 1. Default 20. */
        maxDetached?: number | undefined;
        /** Kept of each command's unread output; the oldest is dropped. 1 to 1 GiB. Default 1 MiB. */
        bufferBytes?: number | undefined;
        /** The longest that a background command, or a child once it has its place, may take. Default none. */
        maxTaskMs?: number | undefined;
      }
    | undefined;
  /** Servers are not available yet. */
  mcpServers?: Record<string, McpServerConfig> | undefined;
  /** Default false; true is not available yet. */
  strictMcpConfig?: boolean | undefined;
}

export type RunOptions = {
  /** Aborting it ends the run with `stopReason: "aborted"`; nothing is thrown. */
  signal?: AbortSignal | undefined;
  /** 1 to 128 of `A-Z a-z 0-9 _ -`, else {@link ConfigError}. Default: the agent's. */
  sessionId?: string | undefined;
  steer?: SteerController | undefined;
  /** Over the config's. Also that of the children that the run starts, and of the runs that take up what they came to. */
  maxTurns?: number | undefined;
  /**
   * Input and output tokens together, of the run, of the children that it starts, and of the runs that take up what they
   * came to: one budget. Whichever of these goes over it stops like at maxTurns, after the calls of its turn, with a
   * `token_budget` diagnostic; a run whose model makes no more calls has stopped already. Default none.
   */
  maxTotalTokens?: number | undefined;
};

export interface LiteAgent<O = unknown> extends AsyncDisposable {
  /** The session that run and send use when none is named. */
  readonly sessionId: string;
  /**
   * Register an awaited handler; the function returned removes this one registration, and may be called twice.
   * `TypeError`: unknown name or no function. `RangeError`: timeoutMs. {@link ClosedError}: after close().
   */
  hook<N extends HookName>(name: N, handler: HookHandler<N>, options?: HookOptions): () => void;
  /**
   * One run, started by the first next(). return() or break cancels it, and resolves when its run:end hooks have.
   * `TypeError` for input that is no conversation. Throws what the provider threw, {@link ReentrancyError} when awaited
   * inside a hook of the same family, and {@link ClosedError} after close().
   */
  run(input: string | Message[], options?: RunOptions): AsyncGenerator<AgentEvent, LiteAgentResult<O>>;
  /** One run, started at once; its result. Rejects as run() throws. */
  send(input: string | Message[], options?: RunOptions): Promise<LiteAgentResult<O>>;
  /**
   * Observe, never steer: listeners are called in order and what they throw is swallowed. They hear all runs of the family,
   * children's to their own `done`. Returns the unsubscriber.
   */
  subscribe(listener: (entry: LiteAgentEvent) => void): () => void;
  /**
   * Resolves when the session (default: the agent's) has no run, no group of children and no run that takes up what they
   * came to. Background commands are not waited for. Nothing else keeps Node alive for children after send() has resolved.
   * {@link ConfigError} for what is no session id; {@link ReentrancyError} inside a hook, a callback of a run of that
   * session, or one of a child of it.
   */
  awaitIdle(sessionId?: string): Promise<void>;
  /** Compacts the current session now, without an answer of the model. `before` and `after` are tokens. */
  compact(
    instructions?: string,
    options?: { signal?: AbortSignal | undefined },
  ): AsyncGenerator<AgentEvent, { before: number; after: number }>;
  /** Makes it the session that run and send use. {@link ConfigError} for an id that none can have. */
  resume(sessionId: string): void;
  /** Rotate to a new, empty session and return its id; the old one stays stored. */
  clear(): string;
  /** Stored sessions, most recent first, without those of children; none where sessions are not stored. */
  listSessions(): Promise<SessionInfo[]>;
  /**
   * Cancels the session's runs and groups of children, kills its background commands, waits for their hooks, and deletes it
   * with the sessions of its children and its own task list. A list that `taskListId` names stays. {@link ConfigError} for
   * what is no id, {@link ReentrancyError} as for awaitIdle(), {@link ClosedError} after close().
   */
  deleteSession(sessionId: string): Promise<void>;
  /** One entry a user prompt, oldest first; seq goes to restore() as it is. */
  listCheckpoints(sessionId: string): Promise<{ seq: number; prompt: string; ts: string }[]>;
  /**
   * Takes the session back to the event `toSeq`: each file that the agent changed since goes back to what it held then (one
   * that it created is deleted), and the log is cut. `files: false` or `conversation: false` does the other alone. Waits
   * for the runs of the session that began before. A file that somebody else changed since, or of which too little was
   * kept, is skipped, with the reason. If a file cannot be written, or `signal` aborts, no file is changed.
   * `TypeError` and {@link ConfigError} for what cannot be; {@link ReentrancyError}; {@link ClosedError}.
   */
  restore(
    sessionId: string,
    toSeq: number,
    options?: {
      conversation?: boolean | undefined;
      files?: boolean | undefined;
      signal?: AbortSignal | undefined;
    },
  ): Promise<{ restoredFiles: string[]; skippedFiles: { path: string; reason: string }[] }>;
  /** Not available yet. */
  readonly mcp: {
    list(): { name: string; source: string; status: string; tools: string[]; error?: string | undefined }[];
    register(name: string, config: McpServerConfig): Promise<void>;
    unregister(name: string): Promise<void>;
  };
  /**
   * Cancels what runs, children included, kills background commands, waits for terminal hooks, clears registrations.
   * Idempotent.
   */
  close(): Promise<void>;
}
/**
 * An agent. Throws {@link ConfigError} at once for an option that is unknown, of the wrong type, out of range or not
 * available yet; its message begins with the option's name. `TypeError` when `config` is no object.
 */
export function createLiteAgent<O = unknown>(config: CreateLiteAgentConfig<O>): LiteAgent<O>;

export interface QueryOptions<O = unknown> extends Omit<CreateLiteAgentConfig<O>, "workdir" | "system"> {
  prompt: string | Message[];
  /** Default process.cwd(). */
  cwd?: string | undefined;
  systemPrompt?: string | undefined;
  signal?: AbortSignal | undefined;
  sessionId?: string | undefined;
  steer?: SteerController | undefined;
}
/**
 * One question, one agent: goes on until the groups of children that it started, and the runs that take up what they came
 * to, are over, then kills its background commands and closes. One stream of all their events, with one `done`, the last of
 * it. The result is that of the last run, `usage` summed over the user's run and those that took groups up, children's not
 * counted. Throws what the user's run threw, after ending what it had started; what a run that took a group up threw, when
 * all are over; and at once as {@link createLiteAgent} does. `signal` and `break` end all of it.
 */
export function query<O = unknown>(options: QueryOptions<O>): AsyncGenerator<AgentEvent, LiteAgentResult<O>>;

export type McpServerConfig =
  | {
      type?: "stdio" | undefined;
      command: string;
      args?: string[] | undefined;
      env?: Record<string, string> | undefined;
      timeoutMs?: number | undefined;
    }
  | { type: "http"; url: string; headers?: Record<string, string> | undefined; timeoutMs?: number | undefined };

/** https://standardschema.dev, version 1. */
export interface StandardSchema<I> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => unknown;
    readonly types?: { readonly input: unknown; readonly output: I } | undefined;
    readonly jsonSchema?: { input(options: { target: string }): Record<string, unknown> } | undefined;
  };
}

// Without this line everything declared above would count as exported, marked or not.
export {};
