// Copies a value as JSON sees it and freezes the copy, in one walk. Everything that host code hands in enters the agent
// through here once; what is shared afterwards (hook events, requests, results) is this frozen copy. Knows nothing of
// runs, messages or the core.

/** Containers within containers that a value may have: a scalar has none, `{}` one. */
export const MAX_DEPTH = 100;

/** The value is nested deeper than MAX_DEPTH, or refers to itself. */
export class TooDeepError extends Error {
  constructor() {
    super(`nested more than ${MAX_DEPTH} levels deep`);
    this.name = "TooDeepError";
    tooDeep.add(this);
  }
}

/** The value holds something that JSON cannot say. */
export class NotJsonError extends Error {
  constructor(what) {
    super(`not JSON: it holds ${what}`);
    this.name = "NotJsonError";
    notJson.add(this);
  }
}

// Told apart without touching what host code threw: a proxy may throw when it is looked at.
const tooDeep = new WeakSet();
const notJson = new WeakSet();

export function isTooDeep(error) {
  return tooDeep.has(error);
}

export function isNotJson(error) {
  return notJson.has(error);
}

/**
 * A deep-frozen copy with the semantics of JSON: `toJSON` is honoured, undefined and functions are left out (null in
 * arrays), NaN and infinities become null.
 * @throws {TooDeepError} over 100 levels, a value that refers to itself included
 * @throws {NotJsonError} for a BigInt
 * @throws whatever a getter or `toJSON` of the value throws
 */
export function copyFrozen(value) {
  return copy(value, MAX_DEPTH, true);
}

/** Levels of an event, or of a message, around the values of hosts and models that are limited themselves. */
const LEVELS_AROUND = 10;
export const MAX_DEPTH_AROUND = MAX_DEPTH + LEVELS_AROUND;

/** As copyFrozen, of what holds values that each may have MAX_DEPTH levels. */
export function copyFrozenAround(value) {
  return copy(value, MAX_DEPTH_AROUND, true);
}

/**
 * Freezes parsed JSON where it stands. What is frozen already is taken to be so all through.
 * @template T
 * @param {T} value
 * @returns {T}
 */
export function freezeDeep(value) {
  const open = [value];
  while (open.length > 0) {
    const next = open.pop();
    if (typeof next !== "object" || next === null || Object.isFrozen(next)) continue;
    Object.freeze(next);
    if (Array.isArray(next)) {
      for (const member of next) if (typeof member === "object" && member !== null) open.push(member);
      continue;
    }
    for (const key of Object.keys(next)) {
      const member = next[key];
      if (typeof member === "object" && member !== null) open.push(member);
    }
  }
  return value;
}

/** A deep copy of JSON data that its receiver may change. Same rules as copyFrozen. */
export function copyMutable(value) {
  return copy(value, MAX_DEPTH, false);
}

function copy(value, levels, freeze) {
  switch (typeof value) {
    case "string":
    case "boolean":
      return value;
    case "number":
      return Number.isFinite(value) ? value : null;
    case "bigint":
      throw new NotJsonError("a BigInt");
    case "object":
      break;
    default:
      return undefined;
  }
  if (value === null) return null;
  if (levels === 0) throw new TooDeepError();
  if (typeof value.toJSON === "function") return copy(value.toJSON(), levels - 1, freeze);
  if (Array.isArray(value)) {
    const { length } = value;
    const array = new Array(length);
    for (let index = 0; index < length; index += 1) {
      const element = copy(value[index], levels - 1, freeze);
      array[index] = element === undefined ? null : element;
    }
    return freeze ? Object.freeze(array) : array;
  }
  const object = {};
  for (const key of Object.keys(value)) {
    const member = copy(value[key], levels - 1, freeze);
    if (member === undefined) continue;
    // An assignment to this name would set the prototype and lose the member.
    if (key === "__proto__") {
      Object.defineProperty(object, key, { value: member, enumerable: true, configurable: true, writable: true });
    } else {
      object[key] = member;
    }
  }
  return freeze ? Object.freeze(object) : object;
}
