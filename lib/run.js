// One run as JS holds it: the values that the core names by key, its events, and how it settles. Who reads the events is
// run-iterator.js's business.
import { AsyncResource } from "node:async_hooks";

import { inFrame, liveFrame, pendingQuestion } from "./context.js";
import { AbortError, AgentError, errorFromData } from "./errors.js";
import { copyFrozen } from "./frozen.js";
import { notifyAll } from "./listeners.js";
import { native } from "./native.js";
import { rememberPlace, shortened } from "./sessions/archive.js";
import { WITHHELD, answered, defaultRedactor, redactTextBy } from "./redact.js";
import { onAbort } from "./signals.js";
import { describeThrown } from "./thrown.js";

/** When so many events wait for their reader, the run pauses. */
export const MAX_WAITING_EVENTS = 1024;

/** How the result of a call begins that its policy did not let run, before the reason. */
const BLOCKED = "Error: blocked by policy: ";
const ROLES = new Set(["user", "assistant", "tool"]);

export class Run {
  /**
   * @param family
   * @param start `{ runId, sessionId, role, conversation, input, messages, steer, signal, source }`; of a child also
   *   `ownerId`, `agentId`, `parent`, the run that started it, and `onText`, which is told what it said last
   */
  constructor(family, start) {
    this.family = family;
    this.key = family.nextRunKey();
    this.runId = start.runId;
    this.sessionId = start.sessionId;
    /** The session that it belongs to: its own, or that of the root agent which started the child. */
    this.ownerId = start.ownerId ?? start.sessionId;
    this.agentId = start.agentId;
    this.role = start.role;
    this.source = start.source ?? "user";
    this.conversation = start.conversation;
    /** As hooks see it: the string, or the frozen messages. */
    this.input = start.input;
    this.messages = start.messages;
    this.steer = start.steer;
    this.scope = new AsyncResource("LiteAgentRun");
    this.values = new Map();
    /** What the model used, by the key of its answer. */
    this.usages = new Map();
    /** Where in the session's log results stand, by key. */
    this.resultPlaces = new Map();
    this.thrown = new Map();
    this.hookEvents = new Map();
    this.wraps = new Map();
    /** Input that a tool's own validator passed, by call, until the tool takes it. */
    this.checked = new Map();
    /** Text of the last assistant message. */
    this.text = "";
    /** Valid final answers, by call: `{ value, shown }`. */
    this.answers = new Map();
    this.state = new Map();
    this.turn = 0;
    this.hasBegun = false;
    this.over = false;
    /** Children whose events go to this run's stream. */
    this.children = new Set();
    this.isBehind = false;
    this.readerWanted = null;
    /** Where events go: `{ push(event), length }`, or null when nobody reads them. */
    this.sink = null;
    this.#signal = start.signal;
    this.#onText = start.onText;
    this.#parent = start.parent;
    /** The question to the user that it was started in, if it was. */
    this.insideQuestion = this.#parent?.insideQuestion ?? pendingQuestion(family);
    this.settled = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // The iterator may never ask.
    this.settled.catch(() => {});
  }

  #signal;
  #onText;
  /** The run that started it, of a child. */
  #parent;
  #callerFrame = liveFrame();
  #stopListening = null;
  #resolve;
  #reject;
  #requestMessages = null;
  #cancelReason = null;
  #coreError = null;

  /** @throws {ClosedError} */
  start(options) {
    const aborted = this.#signal?.aborted === true;
    if (!aborted && this.#signal !== undefined) {
      this.#stopListening = onAbort(this.#signal, () => this.family.cancel(this));
    }
    try {
      this.family.start(this, { ...options, run: this.key, sessionId: this.sessionId, aborted });
    } catch (error) {
      this.#stopListening?.();
      throw error;
    }
  }

  /** Its events go where the run's go that started it, as long as somebody reads those. */
  attach() {
    const { query } = this.family.parts;
    if (query !== undefined) {
      query.follow(this);
    } else if (!this.#parent.over && this.#parent.sink !== null) {
      this.sink = this.#parent.sink;
      this.#parent.children.add(this);
    }
  }

  /** Somebody wanted it to end. */
  get wasCancelled() {
    return this.#cancelReason !== null || this.#signal?.aborted === true;
  }

  cancel(reason) {
    if (this.over) return;
    this.#cancelReason ??= reason;
    this.family.cancel(this);
  }

