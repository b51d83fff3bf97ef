// Listens to the signals of callers. One listener a signal, however many runs follow it: Node warns of more than ten, and
// a host's signal may live as long as the host.

/** What to call when a signal fires, by signal. */
const followers = new WeakMap();

/**
 * Calls `callback` when the signal is aborted.
 * @returns {() => void} stops listening; may be called twice
 */
export function onAbort(signal, callback) {
  let entry = followers.get(signal);
  if (entry === undefined) {
    const callbacks = new Set();
    entry = { callbacks, listener: () => fire(signal, callbacks) };
    followers.set(signal, entry);
    signal.addEventListener("abort", entry.listener, { once: true });
  }
  const { callbacks, listener } = entry;
  callbacks.add(callback);
  return () => {
    if (!callbacks.delete(callback) || callbacks.size > 0) return;
    if (followers.get(signal)?.callbacks === callbacks) followers.delete(signal);
    try {
      signal.removeEventListener("abort", listener);
    } catch {
      // A signal of the host's own making; nothing follows it any more, whatever it does.
    }
  };
}

function fire(signal, callbacks) {
  followers.delete(signal);
  for (const callback of [...callbacks]) callback();
}
