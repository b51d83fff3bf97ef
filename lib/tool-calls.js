// Custom tools: validates a call's input by the tool's own validator, executes the tool, keeps its result. Deadlines,
// order and what a failure means are the core's.
import { LazySignal, callbackFrame } from "./context.js";
import { takeAnswer } from "./final-answer.js";
import { copyMutable } from "./frozen.js";
import { Invalid, callHost } from "./host-call.js";
import { SnapshotRecorder } from "./sessions/snapshots.js";
import { normaliseOutput } from "./tools.js";

/** What `execute` gets beside its input. */
class ToolContext {
  #lazy;

  constructor(run, call, lazy, snapshots, { userInput, hostSandbox }) {
    this.#lazy = lazy;
    this.sessionId = run.sessionId;
    this.call = call;
    this.emit = (event) => run.emit(event);
    if (userInput !== undefined) this.input = userInput.handlerFor(run, call, lazy);
    if (hostSandbox !== undefined) this.sandbox = hostSandbox;
    if (snapshots !== null) {
      this.recordSnapshot = (path, before, truncated, encoding) => snapshots.record(path, before, truncated, encoding);
    }
  }

  get signal() {
    return this.#lazy.signal;
  }
}

export function performCheck(family, run, { id, call, tool }) {
  const prepared = family.parts.tools[tool];
  const { input } = run.values.get(call);
  callHost(family, run, id, {
    frame: callbackFrame(family, run),
    lazy: null,
    callback: () => validated(prepared, input, (value) => ({ value })),
    conclude(checked) {
      run.checked.set(call, checked);
      return "";
    },
  });
}

export function performTool(family, run, { id, call, tool, timed }) {
  const prepared = family.parts.tools[tool];
  const toolCall = run.values.get(call);
  const lazy = new LazySignal();
  const snapshots = run.conversation.log === null ? null : new SnapshotRecorder(family, run, toolCall.id);
  const context = new ToolContext(run, toolCall, lazy, snapshots, family.parts);
  const execute = prepared.isFinal
    ? (input) => takeAnswer(run, call, input)
    : (input) => prepared.tool.execute(input, context);
  // Checked before the middleware was asked; a second next() of it gets its input anew.
  const checked = run.checked.get(call);
  run.checked.delete(call);
  callHost(family, run, id, {
    frame: callbackFrame(family, run),
    lazy,
    timeoutMs: timed ? prepared.timeoutMs : undefined,
    callback: () => (checked === undefined ? validated(prepared, toolCall.input, execute) : execute(checked.value)),
    conclude(output) {
      const { content, isError } = normaliseOutput(output, prepared.name);
      run.keepResult(id, call, content, isError);
      return String(isError);
    },
    over: snapshots === null ? undefined : () => snapshots.end(),
    // A result like one that is returned: compilers put the error at the end.
    longestMessage: Infinity,
  });
}

/** Continues with the validated input, at once where the validator is synchronous. */
function validated(prepared, input, next) {
  // The tool may change what it gets; events and the conversation hold the frozen original.
  const mutable = copyMutable(input);
  if (prepared.validate === null) return next(mutable);
  const outcome = prepared.validate(mutable);
  const go = (checked) => (checked.problem === undefined ? next(checked.value) : new Invalid(checked.problem));
  return typeof outcome.then === "function" ? outcome.then(go) : go(outcome);
}
