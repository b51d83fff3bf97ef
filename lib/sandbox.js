// The host's own sandbox: asked once for each command, awaited before the first, let go when the agent closes. Whether a
// command then runs is the core's: where the sandbox fails, it does not.
import { callbackFrame } from "./context.js";
import { callHost } from "./host-call.js";

/** One agent's use of its sandbox. */
export class HostSandbox {
  #sandbox;
  #workdir;
  #initialized = null;

  constructor(sandbox, workdir) {
    this.#sandbox = sandbox;
    this.#workdir = workdir;
  }

  /** @returns {Promise<string>} a command line that runs the command inside the boundary */
  async wrap(command) {
    // What failed once is tried again for the next command: nothing runs without it either way.
    this.#initialized ??= this.#initialize();
    await this.#initialized;
    const wrapped = await this.#sandbox.wrap(command, { cwd: this.#workdir });
    const problem = problemWith(wrapped);
    if (problem !== null) throw new TypeError(`the sandbox's wrap() must return a command line, got ${problem}`);
    return wrapped;
  }

  async #initialize() {
    try {
      await this.#sandbox.initialize?.();
    } catch (error) {
      this.#initialized = null;
      throw error;
    }
  }

  async dispose() {
    await this.#sandbox.dispose?.();
  }
}

function problemWith(wrapped) {
  if (wrapped === null) return "null";
  if (typeof wrapped !== "string") return typeof wrapped;
  if (wrapped.trim() === "") return wrapped === "" ? "an empty string" : "a blank string";
  // The system takes UTF-8: what would run is not what the sandbox answered.
  return wrapped.isWellFormed() ? null : "a string with half of a surrogate pair";
}

/** Has the sandbox wrap a command. */
export function performWrap(family, run, { id, command }) {
  callHost(family, run, id, {
    frame: callbackFrame(family, run, id),
    lazy: null,
    callback: () => family.parts.sandbox.wrap(command),
    conclude: (wrapped) => wrapped,
  });
}
