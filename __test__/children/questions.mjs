// Questions to the user: models that ask them, and handlers that answer. Knows the public face only.
import assert from "node:assert/strict";
import { agentFor, collect, deferred, recordHooks, scriptedModel, until, within } from "../support/model.mjs";
import { call, contentText, resultFor } from "../runs/reading.mjs";

/** A call of `ask_user`. */
export const asks = (input, id = "ask") =>
  call(id, "ask_user", typeof input === "string" ? { question: input } : input);
export const answering = (answer) => ({ request: async () => answer });
/** The events of questions and answers. */
export const inputs = (events) => events.filter(({ type }) => type.startsWith("input_"));

/** Runs one turn with these calls, then "done". */
export async function ask(t, calls, { tools, ...config } = {}, options) {
  const model = scriptedModel([{ calls: [calls].flat() }, { text: "done" }]);
  const agent = agentFor(t, { model, tools, ...config });
  const fired = recordHooks(agent);
  const { events, result } = await within(collect(agent.run("go", options)), "the run");
  const content = (id = "ask") => contentText(resultFor(result.messages, id));
  return {
    agent,
    model,
    fired,
    events,
    result,
    content,
    failed: (id = "ask") => resultFor(result.messages, id).isError,
  };
}

/** A handler whose questions are answered in the order in which they are released. */
export function held() {
  const asked = [];
  const gates = [];
  let inside = 0;
  const made = {
    asked,
    most: 0,
    request: async ({ question }) => {
      asked.push(question);
      inside += 1;
      made.most = Math.max(made.most, inside);
      const gate = deferred();
      gates.push(gate);
      await gate.promise;
      inside -= 1;
      return { text: `to ${question}` };
    },
    async answerNext() {
      const position = made.answered;
      await until(() => gates.length > position, `question ${position + 1}`);
      for (let round = 0; round < 20; round += 1) await new Promise(setImmediate);
      assert.equal(gates.length, position + 1, "the next waits for the answer");
      made.answered += 1;
      gates[position].resolve();
    },
    answered: 0,
  };
  return made;
}
