// Performs what the core asks of a session's log: reads it into the conversation, and writes what the run tells.
import { callbackFrame, LazySignal } from "../context.js";
import { Conversation } from "../conversation.js";
import { callHost } from "../host-call.js";
import { takeLeftBehind } from "./left-behind.js";
import { rememberGiven } from "./places.js";

/** Reads the session's log into its conversation. */
export function performLoad(family, run, { id, recover }) {
  const { conversation } = run;
  const lazy = new LazySignal();
  ask(family, run, id, lazy, async () => {
    const { messages, recovered, repairs } = await conversation.log.load({ recover, lazy });
    const { restored, lastIsAssistant } = await Conversation.restoredSlowly(messages);
    // Given up meanwhile: the next run may have read the log already.
    if (!lazy.isAborted) conversation.adopt(restored);
    return JSON.stringify({ messages: messages.length, lastIsAssistant, recovered, repairs });
  });
}

/**
 * Writes frozen events into the session's log; tells what a run is to warn of.
 * @returns {Promise<number>} the number of the first
 */
export async function storeEvents(run, events) {
  const { log } = run.conversation;
  const first = await log.append(events);
  const warnings = run.over ? [] : log.takeWarnings();
  for (const { code, message } of warnings) run.deliverEvent({ type: "diagnostic", level: "warning", code, message });
  return first;
}

/** Writes events into the session's log. */
export function performRecord(family, run, { id, events }) {
  const told = events.map((event) => asEvent(run, event));
  ask(family, run, id, null, async () => {
    for (const event of told) {
      const looking = event.type === "tool_result" ? takeLeftBehind(run, event.result.id) : undefined;
      // How the call left the files that it recorded; restore() tells by that who changed them.
      if (looking !== undefined) event.files = await looking;
      Object.freeze(event);
    }
    const first = await storeEvents(run, told);
    events.forEach((event, index) => {
      if (event.type === "tool_result") run.resultStored(event.key, first + index);
      else rememberGiven(told[index], first + index);
    });
    return "";
  });
}

function ask(family, run, id, lazy, callback) {
  callHost(family, run, id, {
    frame: callbackFrame(family, run),
    lazy,
    callback,
    conclude: (answer) => answer,
  });
}

/** The event as a store takes it: values in place of their keys. */
function asEvent(run, { type, ...told }) {
  switch (type) {
    case "user": {
      const from = told.from === undefined ? run.messages : run.values.get(told.from);
      return { type, message: from[told.index] };
    }
    case "assistant":
      return { type, message: run.values.get(told.key) };
    case "tool_result": {
      const { id, content, isError } = run.values.get(told.key);
      const result = { type: "tool_result", id, content };
      if (isError) result.isError = true;
      Object.freeze(result);
      return { type, result, turn: told.turn };
    }
    case "permission_decision":
      return { type, ...told, ...run.redactedDecision(told) };
    case "file_snapshot":
      // A custom tool's has no `after`: what it will write nobody knows. That a built-in tool deletes is known.
      return { type, ...told, after: told.after ?? null };
    default:
      return { type, ...told };
  }
}
