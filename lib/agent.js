// LiteAgent and query(): the public object. Checks what the caller says, refuses what would wait for itself, and hands
// the rest to the family. Nothing of how a run goes is decided here.
import { randomUUID } from "node:crypto";

import { checkCompactOptions, checkConfig, checkRestoreOptions, checkRunOptions } from "./config.js";
import { compose } from "./composition.js";
import { callsAround, refuseReentrancy } from "./context.js";
import { Conversation } from "./conversation.js";
import { Deletion, isAgentId, sessionsBelow } from "./deletion.js";
import { AbortError, AgentError, ClosedError, ConfigError } from "./errors.js";
import { Family, refuseForeignToJson } from "./family.js";
import { checkHook } from "./hook-options.js";
import { hold, release } from "./keep-alive.js";
import { LET_GO_MS, Patience, letGo } from "./let-go.js";
import { tellManual } from "./listeners.js";
import { normaliseInput } from "./messages.js";
import { kindOf } from "./option-rules.js";
import { Query } from "./query.js";
import { Run } from "./run.js";
import { RunIterator } from "./run-iterator.js";
import { listCheckpoints } from "./sessions/checkpoints.js";
import { startCleanup } from "./sessions/cleanup.js";
import { SessionLog } from "./sessions/log.js";
import { fileCheckpointer } from "./sessions/native.js";
import { resolveProjectPaths } from "./sessions/project-paths.js";
import { checkRestore, restore } from "./sessions/restore.js";
import { checkSessionId } from "./sessions/session-id.js";
import { onAbort } from "./signals.js";
import { WorkingFolder } from "./working-folder.js";

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
  /** What the next run is to tell: `{ code, message }`. */
  #notices = [];
  #patience = new Patience();
  #mcp;

  constructor(checked) {
    refuseForeignToJson();
    this.#checkpointer = checked.checkpointer ?? null;
    this.#maxSnapshotBytes = checked.maxSnapshotBytesPerSession;
    const stores = this.#checkpointer !== null || checked.sessions;
    const { options, policies, parts } = compose(checked, { stores });
    if (this.#checkpointer === null && checked.sessions) {
      this.#checkpointer = fileCheckpointer({ dir: resolveProjectPaths(checked).sessionsDir });
      this.#ownsCheckpointer = true;
      if (checked.cleanup !== undefined) startCleanup(this.#checkpointer, checked.cleanup, this.#notices);
    }
    let workingFolder;
    this.#family = new Family(options, policies, {
      ...parts,
      conversationOf: (sessionId, role) => this.#conversation(sessionId, role),
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
    const timeoutMs = checkHook(name, handler, options);
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
    if (this.#closing !== null) throw closed();
    if (this.#checkpointer === null) return [];
    const sessions = await this.#answered("listSessions", undefined, async () => await this.#checkpointer.list());
    // Those of children belong to theirs.
    return sessions.filter(({ id }) => !isAgentId(id));
  }

  async deleteSession(sessionId) {
    refuseReentrancy(this.#family, "deleteSession", sessionId);
    checkSessionId("deleteSession", sessionId);
    const below = sessionsBelow(this.#sessions.keys(), sessionId);
    for (const id of below) refuseReentrancy(this.#family, "deleteSession", id);
    if (this.#closing !== null) throw closed();
    const work = async (wait) => {
      const parts = {
        checkpointer: this.#checkpointer,
        known: () => this.#sessions.keys(),
        forget: this.#forgetDeleted,
        wait,
      };
      await new Deletion(this.#family, parts).deleteHeld(sessionId);
      return true;
    };
    const over = this.#holdSession("deleteSession", sessionId, { cancel: true, work });
    // At once, as the session's own; each is waited for and held when its turn comes.
    for (const id of below) this.#family.cancelSession(id);
    await this.#held(over);
  }

  async listCheckpoints(sessionId) {
    checkSessionId("listCheckpoints", sessionId);
    if (this.#closing !== null) throw closed();
    const checkpointer = this.#stored("listCheckpoints");
    return await this.#answered("listCheckpoints", sessionId, () => listCheckpoints(checkpointer, sessionId));
  }

  async restore(sessionId, toSeq, options) {
    refuseReentrancy(this.#family, "restore", sessionId);
    checkSessionId("restore", sessionId);
    if (this.#closing !== null) throw closed();
    const scope = checkRestoreOptions(options);
    const checkpointer = this.#stored("restore");
    checkRestore(toSeq, scope, checkpointer);
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
    const over = this.#holdSession("restore", sessionId, { cancel: false, work });
    if (signal === undefined) await this.#held(over);
    else await this.#held(unlessAborted(signal, over, () => begun));
    return outcome;
  }

  async close() {
    refuseReentrancy(this.#family, "close", this.#sessionId);
    const around = callsAround(this.#family);
    // From the bottom of the stack: whoever closes near its end would leave the core in the middle of it.
    this.#closing ??= Promise.resolve().then(() => this.#close());
    // What a command of an end hook waits for would wait for itself, here.
    const reason = new AbortError("it called close(), which ends the run");
    for (const call of around) queueMicrotask(() => this.#family.giveUp(call, reason));
    await this.#held(this.#closing);
  }

  async #close() {
    const givenUp = await this.#patience.during(this.#family.close());
    const { overdue, failures } = await letGo([
      ["the sandbox's dispose()", () => this.#family.parts.sandbox?.dispose()],
      ["the store of sessions", () => this.#letGoOfSessions()],
    ]);
    for (const what of [...givenUp, ...overdue]) {
      const message = `close() went on without ${what}, which did not settle within ${LET_GO_MS} ms`;
      tellManual(this.#family, this.#sessionId, {
        type: "diagnostic",
        level: "warning",
        code: "close_timeout",
        message,
      });
    }
    if (failures.length > 0) throw failures[0];
  }

  async #letGoOfSessions() {
    await Promise.all([...this.#sessions.keys()].map((sessionId) => this.#forget(sessionId)));
    if (this.#ownsCheckpointer) await this.#checkpointer.close();
  }

  /** Does `work` in the session's place; a store that does not answer holds up close() for a while only. */
  async #holdSession(operation, sessionId, { cancel, work }) {
    await this.#patience.unlessGivenUp(overdue(operation, sessionId), (wait) =>
      this.#family.holdSession(sessionId, {
        cancel,
        work() {
          wait.begin();
          return wait.unlessGivenUp(() => work(wait));
        },
      }),
    );
    // What `work` emptied. A run that came meanwhile is known by now, and keeps it.
    const conversation = this.#sessions.get(sessionId);
    if (conversation !== undefined) this.#forgetBlank({ sessionId, conversation });
  }

  /** Asks the store, while close() is patient. */
  async #answered(operation, sessionId, ask) {
    const answer = this.#patience.unlessGivenUp(overdue(operation, sessionId), (wait) => {
      wait.begin();
      return ask();
    });
    return await this.#held(answer);
  }

  /** The very object stays where a run that came meanwhile holds it as well. */
  #forgetDeleted = async (sessionId) => {
    const conversation = this.#sessions.get(sessionId);
    if (conversation === undefined) return;
    await conversation.log?.release();
    conversation.restore([]);
    this.#forgetBlank({ sessionId, conversation });
  };

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
    runThen = (agent, input, options) =>
      new RunIterator(
        (iterator) => agent.#beginQuery(input, options, iterator),
        () => agent.close(),
      );
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
      role: this.#family.parts.rootRole,
      conversation: this.#conversation(sessionId, this.#family.parts.rootRole),
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
      role: this.#family.parts.rootRole,
      conversation: this.#conversation(sessionId, this.#family.parts.rootRole),
      input: typeof input === "string" ? input : messages,
      messages,
      steer,
      signal,
    });
    if (operation === "query") iterator.follow(run);
    else run.sink = iterator;
    run.start({
      stream: iterator !== null,
      maxTurns,
      maxTotalTokens,
      steer: steer !== undefined,
      messages: typeof input === "string" ? undefined : JSON.stringify(messages),
    });
    return run;
  }

  /** A query's run, with the children that it starts and the runs that follow from them. */
  #beginQuery(input, options, iterator) {
    const sessionId = options.sessionId ?? this.#sessionId;
    const query = new Query(iterator, { signal: options.signal, stop: () => this.#family.cancelSession(sessionId) });
    this.#family.parts.query = query;
    const run = this.#begin("query", input, options, query);
    query.begin(run, () => this.#family.awaitIdle(sessionId));
    return query;
  }

  /** @throws {ConfigError} where sessions are not stored */
  #stored(operation) {
    if (this.#checkpointer !== null) return this.#checkpointer;
    throw new ConfigError(`${operation}() needs stored sessions: give a checkpointer, or leave sessions on`);
  }

  #conversation(sessionId, role) {
    let conversation = this.#sessions.get(sessionId);
    if (conversation === undefined) {
      conversation = new Conversation(
        this.#checkpointer &&
          new SessionLog(this.#checkpointer, sessionId, {
            readsArchive: role.readsArchive,
            maxSnapshotBytes: this.#maxSnapshotBytes,
            notices: this.#notices,
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

function notAvailable(what) {
  throw new ConfigError(`${what} is not available yet`);
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

/** For an operation whose store did not answer before the agent was closed. */
function overdue(operation, sessionId) {
  const of = sessionId === undefined ? "" : ` of session ${sessionId}`;
  const message = `${operation}: the agent was closed, and the store${of} did not answer in time`;
  return { what: `${operation}()${of}`, makeError: () => new AgentError(message, { code: "close_timeout" }) };
}

function closed() {
  return new ClosedError("the agent is closed");
}

/** @throws {ConfigError} synchronously, naming the option */
export function createLiteAgent(config) {
  return new LiteAgent(checkConfig(config, { query: false }));
}

/** @throws {ConfigError} synchronously, naming the option */
export function query(options) {
  const { prompt, signal, sessionId, steer, ...config } = checkConfig(options, { query: true });
  const agent = new LiteAgent(config);
  return runThen(agent, prompt, { signal, sessionId, steer });
}
