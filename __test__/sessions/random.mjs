// Chance that can be repeated. Knows nothing of what it is for.

/** Numbers that are the same for the same seed (mulberry32). */
export function randomFrom(seed) {
  let state = Math.imul(seed, 2_654_435_761);
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  return {
    chance: (share) => next() < share,
    upTo: (most) => Math.floor(next() * (most + 1)),
    of: (list) => list[Math.floor(next() * list.length)],
  };
}
