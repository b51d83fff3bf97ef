// Runs the calls of one turn and gathers what became of them. Knows the public face only.
import { agentFor, collect, plainTool, recordHooks, scriptedModel, within } from "./model.mjs";

const call = () => ({ id: "call-1", name: "work", input: {} });

/** The tool events among hook events. */
export const ofTools = (fired) => fired.filter(({ event }) => event.startsWith("tool:"));

/** Runs one turn with these calls, then "done"; gives the tool events of the run and the request that held the results. */
export async function runCalls(
  t,
  { calls = [call()], tools = [plainTool("work", () => "worked")], ...config } = {},
  options,
) {
  const model = scriptedModel([{ calls }, { text: "done" }]);
  const agent = agentFor(t, { model, tools, ...config });
  const fired = recordHooks(agent);
  const { events, result } = await within(collect(agent.run("go", options)), "the run");
  const results = model.requests[1]?.messages.at(-1).content;
  return { agent, model, fired, tools: ofTools(fired), events, result, results };
}
