// Chances that depend on a seed and a few words alone, whatever was asked before: a plan made of them is the same in
// whatever order its parts are looked at. Knows nothing of what is planned.

/** @param {number} seed */
export function chancesOf(seed) {
  /** A number from 0 to 1 (without). */
  const chance = (...words) => {
    let hash = 2166136261 ^ seed;
    for (const character of words.join("|")) hash = Math.imul(hash ^ character.charCodeAt(0), 16777619);
    hash = Math.imul(hash ^ (hash >>> 15), 2246822507);
    hash = Math.imul(hash ^ (hash >>> 13), 3266489909);
    return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32;
  };
  return {
    chance,
    /** An integer from 0 to `limit` (without). */
    upTo: (limit, ...words) => Math.floor(chance(...words) * limit),
    /** One of a list. */
    pick: (list, ...words) => list[Math.floor(chance(...words) * list.length)],
    /** One of the keys of an object, as often as its value says. */
    weighted(weights, ...words) {
      let left = chance(...words) * Object.values(weights).reduce((sum, weight) => sum + weight, 0);
      for (const [name, weight] of Object.entries(weights)) {
        left -= weight;
        if (left < 0) return name;
      }
      return Object.keys(weights).at(-1);
    },
  };
}
