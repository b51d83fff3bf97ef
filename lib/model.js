// Pumps the stream of a JS ModelProvider. Deltas go straight to the run's stream; the core hears of the whole message,
// or of what went wrong. A provider is foreign code: what it yields is checked, copied and frozen.
import { callbackFrame, inFrame } from "./context.js";
import { dropsPromise, observe } from "./dropped.js";
import { isOverdue, yieldToEventLoop } from "./fairness.js";
import { copyFrozen, isNotJson, isTooDeep } from "./frozen.js";
import { MalformedStream, isMalformedStream, nameKind, wantStream } from "./malformed-stream.js";
import { AgentContext, wrapModelCall } from "./middleware.js";

/** How many deltas go by between two looks at the clock. */
const DELTAS_PER_LOOK = 64;
const TOO_DEEP = "[nested too deeply]";

export function performModel(family, run, { id, turn, reminder }) {
  run.turn = turn;
  const controller = new AbortController();
  const frame = callbackFrame(family, run);
  const call = {
    run,
    turn,
    reminder,
    frame,
    signal: controller.signal,
    iterator: null,
    live: true,
    abort(makeReason) {
      call.live = false;
      frame.end();
      controller.abort(makeReason());
      run.readerWanted?.();
      leave(call.iterator);
    },
  };
  family.pending.set(id, call);
  inFrame(frame, pump, family, run, id, call);
}

async function pump(family, run, id, call) {
  try {
    const answer = await read(family, run, id, call);
    // The calls of a message begin in one go: where many models answer at once, the event loop has its turn in between.
    if (isOverdue()) await yieldToEventLoop();
    if (!call.live) return;
    settle(family, id, call);
    run.scope.runInAsyncScope(family.answer, family, id, 0, answer);
  } catch (error) {
    if (!call.live) return;
    settle(family, id, call);
    leave(call.iterator);
    if (isMalformedStream(error)) {
      run.scope.runInAsyncScope(family.refuse, family, id, error.message);
    } else {
      run.thrown.set(id, error);
      run.scope.runInAsyncScope(family.fail, family, id, 0, error);
    }
  }
}

function settle(family, id, call) {
  call.live = false;
  call.frame.end();
  family.pending.delete(id);
}

/** Lets an iterator that is not at its end clean up; nobody waits for it. */
function leave(iterator) {
  if (iterator === null) return;
  try {
    if (typeof iterator.return === "function") observe(iterator.return());
  } catch {
    // What a provider throws while it is being left changes nothing any more, a getter of `return` included.
  }
}

/** Reads the stream to its end and returns the answer for the core, as JSON text. */
async function read(family, run, id, call) {
  const stream = openStream(family, run, call);
  const iterator = stream[Symbol.asyncIterator]();
  if (typeof iterator?.next !== "function") {
    const kind = dropsPromise(iterator) ? "returned a promise" : "has no next()";
    throw new MalformedStream(`the model's stream has no iterator: its [Symbol.asyncIterator]() ${kind}`);
  }
  call.iterator = iterator;
  let answer = null;
  let deltas = 0;
  for (;;) {
    const step = await iterator.next();
    if (!call.live) return null;
    if (typeof step !== "object" || step === null) {
      throw new MalformedStream(`the model's stream must yield iterator results, got ${nameKind(step)}`);
    }
    if (step.done) break;
    const chunk = step.value;
    const type = typeof chunk === "object" && chunk !== null ? chunk.type : undefined;
    if (type === "text_delta" || type === "reasoning_delta") {
      if (answer !== null) throw new MalformedStream(`the model's stream has a ${type} after its message_done`);
      const { text } = chunk;
      if (typeof text !== "string") {
        throw new MalformedStream(`the model's stream has a ${type} whose text is no string but ${nameKind(text)}`);
      }
      run.deliver({ type, text });
      if (run.isBehind) await run.reader();
      deltas += 1;
      if (deltas % DELTAS_PER_LOOK === 0 && isOverdue()) await yieldToEventLoop();
      if (!call.live) return null;
    } else if (type === "message_done") {
      if (answer !== null) throw new MalformedStream("the model's stream has a second message_done");
      answer = takeMessage(run, id, chunk);
    } else {
      throw new MalformedStream(
        `the model's stream has a chunk of unknown type ${nameKind(type === undefined ? chunk : type)}; ` +
          "expected text_delta, reasoning_delta or message_done",
      );
    }
  }
  call.iterator = null;
  if (answer === null) throw new MalformedStream("the model's stream ended without a message_done");
  return answer;
}

