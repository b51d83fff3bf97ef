// A frozen copy of an answer for those who only look at it, as JSON says it: whatever a schema made of what the model gave,
// one part that is no JSON takes none of the rest along. Knows nothing of runs.
import { MAX_DEPTH, copyFrozen } from "./frozen.js";

const CIRCULAR = "[circular]";
const TOO_DEEP = "[nested too deeply]";
const UNREADABLE = "[unreadable]";

/**
 * @param {unknown} value
 * @returns {unknown} what copyFrozen makes of it; where that refuses, a BigInt is its decimal text, what a value is inside of
 *   `[circular]`, what is deeper than MAX_DEPTH `[nested too deeply]`, and what throws when it is read `[unreadable]`
 */
export function shownAnswer(value) {
  try {
    return copyFrozen(value);
  } catch {
    return new Copier().copy(value, MAX_DEPTH).shown;
  }
}

class Copier {
  /** What was copied, with the levels that it has: what is shared is copied once, however often it is met. */
  #copies = new Map();
  /** What the copier is inside of. */
  #open = new Set();

  /** @returns {{ shown: unknown, height: number }} */
  copy(value, levels) {
    if (typeof value === "bigint") return scalar(String(value));
    if (typeof value !== "object" || value === null) return scalar(copyFrozen(value));
    if (this.#open.has(value)) return scalar(CIRCULAR);
    if (levels === 0) return scalar(TOO_DEEP);
    const known = this.#copies.get(value);
    if (known !== undefined) return known.height > levels ? scalar(TOO_DEEP) : known;
    this.#open.add(value);
    let made;
    try {
      made = this.#copyOpen(value, levels - 1);
    } catch {
      made = scalar(UNREADABLE);
    }
    this.#open.delete(value);
    this.#copies.set(value, made);
    return made;
  }

  #copyOpen(value, levels) {
    if (typeof value.toJSON === "function") {
      const said = value.toJSON();
      if (said !== value) return taller(this.copy(said, levels));
    }
    const isArray = Array.isArray(value);
    const shown = isArray ? [] : {};
    let height = 0;
    const keys = isArray ? value.keys() : Object.keys(value);
    for (const key of keys) {
      const member = this.#member(value, key, levels);
      height = Math.max(height, member.height);
      if (isArray) shown.push(member.shown ?? null);
      // An assignment to `__proto__` would set the prototype and lose the member.
      else if (member.shown !== undefined) Object.defineProperty(shown, key, { value: member.shown, enumerable: true });
    }
    return taller({ shown: Object.freeze(shown), height });
  }

  #member(value, key, levels) {
    let member;
    try {
      member = value[key];
    } catch {
      return scalar(UNREADABLE);
    }
    return this.copy(member, levels);
  }
}

function scalar(shown) {
  return { shown, height: 0 };
}

function taller({ shown, height }) {
  return { shown, height: height + 1 };
}
