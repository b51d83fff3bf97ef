// One agent family as JS holds it: the native handle, and what the core knows by number (runs, handlers, pending calls,
// operations). Effects are queued and drained by one loop, never by recursion, so that an abort cannot overtake what it
// aborts. What each effect means is effects.js's business.
import { clearImmediate, setImmediate } from "node:timers";

import { now } from "./clock.js";
import { isInsideChild, pendingApproval } from "./context.js";
import { perform } from "./effects.js";
import { AbortError, AgentError, ConfigError, errorFromData, errorOfHookFile } from "./errors.js";
import { afterEventLoop, isOverdue } from "./fairness.js";
import { native } from "./native.js";
import { describeThrown } from "./thrown.js";
import { activate, deactivate, nextNumber, waker } from "./wakes.js";

let redactionIsWarm = false;

/** The queue lets go of effects that were performed, once so many of them are the greater part of it. */
const DONE_EFFECTS_KEPT = 64;

/** @type {[string, any][]} */
const PROTOTYPES = [
  ["Object", Object.prototype],
  ["Array", Array.prototype],
  ["String", String.prototype],
  ["Number", Number.prototype],
  ["Boolean", Boolean.prototype],
];

/** How many effects go by between two looks at the clock, over all families. */
const EFFECTS_PER_LOOK = 8;
let effectsSinceLook = 0;
/** So many effects of a run that begins do not wait, however long the event loop has waited already. */
const EFFECTS_AT_ONCE = 32;

/** @returns the error class that the data of a native error stands for */
function asPublicError(error) {
  if (error.code === "hook_file") return errorOfHookFile(error);
  return errorFromData({ code: error.code, message: error.message });
}

/** What crosses to the core is JSON: a host that changes how every array is written would have it mean something else. */
export function refuseForeignToJson() {
  for (const [name, prototype] of PROTOTYPES) {
    if (prototype.toJSON === undefined) continue;
    throw new ConfigError(
      `${name}.prototype has a property toJSON, which changes what JSON.stringify writes of every value; agents cannot ` +
        "work with it: remove it",
    );
  }
}

export class Family {
  /**
   * @param options what the core is told, as JSON data
   * @param policies `{ root, subagents }`: native policies, as the addon handed them out, where there are any
   * @param parts the host's own objects: provider, prepared tools, middleware, redactor, …
   * @throws {ConfigError} when a tool's schema cannot be used
   */
  constructor(options, policies, parts) {
    refuseForeignToJson();
    this.number = nextNumber();
    this.parts = parts;
    this.runs = new Map();
    this.handlers = new Map();
    /** Pending calls by id: `{ run, abort(makeReason) }`. */
    this.pending = new Map();
    this.operations = new Map();
    /** Where groups of children and background commands came from, by what the core calls them. */
    this.groups = new Map();
    this.commands = new Map();
    /** Calls that began and that the core has not heard of: when, by id. */
    this.unreported = new Map();
    this.listeners = [];
    this.failure = null;
    this.queue = [];
    /** Position of the effect that is being performed. */
    this.performing = -1;
    this.draining = false;
    this.lastRun = 0;
    this.lastOperation = 0;
    try {
      this.handle = native.familyNew(JSON.stringify(options), this.number, waker, policies.root, policies.subagents);
    } catch (error) {
      throw asPublicError(error);
    }
  }

  nextRunKey() {
    this.lastRun += 1;
    return this.lastRun;
  }

  /** @throws {ClosedError} once closing began */
  start(run, options) {
    if (this.failure !== null) throw this.failure;
    refuseForeignToJson();
    this.runs.set(run.key, run);
    activate(this.number, this);
    const insideApproval = pendingApproval(this);
    const told = { ...options, insideApproval, insideChild: isInsideChild(this) || undefined };
    let effects;
    try {
      effects = native.familyStart(this.handle, JSON.stringify(told));
    } catch (error) {
      this.forget(run);
      if (error.code === "closed" || error.code === "config_error") throw asPublicError(error);
      // A panic: what else goes on would wait for a core that does not run any more.
      this.poison(error);
      throw this.failure;
    }
    // In its caller's turn of the event loop, as far as its first model call; but not where many begin in one turn.
    this.#atOnce = isOverdue() ? 0 : EFFECTS_AT_ONCE;
    this.enqueue(effects);
  }

  /** Takes in a run that the core asked for, and drives itself. */
  adopt(run) {
    this.runs.set(run.key, run);
    activate(this.number, this);
  }

