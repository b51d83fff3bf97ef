// What createLiteAgent, query and runs accept as options: unknown, ill-typed, out of range and not available yet are
// told apart here, synchronously, by name. Looks at files only to see that they are there; never reads one.

import { absolutePath } from "./absolute-path.js";
import { ConfigError } from "./errors.js";
import { inheritedEnvironment } from "./environment.js";
import { defaultHome } from "./home.js";
import { normaliseInput } from "./messages.js";
import {
  TIERS,
  backgroundLimits,
  bash,
  callable,
  checkpointer,
  cleanup,
  context,
  count,
  directory,
  fileTools,
  filledText,
  flag,
  having,
  integer,
  kindOf,
  later,
  list,
  mcpServers,
  middleware,
  model,
  models,
  names,
  numberBetween,
  oneOf,
  only,
  sandbox,
  schema,
  sessionId,
  signal,
  steer,
  suggestion,
  text,
  toolChoice,
} from "./option-rules.js";

const DEFAULT_MAX_TURNS = 50;
const DEFAULT_MAX_PARALLEL_TOOLS = 10;
const DEFAULT_MAX_PARALLEL_SUBAGENTS = 5;
const DEFAULT_TIER = "medium";
const DEFAULT_MAX_AGE_DAYS = 30;
const MAX_COUNT = 4_294_967_295;

// --- the options ---

/** Without a prototype, so that no option is known as "constructor" or "toString". */
const SHARED_RULES = Object.assign(Object.create(null), {
  model,
  modelName: filledText,
  models,
  defaultModel: oneOf(TIERS),
  tools: list,
  allowedTools: names,
  disallowedTools: names,
  codec: later,
  maxDecodeRetries: only([0, 2], integer(0, MAX_COUNT)),
  maxTurns: count,
  maxTokens: count,
  temperature: numberBetween(0, 2),
  topP: numberBetween(0, 1),
  toolChoice,
  seed: integer(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER),
  reasoningEffort: oneOf(["minimal", "low", "medium", "high"]),
  outputSchema: schema,
  maxParallelTools: count,
  maxParallelSubagents: count,
  use: middleware,
  hookFiles: flag,
  home: (name, value) => absolutePath(name, filledText(name, value)),
  permission: having("check"),
  subagentPermission: having("check"),
  permissionMode: oneOf(["enforce", "dry-run"]),
  permissionAudit: flag,
  redact: callable,
  onApproval: having("request"),
  onAskUser: having("request"),
  sandbox,
  bash,
  fileTools,
  sessions: flag,
  checkpointer,
  crashRecovery: oneOf(["off", "safe"]),
  maxSnapshotBytesPerSession: integer(0, Number.MAX_SAFE_INTEGER),
  cleanup,
  context,
  compactor: (name, value) => (value === false ? value : having("maybeCompact")(name, value)),
  tasks: flag,
  taskListId: sessionId,
  skillsDir: directory,
  agents: flag,
  agentsDir: directory,
  background: flag,
  backgroundLimits,
  mcpServers,
  strictMcpConfig: only([false], flag),
});
const AGENT_RULES = Object.assign(Object.create(null), SHARED_RULES, { workdir: directory, system: text });
const QUERY_RULES = Object.assign(Object.create(null), SHARED_RULES, {
  // The text as it is, a conversation as it was when query() was called.
  prompt: (name, value) => (typeof value === "string" && value !== "" ? value : normaliseInput(value, name)),
  cwd: directory,
  systemPrompt: text,
  signal,
  sessionId,
  steer,
});
const COMPACT_RULES = Object.assign(Object.create(null), { signal });
const RUN_RULES = Object.assign(Object.create(null), {
  signal,
  sessionId,
  steer,
  maxTurns: count,
  maxTotalTokens: integer(1, Number.MAX_SAFE_INTEGER),
});
const RESTORE_RULES = Object.assign(Object.create(null), { conversation: flag, files: flag, signal });
/** What the other function calls the same thing. */
const OTHER_NAMES = { cwd: "workdir", systemPrompt: "system", workdir: "cwd", system: "systemPrompt" };

