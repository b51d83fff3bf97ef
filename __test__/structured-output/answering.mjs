// Agents that must end with an answer, and the calls that give one. Knows the public face only.
import { agentFor, collect, scriptedModel, within } from "../support/model.mjs";

/** The answer of the tests: a city, and its temperature. */
export const CITY = {
  type: "object",
  properties: { city: { type: "string" }, degrees: { type: "number" } },
  required: ["city", "degrees"],
  additionalProperties: false,
};
export const BERN = { city: "Bern", degrees: 12.5 };
export const ROME = { city: "Rome", degrees: 24 };

/** A call that gives `input` as the answer. */
export const answer = (input, id = "answer") => ({ id, name: "final_answer", input });

/** An agent that must answer with a CITY, where `outputSchema` is not another; `turns` are its model's. */
export function answeringAgent(t, turns, config = {}) {
  const model = scriptedModel(turns);
  const agent = agentFor(t, { model, outputSchema: CITY, ...config });
  return { agent, model };
}

/** One run of such an agent: its events and its result. */
export async function answered(t, turns, config, options) {
  const made = answeringAgent(t, turns, config);
  return { ...made, ...(await within(collect(made.agent.run("go", options)), "the run")) };
}

/** The diagnostics that say that a run ended without an answer. */
export const withoutAnswer = (events) =>
  events.filter(({ type, code }) => type === "diagnostic" && code === "no_final_answer");