  forget(run) {
    this.runs.delete(run.key);
    this.rest();
  }

  /** Wakes are for nobody where nothing goes on. */
  rest() {
    if (this.runs.size + this.operations.size + this.groups.size + this.commands.size === 0) deactivate(this.number);
  }

  poll() {
    this.#enter(() => native.familyPoll(this.handle));
  }

  answer(id, elapsedMs, json) {
    this.#enter(() => native.familyAnswer(this.handle, id, elapsedMs, json));
  }

  /**
   * What host code threw, for a call that fails only what it is about.
   * @param {number} [longestMessage] as describeThrown has it
   */
  fail(id, elapsedMs, thrown, longestMessage) {
    const { name, message } = describeThrown(thrown, longestMessage);
    this.#enter(() => native.familyFail(this.handle, id, elapsedMs, false, name, message));
  }

  /** What host code was given or gave is not valid. */
  refuse(id, problem) {
    this.#enter(() => native.familyFail(this.handle, id, 0, true, "Error", problem));
  }

  /**
   * A call with a deadline has begun, and will be answered later. The core hears of it when the event loop gets its turn:
   * no deadline could pass before, and most calls are over by then.
   */
  begun(id, at) {
    if (this.unreported.size === 0) this.#reportSoon = setImmediate(this.#report);
    this.unreported.set(id, at);
  }

  /** A call is answered in its callback's place, as one that threw. */
  giveUp(id, reason) {
    const call = this.pending.get(id);
    if (call === undefined || !this.settled(id)) return;
    call.abort(() => reason);
    this.fail(id, 0, reason);
  }

  /** A call has settled. @returns whether the core still waits for its answer */
  settled(id) {
    if (this.unreported.delete(id) && this.unreported.size === 0) clearImmediate(this.#reportSoon);
    return this.pending.delete(id);
  }

  #reportSoon = null;

  #report = () => {
    const calls = [...this.unreported];
    this.unreported.clear();
    for (const [id, at] of calls) {
      if (!this.pending.has(id)) continue;
      this.#enter(() => native.familyStarted(this.handle, id, now() - at));
    }
  };

  wrapNext(wrap, index) {
    this.#enter(() => native.familyWrapNext(this.handle, wrap, index));
  }

  cancel(run) {
    this.#enter(() => native.familyCancel(this.handle, run.key));
  }

  /** Cancels a session's runs, and the children that they have started. */
  cancelSession(sessionId) {
    this.#enter(() => native.familyCancelSession(this.handle, sessionId));
  }

  hold(run, held) {
    this.#enter(() => native.familyHold(this.handle, run.key, held));
  }

  stopStreaming(run) {
    if (this.failure === null) native.familyStopStreaming(this.handle, run.key);
  }

  /** @throws {ClosedError} once closing began */
  hook(event, handler, timeoutMs) {
    if (this.failure !== null) throw this.failure;
    let id;
    try {
      id = native.familyHook(this.handle, event, timeoutMs);
    } catch (error) {
      throw asPublicError(error);
    }
    this.handlers.set(id, { handler, timeoutMs });
    if (!redactionIsWarm) {
      // Its patterns take over a millisecond to compile: on another thread, before the first failure is reported.
      redactionIsWarm = true;
      native.warmUpRedaction();
    }
    return id;
  }

  unhook(event, id) {
    this.#enter(() => native.familyUnhook(this.handle, event, id));
  }

  subscribe(listener) {
    // A copy, so that a change during a delivery counts from the next event on.
    this.listeners = [...this.listeners, listener];
    if (this.listeners.length === 1 && this.failure === null) native.familyListen(this.handle, true);
  }

  unsubscribe(listener) {
    const index = this.listeners.indexOf(listener);
    if (index < 0) return;
    this.listeners = this.listeners.toSpliced(index, 1);
    if (this.listeners.length === 0 && this.failure === null) native.familyListen(this.handle, false);
  }

  /** Resolves when no run of the session is going or waiting, and no group of children of it. */
  awaitIdle(sessionId) {
    return this.#operation((operation) => native.familyAwaitIdle(this.handle, sessionId, operation));
  }

  /** Cancels all runs; resolves when their terminal hooks are over. */
  close() {
    return this.#operation((operation) => native.familyClose(this.handle, operation));
  }

