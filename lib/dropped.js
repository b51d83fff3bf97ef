// Promises that host code gave where something else was wanted: nobody waits for them, and one that is rejected unseen
// would end the host's process. Knows nothing of who gave them.

/** Lets a promise of whatever kind fail unheard. Only methods of our own promise are called: a foreign one's may throw. */
export function observe(value) {
  new Promise((resolve) => {
    resolve(value);
  }).catch(() => {});
}

/** Whether a value is a promise, or like one; whatever it comes to is observed then. */
export function dropsPromise(value) {
  if (!isThenable(value)) return false;
  observe(value);
  return true;
}

function isThenable(value) {
  try {
    return (
      ((typeof value === "object" && value !== null) || typeof value === "function") && typeof value.then === "function"
    );
  } catch {
    // What does not want to be looked at is refused by whoever wanted something else.
    return false;
  }
}
