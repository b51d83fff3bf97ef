// The model and the tools of one round of the stress test: they say and do what the plan of the run has, and keep which
// calls were made. Knows the public face only.
import { assertWellFormed } from "../../index.js";
import { aborted, pause } from "../support/waiting.mjs";
import { plainTool } from "../support/agent.mjs";
import { stubbornTree } from "../background/driving.mjs";

/** The longest that anything which a run leaves behind goes on. */
export const AFTERMATH_MS = 40;
/** Of what a run is about, the last is what it is: a completion's block, or a prompt. */
const NAMES = /prompt of (\w+)|label="(g\d+)c/g;
const COMMAND_IDS = /\bbg_[0-9a-f]{16}\b/g;

/** Commands that are left running, and how each must end; what has no status goes on until somebody ends it. */
export const COMMANDS = {
  quick: { command: (mark) => `echo ${mark}`, status: "completed" },
  failing: { command: (mark) => `sleep 0.05; echo ${mark} >&2; exit 3`, status: "failed" },
  flooding: { command: (mark) => `head -c 300000 /dev/zero; : ${mark}`, status: "completed" },
  overdue: { command: (mark) => `sleep ${mark}; true`, input: { timeoutMs: 80 }, status: "failed" },
  leaving: { command: (mark) => `setsid sleep ${mark} >/dev/null 2>&1 & sleep ${mark} & exit 0`, status: "completed" },
  long: { command: (mark) => `sleep ${mark}` },
  stubborn: { command: stubbornTree },
};

/** The name of the run that a text, the content of a message or a list of messages is the input of. */
export function nameOf(input) {
  const texts = typeof input === "string" ? [input] : input.map(({ text }) => text ?? "");
  const found = [...texts.join("\n").matchAll(NAMES)].at(-1);
  return found && (found[1] ?? `${found[2]}done`);
}

function planOf(round, messages) {
  for (let position = messages.length - 1; position >= 0; position -= 1) {
    const { role, content } = messages[position];
    const name = role === "user" ? nameOf(content) : undefined;
    if (name !== undefined) return round.runs.get(name);
  }
  throw new Error("a request without its prompt");
}

/** @param {object} stage `{ round, agentIds, violate }`: `agentIds` of the children that have begun, by name */
export function stressModel(stage) {
  const { round, violate } = stage;
  return {
    id: "stress",
    async *stream(request, signal) {
      const plan = planOf(round, request.messages);
      try {
        assertWellFormed(request);
      } catch (error) {
        violate(`${plan.id}: ill-formed request: ${error.message}`);
        throw error;
      }
      const position = plan.requests;
      plan.requests += 1;
      const turn = plan.turns[position] ?? { calls: [], text: "more", delayMs: 0 };
      const breaks = plan.providerBreaks?.turn === position ? plan.providerBreaks.how : undefined;
      if (plan.abort === "model" && position === plan.abortMs % plan.turns.length)
        stage.abort(plan, new Error("by the model"));
      if (breaks === "first" || breaks === "string" || breaks === "null") throw plan.thrown;
      if (turn.delayMs > 0) await pause(turn.delayMs);
      if (plan.heeds) signal?.throwIfAborted();
      for (const text of turn.text.match(/.{1,6}/g) ?? []) {
        yield { type: "text_delta", text };
        if (breaks === "deltas") throw plan.thrown;
      }
      if (breaks) throw plan.thrown;
      const calls = turn.calls.map((call, index) =>
        makeCall(stage, plan, call, `${plan.id}-${position}-${index}`, request),
      );
      plan.made.push(...calls);
      const content = calls.map((call) => ({ type: "tool_call", ...call }));
      if (turn.text) content.unshift({ type: "text", text: turn.text });
      yield {
        type: "message_done",
        message: { role: "assistant", content },
        usage: { inputTokens: 3, outputTokens: 2 },
        stopReason: calls.length > 0 ? "tool_use" : "stop",
      };
    },
  };
}

function makeCall({ round, agentIds, mark }, plan, { name, group }, id, { messages }) {
  const { pick, chance, upTo } = round.chances;
  switch (name) {
    case "Agent":
      group.call = id;
      return { id, name, input: { tasks: group.children.map((child) => taskOf(child, agentIds)) } };
    case "leave": {
      const { command, input } = COMMANDS[pick(Object.keys(COMMANDS), id, "command")];
      return { id, name: "bash", input: { command: command(mark), run_in_background: true, ...input } };
    }
    case "command":
      return { id, name: "bash", input: { command: `echo ${id}; : ${mark}` } };
    case "read":
    case "kill": {
      const known = JSON.stringify(messages).match(COMMAND_IDS) ?? ["bg_0000000000000000"];
      const input = { id: pick(known, id, "which") };
      if (name === "kill") return { id, name: "KillBackground", input };
      return { id, name: "BashOutput", input: chance(id, "filtered") < 0.3 ? { ...input, filter: "[0-9]" } : input };
    }
    default:
      return { id, name, input: { note: "n".repeat(upTo(200, id, "note")) } };
  }
}

function taskOf(child, agentIds) {
  const task = { display_name: child.id, subagent_type: "general-purpose", prompt: `prompt of ${child.id}` };
  const resume = child.resumes && agentIds.get(child.resumes.id);
  child.resumed = resume;
  return resume === undefined ? task : { ...task, resume };
}

/** The tools that models call by these names; some do not heed their signal. */
export function stressTools(stage) {
  const { runs, chances } = stage.round;
  const make = (name, execute, options) =>
    plainTool(
      name,
      (input, context) => {
        const plan = runs.get(context.call.id.split("-")[0]);
        if (plan.abort === "tool") stage.abort(plan, "by a tool");
        return execute(input, context);
      },
      options,
    );
  return [
    make("fine", () => "fine"),
    make("slow", (_, { call, signal }) =>
      Promise.race([
        pause(chances.upTo(8, call.id, "slow")).then(() => "slow"),
        aborted(signal).then((reason) => {
          throw reason;
        }),
      ]),
    ),
    make("throws", () => {
      throw new TypeError("the tool broke");
    }),
    make("fails", async () => ({ content: "it failed", isError: true })),
    make("overruns", () => new Promise(() => {}), { timeoutMs: 4 }),
    make("deaf", () => pause(AFTERMATH_MS / 4).then(() => "deaf")),
    { ...make("strict", () => "never"), schema: { type: "object", required: ["absent"] } },
  ];
}
