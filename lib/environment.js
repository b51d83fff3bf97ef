// The environment of commands: what the host gives, or six harmless variables of its own. Values are never shown: they may
// be secrets.
import { ConfigError } from "./errors.js";
import { isPlainObject } from "./schema.js";

const INHERITED_VARIABLES = ["PATH", "HOME", "TMPDIR", "LANG", "LC_ALL", "TERM"];

/**
 * @param {string} name of the option, for messages
 * @param {unknown} value
 * @returns {[string, string][]} the variables of a command, and no others
 * @throws {ConfigError}
 */
export function checkEnvironment(name, value) {
  if (!isPlainObject(value)) {
    throw new ConfigError(`${name} must be an object, got ${kindOf(value)}`);
  }
  /** @type {[string, string][]} */
  const variables = [];
  for (const [variable, text] of Object.entries(value)) {
    if (text === undefined) continue;
    if (variable === "" || /[=\0]/.test(variable)) {
      throw new ConfigError(`${name} has a variable whose name is empty or holds "=" or a null character`);
    }
    if (typeof text !== "string") throw new ConfigError(`${name}.${variable} must be a string, got ${kindOf(text)}`);
    if (!variable.isWellFormed() || !text.isWellFormed()) {
      throw new ConfigError(
        `${name} has half of a surrogate pair in the name or the value of ${JSON.stringify(variable)}`,
      );
    }
    if (text.includes("\0")) throw new ConfigError(`${name}.${variable} must not hold a null character`);
    variables.push([variable, text]);
  }
  return variables;
}

/** What a command inherits where `bash.env` is not given: nothing that could be a secret of the host. */
export function inheritedEnvironment() {
  /** @type {[string, string][]} */
  const variables = [];
  for (const name of INHERITED_VARIABLES) {
    const value = process.env[name];
    if (value !== undefined) variables.push([name, value.toWellFormed()]);
  }
  return variables;
}

function kindOf(value) {
  if (value === null) return "null";
  return Array.isArray(value) ? "an array" : typeof value;
}
