// Policies: what rules say of a call. Rules are compiled once, in the core; functions of the host (`where`, policies of
// its own) are asked here. Works on its own, without an agent.
import { ConfigError, errorFromData } from "./errors.js";
import { native } from "./native.js";
import { describeThrown } from "./thrown.js";

const DECISIONS = ["allow", "deny", "ask"];
const STRICTNESS = { allow: 0, ask: 1, deny: 2 };
const OPTIONS = ["allow", "ask", "deny", "rules", "default"];
const RULE_MEMBERS = ["id", "description", "tool", "when", "where", "effect"];
const FILE_TOOLS = ["read_file", "write_file", "edit_file", "delete_file"];

/** The pattern of a bashCommand() rule. A symbol that is enumerable goes along when a host spreads the rule. */
const SHELL = Symbol("lite-agent.bashCommand");

/** The addon's policy of a policy object that needs no function of the host. */
const handles = new WeakMap();

/** @returns the addon's policy, or undefined where the object must be asked itself */
export function nativePolicy(policyObject) {
  return handles.get(policyObject);
}

/**
 * A policy of rules: the strictest rule that matches wins, deny over ask over allow over `default` ("allow").
 * @throws {TypeError} when the options are no object
 * @throws {ConfigError} for an option or a rule that cannot be used, by name or by the rule's id
 */
export function policy(options = {}) {
  return makePolicy(options, undefined);
}

/** As policy(), with the default deny. */
export function strictPolicy(options = {}) {
  if (isObject(options) && options.default !== undefined) {
    throw new ConfigError("default is no option of strictPolicy(): what no rule matches is denied");
  }
  return makePolicy(options, "deny");
}

/**
 * The policy whose verdict is the strictest of all, so that no layer can loosen another. Without any it denies.
 * @throws {TypeError} for what has no check()
 */
export function composePolicies(...policies) {
  for (const [index, layer] of policies.entries()) {
    if (!isObject(layer) || typeof layer.check !== "function") {
      throw new TypeError(`composePolicies: argument ${index + 1} must be a policy, an object with a function check()`);
    }
  }
  const natives = policies.map((layer) => handles.get(layer));
  const composed = { check: (call, context) => strictest(policies, call, context) };
  if (natives.every((handle) => handle !== undefined)) handles.set(composed, native.policyCompose(natives));
  return Object.freeze(composed);
}

/**
 * A rule about shell commands: `*` is any text, a trailing `:*` any arguments. A deny or an ask applies to any command of
 * a line, an allow must match every one.
 */
export function bashCommand(pattern, effect) {
  expectText("bashCommand: pattern", pattern);
  expectEffect("bashCommand: effect", effect);
  return { tool: "bash", effect, [SHELL]: pattern };
}

/** A rule about the files that read_file, write_file, edit_file and delete_file name, relative to workdir. */
export function filePath(glob, effect) {
  expectText("filePath: glob", glob);
  expectEffect("filePath: effect", effect);
  return { tool: [...FILE_TOOLS], when: { path: { glob } }, effect };
}

function makePolicy(options, standard) {
  if (!isObject(options)) throw new TypeError(`policy: options must be an object, got ${kindOf(options)}`);
  expectKnown("policy", Object.keys(options), OPTIONS);
  const { allow, ask, deny, rules = [], default: fallback = standard } = options;
  for (const [name, names] of Object.entries({ allow, ask, deny })) {
    if (names === undefined) continue;
    if (!Array.isArray(names) || names.some((it) => typeof it !== "string")) {
      throw new ConfigError(`${name} must be an array of tool names, got ${kindOf(names)}`);
    }
  }
  if (fallback !== undefined) expectEffect("default", fallback);
  if (!Array.isArray(rules)) throw new ConfigError(`rules must be an array, got ${kindOf(rules)}`);
  const wire = rules.map((rule, index) => readRule(rule, index));
  const functions = rules.map(({ where }) => where);
  let handle;
  try {
    handle = native.policyCompile(JSON.stringify({ allow, ask, deny, rules: wire, default: fallback }));
  } catch (error) {
    throw errorFromData({ code: error.code, message: error.message });
  }
  const made = Object.freeze({ check: (call, context) => check(handle, functions, call, context) });
  if (functions.every((where) => where === undefined)) handles.set(made, handle);
  return made;
}

