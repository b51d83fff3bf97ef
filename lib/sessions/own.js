// What the agent may ask of a built-in checkpointer beside what every checkpointer has. Not public: a checkpointer of the
// host has no such property, and goes without.

/**
 * Property of a built-in checkpointer on disk: `{ batches(sessionId, sinceSeq), hold(sessionId), cleanup(request) }`. A
 * batch is `{ first, events, repairs }`: the events without their records, the first with that number.
 */
export const OWN = Symbol("operations of the built-in checkpointers on disk");

/**
 * Property of a built-in checkpointer: `{ append(sessionId, events, { head, mark }), truncate(sessionId, toSeq, head) }`.
 * The mark tells a log from another one that has the same head: a log that was taken back, and has grown since. `append`
 * resolves to the new place; without a mark the head alone is looked at.
 */
export const PLACED = Symbol("operations of the built-in checkpointers at a place");
