// Structured output: the tool `final_answer`, whose input is the host's schema. What is valid is the schema's business, when
// the run ends is the core's.
import { ConfigError } from "./errors.js";
import { prepareSchema } from "./schema.js";
import { shownAnswer } from "./shown-answer.js";

const NAME = "final_answer";
const DESCRIPTION = "Gives the final answer and ends the work. Call it once, when everything is done.";
const REMEDY = "give a plain JSON Schema in its place";
const ACCEPTED = "The answer was accepted.";
// What the core says of an answer that comes after another; calls that go on at the same time meet here.

/**
 * @param {object} schema the option outputSchema
 * @param {readonly { name: string }[]} tools the host's own
 * @returns {import("./tools.js").PreparedTool & { isFinal: true }}
 * @throws {ConfigError} whose message begins with the option's name
 */
export function finalAnswerTool(schema, tools) {
  if (tools.some(({ name }) => name === NAME)) {
    throw new ConfigError(`outputSchema adds a tool named ${NAME}, and tools has one of that name: give it another`);
  }
  let prepared;
  try {
    prepared = prepareSchema(NAME, schema, undefined, REMEDY);
  } catch (cause) {
    throw new ConfigError(`outputSchema: ${cause.message}`, { cause });
  }
  const { parameters, schemaText, validate } = prepared;
  return {
    name: NAME,
    description: DESCRIPTION,
    parameters,
    schemaText,
    validate,
    timeoutMs: undefined,
    isFinal: true,
  };
}

/** Keeps a valid answer; which of them counts is the core's to say. @returns {string} what the model is told */
export function takeAnswer(run, key, output) {
  // What hooks and several readers see is a copy that nobody can change.
  run.answers.set(key, { value: output, shown: shownAnswer(output) });
  return ACCEPTED;
}