const NO_OPTIONS = Object.freeze({});

/**
 * The options of createLiteAgent, or of query, as the agent uses them: defaults filled in, arrays copied, workdir and
 * home absolute; of query's, `cwd` is workdir, `systemPrompt` is system, and the run's own are there too.
 * @param {object} config
 * @param {{ query: boolean }} caller
 * @throws {TypeError} when config is no object, or query's prompt no conversation
 * @throws {ConfigError} whose message begins with the option's name
 */
export function checkConfig(config, { query }) {
  if (typeof config !== "object" || config === null || Array.isArray(config)) {
    const what = query ? "query: the options" : "createLiteAgent: the config";
    throw new TypeError(`${what} must be an object, got ${kindOf(config)}`);
  }
  const given = apply(query ? QUERY_RULES : AGENT_RULES, config);
  const chosen = chosenModel(given);
  const { prompt } = given;
  if (query && prompt === undefined) {
    throw new TypeError("prompt must be a string or an array of messages, got undefined");
  }
  const workdir = query ? (given.cwd ?? currentDirectory()) : given.workdir;
  if (workdir === undefined) throw new ConfigError("workdir is required: the directory in which the agent works");
  const home = given.home ?? defaultHome();
  const hookFiles = given.hookFiles ?? true;
  const checked = {
    ...chosen,
    workdir,
    home,
    hookFiles,
    system: query ? given.systemPrompt : given.system,
    tools: given.tools ?? [],
    allowedTools: given.allowedTools,
    disallowedTools: given.disallowedTools,
    maxTurns: given.maxTurns ?? DEFAULT_MAX_TURNS,
    maxTokens: given.maxTokens,
    temperature: given.temperature,
    topP: given.topP,
    toolChoice: given.toolChoice,
    seed: given.seed,
    reasoningEffort: given.reasoningEffort,
    maxParallelTools: given.maxParallelTools ?? DEFAULT_MAX_PARALLEL_TOOLS,
    maxParallelSubagents: given.maxParallelSubagents ?? DEFAULT_MAX_PARALLEL_SUBAGENTS,
    outputSchema: given.outputSchema,
    agents: given.agents ?? true,
    agentsDir: given.agentsDir,
    skillsDir: given.skillsDir,
    background: given.background ?? true,
    backgroundLimits: given.backgroundLimits ?? NO_OPTIONS,
    tasks: given.tasks ?? true,
    taskListId: given.tasks === false ? undefined : (given.taskListId ?? taskListOfEnvironment()),
    onAskUser: given.onAskUser,
    subagentPermission: given.subagentPermission,
    use: given.use ?? [],
    permission: given.permission,
    permissionMode: given.permissionMode ?? "enforce",
    onApproval: given.onApproval,
    redact: given.redact,
    fileTools: given.fileTools ?? NO_OPTIONS,
    compacts: given.context !== false && given.compactor !== false,
    windowTokens: given.context === false ? undefined : given.context?.windowTokens,
    compactor: given.compactor === false ? undefined : given.compactor,
    cleanup: cleanupOf(given.cleanup ?? true),
    sessions: given.sessions ?? true,
    checkpointer: given.checkpointer,
    maxSnapshotBytesPerSession: given.maxSnapshotBytesPerSession,
    crashRecovery: given.crashRecovery ?? "safe",
    permissionAudit: given.permissionAudit ?? false,
    sandbox: given.sandbox,
    bash: given.bash ?? NO_OPTIONS,
    environment: given.bash?.env ?? inheritedEnvironment(),
  };
  if (!query) return checked;
  return { ...checked, prompt, signal: given.signal, sessionId: given.sessionId, steer: given.steer };
}

