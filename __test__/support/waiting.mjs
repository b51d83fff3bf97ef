// Waits for things instead of sleeping. Knows nothing of agents.

/**
 * A promise with its two ends in reach.
 * @template T
 * @returns {{ promise: Promise<T>, resolve: (value?: T) => void, reject: (reason: unknown) => void }}
 */
export function deferred() {
  let resolve;
  let reject;
  const promise = new Promise((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  return { promise, resolve, reject };
}

/**
 * Resolves once `condition` is true. Fails with `what` in the message when that takes longer than `limitMs`,
 * so that a hang becomes a failed test that says what it waited for.
 * @param {() => unknown} condition
 * @param {string} [what]
 * @param {number} [limitMs]
 */
export async function until(condition, what = String(condition), limitMs = 10_000) {
  const end = performance.now() + limitMs;
  for (;;) {
    const value = await condition();
    if (value) return value;
    if (performance.now() > end) throw new Error(`waited ${limitMs} ms in vain for: ${what}`);
    await pause(2);
  }
}

/**
 * Passes `promise` on, but fails when it has not settled within `limitMs`: for promises that a fault would leave pending.
 * @template T
 * @param {Promise<T> | T} promise
 * @param {string} what
 * @param {number} [limitMs]
 * @returns {Promise<T>}
 */
export async function within(promise, what, limitMs = 10_000) {
  let timer;
  const overdue = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not settled within ${limitMs} ms: ${what}`)), limitMs);
  });
  try {
    return await Promise.race([promise, overdue]);
  } finally {
    clearTimeout(timer);
  }
}

/** Lets real time pass: for what a test gives a handler or tool to do, never to wait for a result. */
export function pause(durationMs) {
  return new Promise((resolve) => setTimeout(resolve, durationMs));
}

/** Resolves when `signal` is aborted, with its reason. */
export function aborted(signal) {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(signal.reason);
    else signal.addEventListener("abort", () => resolve(signal.reason), { once: true });
  });
}

/** Blocks the thread for `durationMs`, as a handler that computes does. */
export function block(durationMs) {
  const end = performance.now() + durationMs;
  while (performance.now() < end);
}
