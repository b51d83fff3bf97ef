// What a tool's schema means: the JSON Schema that the model is shown, and what validates an input: a Standard Schema
// by its own `validate`, a plain JSON Schema in the core, by its text. Knows nothing of runs, calls and how a tool is
// executed.
import { dropsPromise } from "./dropped.js";
import { ConfigError } from "./errors.js";
import { copyFrozen } from "./frozen.js";

const HELP = "use zod 4.2 or later, toStandardJsonSchema of @valibot/to-json-schema, or ";
/** What to do where a schema cannot be shown to a model. */
const TOOL_REMEDY = "give the tool a `jsonSchema`";
/** zod, arktype and @valibot/to-json-schema all know this draft; arktype and valibot refuse names they do not know. */
const TARGET = "draft-2020-12";

const MAX_PROBLEMS = 5;
const MAX_FIELD_CHARACTERS = 160;
const MAX_MESSAGE_CHARACTERS = 240;

/**
 * What is made of a schema. It depends on the schema (and on `jsonSchema`) alone, never on the tool's other fields.
 * @typedef {object} PreparedSchema
 * @property {Readonly<Record<string, unknown>>} parameters the JSON Schema for the model, frozen
 * @property {string | null} schemaText a JSON Schema that the core validates against; null when `validate` does
 * @property {null | ((value: unknown) => Checked | Promise<Checked>)} validate throws what the schema's own code throws
 */
/** @typedef {{ value: unknown } | { problem: string }} Checked */

/** By schema, then by `jsonSchema` (or NONE). What failed is not kept. @type {WeakMap<object, WeakMap<object, PreparedSchema>>} */
const prepared = new WeakMap();
const NONE = {};

/**
 * Refuses, without converting anything, what can never be a tool's schema. Cheap enough for module level, where a
 * schema may still refer to others that are not initialised yet.
 * @param {string} name the tool's
 * @throws {TypeError | ConfigError}
 */
export function checkSchema(name, schema, jsonSchema, remedy = TOOL_REMEDY) {
  if (jsonSchema !== undefined && !isPlainObject(jsonSchema)) {
    throw new TypeError(`tool '${name}': jsonSchema must be a JSON Schema object, got ${kindOf(jsonSchema)}`);
  }
  const standard = standardOf(name, schema);
  if (standard === null) {
    if (!isPlainObject(schema)) {
      const isForeign = typeof schema === "function" || (isObject(schema) && !Array.isArray(schema));
      const hint = isForeign ? ` without \`~standard\`; ${HELP}${remedy}` : "";
      throw new TypeError(
        `tool '${name}': schema must be a Standard Schema or a JSON Schema object, got ${kindOf(schema)}${hint}`,
      );
    }
  } else if (jsonSchema === undefined && typeof standard.jsonSchema?.input !== "function") {
    const vendor = typeof standard.vendor === "string" ? ` of ${standard.vendor}` : "";
    const field = remedy === TOOL_REMEDY ? "jsonSchema: " : "";
    const mini = vendor === " of zod" ? ` (zod/mini: ${field}z.toJSONSchema(schema, { io: "input" }))` : "";
    throw new ConfigError(
      `tool '${name}': its schema${vendor} cannot say what the model is to be shown; ${HELP}${remedy}${mini}`,
    );
  }
}

/**
 * @param {string} name the tool's
 * @param {string} [remedy] what a message advises where the schema cannot be shown to a model
 * @returns {PreparedSchema}
 * @throws {TypeError | ConfigError}
 */
export function prepareSchema(name, schema, jsonSchema, remedy = TOOL_REMEDY) {
  // A primitive is no key, and refused below.
  const known = prepared.get(schema)?.get(jsonSchema ?? NONE);
  if (known !== undefined) return known;
  checkSchema(name, schema, jsonSchema, remedy);
  const standard = standardOf(name, schema);
  const result = Object.freeze(
    standard === null
      ? preparePlain(name, schema, jsonSchema)
      : prepareStandard(name, schema, standard, jsonSchema, remedy),
  );
  if (!prepared.has(schema)) prepared.set(schema, new WeakMap());
  prepared.get(schema).set(jsonSchema ?? NONE, result);
  return result;
}

function preparePlain(name, schema, jsonSchema) {
  const validated = jsonSchemaOf(name, "schema", schema);
  return {
    parameters: jsonSchema === undefined ? validated : jsonSchemaOf(name, "jsonSchema", jsonSchema),
    schemaText: JSON.stringify(validated),
    validate: null,
  };
}

function prepareStandard(name, schema, standard, jsonSchema, remedy) {
  return {
    parameters: shownToModel(name, standard, jsonSchema, remedy),
    schemaText: null,
    validate: (value) => {
      const outcome = schema["~standard"].validate(value);
      return isThenable(outcome)
        ? Promise.resolve(outcome).then((settled) => checked(settled, standard.vendor))
        : checked(outcome, standard.vendor);
    },
  };
}

