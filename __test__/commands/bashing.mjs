// Runs commands through the `bash` tool of an agent. Knows the public face only.
import { policy } from "../../index.js";
import { agentFor, collectUntilError, scriptedModel, temporaryFolder, within } from "../support/model.mjs";

/** `input` is that of the call, or its command alone. */
export const bashCall = (input, id = "call-1") => ({
  id,
  name: "bash",
  input: typeof input === "string" ? { command: input } : input,
});

/**
 * An agent in a folder of its own whose model makes these calls in one turn, then says "done". All is allowed where
 * `permission` is not given.
 */
export async function bashAgent(t, inputs, config = {}) {
  const { workdir, home } = await temporaryFolder(t);
  const calls = inputs.map((input, position) => bashCall(input, `call-${position + 1}`));
  const model = scriptedModel([{ calls }, { text: "done" }]);
  const agent = agentFor(t, { workdir, home, model, sessions: false, permission: policy(), ...config });
  const ends = [];
  agent.hook("tool:end", (event) => void ends.push(event));
  return { agent, workdir: config.workdir ?? workdir, home, model, ends };
}

/** Runs one command to its end: what the call came to. */
export async function bash(t, input, config = {}, options) {
  const made = await bashAgent(t, [input], config);
  const { events, error, result } = await within(collectUntilError(made.agent.run("go", options)), "the run", 60_000);
  if (error) throw error;
  const [end] = made.ends;
  return {
    ...made,
    events,
    result,
    end,
    status: end?.status,
    content: end?.result?.content,
    isError: end?.result?.isError,
  };
}

/** What a command wrote: the result without its last line, which says how it ended. */
export const written = (content) => content.slice(0, content.lastIndexOf("\n") + 1);
/** The last line of a result: how the command ended. */
export const ending = (content) => content.slice(content.lastIndexOf("\n") + 1);
