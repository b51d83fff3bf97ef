// The operations of an agent that wait for it, and what becomes of one that is called inside a callback.
// Knows the public face only.
import { ReentrancyError } from "../../index.js";
import { within } from "./waiting.mjs";

/** Every operation that waits for the agent, as a promise of its outcome. */
export const operations = {
  run: (agent) => agent.run("again").next(),
  send: (agent) => agent.send("again"),
  awaitIdle: (agent) => agent.awaitIdle(),
  compact: (agent) => agent.compact().next(),
  restore: (agent) => agent.restore(agent.sessionId, 0),
  deleteSession: (agent) => agent.deleteSession(agent.sessionId),
  close: (agent) => agent.close(),
};

/** An operation that throws at once counts like one that rejects. */
export const attempt = async (operation, agent) => operations[operation](agent);

/** "refused", "allowed", or "hangs"; "allowed" is whatever is no ReentrancyError. */
export async function outcome(promise) {
  return within(promise, "the operation", 5_000).then(
    () => "allowed",
    (error) =>
      error instanceof ReentrancyError ? "refused" : /not settled within/.test(error.message) ? "hangs" : "allowed",
  );
}