  /** Why the run was cancelled: what the caller's signal says, else an AbortError. */
  abortReason() {
    try {
      if (this.#signal?.aborted) return this.#signal.reason;
    } catch {
      // A signal of the host's own making that cannot be read.
    }
    if (this.#parent?.wasCancelled) return this.#parent.abortReason();
    this.#cancelReason ??= new AbortError("the run was cancelled");
    return this.#cancelReason;
  }

  // --- values ---

  keepCalls(message, first) {
    let key = first;
    for (const block of this.values.get(message).content) {
      if (block.type !== "tool_call") continue;
      this.values.set(key, Object.freeze({ id: block.id, name: block.name, input: block.input }));
      key += 1;
    }
  }

  /** A call that no model made. */
  keepCall(key, { id, name, input }) {
    this.values.set(key, Object.freeze({ id, name, input: copyFrozen(input) }));
  }

  /** The call as permission sees it: with the path that the tool will act on. */
  keepAskedCall(key, call, path) {
    const { id, name, input } = this.values.get(call);
    this.values.set(key, Object.freeze({ id, name, input: Object.freeze({ ...input, path }) }));
  }

  keepResult(key, call, content, isError) {
    const { id, name } = this.values.get(call);
    // What a policy gives as its reason may hold what it compared, and goes to the model here.
    const isBlocked = typeof content === "string" && content.startsWith(BLOCKED);
    const shown = isBlocked ? BLOCKED + this.#masked(content.slice(BLOCKED.length)) : content;
    this.values.set(key, Object.freeze(isError ? { id, name, content: shown, isError } : { id, name, content: shown }));
  }

  /** The log holds the result; what is too long goes on without its middle. */
  resultStored(key, seq) {
    const { id, name, content, isError } = this.values.get(key);
    const result = this.values.get(key);
    const short = shortened(result, seq, this.role.readsArchive);
    this.values.set(
      key,
      short.content === content
        ? this.values.get(key)
        : Object.freeze(isError ? { id, name, content: short.content, isError } : { id, name, content: short.content }),
    );
    this.resultPlaces.set(key, seq);
  }

  append({ from, index, place, leaveOut }) {
    const kept = from === undefined ? this.messages : this.values.get(from);
    const message = index === undefined ? kept : kept[index];
    // A message that stands alone is the model's answer.
    if (index === undefined) this.text = textOf(message);
    const usage = from === undefined ? undefined : this.usages.get(from);
    this.conversation.append(message, place, leaveOut);
    if (usage !== undefined) this.conversation.noteUsage(usage);
  }

  appendResults({ keys, place }) {
    const content = keys.map((key) => {
      const { id, content: output, isError } = this.values.get(key);
      const block = { type: "tool_result", id, content: output };
      if (isError) block.isError = true;
      const seq = this.resultPlaces.get(key);
      if (seq !== undefined) rememberPlace(block, seq);
      return Object.freeze(block);
    });
    this.conversation.append(Object.freeze({ role: "user", content: Object.freeze(content) }), place, undefined);
  }

  forgetValues() {
    this.values.clear();
    this.usages.clear();
    this.resultPlaces.clear();
    this.checked.clear();
    this.thrown.clear();
  }

  /** The messages of the next model call: what beforeModel left, else the conversation. */
  takeRequestMessages() {
    const messages = this.#requestMessages ?? this.conversation.view.slice();
    this.#requestMessages = null;
    return messages;
  }

  setRequestMessages(messages) {
    if (!Array.isArray(messages)) {
      throw new TypeError("beforeModel must leave an array of messages in context.messages");
    }
    for (const [index, message] of messages.entries()) {
      const isMessage =
        ROLES.has(message?.role) && (typeof message.content === "string" || Array.isArray(message.content));
      if (!isMessage) {
        throw new TypeError(
          `beforeModel left something in context.messages[${index}] that is no message of a known role`,
        );
      }
    }
    this.#requestMessages = messages;
  }

  // --- events ---

  /** Reads an event of the core: values are named by key there. */
  deliverEvent(event) {
    switch (event.type) {
      case "message":
        event.message = this.values.get(event.message);
        break;
      case "tool_use":
      case "tool_call_start":
        event.call = this.values.get(event.call);
        break;
      case "approval_request":
      case "permission_decision":
        Object.assign(event, this.redactedDecision(event));
        break;
      case "tool_result":
        event.result = this.values.get(event.result);
        break;
      case "steer":
        event.messages = this.values.get(event.messages);
        break;
      case "error":
        event.error = this.#asError(event.error);
        break;
      case "diagnostic":
        // What hooks had to say was masked before it was cut.
        if (event.hook === undefined) event.message = this.redacted(event.message);
        break;
      default:
        break;
    }
    this.deliver(event);
  }

  /** An event of host code: middleware and tools may add their own. */
  emit(event) {
    if (typeof event !== "object" || event === null || typeof event.type !== "string") {
      throw new TypeError("emit: an event must be an object with a type");
    }
    if (event.type === "done") throw new TypeError("emit: the done event is the run's own");
    if (!this.over) this.deliver({ ...event });
  }

  deliver(event) {
    const { listeners } = this.family;
    this.hasBegun = true;
    if (this.agentId !== undefined) event.agentId = this.agentId;
    if (listeners.length > 0) {
      // What several read, none may change.
      if (event.hook !== undefined) Object.freeze(event.hook);
      if (event.usage !== undefined) Object.freeze(event.usage);
      Object.freeze(event);
      const entry = Object.freeze({ sessionId: this.sessionId, source: this.source, event });
      // In the run's own context: a listener is no part of the callback in which a delta or an event of a tool came up.
      this.scope.runInAsyncScope(inFrame, undefined, this.#callerFrame, notifyAll, listeners, entry);
    }
    this.push(event);
  }

  /** To whoever reads the run's events. */
  push(event) {
    if (this.sink === null) return;
    this.sink.push(event);
    if (!this.isBehind && this.sink.length >= MAX_WAITING_EVENTS) {
      this.isBehind = true;
      this.family.hold(this, true);
    }
  }

  /** The reader took an event. */
  caughtUp() {
    for (const child of this.children) child.caughtUp();
    if (!this.isBehind || this.sink.length >= MAX_WAITING_EVENTS) return;
    this.isBehind = false;
    if (!this.over) this.scope.runInAsyncScope(this.family.hold, this.family, this, false);
    this.readerWanted?.();
  }

  /** Resolves when the reader is no longer behind, or gone. */
  reader() {
    return new Promise((resolve) => {
      this.readerWanted = () => {
        this.readerWanted = null;
        resolve();
      };
    });
  }

  /** Nobody reads the events any more. */
  stopStreaming() {
    for (const child of this.children) child.stopStreaming();
    this.#parent?.children.delete(this);
    this.sink = null;
    this.isBehind = false;
    this.readerWanted?.();
    if (!this.over) this.family.stopStreaming(this);
  }

  // --- settlement ---

  finish({ result, error, compaction }) {
    this.#end();
    if (error !== undefined) {
      this.#reject(this.#thrownBy(error));
      return;
    }
    if (compaction !== undefined) {
      this.#resolve(compaction);
      return;
    }
    if (this.source === "manual") {
      this.#reject(this.abortReason());
      return;
    }
    const { usage, stopReason } = result;
    /** @type {Record<string, any>} */
    const full = { messages: this.#wholeMessages(), text: this.text, usage, stopReason };
    const output = this.answers.get(result.answer);
    if (output !== undefined) full.output = output.value;
    const shared = this.family.listeners.length > 0 ? frozenResult(full, output) : full;
    this.deliver({ type: "done", reason: stopReason, result: shared });
    this.#resolve(full);
  }

  /** A run that never began may end in the middle of another's turn: calls that have no results yet are not told. */
  #wholeMessages() {
    const messages = this.conversation.messages.slice();
    const last = messages.at(-1);
    const isOpen = last?.role === "assistant" && last.content.some?.(({ type }) => type === "tool_call");
    if (isOpen) messages.pop();
    return messages;
  }

  /** An internal error ended it. */
  fail(error) {
    if (this.over) return;
    this.#end();
    this.#reject(error);
  }

  #end() {
    this.over = true;
    for (const child of this.children) child.stopStreaming();
    if (this.agentId !== undefined) {
      // What its parent's reader waits for is the parent's end.
      this.#parent.children.delete(this);
      this.sink = null;
      this.#onText?.(this.text);
    }
    this.#stopListening?.();
    this.family.forget(this);
    this.family.parts.runOver(this);
  }

  /** The very value that host code threw, or the error class for what the core found. */
  #thrownBy({ key, code, message }) {
    if (key !== undefined) return this.thrown.get(key);
    this.#coreError ??= errorFromData({ code, message });
    return this.#coreError;
  }

  #asError(reference) {
    const thrown = this.#thrownBy(reference);
    try {
      if (thrown instanceof Error) return thrown;
    } catch {
      // A proxy that does not want to be looked at is no Error.
    }
    return new AgentError(describeThrown(thrown).message, { code: "thrown_value", cause: thrown });
  }

