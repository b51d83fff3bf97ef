// What an agent of a family is to a model: which provider, under which name, with which system prompt and tools. The root has
// one role, each child one of its own. Knows nothing of runs.

import { withFittingBash } from "./builtin-tools.js";
import { wholeLetters } from "./sessions/archive.js";

const MAX_LISTED_LETTERS = 1_024;
/** Blanks, and what else ends a line for some readers. */
const LINE_BLANKS = /[\s\u001c-\u001e\u0085]+/;
const FINAL_ANSWER = "final_answer";
const AGENT = "Agent";
const CONTEXT = "context";

/** One agent's side of its requests. */
export class Role {
  /** Tokens of what every request has in common; counted when somebody asks. @type {number | undefined} */
  fixedTokens = undefined;

  constructor(provider, request) {
    this.provider = provider;
    /** What every request has in common, frozen. */
    this.request = Object.freeze(request);
    /** Long results may be left out of requests: the tool that reads them is there. */
    this.readsArchive = request.tools?.some(({ name }) => name === CONTEXT) ?? false;
  }
}

/**
 * @param {object} checked the options
 * @param {readonly object[]} tools as a model is shown them
 * @param {{ skills: readonly object[], finalAnswer: boolean }} sections what the system prompt tells of
 */
export function rootRole(checked, tools, { skills, finalAnswer }) {
  const system = systemPrompt(checked.system, [
    tools.some(({ name }) => name === "load_skill") ? skillsSection(skills) : undefined,
    finalAnswer ? FINAL_ANSWER_SECTION : undefined,
  ]);
  return new Role(checked.model, template(checked, checked.modelName, system, tools));
}

/**
 * A child's role: the root's tools, less those that are the root's alone, narrowed by its definition.
 * @param {Role} root
 * @param {object} checked the options
 * @param {{ prompt: string, tools?: readonly string[] }} definition
 * @param {string | undefined} model a tier, or a model's name; the root's own where it is left out
 */
export function childRole(root, checked, definition, model, skills) {
  const own = (root.request.tools ?? []).filter(
    ({ name }) =>
      name !== AGENT && name !== FINAL_ANSWER && (definition.tools === undefined || definition.tools.includes(name)),
  );
  const tools = withFittingBash(own);
  const system = systemPrompt(definition.prompt, [
    tools.some(({ name }) => name === "load_skill") ? skillsSection(skills) : undefined,
  ]);
  const tier = model === undefined ? undefined : checked.models?.[model];
  const provider = tier?.provider ?? root.provider;
  const modelName = tier?.modelName ?? model ?? root.request.model;
  return new Role(
    provider,
    template({ ...checked, toolChoice: choiceOfChild(checked.toolChoice, tools) }, modelName, system, tools),
  );
}

/** A choice that names a tool which the child does not have would be refused by its provider. */
function choiceOfChild(choice, tools) {
  if (choice === undefined || typeof choice === "string") return tools.length === 0 ? undefined : choice;
  return tools.some(({ name }) => name === choice.tool) ? choice : undefined;
}

function template(checked, model, system, tools) {
  const request = { model };
  if (system !== undefined) request.system = system;
  if (tools.length > 0) request.tools = Object.freeze([...tools]);
  const { maxTokens, temperature, topP, toolChoice, seed, reasoningEffort } = checked;
  for (const [name, value] of Object.entries({ maxTokens, temperature, topP, toolChoice, seed, reasoningEffort })) {
    if (value !== undefined) request[name] = value;
  }
  return request;
}

function systemPrompt(own, sections) {
  const parts = [own, ...sections].filter((part) => part !== undefined && part !== "");
  return parts.length === 0 ? undefined : parts.join("\n\n");
}

function skillsSection(skills) {
  const lines = skills.map(({ name, description, tags }) => {
    const tagged = tags.length === 0 ? "" : ` [${oneLine(tags.join(", "))}]`;
    return `- ${name}: ${oneLine(description)}${tagged}`;
  });
  return `# Skills\nInstructions for particular kinds of work. When one fits the task, read it with load_skill before you begin.\n${lines.join("\n")}`;
}

const FINAL_ANSWER_SECTION =
  "# Final answer\nWhen the task is done, call final_answer with the whole result, in the form that its parameters describe. " +
  "Only what you pass to it counts as your answer. If it is refused, mend what the refusal names and call it again.";

/** @param {readonly object[]} definitions @returns {string} what the `Agent` tool's description ends with */
export function kindsOfAgents(definitions) {
  return definitions.map(({ name, description }) => `- ${name}: ${oneLine(description)}`).join("\n");
}

/** On one line, and no longer than a list's entry should be. */
function oneLine(text) {
  const line = text.split(LINE_BLANKS).join(" ").trim();
  return line.length > MAX_LISTED_LETTERS ? `${line.slice(0, wholeLetters(line, MAX_LISTED_LETTERS))}…` : line;
}