function shownToModel(name, standard, jsonSchema, remedy) {
  if (typeof standard.jsonSchema?.input === "function") {
    try {
      const shown = standard.jsonSchema.input({ target: TARGET });
      if (dropsPromise(shown)) {
        throw new ConfigError(
          `tool '${name}': \`~standard.jsonSchema.input()\` of its schema returned a promise, and must return a JSON ` +
            "Schema object at once",
        );
      }
      return jsonSchemaOf(name, "the JSON Schema of its schema", shown);
    } catch (error) {
      // What the schema cannot say, `jsonSchema` says.
      if (jsonSchema === undefined) {
        if (error instanceof ConfigError) throw error;
        throw new ConfigError(
          `tool '${name}': its schema cannot be shown to the model: ${messageOf(error)}; ${remedy}`,
          { cause: error },
        );
      }
    }
  }
  return jsonSchemaOf(name, "jsonSchema", jsonSchema);
}

/** A frozen copy of a JSON Schema for an object: a tool's input is always one, and providers want that said. */
function jsonSchemaOf(name, what, schema) {
  if (!isPlainObject(schema)) {
    throw new ConfigError(`tool '${name}': ${what} must be a JSON Schema object, got ${kindOf(schema)}`);
  }
  let copy;
  try {
    copy = copyFrozen(schema);
  } catch (error) {
    throw new ConfigError(`tool '${name}': ${what} is no JSON: ${messageOf(error)}`, { cause: error });
  }
  if (!isPlainObject(copy) || (copy.type !== undefined && copy.type !== "object")) {
    const type = isPlainObject(copy) ? JSON.stringify(copy.type) : kindOf(copy);
    throw new ConfigError(`tool '${name}': ${what} must be of type "object", as every tool's input is, got ${type}`);
  }
  return copy.type === undefined ? Object.freeze({ type: "object", ...copy }) : copy;
}

/** The Standard Schema interface of a schema; null where it has none. Schemas of arktype are functions. */
function standardOf(name, schema) {
  if (!isObject(schema) && typeof schema !== "function") return null;
  const standard = schema["~standard"];
  if (standard === undefined) return null;
  if (!isObject(standard) && typeof standard !== "function") {
    throw new ConfigError(`tool '${name}': its schema's \`~standard\` must be an object, got ${kindOf(standard)}`);
  }
  if (standard.version !== 1 || typeof standard.validate !== "function") {
    throw new ConfigError(
      `tool '${name}': its schema must be a Standard Schema of version 1 with a \`validate\` function, got version ${shown(standard.version)}`,
    );
  }
  return standard;
}

function checked(outcome, vendor) {
  if (!isObject(outcome) && typeof outcome !== "function") {
    throw new TypeError(`the schema of ${vendor} returned ${kindOf(outcome)} from validate, no result`);
  }
  const { issues } = outcome;
  if (dropsPromise(issues)) throw new TypeError(`the schema of ${vendor} returned a promise as issues from validate`);
  // Never `{ problem: undefined }`: its absence is what says that the input is valid.
  return issues ? { problem: describe(issues) } : { value: outcome.value };
}

function describe(issues) {
  const problems = [];
  for (const issue of issues) {
    if (problems.length === MAX_PROBLEMS) {
      problems.push("and more");
      break;
    }
    problems.push(describeIssue(issue));
  }
  return problems.length === 0 ? "input: does not match the schema" : problems.join("; ");
}

function describeIssue(issue) {
  const keys = Array.from(issue?.path ?? [], (segment) => (isObject(segment) ? segment.key : segment));
  const field = keys.length === 0 ? "input" : keys.map(String).join(".");
  let message = String(issue?.message ?? "is invalid");
  // arktype's messages begin with the path, as JavaScript writes it.
  const written = keys.map((key, index) => accessor(key, index)).join("");
  if (written !== "" && message.startsWith(`${written} `)) message = message.slice(written.length + 1);
  return `${shortened(field, MAX_FIELD_CHARACTERS)}: ${shortened(message, MAX_MESSAGE_CHARACTERS)}`;
}

function accessor(key, index) {
  if (typeof key === "number") return `[${key}]`;
  return index === 0 ? String(key) : `.${String(key)}`;
}

function shortened(text, limit) {
  if (text.length <= limit) return text;
  // Not between the halves of one character.
  const end = /[\uD800-\uDBFF]/.test(text[limit - 1]) ? limit - 1 : limit;
  return `${text.slice(0, end)}…`;
}

function isThenable(value) {
  return (isObject(value) || typeof value === "function") && typeof value.then === "function";
}

function isObject(value) {
  return typeof value === "object" && value !== null;
}

/** Made by a literal, JSON.parse or Object.create(null), in whatever realm. */
export function isPlainObject(value) {
  if (!isObject(value) || Array.isArray(value)) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** What a value is, for a message: `undefined`, `a string`, `an array`, `an instance of Map`. */
export function kindOf(value) {
  if (value === undefined || value === null) return String(value);
  if (Array.isArray(value)) return "an array";
  if (typeof value !== "object") return `a ${typeof value}`;
  if (isPlainObject(value)) return "an object";
  const name = value.constructor?.name;
  return typeof name === "string" && name !== "" ? `an instance of ${name}` : "an object";
}

/** A value for a message, cut. */
export function shown(value) {
  return typeof value === "string" ? JSON.stringify(shortened(value, 80)) : describeScalar(value);
}

function describeScalar(value) {
  return typeof value === "object" || typeof value === "function" || typeof value === "symbol"
    ? kindOf(value)
    : String(value);
}

function messageOf(error) {
  return error instanceof Error ? error.message : String(error);
}
