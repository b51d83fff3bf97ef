// Counts what an agent's hooks and events tell: runs with their turns and calls, children's and background runs included,
// and hook commands with how they fared. Knows events, and nothing of how they are shown.
import { commandAt } from "./project.mjs";

/** @typedef {{ source: string, events: Set<string>, allowed: number, denied: number, failed: Set<string> }} Commanded */
/**
 * @typedef {object} Ran
 * @property {"user" | "child" | "background"} who
 * @property {string} prompt
 * @property {string} status
 * @property {number} turns
 * @property {number} calls
 * @property {{ inputTokens?: number, outputTokens?: number }} usage
 * @property {number} durationMs
 */

/** The root's runs, which have no agentId. */
const ROOT = "";

export class Tally {
  /** In the order in which they began. @type {Ran[]} */
  runs = [];
  /** Hook commands. @type {Map<string, Commanded>} */
  commands = new Map();
  /** The run that goes on of each agent: one agent's runs are one after another. */
  #going = new Map();

  /** For `run:start`. */
  runBegan({ agentId = ROOT, source, input }) {
    const who = agentId === ROOT ? source : "child";
    const run = { who, prompt: String(input), status: "", turns: 0, calls: 0, usage: {}, durationMs: 0 };
    this.runs.push(run);
    this.#going.set(agentId, { run, start: performance.now() });
  }

  /** For `run:end`. */
  runEnded({ agentId = ROOT, status, result }) {
    const { run, start } = this.#going.get(agentId);
    Object.assign(run, { status, usage: result?.usage ?? {}, durationMs: performance.now() - start });
  }

  /** @param {import("lite-agent").AgentEvent} event */
  event(event) {
    const { run } = this.#going.get(event.agentId ?? ROOT) ?? {};
    switch (event.type) {
      case "turn_start":
        run.turns += 1;
        break;
      case "tool_use":
        run.calls += 1;
        break;
      case "permission_decision":
        if (event.call.name === "hook") this.#decided(event);
        break;
      case "diagnostic":
        if (event.code === "hook_failed") this.commands.get(commandAt(event.hook))?.failed.add(event.hook.reason);
        break;
      default:
    }
  }

  #decided({ call, decision }) {
    const { command, event, source } = call.input;
    const counted = this.commands.get(command) ?? {
      source,
      events: new Set(),
      allowed: 0,
      denied: 0,
      failed: new Set(),
    };
    this.commands.set(command, counted);
    counted.events.add(event);
    if (decision === "allow") counted.allowed += 1;
    else counted.denied += 1;
  }
}