function readRule(rule, index) {
  if (!isObject(rule)) throw new ConfigError(`rules[${index}] must be an object, got ${kindOf(rule)}`);
  const { id, description, tool, when, where, effect } = rule;
  const name = typeof id === "string" ? id : `rule-${index}`;
  expectKnown(name, Object.keys(rule), RULE_MEMBERS);
  for (const [member, value] of Object.entries({ id, description })) {
    if (value !== undefined) expectText(`${name}: ${member}`, value);
  }
  if (tool !== undefined && typeof tool !== "string") {
    if (!Array.isArray(tool) || tool.some((it) => typeof it !== "string")) {
      throw new ConfigError(`${name}: tool must be a glob or an array of globs, got ${kindOf(tool)}`);
    }
  }
  if (when !== undefined && !isObject(when)) {
    throw new ConfigError(`${name}: when must be an object of conditions by path, got ${kindOf(when)}`);
  }
  if (where !== undefined && typeof where !== "function") {
    throw new ConfigError(`${name}: where must be a function, got ${kindOf(where)}`);
  }
  expectEffect(`${name}: effect`, effect);
  return { id, description, tool, when, where: where !== undefined, effect, shell: rule[SHELL] };
}

function check(handle, functions, call, context) {
  try {
    const input = JSON.stringify(call.input) ?? "null";
    let answer = native.policyCheck(handle, call.name, input, undefined);
    if (answer.startsWith('{"where"')) {
      const holding = JSON.parse(answer).where.filter((rule) => functions[rule](call, context) === true);
      answer = native.policyCheck(handle, call.name, input, holding);
    }
    return answer.startsWith("{") ? JSON.parse(answer) : answer;
  } catch (error) {
    return failed(error);
  }
}

/** A policy that cannot say denies. */
function failed(error) {
  return { decision: "deny", reason: `policy error: ${describeThrown(error).message}` };
}

/** Asks one layer after another; at once as long as the layers answer at once. */
function strictest(policies, call, context) {
  let best = policies.length === 0 ? "deny" : undefined;
  for (let index = 0; index < policies.length; index += 1) {
    const verdict = ask(policies[index], call, context);
    if (typeof verdict.then === "function") return strictestLater(policies, index, verdict, best, call, context);
    best = stricter(best, verdict);
  }
  return best;
}

async function strictestLater(policies, index, pending, best, call, context) {
  let strictestSoFar = stricter(best, await pending);
  for (const layer of policies.slice(index + 1))
    strictestSoFar = stricter(strictestSoFar, await ask(layer, call, context));
  return strictestSoFar;
}

function ask(layer, call, context) {
  try {
    const answer = layer.check(call, context);
    if (typeof answer?.then !== "function") return readVerdict(answer);
    return Promise.resolve(answer).then(readVerdict).catch(failed);
  } catch (error) {
    return failed(error);
  }
}

/** @throws {TypeError} for what is no verdict */
export function readVerdict(answer) {
  if (DECISIONS.includes(answer)) return answer;
  if (isObject(answer)) {
    const { decision, ruleId, reason } = answer;
    if (DECISIONS.includes(decision)) {
      const verdict = { decision };
      if (typeof ruleId === "string") verdict.ruleId = ruleId;
      if (typeof reason === "string") verdict.reason = reason;
      return verdict;
    }
  }
  throw new TypeError("it answered neither allow, deny nor ask");
}

function stricter(best, verdict) {
  if (best === undefined) return verdict;
  return STRICTNESS[decisionOf(verdict)] > STRICTNESS[decisionOf(best)] ? verdict : best;
}

function decisionOf(verdict) {
  return typeof verdict === "string" ? verdict : verdict.decision;
}

function expectKnown(where, keys, known) {
  const unknown = keys.find((key) => !known.includes(key));
  if (unknown === undefined) return;
  const near = native.nearest(unknown, known);
  throw new ConfigError(
    `${where}: unknown option ${unknown}${near === null ? `; there are ${known.join(", ")}` : `; did you mean ${near}?`}`,
  );
}

function expectEffect(name, value) {
  if (!DECISIONS.includes(value)) {
    throw new ConfigError(
      `${name} must be "allow", "deny" or "ask", got ${typeof value === "string" ? `"${value}"` : kindOf(value)}`,
    );
  }
}

function expectText(name, value) {
  if (typeof value !== "string" || value === "")
    throw new ConfigError(`${name} must be a string that is not empty, got ${kindOf(value)}`);
}

function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function kindOf(value) {
  return value === null ? "null" : Array.isArray(value) ? "an array" : value === "" ? "an empty string" : typeof value;
}
