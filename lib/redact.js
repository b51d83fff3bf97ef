// defaultRedactor: a copy of any value with its secrets masked. Secrets in text are the core's business; this walks the
// structure, and knows keys that are named like secrets. It never throws and never changes what it is given. Knows nothing
// of what the value is for.

import { dropsPromise } from "./dropped.js";
import { native } from "./native.js";

const MASK = "[redacted]";
const TOO_DEEP = "[nested too deeply]";
const CIRCULAR = "[circular]";
const UNREADABLE = "[unreadable]";
const TOO_MANY = "[too many values]";

/** Containers within containers; what is deeper is replaced. */
const MAX_DEPTH = 100;
/** Values in one call; what comes after them is replaced. */
const MAX_VALUES = 200_000;
/** The core cuts at 16 KiB, and says so if it is given more: no need to carry over megabytes to have them cut. */
const MAX_TEXT_LENGTH = 16 * 1024 + 1;
/** Shorter text cannot hold a secret: `a@b.co`, `pw=x`. */
const MIN_TEXT_LENGTH = 4;

/** The last word of a name. A plural of `token` is a count. */
const SECRET_NAME =
  /(?:^|_)(?:password|passwd|pwd|passphrase|passwort|secret|authorization|cookie|credential|apikey|accesskey|secretkey|privatekey)s?(?:_(?:hash|base|base64|value|\d+))?$|_pass$|token(?:_(?:base64|value|\d+))?$|(?:password|secret|passphrase|apikey)$/;
/** A key of that kind. */
const SECRET_KEY_NAME =
  /(?:^|_)(?:api|secret|private|access|auth|encryption|signing|master|ssh|service|client|deploy|license|admin|root|account|storage|shared|subscription|webhook|hmac|session)_keys?(?:_(?:base|base64|value|\d+))?$/;
/** A key of unknown kind is secret if its value has letters and digits; in a short one, nothing of a path. As in text. */
const ANY_KEY_NAME = /(?:^|_)(?:key|auth)$/;
const RANDOM = /^(?=.*\d)(?=.*[A-Za-z])(?:[\w+=~%-]{6,15}|[\w+/=~.%:-]{16,})$/;
/** An option of a command in a list of arguments, whose value is the next element. */
const OPTION = /^--?[A-Za-z][\w-]*$/;
/** Longer names are data. */
const MAX_NAME_LENGTH = 80;
/** A name of this form holds no secret itself. */
const PLAIN_NAME = /^[A-Za-z_]{1,24}$/;
const MAX_REMEMBERED_NAMES = 1000;

/**
 * A copy of the value with secrets replaced by `[redacted]`. The structure stays; cycles, values deeper than 100 levels
 * and getters that throw become marks; texts over 16 KiB are cut.
 * @param {unknown} value
 * @returns {unknown}
 */
export function defaultRedactor(value) {
  try {
    return new Walk().copy(value, 0);
  } catch {
    // Whatever a proxy thought of. To show nothing is the one safe answer.
    return UNREADABLE;
  }
}

/** In the place of what a redactor of the host's failed on. */
export const WITHHELD = "[withheld: redact() failed]";

/**
 * A text as the host's redactor shows it. One that fails must not let through what it was to mask, and what that is nobody
 * else knows: then nothing is shown. To answer anything but a string for a string is to fail.
 * @param {(value: unknown) => unknown} redact
 * @param {string} text
 * @returns {string}
 */
export function redactTextBy(redact, text) {
  try {
    const redacted = answered(redact(text));
    if (typeof redacted === "string") return redacted;
  } catch {
    // As below.
  }
  return WITHHELD;
}

/**
 * What a redactor answered at once.
 * @throws {TypeError} for a promise, which nothing that is told can wait for
 */
export function answered(value) {
  // Also one that is rejected is only this redactor's failure.
  if (!dropsPromise(value)) return value;
  throw new TypeError("a redactor must not be asynchronous");
}

class Walk {
  /** Copies of what was met before, so that what is shared is copied once. */
  copies = new Map();
  /** What the walk is inside of. */
  open = new Set();
  left = MAX_VALUES;

  copy(value, depth) {
    this.left -= 1;
    switch (typeof value) {
      case "string":
        return redactText(value);
      case "bigint":
        return redactText(`${value}n`);
      case "symbol":
        return redactText(String(value));
      case "function":
        return "[function]";
      case "object":
        break;
      default:
        return value;
    }
    if (value === null) return null;
    if (this.open.has(value)) return CIRCULAR;
    if (this.copies.has(value)) return this.copies.get(value);
    if (depth >= MAX_DEPTH) return TOO_DEEP;
    this.open.add(value);
    let copy;
    try {
      copy = this.copyContainer(value, depth + 1);
    } catch {
      copy = UNREADABLE;
    }
    this.open.delete(value);
    this.copies.set(value, copy);
    return copy;
  }

