// Policies of the public API over the native ones: policy, strictPolicy, composePolicies, bashCommand, filePath. The
// rules are compiled and decided in the core; here are the host's functions, and policies of the host's own. Knows
// nothing of agents.

import { ConfigError } from "./errors.js";
import { native } from "./native.js";

const FILE_TOOLS = Object.freeze(["read_file", "write_file", "edit_file", "delete_file"]);
const DECISIONS = new Set(["allow", "deny", "ask"]);
const STRICTNESS = { allow: 0, ask: 1, deny: 2 };
/** Names of tools are few; what else a policy is asked about is not worth remembering. */
const MAX_REMEMBERED_TOOLS = 256;
/** What can be told of a value that is no JSON stops somewhere. */
const MAX_OPTION_VALUES = 1_000_000;
/** Values within values; inputs are nested no deeper. */
const MAX_OPTION_DEPTH = 100;
/** Names and paths in messages are cut behind that. */
const MAX_SHOWN_LENGTH = 80;

/** The native policy of each policy object that needs no function of the host. */
const handles = new WeakMap();

/**
 * The compiled policy behind a policy object, by which the core decides without asking JavaScript.
 * @param {object} policyObject
 * @returns {object | undefined} nothing where a function of the host must be asked
 */
export function nativePolicy(policyObject) {
  return handles.get(policyObject);
}

/**
 * @param {object} [options] `{ allow, ask, deny, rules, default }`
 * @returns {{ check(call: object, context?: object): any }}
 * @throws {ConfigError} for options that cannot be used; for a rule, with its id
 */
export function policy(options = {}) {
  return makePolicy("policy", options);
}

/** A policy that denies what no rule matches. @param {object} [options] `{ allow, ask, deny, rules }` */
export function strictPolicy(options = {}) {
  wantPlain("strictPolicy: the options", options);
  if (options.default !== undefined) {
    throw new ConfigError("strictPolicy: default is no option: it always denies; use policy for another default");
  }
  return makePolicy("strictPolicy", { ...options, default: "deny" });
}

/**
 * A rule for `bash` by its command: the command is parsed, and each simple command in it is matched on its own.
 * @param {string} pattern `*` matches any text; `:*` at the end means a prefix at a word boundary
 * @param {"allow" | "deny" | "ask"} effect
 */
export function bashCommand(pattern, effect) {
  const place = "bashCommand";
  const rule = { tool: "bash", shell: wantText(place, "pattern", pattern), effect: wantDecision(place, effect) };
  compile(place, { rules: [rule] });
  return rule;
}

/**
 * A rule for the tools that read or change one file, by its path relative to workdir.
 * @param {string} glob
 * @param {"allow" | "deny" | "ask"} effect
 */
export function filePath(glob, effect) {
  const place = "filePath";
  const rule = { tool: [...FILE_TOOLS], file: wantText(place, "glob", glob), effect: wantDecision(place, effect) };
  compile(place, { rules: [rule] });
  return rule;
}

/** What holds where a host gives no policy. */
export function defaultPolicy() {
  return nativeObject(native.policyDefault(), new Map());
}

/** The strictest verdict of all wins. Without policies, it denies. @param {...object} policies */
export function composePolicies(...policies) {
  policies.forEach((each, index) => {
    const hasCheck = (isObject(each) || typeof each === "function") && typeof each.check === "function";
    if (!hasCheck) {
      throw new ConfigError(
        `composePolicies: argument ${index + 1} must be a policy (an object with a function check()), got ${kindOf(each)}`,
      );
    }
  });
  if (policies.length === 0) return makePolicy("composePolicies", { default: "deny" });
  const natives = policies.map((each) => handles.get(each));
  if (natives.every((handle) => handle !== undefined)) {
    return nativeObject(
      natives.reduce((first, second) => native.policyCompose(first, second)),
      new Map(),
    );
  }
  return Object.freeze({
    check(call, context) {
      wantCall(call);
      return checkAll(policies, call, context);
    },
  });
}

function makePolicy(place, options) {
  wantPlain(`${place}: the options`, options);
  const functions = new Map();
  const plain = { ...options };
  if (Array.isArray(options.rules)) {
    plain.rules = options.rules.map((rule, index) => {
      if (isObject(rule)) wantPlain(`${place}: rules[${index}]`, rule);
      if (!isObject(rule) || rule.where === undefined) return rule;
      if (typeof rule.where !== "function") {
        const id = typeof rule.id === "string" ? rule.id : `rule-${index}`;
        throw new ConfigError(`${place}: rule ${id}: where must be a function, got ${kindOf(rule.where)}`);
      }
      functions.set(index, rule.where);
      return { ...rule, where: true };
    });
  }
  return nativeObject(compile(place, plain), functions);
}

