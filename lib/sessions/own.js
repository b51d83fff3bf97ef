// What the agent may ask of a built-in checkpointer beside what every checkpointer has. Not public: a checkpointer of the
// host has no such property, and goes without.

/** Property of a built-in checkpointer: `{ batches(sessionId, sinceSeq), hold(sessionId), cleanup(request) }`. */
export const OWN = Symbol("operations of the built-in checkpointers");
