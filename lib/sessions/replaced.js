// The conflict that no number shows: a log was taken back by somebody else, and has the same head again. Knows nothing of
// stores.
import { CheckpointConflictError } from "../errors.js";

/** @returns {CheckpointConflictError} whose heads are the same */
export function replaced(sessionId, head) {
  const error = new CheckpointConflictError(sessionId, head, head);
  error.message = `session ${sessionId} was taken back by another, and has other events up to its head at ${head}`;
  return error;
}
