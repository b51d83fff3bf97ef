// Tells subscribers of events. They observe and never steer: what they throw is theirs.

/** @param {((entry: object) => void)[]} listeners @param {object} entry frozen */
export function notifyAll(listeners, entry) {
  for (const listener of listeners) notify(listener, entry);
}

/** Tells of an event that belongs to no run. */
export function tellManual({ listeners }, sessionId, event) {
  if (listeners.length === 0) return;
  notifyAll(listeners, Object.freeze({ sessionId, source: "manual", event: Object.freeze(event) }));
}

function notify(listener, entry) {
  try {
    const returned = listener(entry);
    if (typeof returned?.then === "function") returned.then(undefined, () => {});
  } catch {
    // Listeners observe; what they throw is theirs.
  }
}
