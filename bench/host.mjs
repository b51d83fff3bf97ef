// What a process that stands for a host needs: memory that is resident, and a watch on its event loop. Knows nothing of
// agents.

const CHUNK_BYTES = 16 * 1024 * 1024;
const PERIOD_MS = 1;
const held = [];

/** Takes memory until the process is this large. Node itself takes about 50 MB. */
export function growTo(megabytes) {
  while (process.memoryUsage.rss() < megabytes * 1024 * 1024) held.push(Buffer.alloc(CHUNK_BYTES, 1));
}

/**
 * @param {() => Promise<unknown>} action
 * @returns {Promise<{ stall: number }>} the longest time, in microseconds, that a timer of the event loop was late by
 *   while the action went on
 */
export async function longestStall(action) {
  let longest = 0;
  let last = performance.now();
  const look = () => {
    const now = performance.now();
    longest = Math.max(longest, now - last - PERIOD_MS);
    last = now;
  };
  const timer = setInterval(look, PERIOD_MS);
  try {
    await action();
  } finally {
    clearInterval(timer);
  }
  look();
  return { stall: longest * 1000 };
}

/** The pace of what starts processes: fewer rounds, for each takes long. */
export function slowPace(pace) {
  return { ...pace, warmUps: Math.min(pace.warmUps, 1), rounds: Math.min(pace.rounds, 5) };
}
