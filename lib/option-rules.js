// What a value of an option must be: one rule for each kind, `(name, value) => the value to use`, which throws a ConfigError
// that begins with the option's name for one that cannot be used. Knows no option, and reads no file.

import { statSync } from "node:fs";

import { absolutePath } from "./absolute-path.js";
import { ConfigError } from "./errors.js";
import { checkEnvironment } from "./environment.js";
import { native } from "./native.js";
import { isSteerController } from "./steer.js";

/** The longest that a timer takes. */
const MAX_TIMEOUT_MS = 2_147_483_647;
/** Counts cross to the core as 32-bit numbers. */
const MAX_COUNT = 4_294_967_295;
/** Longer than there are computers. */
const MAX_AGE_DAYS = 36_500;
const SESSION_ID = /^[A-Za-z0-9_-]{1,128}$/;
const MIDDLEWARE_FUNCTIONS = ["beforeAgent", "afterAgent", "beforeModel", "wrapModelCall", "wrapToolCall"];
/** More than anybody would keep in memory of one command. */
const MAX_BUFFER_BYTES = 1_073_741_824;
/** What models are chosen by. */
export const TIERS = Object.freeze(["simple", "medium", "complex"]);

export const flag = (name, value) => (typeof value === "boolean" ? value : refuse(name, "true or false", value));
export const text = (name, value) => (typeof value === "string" ? value : refuse(name, "a string", value));
export const filledText = (name, value) => {
  if (typeof value !== "string" || value === "") return refuse(name, "a string that is not empty", value);
  if (!value.isWellFormed())
    throw new ConfigError(`${name} must be whole characters, but has half of a surrogate pair`);
  return value;
};
export const callable = (name, value) => (typeof value === "function" ? value : refuse(name, "a function", value));

export const integer = (least, most) => (name, value) => {
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  return refuse(name, `an integer from ${least} to ${most}`, value);
};
export const count = integer(1, MAX_COUNT);
export const milliseconds = integer(1, MAX_TIMEOUT_MS);
export const numberBetween = (least, most) => (name, value) => {
  if (typeof value === "number" && value >= least && value <= most) return value;
  return refuse(name, `a number from ${least} to ${most}`, value);
};
export const oneOf = (words) => (name, value) => {
  if (words.includes(value)) return value;
  const hint = typeof value === "string" ? suggestion(value, words) : "";
  return refuse(name, `one of ${words.join(", ")}`, value, hint);
};

/** Its feature is not there yet, whatever the value. */
export const later = (name) => {
  throw notAvailable(name);
};
/** Only values that are the default, or turn the feature off, mean anything yet; `rule` tells others from mistakes. */
export const only = (available, rule) => (name, value) => {
  if (available.includes(value)) return value;
  rule(name, value);
  throw notAvailable(`${name}: ${shown(value)}`);
};
/** An object of the host that has one function. */
export const having = (member) => (name, value) => {
  const isObject = (typeof value === "object" && value !== null) || typeof value === "function";
  if (isObject && typeof value[member] === "function") return value;
  return refuse(name, `an object with a function ${member}()`, value);
};

export function fileTools(name, value) {
  const given = members(name, value, {
    symlinks: oneOf(["inside", "deny"]),
    maxSnapshotBytes: integer(0, Number.MAX_SAFE_INTEGER),
  });
  return Object.freeze(given);
}

export function bash(name, value) {
  const given = members(name, value, {
    timeoutMs: milliseconds,
    backgroundTimeoutMs: milliseconds,
    maxOutputBytes: integer(1, Number.MAX_SAFE_INTEGER),
    memoryBytes: integer(1, Number.MAX_SAFE_INTEGER),
    env: checkEnvironment,
  });
  return Object.freeze(given);
}

export function sandbox(name, value) {
  having("wrap")(name, value);
  filledText(`${name}.id`, value.id);
  for (const member of ["initialize", "dispose"]) {
    if (value[member] !== undefined) callable(`${name}.${member}`, value[member]);
  }
  return value;
}

/** An object option: each member by its own rule, and no other. */
function members(name, value, rules) {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return refuse(name, "an object", value);
  const given = {};
  for (const key of Object.keys(value)) {
    if (!Object.hasOwn(rules, key)) {
      throw new ConfigError(`${name}.${key} is not an option here${suggestion(key, Object.keys(rules))}`);
    }
    const member = value[key];
    if (member !== undefined) given[key] = rules[key](`${name}.${key}`, member);
  }
  return given;
}

export function context(name, value) {
  if (value === false) return value;
  return members(name, value, { windowTokens: integer(1, Number.MAX_SAFE_INTEGER) });
}

export function cleanup(name, value) {
  if (typeof value === "boolean") return value;
  return members(name, value, {
    maxAgeDays: numberBetween(0, MAX_AGE_DAYS),
    maxBytes: integer(0, Number.MAX_SAFE_INTEGER),
  });
}

export function checkpointer(name, value) {
  if (typeof value !== "object" || value === null) return refuse(name, "a checkpointer object", value);
  for (const member of ["append", "read", "head", "list", "delete"]) callable(`${name}.${member}`, value[member]);
  for (const member of ["truncate", "close"]) {
    if (value[member] !== undefined) callable(`${name}.${member}`, value[member]);
  }
  return value;
}

export function list(name, value) {
  return Array.isArray(value) ? [...value] : refuse(name, "an array", value);
}