  /** A call as events of permission show it, and as it is stored with a decision. */
  redactedCall(key) {
    const { id, name, input } = this.values.get(key);
    const redact = this.family.parts.redact ?? defaultRedactor;
    try {
      return Object.freeze({ id, name, input: copyFrozen(answered(redact(input))) });
    } catch {
      // A redactor that fails must not let through what it was to mask.
      return Object.freeze({ id, name, input: WITHHELD });
    }
  }

  /** What is told of a decision, in events and as it is stored: its call, and the words of the policy. */
  redactedDecision({ call, reason, ruleId }) {
    const told = { call: this.redactedCall(call) };
    if (reason !== undefined) told.reason = this.#masked(reason);
    if (ruleId !== undefined) told.ruleId = this.#masked(ruleId);
    return told;
  }

  /** Words of the host's, which nobody has masked yet. */
  #masked(text) {
    return this.family.parts.redact === undefined ? native.redactText(text) : this.redacted(text);
  }

  /** A text as the host shows it. */
  redacted(message) {
    const { redact } = this.family.parts;
    if (redact === undefined) return message;
    return redactTextBy(redact, message);
  }
}

function textOf({ content }) {
  if (typeof content === "string") return content;
  let text = "";
  for (const block of content) if (block.type === "text") text += block.text;
  return text;
}

/** A copy that nobody can change: the caller's own result stays its own. */
function frozenResult({ messages, text, usage, stopReason }, output) {
  /** @type {Record<string, any>} */
  const result = {
    messages: Object.freeze(messages.slice()),
    text,
    usage: Object.freeze({ ...usage }),
    stopReason,
  };
  if (output !== undefined) result.output = output.shown;
  return Object.freeze(result);
}