  copyContainer(value, depth) {
    if (Array.isArray(value)) return this.copyArray(value, depth);
    if (ArrayBuffer.isView(value)) return `[${value.constructor?.name ?? "binary"} of ${value.byteLength} bytes]`;
    if (value instanceof ArrayBuffer || value instanceof SharedArrayBuffer)
      return `[binary of ${value.byteLength} bytes]`;
    if (value instanceof Date) return new Date(value.getTime());
    if (value instanceof RegExp || value instanceof URL || value instanceof String) return redactText(String(value));
    if (value instanceof Number || value instanceof Boolean) return value.valueOf();
    if (value instanceof Map) return this.copyMap(value, depth);
    if (value instanceof Set) return this.copySet(value, depth);
    return this.copyMembers(value, depth);
  }

  copyArray(array, depth) {
    const copy = [];
    let previous;
    for (let index = 0; index < array.length; index += 1) {
      if (this.left <= 0) {
        copy.push(TOO_MANY);
        break;
      }
      const element = read(array, index);
      const isSecret = typeof previous === "string" && OPTION.test(previous) && isSecretName(previous);
      // An option that follows another has no value of its own.
      const isOption = typeof element === "string" && element.startsWith("-");
      copy.push(isSecret && typeof element === "string" && !isOption ? MASK : this.copy(element, depth));
      previous = element;
    }
    return copy;
  }

  copyMap(map, depth) {
    const copy = new Map();
    const names = new Names();
    for (const [key, member] of Map.prototype.entries.call(map)) {
      if (this.left <= 0) {
        copy.set(TOO_MANY, TOO_MANY);
        break;
      }
      copy.set(names.unused(this.copy(key, depth)), this.copyMember(key, member, depth));
    }
    return copy;
  }

  copySet(set, depth) {
    const copy = new Set();
    for (const member of Set.prototype.values.call(set)) {
      if (this.left <= 0) {
        copy.add(TOO_MANY);
        break;
      }
      copy.add(this.copy(member, depth));
    }
    return copy;
  }

  copyMembers(object, depth) {
    const copy = {};
    const names = new Names();
    for (const key of keysOf(object)) {
      if (this.left <= 0) {
        copy[TOO_MANY] = TOO_MANY;
        break;
      }
      const member = this.copyMember(key, read(object, key), depth);
      // An assignment to `__proto__` would set the prototype and lose the member.
      const property = { value: member, enumerable: true, configurable: true, writable: true };
      Object.defineProperty(copy, names.unused(PLAIN_NAME.test(key) ? key : redactText(key)), property);
    }
    return copy;
  }

  copyMember(key, value, depth) {
    if (value === null || value === undefined) return value;
    if (typeof key === "string" && (isSecretName(key) || (isKeyName(key) && isRandom(value)))) return MASK;
    return this.copy(value, depth);
  }
}

function read(object, key) {
  try {
    return object[key];
  } catch {
    return UNREADABLE;
  }
}

/** The members that tell something; an error's own words are not enumerable. */
function keysOf(object) {
  const keys = Object.keys(object);
  if (!(object instanceof Error)) return keys;
  const own = ["cause", "errors"].filter((name) => Object.hasOwn(object, name));
  return [...new Set(["name", "message", ...own, ...keys])];
}

/** The names in one container: two may be the same once they are masked. */
class Names {
  counts = new Map();

  unused(name) {
    if (typeof name !== "string") return name;
    const count = (this.counts.get(name) ?? 0) + 1;
    this.counts.set(name, count);
    return count === 1 ? name : `${name} (${count})`;
  }
}

function redactText(text) {
  if (text.length < MIN_TEXT_LENGTH) return text;
  return native.redactText(text.length > MAX_TEXT_LENGTH ? text.slice(0, MAX_TEXT_LENGTH) : text);
}

function isRandom(value) {
  return typeof value === "string" && RANDOM.test(value.slice(0, MAX_TEXT_LENGTH));
}

const isSecretName = (name) => suspicionOf(name) === "certain";
const isKeyName = (name) => suspicionOf(name) === "if random";

/** The same names come again and again. */
const remembered = new Map();

function suspicionOf(name) {
  if (name.length > MAX_NAME_LENGTH) return "none";
  let suspicion = remembered.get(name);
  if (suspicion === undefined) {
    const words = wordsOf(name);
    if (SECRET_NAME.test(words) || SECRET_KEY_NAME.test(words)) suspicion = "certain";
    else suspicion = ANY_KEY_NAME.test(words) ? "if random" : "none";
    if (remembered.size >= MAX_REMEMBERED_NAMES) remembered.clear();
    remembered.set(name, suspicion);
  }
  return suspicion;
}

/** `X-Api-Key`, `apiKey` and `API_KEY` are all `api_key`. */
function wordsOf(name) {
  return name
    .replace(/([a-z\d])([A-Z])/g, "$1_$2")
    .replace(/[^A-Za-z\d]+/g, "_")
    .replace(/^_+|_+$/g, "")
    .toLowerCase();
}
