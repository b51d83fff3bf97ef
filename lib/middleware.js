// The onion of `use`: the first middleware is the outermost. The core asks for it only where there is any; the innermost
// `next()` of a tool call enters the core again, which executes the tool.
import { LazySignal, callbackFrame } from "./context.js";
import { dropsPromise } from "./dropped.js";
import { AbortError } from "./errors.js";
import { callHost } from "./host-call.js";
import { wantStream } from "./malformed-stream.js";
import { normaliseOutput } from "./tools.js";

/** What middleware sees of a run. `state` is one map for the whole run. */
export class AgentContext {
  #run;
  #lazy;
  #messages;
  #touched;

  constructor(run, turn, lazy, messages) {
    this.#run = run;
    this.#lazy = lazy;
    this.#messages = messages;
    this.#touched = messages !== undefined;
    this.sessionId = run.sessionId;
    this.turn = turn;
    this.state = run.state;
    this.emit = (event) => run.emit(event);
  }

  get signal() {
    return this.#lazy.signal;
  }

  /** A copy of its own, made when somebody looks. */
  get messages() {
    if (!this.#touched) this.messages = this.#run.conversation.view.slice();
    return this.#messages;
  }

  set messages(messages) {
    this.#touched = true;
    this.#messages = messages;
  }

  /** Whether middleware looked at the messages, and so may have changed them. */
  get hasOwnMessages() {
    return this.#touched;
  }
}

class ToolCallContext extends AgentContext {
  constructor(run, turn, lazy, call) {
    super(run, turn, lazy, undefined);
    this.call = call;
  }
}

const POINTS = { before_agent: "beforeAgent", before_model: "beforeModel", after_agent: "afterAgent" };

/** Sorts the functions of `use` by what they are for, keeping their order. */
export function sortMiddleware(use) {
  const having = (name) => use.filter((middleware) => typeof middleware[name] === "function");
  return {
    beforeAgent: having("beforeAgent"),
    beforeModel: having("beforeModel"),
    // An onion: what came in first goes out last.
    afterAgent: having("afterAgent").reverse(),
    wrapModelCall: having("wrapModelCall"),
    wrapToolCall: having("wrapToolCall"),
  };
}

/** Asks all middleware at one point of the run, one after another. */
export function performMiddleware(family, run, { id, point, turn }) {
  const name = POINTS[point];
  run.turn = turn;
  const lazy = new LazySignal();
  const context = new AgentContext(run, turn, lazy, undefined);
  callHost(family, run, id, {
    frame: callbackFrame(family, run),
    lazy,
    callback: () => askAll(family.parts.middleware[name], name, context),
    conclude() {
      if (point === "before_model" && context.hasOwnMessages && !isUnchanged(context.messages, run)) {
        run.setRequestMessages(settledMessages(context.messages));
      }
      return "";
    },
  });
}

/** Middleware that only looked: the conversation may yet be compacted before it is sent. */
function isUnchanged(messages, { conversation: { view } }) {
  return (
    Array.isArray(messages) && messages.length === view.length && messages.every((each, index) => each === view[index])
  );
}

/** @throws {TypeError} where messages are yet to come: the request is made now */
function settledMessages(messages) {
  const promises = [messages, ...(Array.isArray(messages) ? messages : [])].filter(dropsPromise);
  if (promises.length === 0) return messages;
  throw new TypeError(
    "beforeModel must leave an array of messages in context.messages, got a promise; perhaps an `await` is missing",
  );
}

async function askAll(list, name, context) {
  for (const middleware of list) await middleware[name](context);
}

/**
 * @param {() => AsyncIterable<unknown>} innermost
 * @throws {MalformedStream} naming the middleware whose function returned something else than a stream
 */
export function wrapModelCall(list, context, innermost) {
  const layer = (index) => {
    if (index === list.length) return innermost();
    const middleware = list[index];
    const stream = middleware.wrapModelCall(context, () => layer(index + 1));
    return wantStream(stream, `wrapModelCall() of the middleware "${middleware.name}"`, "wrapModelCall");
  };
  return layer(0);
}

export function performWrapTool(family, run, { id, call }) {
  const toolCall = run.values.get(call);
  const lazy = new LazySignal();
  const context = new ToolCallContext(run, run.turn, lazy, toolCall);
  const list = family.parts.middleware.wrapToolCall;
  const nexts = new Map();
  run.wraps.set(id, nexts);
  let calls = 0;
  const execute = () => {
    const promise = new Promise((resolve, reject) => {
      if (!run.wraps.has(id)) {
        reject(new AbortError("next() was called after the tool call was over"));
        return;
      }
      calls += 1;
      nexts.set(calls, { resolve, reject });
      run.scope.runInAsyncScope(family.wrapNext, family, id, calls);
    });
    // Middleware may drop what it asked for.
    promise.catch(() => {});
    return promise;
  };
  const layer = async (index) =>
    index === list.length ? execute() : list[index].wrapToolCall(context, () => layer(index + 1));
  callHost(family, run, id, {
    frame: callbackFrame(family, run),
    lazy,
    callback: () => layer(0),
    conclude(result) {
      const { content, isError } = normaliseOutput(result, toolCall.name);
      run.keepResult(id, call, content, isError);
      return String(isError);
    },
    over() {
      run.wraps.delete(id);
      for (const { reject } of nexts.values()) reject(new AbortError("the tool call is over"));
    },
  });
}

/** The core executed the tool for one `next()`. */
export function settleWrapNext(family, run, { wrap, index, result }) {
  const nexts = run.wraps.get(wrap);
  const next = nexts?.get(index);
  nexts?.delete(index);
  // A copy: middleware may change what it passes on.
  next?.resolve({ ...run.values.get(result) });
}