function compile(place, plain) {
  refuseNoJson(place, plain);
  try {
    return native.policyCompile(JSON.stringify(plain));
  } catch (cause) {
    throw new ConfigError(`${place}: ${cause.message}`);
  }
}

/** @param {object} handle @param {Map<number, Function>} functions by the index of their rule */
function nativeObject(handle, functions) {
  const readsInput = new Map();
  /** The input as the core needs it: not at all where no rule for the tool looks at it. */
  const inputText = (call) => {
    let reads = readsInput.get(call.name);
    if (reads === undefined) {
      reads = native.policyReadsInput(handle, call.name);
      if (readsInput.size < MAX_REMEMBERED_TOOLS) readsInput.set(call.name, reads);
    }
    return reads ? (JSON.stringify(call.input) ?? "null") : "null";
  };
  const check = (call, context) => {
    wantCall(call);
    try {
      const input = inputText(call);
      const answer = native.policyCheck(handle, call.name, input);
      if (answer[0] !== "[") return verdictOf(answer);
      const holding = JSON.parse(answer).filter((index) => holds(functions.get(index), call, context));
      return verdictOf(native.policyCheck(handle, call.name, input, holding));
    } catch (thrown) {
      return policyError(thrown);
    }
  };
  const object = Object.freeze({ check });
  if (functions.size === 0) handles.set(object, handle);
  return object;
}

function verdictOf(answer) {
  return answer[0] === "{" ? JSON.parse(answer) : answer;
}

function holds(where, call, context) {
  const answer = where(call, context);
  if (!isThenable(answer)) return answer === true;
  // Its rule might be one that denies: to take a promise for "no" would let everything through.
  answer.then(undefined, () => {});
  throw new TypeError("where must answer at once, and answered a promise");
}

function checkAll(policies, call, context) {
  const verdicts = policies.map((each) => {
    try {
      const answer = each.check(call, context);
      return isThenable(answer) ? Promise.resolve(answer).then(readVerdict).catch(policyError) : readVerdict(answer);
    } catch (thrown) {
      return policyError(thrown);
    }
  });
  return verdicts.some(isThenable) ? Promise.all(verdicts).then(strictest) : strictest(verdicts);
}

/** The first of the strictest. */
function strictest(verdicts) {
  const strictness = (verdict) => STRICTNESS[typeof verdict === "string" ? verdict : verdict.decision];
  return verdicts.reduce((first, second) => (strictness(second) > strictness(first) ? second : first));
}

/** @throws {TypeError} for what is no verdict */
export function readVerdict(answer) {
  if (typeof answer === "string" && DECISIONS.has(answer)) return answer;
  if (isObject(answer)) {
    // Read once: a getter might answer something else the next time.
    const { decision, ruleId, reason } = answer;
    if (typeof decision === "string" && DECISIONS.has(decision)) {
      const verdict = { decision };
      if (typeof ruleId === "string") verdict.ruleId = ruleId;
      if (typeof reason === "string") verdict.reason = reason;
      return verdict;
    }
  }
  throw new TypeError("it answered neither allow, deny nor ask");
}

function policyError(thrown) {
  return { decision: "deny", reason: `policy error: ${messageOf(thrown)}` };
}

function messageOf(thrown) {
  try {
    const message = isObject(thrown) ? thrown.message : thrown;
    return typeof message === "string" && message !== "" ? message : String(thrown);
  } catch {
    return "something was thrown that cannot be shown";
  }
}

