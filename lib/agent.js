// LiteAgent and query(): the public object. Checks what the caller says, refuses what would wait for itself, and hands
// the rest to the family. Nothing of how a run goes is decided here.
import { randomUUID } from "node:crypto";

import { checkCompactOptions, checkConfig, checkRestoreOptions, checkRunOptions } from "./config.js";
import { callbackFrame, inFrame, refuseReentrancy } from "./context.js";
import { Conversation } from "./conversation.js";
import { ClosedError, ConfigError } from "./errors.js";
import { Family, refuseForeignToJson } from "./family.js";
import { copyFrozen } from "./frozen.js";
import { hold, release } from "./keep-alive.js";
import { normaliseInput } from "./messages.js";
import { sortMiddleware } from "./middleware.js";
import { addonFolder, native } from "./native.js";
import { Run } from "./run.js";
import { RunIterator } from "./run-iterator.js";
import { nativePolicy } from "./policy.js";
import { HostSandbox } from "./sandbox.js";
import { listCheckpoints } from "./sessions/checkpoints.js";
import { SessionLog } from "./sessions/log.js";
import { fileCheckpointer } from "./sessions/native.js";
import { OWN } from "./sessions/own.js";
import { resolveProjectPaths } from "./sessions/project-paths.js";
import { checkRestore, restore } from "./sessions/restore.js";
import { checkSessionId } from "./sessions/session-id.js";
import { onAbort } from "./signals.js";
import { prepareTools } from "./tools.js";
import { WorkingFolder } from "./working-folder.js";

const HOOK_NAMES = ["run:start", "run:end", "tool:start", "tool:end", "compact:start", "compact:end"];
const MS_PER_DAY = 86_400_000;
const DEFAULT_COMMAND_TIMEOUT_MS = 120_000;
const DEFAULT_MAX_OUTPUT_BYTES = 50_000_000;
const DEFAULT_HOOK_TIMEOUT_MS = 10_000;
const MAX_HOOK_TIMEOUT_MS = 120_000;
/** The tools that the core executes itself, as a model is shown them. */
const BUILTIN_TOOLS = JSON.parse(native.builtinTools()).map((specification) => copyFrozen(specification));

/** A run whose end is told only after `finalise`; the public class does not show it. */
let runThen;
/** Whether a value is an agent, whatever its prototype says. */
let isAgent;

class LiteAgent {
  #family;
  #sessions = new Map();
  #sessionId = randomUUID();
  #closing = null;
  /** Where sessions are stored, or null. */
  #checkpointer;
  #ownsCheckpointer = false;
  #maxSnapshotBytes;
  #mcp;