/**
 * The options of run() and send().
 * @param {object | undefined} options
 * @returns {{ signal?: AbortSignal, sessionId?: string, steer?: object, maxTurns?: number, maxTotalTokens?: number }}
 * @throws {TypeError} when options is no object
 * @throws {ConfigError} whose message begins with the option's name
 */
export function checkRunOptions(options) {
  if (options === undefined) return NO_OPTIONS;
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    throw new TypeError(`the run's options must be an object, got ${kindOf(options)}`);
  }
  return apply(RUN_RULES, options);
}

/**
 * The options of restore().
 * @returns {{ conversation: boolean, files: boolean, signal?: AbortSignal }}
 * @throws {TypeError} when options is no object
 * @throws {ConfigError} whose message begins with the option's name
 */
export function checkRestoreOptions(options) {
  if (options !== undefined && (typeof options !== "object" || options === null || Array.isArray(options))) {
    throw new TypeError(`restore: the options must be an object, got ${kindOf(options)}`);
  }
  const { conversation = true, files = true, signal } = apply(RESTORE_RULES, options ?? NO_OPTIONS);
  return { conversation, files, signal };
}

/** The options of compact(). @throws as checkRunOptions does */
export function checkCompactOptions(options) {
  if (options === undefined) return NO_OPTIONS;
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    throw new TypeError(`compact: the options must be an object, got ${kindOf(options)}`);
  }
  return apply(COMPACT_RULES, options);
}

/** @returns {Record<string, any>} what was given, each as its rule has it */
function apply(rules, options) {
  /** @type {Record<string, any>} */
  const given = {};
  for (const name of Object.keys(options)) {
    const rule = rules[name];
    if (rule === undefined) throw unknownOption(name, rules);
    const value = options[name];
    if (value !== undefined) given[name] = rule(name, value);
  }
  return given;
}

/** What a clean-up of stored sessions takes away: `{ maxAgeDays, maxBytes }`, or nothing. */
function cleanupOf(value) {
  if (value === false) return undefined;
  if (value === true) return { maxAgeDays: DEFAULT_MAX_AGE_DAYS };
  return value.maxAgeDays === undefined && value.maxBytes === undefined ? { maxAgeDays: DEFAULT_MAX_AGE_DAYS } : value;
}

function unknownOption(name, rules) {
  const other = Object.hasOwn(OTHER_NAMES, name) ? OTHER_NAMES[name] : undefined;
  const hint = other in rules ? `; did you mean ${other}?` : suggestion(name, Object.keys(rules));
  return new ConfigError(`${name} is not an option here${hint}`);
}

/** The provider and the name of the root agent's model, and the tiers that there are. */
function chosenModel({ model: provider, models: tiers, modelName, defaultModel }) {
  if ((provider === undefined) === (tiers === undefined)) {
    throw new ConfigError(
      provider === undefined
        ? "model is required: pass a ModelProvider (exactly one of model and models)"
        : "models cannot be given together with model: exactly one of them",
    );
  }
  if (tiers === undefined) {
    if (defaultModel !== undefined) throw new ConfigError("defaultModel needs models: it names one of their tiers");
    return { model: provider, modelName: modelName ?? provider.id };
  }
  if (modelName !== undefined)
    throw new ConfigError("modelName cannot be given together with models: each has its own");
  const root = tiers[defaultModel ?? DEFAULT_TIER];
  return { model: root.provider, modelName: root.modelName, models: tiers };
}

/** Read once: what a host changes later is not seen. */
function taskListOfEnvironment() {
  const named = process.env.LITE_AGENT_TASK_LIST_ID;
  return named === undefined || named === "" ? undefined : sessionId("LITE_AGENT_TASK_LIST_ID", named);
}

function currentDirectory() {
  try {
    return process.cwd();
  } catch (cause) {
    throw new ConfigError(`cwd must be given: the process has no current directory: ${cause.message}`, { cause });
  }
}