/** JSON.stringify drops or changes what it does not know: a rule would silently mean something else. */
function refuseNoJson(place, options) {
  const waiting = [["", options, 0]];
  for (let seen = 0; waiting.length > 0; seen += 1) {
    const [path, value, depth] = waiting.pop();
    const refuse = (problem) => {
      throw new ConfigError(`${place}: ${idOfRule(path, options)}${shortened(path)} ${problem}`);
    };
    if (value === undefined || value === null || typeof value === "boolean") continue;
    if (typeof value === "string") {
      if (!value.isWellFormed()) refuse("must be well-formed text, and holds half of a surrogate pair");
      continue;
    }
    if (typeof value === "number" && Number.isFinite(value)) continue;
    const isPlain = Array.isArray(value) || (typeof value === "object" && hasPlainPrototype(value));
    if (!isPlain || typeof value.toJSON === "function") {
      refuse(`must be JSON data, got ${typeof value === "number" ? String(value) : kindOf(value)}`);
    }
    if (depth > MAX_OPTION_DEPTH) refuse(`is nested too deeply: over ${MAX_OPTION_DEPTH} levels, or a cycle`);
    if (seen > MAX_OPTION_VALUES) throw new ConfigError(`${place}: the options hold too many values`);
    if (!Array.isArray(value)) {
      const hidden = hiddenName(value);
      if (hidden !== undefined) refuse(hiddenProblem(hidden));
    }
    for (const key of Object.keys(value)) {
      if (!key.isWellFormed()) refuse("has a name that holds half of a surrogate pair");
      waiting.push([path === "" ? key : `${path}.${key}`, value[key], depth + 1]);
    }
  }
}

function idOfRule(path, options) {
  const index = /^rules\.(\d+)/.exec(path)?.[1];
  if (index === undefined) return "";
  const id = options.rules[index]?.id;
  return `rule ${typeof id === "string" ? shortened(id) : `rule-${index}`}: `;
}

function shortened(text) {
  return text.length > MAX_SHOWN_LENGTH ? `${text.slice(0, MAX_SHOWN_LENGTH).toWellFormed()}…` : text;
}

/** An object of a class would lose what it inherits, and a policy that loses a rule allows. */
function wantPlain(what, value) {
  const isPlain = isObject(value) && !Array.isArray(value) && hasPlainPrototype(value);
  if (!isPlain) {
    throw new ConfigError(`${what} must be ${isObject(value) ? "a plain object" : "an object"}, got ${kindOf(value)}`);
  }
  const hidden = hiddenName(value);
  if (hidden !== undefined) throw new ConfigError(`${what} ${hiddenProblem(hidden)}`);
}

/** The name of a property that a copy would lose. */
function hiddenName(object) {
  return Object.getOwnPropertyNames(object).find((key) => !Object.prototype.propertyIsEnumerable.call(object, key));
}

function hiddenProblem(name) {
  return `must have enumerable properties alone, and ${shortened(name)} is none`;
}

function wantCall(call) {
  const isCall = isObject(call);
  if (isCall && typeof call.name === "string") return;
  const problem = isCall
    ? `call.name must be a string, got ${kindOf(call.name)}`
    : `call must be an object, got ${kindOf(call)}`;
  throw new TypeError(`check: ${problem}`);
}

function hasPlainPrototype(value) {
  const prototype = Object.getPrototypeOf(value);
  // Of any realm: the prototype of plain objects has none itself, and what is own to it is known.
  return prototype === null || (Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype, "isPrototypeOf"));
}

function wantText(place, name, value) {
  if (typeof value === "string") return value;
  throw new ConfigError(`${place}: ${name} must be a string, got ${kindOf(value)}`);
}

function wantDecision(place, value) {
  if (typeof value === "string" && DECISIONS.has(value)) return value;
  const near = typeof value === "string" ? native.nearest(value, [...DECISIONS]) : null;
  const hint = near === null ? "" : `; did you mean ${near}?`;
  const got = typeof value === "string" ? JSON.stringify(value) : kindOf(value);
  throw new ConfigError(`${place}: effect must be allow, deny or ask, got ${got}${hint}`);
}

function isObject(value) {
  return typeof value === "object" && value !== null;
}

function isThenable(value) {
  return (isObject(value) || typeof value === "function") && typeof value.then === "function";
}

function kindOf(value) {
  if (value === null) return "null";
  if (value === undefined) return "nothing";
  if (Array.isArray(value)) return "an array";
  if (value instanceof RegExp) return "a RegExp (write its source as a string)";
  if (typeof value === "object") return kindOfObject(value);
  return `a ${typeof value}`;
}

function kindOfObject(value) {
  if (hasPlainPrototype(value)) return "an object";
  const name = Object.getPrototypeOf(value).constructor?.name;
  if (typeof name !== "string" || name === "") return "an object of a class";
  return name === "Object" ? "an object that inherits" : `an object of the class ${shortened(name)}`;
}