  constructor(checked) {
    refuseForeignToJson();
    this.#checkpointer = checked.checkpointer ?? null;
    this.#maxSnapshotBytes = checked.maxSnapshotBytesPerSession;
    let workingFolder;
    if (this.#checkpointer === null && checked.sessions) {
      this.#checkpointer = fileCheckpointer({ dir: resolveProjectPaths(checked).sessionsDir });
      this.#ownsCheckpointer = true;
      this.#cleanUp(checked.cleanup);
    }
    const prepared = prepareTools(checked.tools);
    const tools = prepared.filter(({ name }) => isSelected(name, checked));
    const own = new Set(prepared.map(({ name }) => name));
    const builtin = BUILTIN_TOOLS.filter(
      ({ name }) => !own.has(name) && isSelected(name, checked) && (name !== "context" || this.#checkpointer !== null),
    );
    const middleware = sortMiddleware(checked.use);
    const policy = checked.permission === undefined ? undefined : nativePolicy(checked.permission);
    const options = familyOptions(checked, { tools, builtin, middleware, policy, stores: this.#checkpointer !== null });
    this.#family = new Family(options, policy, {
      provider: checked.model,
      request: requestTemplate(checked, tools, builtin),
      tools,
      middleware,
      permission: checked.permission,
      onApproval: checked.onApproval,
      redact: checked.redact,
      automatic: checked.compacts,
      /** Long results may be left out of requests: the tool that reads them is there. */
      shortens: builtin.some(({ name }) => name === "context"),
      contextWindow: checked.windowTokens,
      compactor: checked.compactor,
      sandbox: checked.sandbox === undefined ? undefined : new HostSandbox(checked.sandbox, checked.workdir),
      forgetSession: (sessionId) => this.#forget(sessionId),
      runOver: (run) => this.#forgetBlank(run),
      workingFolder: () =>
        (workingFolder ??= new WorkingFolder({ workdir: options.workdir, denySymlinks: options.denySymlinks })),
    });
    this.#mcp = Object.freeze({
      list: () => [],
      register: async () => notAvailable("mcp.register()"),
      unregister: async () => notAvailable("mcp.unregister()"),
    });
  }

  get sessionId() {
    return this.#sessionId;
  }

  get mcp() {
    return this.#mcp;
  }

  hook(name, handler, options) {
    if (!HOOK_NAMES.includes(name)) {
      const near = typeof name === "string" ? native.nearest(name, HOOK_NAMES) : null;
      const hint = near === null ? `it must be one of ${HOOK_NAMES.join(", ")}` : `did you mean "${near}"?`;
      throw new TypeError(`hook: unknown event ${typeof name === "string" ? `"${name}"` : typeof name}; ${hint}`);
    }
    if (typeof handler !== "function")
      throw new TypeError(`hook: the handler must be a function, got ${kindOf(handler)}`);
    const timeoutMs = hookTimeout(options);
    if (this.#closing !== null) throw closed();
    const id = this.#family.hook(name, handler, timeoutMs);
    let registered = true;
    return () => {
      if (!registered) return;
      registered = false;
      this.#family.unhook(name, id);
    };
  }

  run(input, options) {
    return new RunIterator((iterator) => this.#begin("run", input, options, iterator));
  }

  async send(input, options) {
    const run = this.#begin("send", input, options, null);
    hold();
    try {
      return await run.settled;
    } finally {
      release();
    }
  }

  subscribe(listener) {
    if (typeof listener !== "function") {
      throw new TypeError(`subscribe: the listener must be a function, got ${kindOf(listener)}`);
    }
    // A function of its own for each subscription, so that one listener may subscribe twice.
    const own = (entry) => listener(entry);
    this.#family.subscribe(own);
    return () => this.#family.unsubscribe(own);
  }

  async awaitIdle(sessionId = this.#sessionId) {
    refuseReentrancy(this.#family, "awaitIdle", sessionId);
    checkSessionId("awaitIdle", sessionId);
    await this.#held(this.#family.awaitIdle(sessionId));
  }

  compact(instructions, options) {
    return new RunIterator((iterator) => this.#beginCompaction(instructions, options, iterator));
  }

  resume(sessionId) {
    checkSessionId("resume", sessionId);
    if (this.#closing !== null) throw closed();
    this.#sessionId = sessionId;
  }

  clear() {
    if (this.#closing !== null) throw closed();
    this.#sessionId = randomUUID();
    return this.#sessionId;
  }

  async listSessions() {
    if (this.#checkpointer === null) return [];
    return await this.#held(Promise.resolve(this.#checkpointer.list()));
  }

  async deleteSession(sessionId) {
    refuseReentrancy(this.#family, "deleteSession", sessionId);
    checkSessionId("deleteSession", sessionId);
    if (this.#closing !== null) throw closed();
    const work = async () => {
      if (this.#checkpointer !== null) {
        const frame = callbackFrame(this.#family, sessionId);
        try {
          await inFrame(frame, () => this.#checkpointer.delete(sessionId));
        } finally {
          frame.end();
        }
      }
      // The very object stays: a run that came meanwhile holds it as well.
      const conversation = this.#sessions.get(sessionId);
      await conversation?.log?.release();
      conversation?.restore([]);
      return true;
    };
    await this.#held(this.#family.holdSession(sessionId, { cancel: true, work }));
  }

  async listCheckpoints(sessionId) {
    checkSessionId("listCheckpoints", sessionId);
    return await this.#held(listCheckpoints(this.#stored("listCheckpoints"), sessionId));
  }

  async restore(sessionId, toSeq, options) {
    refuseReentrancy(this.#family, "restore", sessionId);
    checkSessionId("restore", sessionId);
    const scope = checkRestoreOptions(options);
    const checkpointer = this.#stored("restore");
    checkRestore(toSeq, scope, checkpointer);
    if (this.#closing !== null) throw closed();
    const { signal } = scope;
    if (signal?.aborted) throw signal.reason;
    let begun = false;
    let outcome;
    const work = async () => {
      begun = true;
      if (this.#closing !== null) throw closed();
      const conversation = this.#sessions.get(sessionId);
      await conversation?.log.quiet();
      outcome = await restore(this.#family, checkpointer, sessionId, toSeq, scope);
      // Not forgotten: a run that waits for the session has it, and reads it anew.
      if (scope.conversation) conversation?.restore([]);
      return scope.conversation;
    };
    const over = this.#family.holdSession(sessionId, { cancel: false, work });
    if (signal === undefined) await this.#held(over);
    else await this.#held(unlessAborted(signal, over, () => begun));
    return outcome;
  }

  async close() {
    refuseReentrancy(this.#family, "close", this.#sessionId);
    // From the bottom of the stack: whoever closes near its end would leave the core in the middle of it.
    this.#closing ??= Promise.resolve().then(() => this.#close());
    await this.#held(this.#closing);
  }

  async #close() {
    await this.#family.close();
    await Promise.all([...this.#sessions.keys()].map((sessionId) => this.#forget(sessionId)));
    // Whatever the one does, the other is let go as well.
    const [sandbox, checkpointer] = await Promise.allSettled([
      this.#family.parts.sandbox?.dispose(),
      this.#ownsCheckpointer ? this.#checkpointer.close() : undefined,
    ]);
    for (const { status, reason } of [sandbox, checkpointer]) if (status === "rejected") throw reason;
  }

  /** Off this thread; nobody waits for it, and what fails is tried again by the next agent. */
  #cleanUp(cleanup) {
    if (cleanup === undefined) return;
    const { maxAgeDays, maxBytes } = cleanup;
    const modifiedBeforeMs =
      maxAgeDays === undefined ? undefined : Math.max(0, Math.floor(Date.now() - maxAgeDays * MS_PER_DAY));
    this.#checkpointer[OWN].cleanup({ modifiedBeforeMs, maxBytes }).catch(() => {});
  }

  /** Resolves when nothing of the session is held any more. */
  async #forget(sessionId) {
    const conversation = this.#sessions.get(sessionId);
    this.#sessions.delete(sessionId);
    try {
      await conversation?.log?.release();
    } catch {
      // The host closed its checkpointer before: its holds went with it.
    }
  }

  static {
    isAgent = (value) => typeof value === "object" && value !== null && #family in value;
    runThen = (agent, input, options, finalise) =>
      new RunIterator((iterator) => agent.#begin("query", input, options, iterator), finalise);
  }

  /** A compaction takes its place in the session like a run. */
  #beginCompaction(instructions, options, iterator) {
    const sessionId = this.#sessionId;
    refuseReentrancy(this.#family, "compact", sessionId);
    if (this.#closing !== null) throw closed();
    if (instructions !== undefined && typeof instructions !== "string") {
      throw new TypeError(`compact: instructions must be a string, got ${kindOf(instructions)}`);
    }
    const { signal } = checkCompactOptions(options);
    const run = new Run(this.#family, {
      runId: randomUUID(),
      sessionId,
      conversation: this.#conversation(sessionId),
      input: [],
      messages: [],
      steer: undefined,
      signal,
      source: "manual",
    });
    run.sink = iterator;
    run.start({ stream: true, steer: false, compact: { instructions } });
    return run;
  }

  /** Checks a run's input, makes the run and starts it. */
  #begin(operation, input, options, iterator) {
    refuseReentrancy(this.#family, operation, options?.sessionId ?? this.#sessionId);
    if (this.#closing !== null) throw closed();
    const { sessionId = this.#sessionId, steer, signal, maxTurns, maxTotalTokens } = checkRunOptions(options);
    const messages = normaliseInput(input);
    const run = new Run(this.#family, {
      runId: randomUUID(),
      sessionId,
      conversation: this.#conversation(sessionId),
      input: typeof input === "string" ? input : messages,
      messages,
      steer,
      signal,
    });
    run.sink = iterator;
    run.start({
      stream: iterator !== null,
      maxTurns,
      maxTotalTokens,
      steer: steer !== undefined,
      messages: typeof input === "string" ? undefined : JSON.stringify(messages),
    });
    return run;
  }

  /** @throws {ConfigError} where sessions are not stored */
  #stored(operation) {
    if (this.#checkpointer !== null) return this.#checkpointer;
    throw new ConfigError(`${operation}() needs stored sessions: give a checkpointer, or leave sessions on`);
  }

  #conversation(sessionId) {
    let conversation = this.#sessions.get(sessionId);
    if (conversation === undefined) {
      conversation = new Conversation(
        this.#checkpointer &&
          new SessionLog(this.#checkpointer, sessionId, {
            shortens: this.#family.parts.shortens,
            maxSnapshotBytes: this.#maxSnapshotBytes,
          }),
      );
      this.#sessions.set(sessionId, conversation);
    }
    return conversation;
  }

  /** A session in which nothing was stored need not be remembered. */
  #forgetBlank({ sessionId, conversation }) {
    if (conversation.messages.length > 0) return;
    for (const run of this.#family.runs.values()) if (run.conversation === conversation) return;
    this.#forget(sessionId);
  }

  async #held(promise) {
    hold();
    try {
      return await promise;
    } finally {
      release();
    }
  }
}

// A method that was taken off its agent would fail where it first needs it, in words that help nobody.
for (const [name, descriptor] of Object.entries(Object.getOwnPropertyDescriptors(LiteAgent.prototype))) {
  const { value: method } = descriptor;
  if (name === "constructor" || typeof method !== "function") continue;
  const checked = {
    [name](...parameters) {
      if (!isAgent(this)) throw new TypeError(`${name} was called without its agent: call it as agent.${name}(…)`);
      return method.apply(this, parameters);
    },
  }[name];
  Object.defineProperty(checked, "length", { value: method.length, configurable: true });
  Object.defineProperty(LiteAgent.prototype, name, { ...descriptor, value: checked });
}

if (Symbol.asyncDispose !== undefined) {
  Object.defineProperty(LiteAgent.prototype, Symbol.asyncDispose, {
    value() {
      return this.close();
    },
    configurable: true,
    writable: true,
  });
}

function isSelected(name, { allowedTools, disallowedTools }) {
  return (allowedTools === undefined || allowedTools.includes(name)) && !disallowedTools?.includes(name);
}

function notAvailable(what) {
  throw new ConfigError(`${what} is not available yet`);
}

function familyOptions(checked, { tools, builtin, middleware, policy, stores }) {
  return {
    workdir: checked.workdir,
    builtinTools: builtin.map(({ name }) => name),
    denySymlinks: checked.fileTools.symlinks === "deny",
    maxSnapshotBytes: checked.fileTools.maxSnapshotBytes,
    commands: {
      addonFolder,
      environment: checked.environment,
      timeoutMs: checked.bash.timeoutMs ?? DEFAULT_COMMAND_TIMEOUT_MS,
      maxOutputBytes: checked.bash.maxOutputBytes ?? DEFAULT_MAX_OUTPUT_BYTES,
      memoryBytes: checked.bash.memoryBytes,
      sandboxed: checked.sandbox !== undefined,
    },
    hookFilesHome: checked.hookFiles ? checked.home : undefined,
    compaction: { automatic: checked.compacts, host: checked.compactor !== undefined },
    stores,
    recovers: checked.crashRecovery === "safe",
    audits: checked.permissionAudit,
    hostPolicy: checked.permission !== undefined && policy === undefined,
    dryRun: checked.permissionMode === "dry-run",
    hasApproval: checked.onApproval !== undefined,
    modelName: checked.modelName,
    maxTurns: checked.maxTurns,
    maxParallelTools: checked.maxParallelTools,
    tools: tools.map(({ name, schemaText, timeoutMs }) => ({ name, schema: schemaText ?? undefined, timeoutMs })),
    middleware: {
      beforeAgent: middleware.beforeAgent.length > 0,
      beforeModel: middleware.beforeModel.length > 0,
      afterAgent: middleware.afterAgent.length > 0,
      wrapToolCall: middleware.wrapToolCall.length > 0,
    },
    hostRedacts: checked.redact !== undefined,
  };
}

/** What every request of the agent has in common. */
function requestTemplate(checked, tools, builtin) {
  const request = { model: checked.modelName };
  const { system, maxTokens, temperature, topP, toolChoice, seed, reasoningEffort } = checked;
  if (system !== undefined && system !== "") request.system = system;
  if (tools.length + builtin.length > 0) {
    const own = tools.map(({ name, description, parameters }) => Object.freeze({ name, description, parameters }));
    request.tools = Object.freeze([...own, ...builtin]);
  }
  for (const [name, value] of Object.entries({ maxTokens, temperature, topP, toolChoice, seed, reasoningEffort })) {
    if (value !== undefined) request[name] = value;
  }
  return request;
}

function hookTimeout(options) {
  if (options === undefined) return DEFAULT_HOOK_TIMEOUT_MS;
  if (typeof options !== "object" || options === null) {
    throw new TypeError(`hook: options must be an object, got ${kindOf(options)}`);
  }
  for (const name of Object.keys(options)) {
    if (name === "timeoutMs") continue;
    const near = native.nearest(name, ["timeoutMs"]);
    // The commonest slip leaves out the unit, which is too far off to be a near miss.
    const hint = near !== null || name.startsWith("timeout") ? "did you mean timeoutMs?" : "there is only timeoutMs";
    throw new TypeError(`hook: unknown option '${name}'; ${hint}`);
  }
  const { timeoutMs } = options;
  if (timeoutMs === undefined) return DEFAULT_HOOK_TIMEOUT_MS;
  if (Number.isInteger(timeoutMs) && timeoutMs >= 1 && timeoutMs <= MAX_HOOK_TIMEOUT_MS) return timeoutMs;
  const got = typeof timeoutMs === "number" ? String(timeoutMs) : kindOf(timeoutMs);
  throw new RangeError(`hook: timeoutMs must be an integer from 1 to ${MAX_HOOK_TIMEOUT_MS}, got ${got}`);
}

/** Rejects with the signal's reason when it is aborted before `isBegun`; what has begun ends as it will. */
function unlessAborted(signal, promise, isBegun) {
  return new Promise((resolve, reject) => {
    const stop = onAbort(signal, () => {
      if (!isBegun()) reject(signal.reason);
    });
    void promise.then(resolve, reject).finally(stop);
  });
}

function closed() {
  return new ClosedError("the agent is closed");
}

function kindOf(value) {
  return value === null ? "null" : Array.isArray(value) ? "an array" : typeof value;
}

/** @throws {ConfigError} synchronously, naming the option */
export function createLiteAgent(config) {
  return new LiteAgent(checkConfig(config, { query: false }));
}

/** @throws {ConfigError} synchronously, naming the option */
export function query(options) {
  const { prompt, signal, sessionId, steer, ...config } = checkConfig(options, { query: true });
  const agent = new LiteAgent(config);
  return runThen(agent, prompt, { signal, sessionId, steer }, () => agent.close());
}
