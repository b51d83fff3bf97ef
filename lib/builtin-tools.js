// The tools that the core executes itself, as a model is shown them, and what of `bash` a model is told where nothing reads or
// ends a command that is left running. Knows nothing of options, agents or runs.
import { copyFrozen } from "./frozen.js";
import { native } from "./native.js";

/** @type {readonly { name: string, description: string, parameters: object }[]} */
export const BUILTIN_TOOLS = JSON.parse(native.builtinTools()).map((specification) => copyFrozen(specification));
export const BACKGROUND_TOOLS = ["BashOutput", "KillBackground"];

const BASH = builtin("bash");
const BACKGROUND = BACKGROUND_TOOLS.map(builtin);

/** Without what would be refused. */
const FOREGROUND_BASH = (() => {
  const { run_in_background: _left, ...properties } = BASH.parameters.properties;
  return copyFrozen({ ...BASH, parameters: { ...BASH.parameters, properties } });
})();

function builtin(name) {
  return BUILTIN_TOOLS.find((tool) => tool.name === name);
}

/**
 * The tools of one agent, of which `bash` leaves commands running only where both tools are among them that read and end these.
 * @param {readonly object[]} tools the built-in ones as `BUILTIN_TOOLS` has them
 */
export function withFittingBash(tools) {
  if (BACKGROUND.every((tool) => tools.includes(tool))) return tools;
  return tools.map((tool) => (tool === BASH ? FOREGROUND_BASH : tool));
}
