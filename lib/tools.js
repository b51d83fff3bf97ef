// Custom tools: what makes one valid, what the agent keeps of it, and what it may return. Executes nothing, and knows
// nothing of runs and of the core.
import { dropsPromise } from "./dropped.js";
import { ConfigError } from "./errors.js";
import { checkSchema, isPlainObject, kindOf, prepareSchema, shown } from "./schema.js";

const NAME = /^[a-zA-Z0-9_-]{1,64}$/;
/** Where a value was wanted: nobody waits for what is inside of a result. */
const PROMISE = "a promise (is an `await` missing?)";
/** The longest that a timer of Node takes. */
const MAX_TIMEOUT_MS = 2_147_483_647;

const OPTION_NAMES = ["security", "jsonSchema", "timeoutMs"];
const TOOL_NAMES = ["name", "description", "schema", "execute", ...OPTION_NAMES];
const SECURITY = {
  network: ["none", "loopback", "private", "unrestricted"],
  filesystem: ["none", "workspace", "unrestricted"],
  sideEffects: ["none", "workspace", "external"],
};

/**
 * @param {string} name 1 to 64 letters, digits, `_` and `-`
 * @param {string} description
 * @param {object} schema a Standard Schema or a plain JSON Schema
 * @param {Function} execute
 * @param {{ security?: object, jsonSchema?: object, timeoutMs?: number }} [options]
 * @throws {TypeError} for an argument of the wrong type and an unknown option
 * @throws {RangeError} for a bad timeoutMs
 * @throws {ConfigError} for a value that cannot be used
 */
export function tool(name, description, schema, execute, options) {
  if (options !== undefined) {
    if (!isPlainObject(options)) throw new TypeError(`tool options must be an object, got ${kindOf(options)}`);
    for (const key of Object.keys(options)) {
      if (!OPTION_NAMES.includes(key)) {
        throw new TypeError(`unknown tool option '${key}'; there are ${OPTION_NAMES.join(", ")}`);
      }
    }
  }
  const made = { name, description, schema, execute };
  for (const key of OPTION_NAMES) {
    if (options?.[key] !== undefined) made[key] = options[key];
  }
  return defineTool(made);
}

/**
 * Checks a tool and returns the very same object.
 * @throws as tool() does
 */
export function defineTool(definition) {
  const { name, schema, jsonSchema } = checkTool(definition, "tool");
  checkSchema(name, schema, jsonSchema);
  return definition;
}

/**
 * @typedef {object} PreparedTool
 * @property {object} tool as it was given: execute it with `tool.execute(…)`
 * @property {string} name
 * @property {string} description
 * @property {Readonly<Record<string, unknown>>} parameters the JSON Schema for the model, frozen
 * @property {string | null} schemaText
 * @property {import("./schema.js").PreparedSchema["validate"]} validate
 * @property {number | undefined} timeoutMs
 */

/**
 * What an agent keeps of its tools, made by tool() or not. Schemas are converted once for all agents; every other
 * field is read anew.
 * @param {unknown} tools
 * @returns {PreparedTool[]}
 * @throws as tool() does, and {ConfigError} for a name given twice
 */
export function prepareTools(tools) {
  if (tools === undefined) return [];
  if (!Array.isArray(tools)) throw new TypeError(`tools must be an array, got ${kindOf(tools)}`);
  const names = new Set();
  return Array.from(tools, (given, index) => {
    const { name, description, schema, jsonSchema, timeoutMs } = checkTool(given, `tools[${index}]`);
    if (names.has(name)) throw new ConfigError(`tools[${index}]: there is another tool named '${name}'`);
    names.add(name);
    const { parameters, schemaText, validate } = prepareSchema(name, schema, jsonSchema);
    return { tool: given, name, description, parameters, schemaText, validate, timeoutMs };
  });
}

/** Checks all but the schema, and reads each field once. */
function checkTool(given, where) {
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    throw new TypeError(`${where} must be a tool object, got ${kindOf(given)}`);
  }
  const { name, description, schema, execute, security, jsonSchema, timeoutMs } = given;
  if (typeof name !== "string") throw new TypeError(`${where}: name must be a string, got ${kindOf(name)}`);
  if (!NAME.test(name)) {
    throw new ConfigError(`${where}: name must be 1 to 64 letters, digits, '_' or '-', got ${shown(name)}`);
  }
  if (typeof description !== "string") {
    throw new TypeError(`tool '${name}': description must be a string, got ${kindOf(description)}`);
  }
  if (typeof execute !== "function") {
    throw new TypeError(`tool '${name}': execute must be a function, got ${kindOf(execute)}`);
  }
  if (timeoutMs !== undefined && !(Number.isInteger(timeoutMs) && timeoutMs >= 1 && timeoutMs <= MAX_TIMEOUT_MS)) {
    throw new RangeError(
      `tool '${name}': timeoutMs must be an integer from 1 to ${MAX_TIMEOUT_MS}, got ${shown(timeoutMs)}`,
    );
  }
  if (security !== undefined) checkSecurity(name, security);
  checkSpelling(name, given);
  return { name, description, schema, jsonSchema, timeoutMs };
}