export function names(name, value) {
  const copy = list(name, value);
  copy.forEach((element, index) => filledText(`${name}[${index}]`, element));
  return copy;
}

export function model(name, value) {
  if (typeof value === "string") {
    throw new ConfigError(`${name}: native providers are not available yet; pass a ModelProvider, got ${shown(value)}`);
  }
  if (typeof value !== "object" || value === null) return refuse(name, "a ModelProvider", value);
  filledText(`${name}.id`, value.id);
  callable(`${name}.stream`, value.stream);
  return value;
}

/** A provider and the name of a model for each tier. */
export function models(name, value) {
  const profile = (place, given) =>
    Object.freeze(members(place, given, { provider: model, modelName: filledText, displayName: filledText }));
  const given = members(name, value, Object.fromEntries(TIERS.map((tier) => [tier, profile])));
  for (const tier of TIERS) {
    if (given[tier] === undefined) throw new ConfigError(`${name}.${tier} is required: { provider, modelName }`);
    for (const member of ["provider", "modelName"]) {
      if (given[tier][member] === undefined) throw new ConfigError(`${name}.${tier}.${member} is required`);
    }
  }
  return Object.freeze(given);
}

export function backgroundLimits(name, value) {
  const given = members(name, value, {
    maxTotal: count,
    maxDetached: count,
    bufferBytes: integer(1, MAX_BUFFER_BYTES),
    maxTaskMs: milliseconds,
  });
  return Object.freeze(given);
}

/** What is told as a JSON Schema is checked where it is made use of. */
export function schema(name, value) {
  if ((typeof value === "object" && value !== null && !Array.isArray(value)) || typeof value === "function")
    return value;
  return refuse(name, "a Standard Schema or a JSON Schema object", value);
}

export function toolChoice(name, value) {
  if (typeof value !== "object" || value === null) return oneOf(["auto", "none", "required"])(name, value);
  for (const key of Object.keys(value)) {
    if (key === "tool") continue;
    throw new ConfigError(`${name} has the unknown property "${key}"; as an object it is { tool: "<name>" }`);
  }
  return Object.freeze({ tool: filledText(`${name}.tool`, value.tool) });
}

export function middleware(name, value) {
  const copy = list(name, value);
  copy.forEach((element, index) => {
    const place = `${name}[${index}]`;
    if (typeof element !== "object" || element === null) refuse(place, "a middleware object", element);
    filledText(`${place}.name`, element.name);
    for (const key of MIDDLEWARE_FUNCTIONS) {
      if (element[key] !== undefined) callable(`${place}.${key}`, element[key]);
    }
    refuseNearMisses(place, element);
  });
  return copy;
}

/** Middleware may have more than the agent asks for; but a misspelt function would never be called. */
function refuseNearMisses(place, element) {
  for (const key of namesOf(element)) {
    if (MIDDLEWARE_FUNCTIONS.includes(key) || typeof element[key] !== "function") continue;
    const near = native.nearest(key, MIDDLEWARE_FUNCTIONS);
    if (near !== null && element[near] === undefined) {
      throw new ConfigError(`${place}.${key} is no function of middleware; did you mean ${near}?`);
    }
  }
}

/** The names of an object's own properties, and of those that its class gives it. */
function namesOf(object) {
  const found = new Set();
  for (let at = object; at !== null && Object.getPrototypeOf(at) !== null; at = Object.getPrototypeOf(at)) {
    for (const key of Object.getOwnPropertyNames(at)) if (key !== "constructor") found.add(key);
  }
  return found;
}

export function mcpServers(name, value) {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return refuse(name, "an object", value);
  return Object.keys(value).length === 0 ? value : later(name);
}

export function directory(name, value) {
  const path = absolutePath(name, filledText(name, value));
  let found;
  try {
    found = statSync(path, { throwIfNoEntry: false });
  } catch (cause) {
    throw new ConfigError(`${name} must be a directory that can be reached, got ${shown(path)}: ${cause.message}`, {
      cause,
    });
  }
  if (found === undefined) throw new ConfigError(`${name} must be an existing directory, but "${path}" does not exist`);
  if (!found.isDirectory()) throw new ConfigError(`${name} must be a directory, but "${path}" is something else`);
  return path;
}

export function sessionId(name, value) {
  if (typeof value === "string" && SESSION_ID.test(value)) return value;
  return refuse(name, "1 to 128 characters of A-Z a-z 0-9 _ -", value);
}

export function signal(name, value) {
  // By its shape: a signal of another realm, or of a polyfill, is no instance of this one's class.
  if (typeof value?.aborted === "boolean" && typeof value.addEventListener === "function") return value;
  return refuse(name, "an AbortSignal", value);
}

export function steer(name, value) {
  return isSteerController(value) ? value : refuse(name, "a SteerController", value);
}

export function suggestion(word, candidates) {
  const near = native.nearest(word, candidates);
  return near === null ? "" : `; did you mean ${near}?`;
}

export function notAvailable(what) {
  return new ConfigError(`${what} is not available yet`);
}

/** @returns {never} */
function refuse(name, expected, value, hint = "") {
  throw new ConfigError(`${name} must be ${expected}, got ${shown(value)}${hint}`);
}

function shown(value) {
  if (typeof value === "string") return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value);
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  return kindOf(value);
}

export function kindOf(value) {
  if (value === null) return "null";
  return Array.isArray(value) ? "an array" : typeof value;
}
