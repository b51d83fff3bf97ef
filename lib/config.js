// What createLiteAgent, query and runs accept as options: unknown, ill-typed, out of range and not available yet are
// told apart here, synchronously, by name. Looks at files only to see that they are there; never reads one.

import { statSync } from "node:fs";
import { resolve } from "node:path";

import { ConfigError } from "./errors.js";
import { checkEnvironment, inheritedEnvironment } from "./environment.js";
import { defaultHome } from "./home.js";
import { normaliseInput } from "./messages.js";
import { native } from "./native.js";
import { isSteerController } from "./steer.js";

const DEFAULT_MAX_TURNS = 50;
const DEFAULT_MAX_PARALLEL_TOOLS = 10;
/** The longest that a timer takes. */
const MAX_TIMEOUT_MS = 2_147_483_647;
/** Counts cross to the core as 32-bit numbers. */
const MAX_COUNT = 4_294_967_295;
const DEFAULT_MAX_AGE_DAYS = 30;
/** Longer than there are computers. */
const MAX_AGE_DAYS = 36_500;
const SESSION_ID = /^[A-Za-z0-9_-]{1,128}$/;
const MIDDLEWARE_FUNCTIONS = ["beforeAgent", "afterAgent", "beforeModel", "wrapModelCall", "wrapToolCall"];

// --- rules: (name, value) => the value to use; they throw for one that cannot be used ---

const flag = (name, value) => (typeof value === "boolean" ? value : refuse(name, "true or false", value));
const text = (name, value) => (typeof value === "string" ? value : refuse(name, "a string", value));
const filledText = (name, value) => {
  if (typeof value !== "string" || value === "") return refuse(name, "a string that is not empty", value);
  if (!value.isWellFormed())
    throw new ConfigError(`${name} must be whole characters, but has half of a surrogate pair`);
  return value;
};
const callable = (name, value) => (typeof value === "function" ? value : refuse(name, "a function", value));

const integer = (least, most) => (name, value) => {
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  return refuse(name, `an integer from ${least} to ${most}`, value);
};
const count = integer(1, MAX_COUNT);
const milliseconds = integer(1, MAX_TIMEOUT_MS);
const numberBetween = (least, most) => (name, value) => {
  if (typeof value === "number" && value >= least && value <= most) return value;
  return refuse(name, `a number from ${least} to ${most}`, value);
};
const oneOf = (words) => (name, value) => {
  if (words.includes(value)) return value;
  const hint = typeof value === "string" ? suggestion(value, words) : "";
  return refuse(name, `one of ${words.join(", ")}`, value, hint);
};

/** Its feature is not there yet, whatever the value. */
const later = (name) => {
  throw notAvailable(name);
};
/** Only values that are the default, or turn the feature off, mean anything yet; `rule` tells others from mistakes. */
const only = (available, rule) => (name, value) => {
  if (available.includes(value)) return value;
  rule(name, value);
  throw notAvailable(`${name}: ${shown(value)}`);
};
/** On by default once it is there. Until then the default is as if off, and whoever asks for it is told. */
const notYetOn = only([false], flag);

/** An object of the host that has one function. */
const having = (member) => (name, value) => {
  const isObject = (typeof value === "object" && value !== null) || typeof value === "function";
  if (isObject && typeof value[member] === "function") return value;
  return refuse(name, `an object with a function ${member}()`, value);
};

function fileTools(name, value) {
  const given = members(name, value, {
    symlinks: oneOf(["inside", "deny"]),
    maxSnapshotBytes: integer(0, Number.MAX_SAFE_INTEGER),
  });
  return Object.freeze(given);
}

function bash(name, value) {
  const given = members(name, value, {
    timeoutMs: milliseconds,
    backgroundTimeoutMs: milliseconds,
    maxOutputBytes: integer(1, Number.MAX_SAFE_INTEGER),
    memoryBytes: integer(1, Number.MAX_SAFE_INTEGER),
    env: checkEnvironment,
  });
  return Object.freeze(given);
}

function sandbox(name, value) {
  having("wrap")(name, value);
  filledText(`${name}.id`, value.id);
  for (const member of ["initialize", "dispose"]) {
    if (value[member] !== undefined) callable(`${name}.${member}`, value[member]);
  }
  return value;
}

/** An object option: each member by its own rule, and no other. */
function members(name, value, rules) {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return refuse(name, "an object", value);
  const given = {};
  for (const key of Object.keys(value)) {
    if (!Object.hasOwn(rules, key)) {
      throw new ConfigError(`${name}.${key} is not an option here${suggestion(key, Object.keys(rules))}`);
    }
    const member = value[key];
    if (member !== undefined) given[key] = rules[key](`${name}.${key}`, member);
  }
  return given;
}

function context(name, value) {
  if (value === false) return value;
  return members(name, value, { windowTokens: integer(1, Number.MAX_SAFE_INTEGER) });
}

function cleanup(name, value) {
  if (typeof value === "boolean") return value;
  return members(name, value, {
    maxAgeDays: numberBetween(0, MAX_AGE_DAYS),
    maxBytes: integer(0, Number.MAX_SAFE_INTEGER),
  });
}

function checkpointer(name, value) {
  if (typeof value !== "object" || value === null) return refuse(name, "a checkpointer object", value);
  for (const member of ["append", "read", "head", "list", "delete"]) callable(`${name}.${member}`, value[member]);
  for (const member of ["truncate", "close"]) {
    if (value[member] !== undefined) callable(`${name}.${member}`, value[member]);
  }
  return value;
}

function list(name, value) {
  return Array.isArray(value) ? [...value] : refuse(name, "an array", value);
}

function names(name, value) {
  const copy = list(name, value);
  copy.forEach((element, index) => filledText(`${name}[${index}]`, element));
  return copy;
}