function checkSecurity(name, security) {
  if (!isPlainObject(security)) {
    throw new TypeError(`tool '${name}': security must be an object, got ${kindOf(security)}`);
  }
  for (const key of Object.keys(security)) {
    if (!Object.hasOwn(SECURITY, key)) {
      throw new TypeError(
        `tool '${name}': unknown option 'security.${key}'; there are ${Object.keys(SECURITY).join(", ")}`,
      );
    }
  }
  for (const [key, values] of Object.entries(SECURITY)) {
    const value = security[key];
    if (value === undefined && key !== "network") continue;
    if (!values.includes(value)) {
      const list = values.map((each) => `'${each}'`).join(", ");
      throw new ConfigError(`tool '${name}': security.${key} must be one of ${list}, got ${shown(value)}`);
    }
  }
}

/** A host's own tool object may carry more fields; one that differs from ours in case alone is a mistake. */
function checkSpelling(name, given) {
  for (const key of Object.keys(given)) {
    if (TOOL_NAMES.includes(key)) continue;
    const meant = TOOL_NAMES.find((known) => known.toLowerCase() === key.toLowerCase());
    if (meant !== undefined) throw new TypeError(`tool '${name}': unknown field '${key}', did you mean '${meant}'?`);
  }
}

/**
 * What a tool returned, as the result's content.
 * @param {unknown} output a string, an array of text and image blocks, or { content, isError }
 * @param {string} toolName
 * @returns {{ readonly content: string | readonly object[], readonly isError: boolean }} a frozen copy
 * @throws {TypeError} naming the tool and what it returned; whatever a getter of the output throws
 */
export function normaliseOutput(output, toolName) {
  if (typeof output === "string") return Object.freeze({ content: output, isError: false });
  if (Array.isArray(output)) return Object.freeze({ content: copyBlocks(output, toolName), isError: false });
  if (typeof output !== "object" || output === null) throw wrongOutput(toolName, kindOf(output));
  const { content, isError } = output;
  if (isError !== undefined && typeof isError !== "boolean") {
    throw wrongOutput(toolName, `an isError that is ${givenKind(isError)}`);
  }
  if (typeof content === "string") return Object.freeze({ content, isError: isError === true });
  if (Array.isArray(content)) {
    return Object.freeze({ content: copyBlocks(content, toolName), isError: isError === true });
  }
  throw wrongOutput(
    toolName,
    content === undefined ? `${givenKind(output)} without content` : `a content that is ${givenKind(content)}`,
  );
}

function copyBlocks(blocks, toolName) {
  const given = Array.from(blocks);
  let copies;
  try {
    copies = given.map((block, index) => copyBlock(block, index, toolName));
  } catch (error) {
    for (const block of given) observeBlock(block);
    throw error;
  }
  // An API takes no empty text; a result that has nothing else is an empty list.
  return Object.freeze(copies.filter(({ type, text }) => type !== "text" || text !== ""));
}

/** The first that is wrong is told of; the others may be promises as well, as of a `map` with an async function. */
function observeBlock(block) {
  if (dropsPromise(block) || typeof block !== "object" || block === null) return;
  try {
    for (const field of Object.values(block)) dropsPromise(field);
  } catch {
    // A getter that throws has told of itself, or stands behind what has.
  }
}

/** Takes the fields of a block that have a meaning, and no other. */
function copyBlock(block, index, toolName) {
  if (typeof block !== "object" || block === null) throw wrongOutput(toolName, `${givenKind(block)} as block ${index}`);
  const { type } = block;
  if (type === "text") {
    const { text } = block;
    if (typeof text !== "string") {
      throw wrongOutput(toolName, `a text block (${index}) whose text is ${givenKind(text)}`);
    }
    return Object.freeze({ type, text });
  }
  if (type === "image") {
    const { mediaType, data } = block;
    if (typeof mediaType !== "string" || mediaType === "") {
      throw wrongOutput(toolName, `an image block (${index}) whose mediaType is ${givenKind(mediaType)}`);
    }
    if (typeof data !== "string") {
      throw wrongOutput(toolName, `an image block (${index}) whose data is ${givenKind(data)}, not base64`);
    }
    if (!isBase64(data)) throw wrongOutput(toolName, `an image block (${index}) whose data is not base64`);
    return Object.freeze({ type, mediaType, data });
  }
  throw wrongOutput(
    toolName,
    dropsPromise(block) ? `${PROMISE} as block ${index}` : `a block (${index}) of type ${shown(type)}`,
  );
}

/** A provider refuses a request with anything else in it, and the conversation with it from then on. */
function isBase64(data) {
  return data !== "" && data.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(data);
}

/** What a value is; a promise among them is observed. */
function givenKind(value) {
  return dropsPromise(value) ? PROMISE : kindOf(value);
}

function wrongOutput(toolName, what) {
  return new TypeError(
    `tool '${toolName}' returned ${what}; return a string, an array of text and image blocks, or { content, isError }`,
  );
}
