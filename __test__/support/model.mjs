// A scripted model for tests: answers call n with turn n, and checks every request that it gets.
// Knows the public face only.
import { assertWellFormed } from "../../index.js";

export * from "./waiting.mjs";
export * from "./agent.mjs";

/**
 * @typedef {object} Turn
 * @property {string} [text] what the model says
 * @property {string[]} [deltas] how the text is streamed; default: whole. Without `text`, their concatenation is the text
 * @property {{ id: string, name: string, input: unknown }[]} [calls]
 * @property {object[]} [content] the message's blocks, in place of what `text` and `calls` would make
 * @property {{ inputTokens: number, outputTokens: number }} [usage]
 * @property {string} [stopReason]
 * @property {number} [delayMs] real time before the answer
 * @property {Promise<unknown>} [wait] the answer comes when this has settled
 * @property {unknown} [error] thrown in place of the message, after the deltas
 */

/**
 * Turn n is a Turn, or a function of the request (and its signal) that returns one. After the last turn, the last is
 * given ever after: runs that would go on for ever so are for `maxTurns`.
 * By default the model honours its signal: it throws the signal's reason as soon as that is aborted.
 *
 * @param {(Turn | ((request: object, signal?: AbortSignal) => Turn | Promise<Turn>))[]} turns
 * @param {{ onRequest?: (request: object, signal?: AbortSignal) => void, honoursAbort?: boolean, id?: string,
 *   context?: object }} [options]
 * @returns {object} a ModelProvider with `requests` (each as the model got it) and `signals`
 */
export function scriptedModel(turns, { onRequest, honoursAbort = true, id = "scripted", context } = {}) {
  const requests = [];
  const signals = [];
  const model = {
    id,
    requests,
    signals,
    async *stream(request, signal) {
      const position = requests.length;
      requests.push(request);
      signals.push(signal);
      assertWellFormed(request);
      await onRequest?.(request, signal);
      const scripted = turns[Math.min(position, turns.length - 1)];
      const turn = typeof scripted === "function" ? await scripted(request, signal) : scripted;
      const guard = honoursAbort ? rejectOnAbort(signal) : { promise: new Promise(() => {}), release() {} };
      try {
        if (turn.wait) await Promise.race([turn.wait, guard.promise]);
        if (turn.delayMs !== undefined) {
          let timer;
          const delay = new Promise((resolve) => {
            timer = setTimeout(resolve, turn.delayMs);
          });
          try {
            await Promise.race([delay, guard.promise]);
          } finally {
            clearTimeout(timer);
          }
        }
        const deltas = turn.deltas ?? (turn.text ? [turn.text] : []);
        for (const text of deltas) {
          if (honoursAbort) signal?.throwIfAborted();
          yield { type: "text_delta", text };
        }
        if ("error" in turn) throw turn.error;
        yield { type: "message_done", ...answer(turn) };
      } finally {
        guard.release();
      }
    },
  };
  if (context) model.context = context;
  return model;
}

function answer(turn) {
  const text = turn.text ?? turn.deltas?.join("");
  const content = turn.content ?? [
    ...(text ? [{ type: "text", text }] : []),
    ...(turn.calls ?? []).map(({ id, name, input }) => ({ type: "tool_call", id, name, input })),
  ];
  const calling = content.some((block) => block.type === "tool_call");
  return {
    message: { role: "assistant", content },
    usage: turn.usage ?? { inputTokens: 10, outputTokens: 5 },
    stopReason: turn.stopReason ?? (calling ? "tool_use" : "stop"),
  };
}

function rejectOnAbort(signal) {
  let release = () => {};
  const promise = new Promise((_, reject) => {
    if (!signal) return;
    const abort = () => reject(signal.reason);
    if (signal.aborted) return abort();
    signal.addEventListener("abort", abort, { once: true });
    release = () => signal.removeEventListener("abort", abort);
  });
  promise.catch(() => {});
  return { promise, release: () => release() };
}