function model(name, value) {
  if (typeof value === "string") {
    throw new ConfigError(`${name}: native providers are not available yet; pass a ModelProvider, got ${shown(value)}`);
  }
  if (typeof value !== "object" || value === null) return refuse(name, "a ModelProvider", value);
  filledText(`${name}.id`, value.id);
  callable(`${name}.stream`, value.stream);
  return value;
}

function toolChoice(name, value) {
  if (typeof value !== "object" || value === null) return oneOf(["auto", "none", "required"])(name, value);
  for (const key of Object.keys(value)) {
    if (key === "tool") continue;
    throw new ConfigError(`${name} has the unknown property "${key}"; as an object it is { tool: "<name>" }`);
  }
  return Object.freeze({ tool: filledText(`${name}.tool`, value.tool) });
}

function middleware(name, value) {
  const copy = list(name, value);
  copy.forEach((element, index) => {
    const place = `${name}[${index}]`;
    if (typeof element !== "object" || element === null) refuse(place, "a middleware object", element);
    filledText(`${place}.name`, element.name);
    for (const key of MIDDLEWARE_FUNCTIONS) {
      if (element[key] !== undefined) callable(`${place}.${key}`, element[key]);
    }
    refuseNearMisses(place, element);
  });
  return copy;
}

/** Middleware may have more than the agent asks for; but a misspelt function would never be called. */
function refuseNearMisses(place, element) {
  for (const key of namesOf(element)) {
    if (MIDDLEWARE_FUNCTIONS.includes(key) || typeof element[key] !== "function") continue;
    const near = native.nearest(key, MIDDLEWARE_FUNCTIONS);
    if (near !== null && element[near] === undefined) {
      throw new ConfigError(`${place}.${key} is no function of middleware; did you mean ${near}?`);
    }
  }
}

/** The names of an object's own properties, and of those that its class gives it. */
function namesOf(object) {
  const found = new Set();
  for (let at = object; at !== null && Object.getPrototypeOf(at) !== null; at = Object.getPrototypeOf(at)) {
    for (const key of Object.getOwnPropertyNames(at)) if (key !== "constructor") found.add(key);
  }
  return found;
}

function mcpServers(name, value) {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return refuse(name, "an object", value);
  return Object.keys(value).length === 0 ? value : later(name);
}

function directory(name, value) {
  const path = resolve(filledText(name, value));
  let found;
  try {
    found = statSync(path, { throwIfNoEntry: false });
  } catch (cause) {
    throw new ConfigError(`${name} must be a directory that can be reached, got ${shown(path)}: ${cause.message}`, {
      cause,
    });
  }
  if (found === undefined) throw new ConfigError(`${name} must be an existing directory, but "${path}" does not exist`);
  if (!found.isDirectory()) throw new ConfigError(`${name} must be a directory, but "${path}" is something else`);
  return path;
}

function sessionId(name, value) {
  if (typeof value === "string" && SESSION_ID.test(value)) return value;
  return refuse(name, "1 to 128 characters of A-Z a-z 0-9 _ -", value);
}

function signal(name, value) {
  // By its shape: a signal of another realm, or of a polyfill, is no instance of this one's class.
  if (typeof value?.aborted === "boolean" && typeof value.addEventListener === "function") return value;
  return refuse(name, "an AbortSignal", value);
}

function steer(name, value) {
  return isSteerController(value) ? value : refuse(name, "a SteerController", value);
}

// --- the options ---

/** Without a prototype, so that no option is known as "constructor" or "toString". */
const SHARED_RULES = Object.assign(Object.create(null), {
  model,
  modelName: filledText,
  models: later,
  defaultModel: later,
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
  outputSchema: later,
  maxParallelTools: count,
  maxParallelSubagents: only([5], count),
  use: middleware,
  hookFiles: flag,
  home: (name, value) => resolve(filledText(name, value)),
  permission: having("check"),
  subagentPermission: later,
  permissionMode: oneOf(["enforce", "dry-run"]),
  permissionAudit: flag,
  redact: callable,
  onApproval: having("request"),
  onAskUser: later,
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
  tasks: notYetOn,
  taskListId: later,
  skillsDir: later,
  agents: notYetOn,
  agentsDir: later,
  background: notYetOn,
  backgroundLimits: later,
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
  if (given.model === undefined) {
    throw new ConfigError("model is required: pass a ModelProvider (exactly one of model and models)");
  }
  const { prompt } = given;
  if (query && prompt === undefined) {
    throw new TypeError("prompt must be a string or an array of messages, got undefined");
  }
  const workdir = query ? (given.cwd ?? currentDirectory()) : given.workdir;
  if (workdir === undefined) throw new ConfigError("workdir is required: the directory in which the agent works");
  const home = given.home ?? defaultHome();
  const hookFiles = given.hookFiles ?? true;
  const checked = {
    model: given.model,
    modelName: given.modelName ?? given.model.id,
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

function suggestion(word, candidates) {
  const near = native.nearest(word, candidates);
  return near === null ? "" : `; did you mean ${near}?`;
}

function currentDirectory() {
  try {
    return process.cwd();
  } catch (cause) {
    throw new ConfigError(`cwd must be given: the process has no current directory: ${cause.message}`, { cause });
  }
}

function notAvailable(what) {
  return new ConfigError(`${what} is not available yet`);
}

/** @returns {never} */
function refuse(name, expected, value, hint = "") {
  throw new ConfigError(`${name} must be ${expected}, got ${shown(value)}${hint}`);
}

function shown(value) {
  if (typeof value === "string") return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value);
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  return kindOf(value);
}

function kindOf(value) {
  if (value === null) return "null";
  return Array.isArray(value) ? "an array" : typeof value;
}
