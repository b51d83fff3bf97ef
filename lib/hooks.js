// Function hooks: makes the frozen event of a dispatch once, and invokes handlers with it. Order, deadlines and failures
// are the core's.
import { HandlerContext, LazySignal, hookFrame } from "./context.js";
import { callHost } from "./host-call.js";

export function performHook(family, run, { id, handler, key, make, last }) {
  const event = make === undefined ? run.hookEvents.get(key) : hookEvent(run, make);
  if (last) run.hookEvents.delete(key);
  else if (make !== undefined) run.hookEvents.set(key, event);
  const { handler: callback, timeoutMs } = family.handlers.get(handler);
  const lazy = new LazySignal();
  const context = new HandlerContext(lazy);
  callHost(family, run, id, {
    frame: hookFrame(family, run),
    lazy,
    timeoutMs,
    callback: () => callback(event, context),
    conclude: nothing,
  });
}

/** Writes the event as one line of JSON, for commands. */
export function performHookEvent(family, run, { id, key, make, keep }) {
  const event = hookEvent(run, make);
  if (keep) run.hookEvents.set(key, event);
  family.answer(id, 0, JSON.stringify(event));
}

function nothing() {
  return "";
}

/** What handlers see: values that were frozen when they entered are shared, the rest is made here. */
function hookEvent(run, make) {
  const event = { event: make.event, runId: run.runId, sessionId: run.sessionId, source: run.source };
  if (run.agentId !== undefined) event.agentId = run.agentId;
  if (make.event === "run:start") event.input = run.input;
  if (make.call !== undefined) event.call = run.values.get(make.call);
  if (make.status !== undefined) event.status = make.status;
  if (make.result !== undefined) event.result = run.values.get(make.result);
  if (make.runResult !== undefined) {
    const { usage, stopReason } = make.runResult;
    const result = { text: run.text, usage: Object.freeze(usage), stopReason };
    const output = run.answers.get(make.runResult.answer);
    if (output !== undefined) result.output = output.shown;
    event.result = Object.freeze(result);
  }
  if (make.error !== undefined) event.error = Object.freeze(make.error);
  if (make.compaction !== undefined) {
    const { number, kind, before, after, instructions } = make.compaction;
    event.compactionId = `${run.runId}-${number}`;
    Object.assign(event, { kind, before });
    if (after !== undefined) event.after = after;
    if (instructions !== undefined) event.instructions = instructions;
  }
  if (make.durationMs !== undefined) event.durationMs = make.durationMs;
  return Object.freeze(event);
}