function openStream(family, run, call) {
  const { middleware } = family.parts;
  const { provider, request } = run.role;
  const messages = reminded(run.takeRequestMessages(), call.reminder);
  const open = (from) =>
    wantStream(provider.stream({ ...request, messages: from }, call.signal), "the model's stream()", "stream");
  if (middleware.wrapModelCall.length === 0) return open(messages);
  const context = new AgentContext(run, call.turn, { signal: call.signal }, messages);
  return wrapModelCall(middleware.wrapModelCall, context, () => open(context.messages));
}

/** The messages, the last of them with what the model is reminded of. It is the user's, as a request's last message is. */
function reminded(messages, reminder) {
  const last = messages.at(-1);
  if (reminder === undefined || last?.role !== "user") return messages;
  const block = Object.freeze({ type: "text", text: reminder });
  const content = typeof last.content === "string" ? [{ type: "text", text: last.content }] : last.content;
  messages[messages.length - 1] = Object.freeze({ role: "user", content: Object.freeze([...content, block]) });
  return messages;
}

function takeMessage(run, id, { message, usage, stopReason }) {
  for (const [name, value] of Object.entries({ message, usage, stopReason })) {
    if (dropsPromise(value))
      throw new MalformedStream(`the model's message_done chunk has a ${name} that is a promise`);
  }
  try {
    const refused = [];
    const kept = copyMessage(message, refused);
    run.values.set(id, kept);
    if (typeof usage === "object" && usage !== null) run.usages.set(id, usage);
    return JSON.stringify({ message: kept, usage, stopReason, refused });
  } catch (error) {
    if (isMalformedStream(error)) throw error;
    throw new MalformedStream(`the model's message_done chunk cannot be copied: ${describe(error)}`);
  }
}

/** Copies and freezes a message; a tool input that cannot be taken is replaced, and told in `refused`. */
function copyMessage(message, refused) {
  if (typeof message !== "object" || message === null) return message;
  const { content } = message;
  const promises = [content, ...(Array.isArray(content) ? content : [])].filter(dropsPromise);
  if (promises.length > 0) throw new MalformedStream("the model's message_done chunk has a promise in its content");
  if (!Array.isArray(content)) return copyFrozen(message);
  let calls = 0;
  const blocks = content.map((block) => {
    if (typeof block !== "object" || block === null) return copyFrozen(block);
    const { type } = block;
    // A signature that says nothing is none: the model would refuse its own message in the next request.
    if (type === "reasoning" && block.signature === "") return copyFrozen({ ...block, signature: undefined });
    if (type !== "tool_call") return copyFrozen(block);
    const position = calls;
    calls += 1;
    return copyCall(block, position, refused);
  });
  return Object.freeze({ ...copyFrozen({ ...message, content: undefined }), content: Object.freeze(blocks) });
}

function copyCall(block, position, refused) {
  const rest = copyFrozen({ ...block, input: undefined });
  let input;
  try {
    input = copyFrozen(block.input);
    if (input === undefined) {
      input = null;
      refused.push([position, "input is missing; it must be an object"]);
    }
  } catch (error) {
    input = isTooDeep(error) ? TOO_DEEP : "[not JSON]";
    refused.push([position, `input is ${describe(error)}`]);
  }
  return Object.freeze({ ...rest, input });
}

function describe(error) {
  return isTooDeep(error) || isNotJson(error) ? error.message : "not readable";
}
