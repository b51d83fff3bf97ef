// The async context of host callbacks, and their signals. A frame says which callback of which agent family is being
// awaited; the re-entrancy guard looks whether the caller stands in one. Knows nothing of runs or the core.
import { AsyncLocalStorage } from "node:async_hooks";

import { ReentrancyError } from "./errors.js";

// One for the module, and first used when the first callback is invoked: from then on every promise of the process
// costs a little more, and with one for each agent it would cost more and more.
const storage = new AsyncLocalStorage();

/** Operations on a session that wait for the children which it started. */
const WAITS_FOR_CHILDREN = new Set(["awaitIdle", "deleteSession"]);

/** What one awaited callback of the host runs in. */
class Frame {
  constructor(family, kind, { sessionId, ownerId }, call) {
    this.family = family;
    this.kind = kind;
    this.sessionId = sessionId;
    /** The session that a child's run belongs to. */
    this.ownerId = ownerId;
    /** The core's id of the call that the callback answers, where it matters. */
    this.call = call;
    this.parent = liveFrame();
  }

  /** The callback has settled or was abandoned: what it scheduled may call the agent again. */
  end() {
    this.family = null;
  }
}

/** The innermost callback that is still being awaited in this async context, if there is one. */
export function liveFrame() {
  let frame = storage.getStore();
  // Frames that ended are skipped for good, so that contexts which follow from one another form no endless chain.
  while (frame !== undefined && frame.family === null) frame = frame.parent;
  return frame;
}

/** A frame of a hook handler. */
export function hookFrame(family, run) {
  return new Frame(family, "hook", run, undefined);
}

/** A frame of the approval handler, asked by the core's call `call`. */
export function approvalFrame(family, run, call) {
  return new Frame(family, "approval", run, call);
}

/** A frame in which the user is being asked. */
export function questionFrame(family, run) {
  return new Frame(family, "question", run, undefined);
}

/** The question to the family's user that a run which begins here is part of. */
export function pendingQuestion(family) {
  for (let frame = liveFrame(); frame !== undefined; frame = frame.parent) {
    if (frame.kind === "question" && frame.family === family) return frame;
  }
  return undefined;
}

/** The core's call to the family's approval handler that a run which begins here is part of. */
export function pendingApproval(family) {
  for (let frame = liveFrame(); frame !== undefined; frame = frame.parent) {
    if (frame.kind === "approval" && frame.family === family) return frame.call;
  }
  return undefined;
}

/** Whether a child of the family waits for the callback that this stands in, and so for what begins here. */
export function isInsideChild(family) {
  for (let frame = liveFrame(); frame !== undefined; frame = frame.parent) {
    const { sessionId, ownerId } = frame;
    if (frame.family === family && ownerId !== undefined && ownerId !== sessionId) return true;
  }
  return false;
}

/**
 * A frame of any other callback that a run awaits: a tool, middleware, a provider.
 * @param {{ sessionId: string, ownerId: string }} run or whatever else has a session
 * @param {number} [call] the core's id of the call, where a run that was cancelled may still wait for it
 */
export function callbackFrame(family, run, call) {
  return new Frame(family, "callback", run, call);
}

/** The core's calls of the family that this stands in, and that a run may wait for even where it was cancelled. */
export function callsAround(family) {
  const calls = [];
  for (let frame = liveFrame(); frame !== undefined; frame = frame.parent) {
    if (frame.family === family && frame.call !== undefined) calls.push(frame.call);
  }
  return calls;
}

/** Calls `callback` within the frame. */
export function inFrame(frame, callback, ...parameters) {
  return storage.run(frame, callback, ...parameters);
}

/**
 * Refuses an operation that would wait for the callback which calls it.
 * @param {string} operation its name, for the message
 * @param {string} sessionId the session that it is about
 * @throws {ReentrancyError}
 */
export function refuseReentrancy(family, operation, sessionId) {
  for (let frame = liveFrame(); frame !== undefined; frame = frame.parent) {
    if (frame.family !== family) continue;
    if (frame.kind === "hook") {
      throw new ReentrancyError(
        `${operation}() cannot be awaited inside a hook of the same agent family: it would wait for the operation that ` +
          "runs the hook. Schedule it after the handler has returned",
      );
    }
    const waits = frame.sessionId === sessionId || (frame.ownerId === sessionId && WAITS_FOR_CHILDREN.has(operation));
    if (operation !== "close" && waits) {
      throw new ReentrancyError(
        `${operation}() cannot be awaited inside a callback of a run of the same session of the same agent family: it ` +
          "would wait for that run. Use another session, or schedule it after the callback has returned",
      );
    }
  }
}

/** An AbortSignal that is made when it is first looked at: most callbacks never do. */
export class LazySignal {
  #controller = null;
  #aborted = false;
  #makeReason = undefined;

  get signal() {
    if (this.#controller === null) {
      this.#controller = new AbortController();
      if (this.#aborted) this.#controller.abort(this.#makeReason());
    }
    return this.#controller.signal;
  }

  get isAborted() {
    return this.#aborted;
  }

  /** @param {() => unknown} makeReason called at most once, when somebody looks */
  abort(makeReason) {
    if (this.#aborted) return;
    this.#aborted = true;
    this.#makeReason = makeReason;
    this.#controller?.abort(makeReason());
  }
}

/** Why a signal is aborted at a deadline. */
export function timeoutReason() {
  return new DOMException("The deadline has passed", "TimeoutError");
}

/** What a hook handler gets as its second argument. */
export class HandlerContext {
  #lazy;

  constructor(lazy) {
    this.#lazy = lazy;
  }

  get signal() {
    return this.#lazy.signal;
  }
}