  /**
   * Calls `work` while nothing else goes on in the session: after the runs before it, and before those that come later.
   * @param {string} sessionId
   * @param {{ cancel: boolean, work: () => Promise<boolean> }} what `cancel`: the session's runs are cancelled first;
   *   `work` resolves to whether what is kept of the session in memory is no longer true
   * @throws {ClosedError} once closing began
   */
  async holdSession(sessionId, { cancel, work }) {
    if (this.failure !== null) throw this.failure;
    let held;
    await this.#operation((operation) => {
      held = operation;
      return native.familyHoldSession(this.handle, sessionId, cancel, operation);
    });
    if (this.failure !== null) throw this.failure;
    // What fails may have done half of it.
    let changed = true;
    try {
      changed = await work();
    } finally {
      this.#enter(() => native.familyReleaseSession(this.handle, sessionId, changed, held));
    }
  }

  #operation(begin) {
    if (this.failure !== null) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.lastOperation += 1;
      const operation = this.lastOperation;
      this.operations.set(operation, resolve);
      activate(this.number, this);
      let effects;
      try {
        effects = begin(operation);
      } catch (error) {
        this.operations.delete(operation);
        this.rest();
        if (error.code === "closed") {
          reject(asPublicError(error));
          return;
        }
        this.poison(error);
        resolve();
        return;
      }
      this.enqueue(effects);
    });
  }

  operationOver(operation) {
    const resolve = this.operations.get(operation);
    this.operations.delete(operation);
    this.rest();
    resolve?.();
  }

  /** A turn of the core, and what came of it. */
  #enter(turn) {
    if (this.failure !== null) return;
    let effects;
    try {
      effects = turn();
    } catch (error) {
      this.poison(error);
      return;
    }
    this.enqueue(effects);
  }

  /** @param {string} effects JSON text of an array, or nothing */
  enqueue(effects) {
    if (effects === "") return;
    for (const effect of JSON.parse(effects)) {
      // What was not begun yet is not begun at all.
      if (effect.t === "abort" && this.#unqueue(effect.id)) continue;
      this.queue.push(effect);
    }
    if (this.draining) return;
    this.draining = true;
    this.#drain();
  }

  #atOnce = 0;

  /** The queue grows while it is drained: performing an effect may enter the core again. */
  #drain = () => {
    let paused = false;
    try {
      while (this.performing + 1 < this.queue.length) {
        if (this.#atOnce > 0) this.#atOnce -= 1;
        else effectsSinceLook += 1;
        if (effectsSinceLook >= EFFECTS_PER_LOOK) {
          effectsSinceLook = 0;
          paused = isOverdue();
          if (paused) break;
        }
        this.performing += 1;
        if (this.performing >= DONE_EFFECTS_KEPT && this.performing * 2 > this.queue.length) {
          this.queue.splice(0, this.performing);
          this.performing = 0;
        }
        const effect = this.queue[this.performing];
        if (effect !== null) this.#perform(effect);
      }
    } finally {
      if (!paused) {
        this.queue.length = 0;
        this.performing = -1;
        this.draining = false;
        this.#atOnce = 0;
      }
    }
    // Whatever comes meanwhile joins the queue, and keeps its order.
    if (paused) afterEventLoop(this.#drain);
  };

  #unqueue(id) {
    for (let index = this.performing + 1; index < this.queue.length; index += 1) {
      const effect = this.queue[index];
      if (effect?.id !== id) continue;
      // The core will dispatch the end hooks that pair with this start: its first handler is invoked, and aborted.
      if (effect.make !== undefined) return false;
      this.queue[index] = null;
      return true;
    }
    return false;
  }

  #perform(effect) {
    try {
      const run = this.runs.get(effect.run);
      if (run === undefined) perform(this, undefined, effect);
      else run.scope.runInAsyncScope(perform, undefined, this, run, effect);
    } catch (error) {
      // Host code is called where what it throws is caught, so this is a fault of ours.
      this.poison(error);
    }
  }

  /** An internal error: nothing of the family runs again, and whoever waits is told. */
  poison(cause) {
    if (this.failure !== null) return;
    this.failure = new AgentError(`internal error, the agent is closed: ${describeThrown(cause).message}`, {
      code: "internal",
      cause,
    });
    for (const call of this.pending.values())
      call.abort(() => new AbortError("the agent was closed by an internal error"));
    this.pending.clear();
    this.unreported.clear();
    clearImmediate(this.#reportSoon);
    for (const run of [...this.runs.values()]) run.fail(this.failure);
    for (const resolve of this.operations.values()) resolve();
    this.operations.clear();
    this.groups.clear();
    this.commands.clear();
    this.handlers.clear();
    deactivate(this.number);
  }
}
