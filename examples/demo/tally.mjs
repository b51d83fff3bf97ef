// Counts what an agent's events tell: runs with their turns and calls, and hook commands with how they fared. Knows
// events, and nothing of how they are shown.
import { commandAt } from "./project.mjs";

/** @typedef {{ source: string, events: Set<string>, allowed: number, denied: number, failed: Set<string> }} Commanded */

export class Tally {
  /** @type {{ prompt: string, status: string, turns: number, calls: number, usage: object, durationMs: number }[]} */
  runs = [];
  /** Hook commands. @type {Map<string, Commanded>} */
  commands = new Map();
  #start = 0;

  runBegins(prompt) {
    this.#start = performance.now();
    this.runs.push({ prompt, status: "", turns: 0, calls: 0, usage: {}, durationMs: 0 });
  }

  runEnded(status) {
    this.runs.at(-1).status = status;
  }

  runSettled(usage) {
    Object.assign(this.runs.at(-1), { usage, durationMs: performance.now() - this.#start });
  }

  /** @param {import("lite-agent").AgentEvent} event */
  event(event) {
    switch (event.type) {
      case "turn_start":
        this.runs.at(-1).turns += 1;
        break;
      case "tool_use":
        this.runs.at(-1).calls += 1;
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
