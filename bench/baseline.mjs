// What lite-agent is measured against: a hook dispatch with the same promises, and an agent loop with none of them, in
// plain JavaScript as a careful engineer would write it. Imports nothing of lite-agent.
import { AsyncLocalStorage } from "node:async_hooks";

/** The frame of the handler that runs: what a re-entrancy guard looks at. */
const frames = new AsyncLocalStorage();

/** Whether this asynchronous context belongs to a handler that is still being awaited. */
export function insideHandler() {
  return frames.getStore()?.active === true;
}

function deepFreeze(value) {
  if (typeof value !== "object" || value === null) return value;
  for (const key of Object.keys(value)) deepFreeze(value[key]);
  return Object.freeze(value);
}

/** A handler's context whose signal follows its deadline and its run: the way that the platform offers. */
class EagerContext {
  #controller = new AbortController();
  signal;

  constructor(runSignal) {
    this.signal = AbortSignal.any([runSignal, this.#controller.signal]);
  }

  expire(reason) {
    this.#controller.abort(reason);
  }

  /** The run was cancelled: the combined signal knows it already. */
  follow() {}
}

/** A handler's context whose signal is made when it is first read, and is told of the run's cancellation. */
class LazyContext {
  #controller = undefined;

  get signal() {
    this.#controller ??= new AbortController();
    return this.#controller.signal;
  }

  expire(reason) {
    this.#controller?.abort(reason);
  }

  follow(runSignal) {
    this.expire(runSignal.reason);
  }
}

/**
 * Awaited hooks: one after another, on one frozen copy of the event, each within a deadline of its own, abandoned when
 * the run is cancelled; a failure is a diagnostic and nothing else.
 */
export class PlainHooks {
  #registrations = [];
  #tuned;

  /**
   * @param {{ tuned?: boolean }} [options] tuned: the event is not copied (it is taken to be frozen already), and
   *   signals are made when a handler reads them, without AbortSignal.any
   */
  constructor({ tuned = false } = {}) {
    this.#tuned = tuned;
  }

  hook(handler, { timeoutMs = 10_000 } = {}) {
    const registration = { handler, timeoutMs };
    // A dispatch holds the list that it began with: lists are replaced, never changed.
    this.#registrations = [...this.#registrations, registration];
    return () => {
      this.#registrations = this.#registrations.filter((other) => other !== registration);
    };
  }

  /**
   * @param {object} event
   * @param {AbortSignal} runSignal
   * @param {(diagnostic: object) => void} report
   */
  async dispatch(event, runSignal, report) {
    const registrations = this.#registrations;
    if (registrations.length === 0) return;
    const frozen = this.#tuned ? event : deepFreeze(structuredClone(event));
    for (let index = 0; index < registrations.length; index += 1) {
      if (runSignal.aborted) return;
      const start = performance.now();
      const failure = await this.#invoke(registrations[index], frozen, runSignal);
      if (failure === undefined) continue;
      const { reason, message } = failure;
      report({
        type: "diagnostic",
        level: "error",
        code: "hook_failed",
        message: `${event.event} hook #${index} failed: ${reason}, ${message}`,
        hook: { event: event.event, source: "programmatic", index, reason, durationMs: performance.now() - start },
      });
    }
  }

  #invoke({ handler, timeoutMs }, frozen, runSignal) {
    return new Promise((resolve) => {
      const context = this.#tuned ? new LazyContext() : new EagerContext(runSignal);
      const frame = { active: true };
      const settle = (failure) => {
        if (!frame.active) return;
        frame.active = false;
        clearTimeout(timer);
        runSignal.removeEventListener("abort", abandon);
        resolve(failure);
      };
      const abandon = () => {
        if (frame.active) context.follow(runSignal);
        settle(undefined);
      };
      const timer = setTimeout(() => {
        context.expire(new DOMException(`the hook took over ${timeoutMs} ms`, "TimeoutError"));
        settle({ reason: "timeout", message: `it had not settled after ${timeoutMs} ms` });
      }, timeoutMs);
      runSignal.addEventListener("abort", abandon);
      const begun = performance.now();
      const fail = (error) => settle({ reason: "error", message: String(error) });
      const succeed = () => {
        const late = performance.now() - begun >= timeoutMs;
        settle(late ? { reason: "timeout", message: `it blocked for over ${timeoutMs} ms` } : undefined);
      };
      try {
        const returned = frames.run(frame, handler, frozen, context);
        if (typeof returned?.then === "function") returned.then(succeed, fail);
        else succeed();
      } catch (error) {
        fail(error);
      }
    });
  }
}

/**
 * The leanest loop that is still an agent: no hooks, deadlines, copies, permissions, validation or stored sessions.
 * @param {{ model: object, tools?: object[], messages: object[], signal?: AbortSignal, maxTurns?: number }} options
 */
export async function* plainRun({ model, tools = [], messages, signal, maxTurns = 50 }) {
  const byName = new Map(tools.map((tool) => [tool.name, tool]));
  const usage = { inputTokens: 0, outputTokens: 0 };
  for (let turn = 1; turn <= maxTurns; turn += 1) {
    let last;
    for await (const chunk of model.stream({ model: model.id, messages }, signal)) {
      if (chunk.type === "message_done") last = chunk;
      else yield chunk;
    }
    usage.inputTokens += last.usage.inputTokens;
    usage.outputTokens += last.usage.outputTokens;
    messages.push(last.message);
    yield { type: "message", message: last.message };
    const calls = last.message.content.filter((block) => block.type === "tool_call");
    if (calls.length === 0) {
      yield { type: "done", reason: "stop" };
      return {
        messages,
        usage,
        text: last.message.content.map((block) => block.text ?? "").join(""),
        stopReason: "stop",
      };
    }
    const results = await Promise.all(calls.map((call) => plainCall(byName.get(call.name), call, signal)));
    for (const result of results) yield { type: "tool_result", result };
    messages.push({ role: "user", content: results });
  }
  yield { type: "done", reason: "max_turns" };
  return { messages, usage, text: "", stopReason: "max_turns" };
}

async function plainCall(tool, { id, name, input }, signal) {
  if (!tool) return { type: "tool_result", id, content: `unknown tool '${name}'`, isError: true };
  try {
    return { type: "tool_result", id, content: await tool.execute(input, { signal }) };
  } catch (error) {
    return { type: "tool_result", id, content: String(error), isError: true };
  }
}

/** The loop with nobody who looks at its events. */
export async function plainSend(options) {
  const run = plainRun(options);
  for (;;) {
    const { done, value } = await run.next();
    if (done) return value;
  }
}
