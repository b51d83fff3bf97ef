// The places that a session can be taken back to: one before each user prompt. Reads a checkpointer and nothing else.
import { AgentError } from "../errors.js";
import { isOverdue, yieldToEventLoop } from "../fairness.js";
import { eventProblem } from "./fold.js";
import { readingOf } from "./reading.js";

/**
 * @param {object} checkpointer
 * @param {string} sessionId
 * @returns {Promise<{ seq: number, prompt: string, ts: string }[]>} oldest first; `seq` is the head just before the prompt
 */
export async function listCheckpoints(checkpointer, sessionId) {
  const checkpoints = [];
  let head = 0;
  for await (const stored of readingOf(checkpointer, sessionId)) {
    const { seq, ts, event } = stored ?? {};
    head += 1;
    const problem = seq === head ? eventProblem(event) : `has the number ${String(seq)} in the store`;
    if (problem !== null) {
      throw new AgentError(`session ${sessionId}: event ${head} of its log ${problem}`, { code: "session_damaged" });
    }
    if (event.type === "user" && !isResults(event.message)) {
      checkpoints.push({ seq: seq - 1, prompt: promptOf(event.message), ts });
    }
    if (isOverdue()) await yieldToEventLoop();
  }
  return checkpoints;
}

/** Results that a host gave as part of a conversation are no prompt. */
function isResults({ role, content }) {
  return role !== "user" || (Array.isArray(content) && content.every(({ type }) => type === "tool_result"));
}

function promptOf({ content }) {
  if (typeof content === "string") return content;
  return content
    .filter(({ type }) => type === "text")
    .map(({ text }) => text)
    .join("\n");
}
