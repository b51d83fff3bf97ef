// A family of agents for tests: a scripted model that plays all its members, folders with definitions, and a record of
// everything that its hooks and subscribers hear. Knows the public face only.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { assertWellFormed, createLiteAgent } from "../../index.js";
import { deferred, plainTool, recordHooks, scriptedModel, until, within } from "../support/model.mjs";
import { contentText, resultFor } from "../runs/reading.mjs";

export const AGENT_ID = /^agent-[0-9a-f]{16}-[0-9a-f]{16}$/;
const AGENT_IDS = /agent-[0-9a-f]{16}-[0-9a-f]{16}/g;
export const GROUP_ID = /group_[0-9a-f]{16}/;
export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

// -- the model ------------------------------------------------------------------------------------------------------------

/** The text of the first text block: a later run's message may have been joined to the first one. */
function firstText({ content }) {
  return typeof content === "string" ? content : (content.find(({ type }) => type === "text")?.text ?? "");
}

/**
 * A model that plays several agents at once. `roles` has the turns of each, by the prompt that its conversation began
 * with; a role `@words` plays whoever has these words in its system prompt. A conversation with n answers gets turn n,
 * after the last turn the last one, so that agents may take their turns in any order.
 *
 * A turn is one of `scriptedModel`, or a function that gives one, with two more fields: `hold` names a gate, at which the
 * answer waits until `release(name)`; `deaf` ignores the signal. Prompts that begin with "go" are those of root agents.
 *
 * - `calls`: every request, as `{ role, position, request, signal }`; `callsOf(role)` those of one role.
 * - `inside`, `most`: how many children are in a model call, and were at most.
 * - `reached(gate, count)`: resolves when so many answers have come to that gate.
 */
export function familyModel(roles, { id = "family" } = {}) {
  const gates = new Map();
  const gateOf = (name) => {
    if (!gates.has(name)) gates.set(name, { ...deferred(), arrived: 0 });
    return gates.get(name);
  };
  const roleOf = ({ messages, system = "" }) => {
    const prompt = firstText(messages[0]);
    if (Object.hasOwn(roles, prompt)) return prompt;
    const names = Object.keys(roles).sort((a, b) => b.length - a.length);
    const role =
      names.find((name) => name.startsWith("@") && system.includes(name.slice(1))) ??
      names.find((name) => prompt.startsWith(name));
    if (role === undefined) throw new Error(`nobody plays ${JSON.stringify(prompt.slice(0, 200))}`);
    return role;
  };
  const model = {
    id,
    calls: [],
    malformed: [],
    inside: 0,
    most: 0,
    callsOf: (role) => model.calls.filter((call) => call.role === role),
    reached: (name, count = 1) => until(() => gateOf(name).arrived >= count, `${count} at the gate ${name}`),
    release: (...names) => names.forEach((name) => gateOf(name).resolve()),
    async *stream(request, signal) {
      const role = roleOf(request);
      const position = request.messages.filter((message) => message.role === "assistant").length;
      model.calls.push({ role, position, request, signal });
      try {
        assertWellFormed(request);
      } catch (error) {
        model.malformed.push(error);
        throw error;
      }
      let counted = role.startsWith("go") ? 0 : 1;
      model.inside += counted;
      model.most = Math.max(model.most, model.inside);
      const leave = () => {
        model.inside -= counted;
        counted = 0;
      };
      try {
        const turns = [roles[role]].flat();
        const scripted = turns[Math.min(position, turns.length - 1)];
        const { hold, deaf, ...turn } = typeof scripted === "function" ? await scripted(request, signal) : scripted;
        if (hold !== undefined) {
          turn.wait = gateOf(hold).promise;
          gateOf(hold).arrived += 1;
        }
        for await (const chunk of scriptedModel([turn], { honoursAbort: !deaf }).stream(request, signal)) {
          // Whoever has the whole answer need not come back for the end of the stream.
          if (chunk.type === "message_done") leave();
          yield chunk;
        }
      } finally {
        leave();
      }
    },
  };
  return model;
}

// -- what models say ------------------------------------------------------------------------------------------------------

/** A task of the `Agent` tool; its display name is its prompt where none is given. */
export const task = (prompt, more = {}) => ({
  display_name: prompt,
  subagent_type: "general-purpose",
  prompt,
  ...more,
});

/** A call of the `Agent` tool. Tasks may be prompts alone. */
export const agentCall = (tasks, id = "spawn") => ({
  id,
  name: "Agent",
  input: { tasks: tasks.map((one) => (typeof one === "string" ? task(one) : one)) },
});

/** A turn that starts one group. */
export const spawning = (...tasks) => ({ calls: [agentCall(tasks)] });

/** The turns of a root that starts one group, says "started", and says "over" to its completion. */
export const starts = (...tasks) => [spawning(...tasks), { text: "started" }, { text: "over" }];

export const call = (name, id = `call-${name}`, input = {}) => ({ id, name, input });

// -- folders --------------------------------------------------------------------------------------------------------------

/** The text of a definition: `head` are its front matter's fields, written as they are where they are strings. */
export function definition(head, body = "You help.") {
  const lines = Object.entries(head).map(
    ([key, value]) => `${key}: ${typeof value === "string" ? value : JSON.stringify(value)}`,
  );
  return `---\n${lines.join("\n")}\n---\n${body}\n`;
}

/**
 * A fresh folder with `workdir` and `home`, removed after the test, when all that was opened in it is closed.
 * `definitions` are files of the project's agents, `homeDefinitions` those of the home's, by name; `files` are any files
 * of `root`, by their path.
 */
export function familyFolder(t, { definitions = {}, homeDefinitions = {}, files = {} } = {}) {
  const root = mkdtempSync(join(tmpdir(), "lite-agent-test-"));
  const folder = { root, workdir: join(root, "work"), home: join(root, "home"), agents: [] };
  t.after(async () => {
    for (const agent of folder.agents) await within(agent.close(), "close() after the test", 20_000);
    rmSync(root, { recursive: true, force: true });
  });
  mkdirSync(folder.workdir);
  mkdirSync(folder.home);
  folder.write = (path, content) => {
    const file = join(root, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
    return file;
  };
  /** The lines of a file of the workdir, read as JSON; none where it is not there. */
  folder.events = (name) => {
    try {
      const lines = readFileSync(join(folder.workdir, name), "utf8").split("\n");
      return lines.filter((line) => line !== "").map((line) => JSON.parse(line));
    } catch (error) {
      if (error.code === "ENOENT") return [];
      throw error;
    }
  };
  for (const [name, text] of Object.entries(definitions)) folder.write(`work/.lite-agent/agents/${name}`, text);
  for (const [name, text] of Object.entries(homeDefinitions)) folder.write(`home/agents/${name}`, text);
  for (const [path, text] of Object.entries(files)) folder.write(path, text);
  return folder;
}

/** The tools that every family has where a test gives none: `work` answers "worked", `other` answers "other". */
export const familyTools = () => [plainTool("work", () => "worked"), plainTool("other", () => "other")];

// -- the family -----------------------------------------------------------------------------------------------------------

/**
 * An agent in folders of its own (or in `folder`), closed after the test, whose members `roles` plays.
 *
 * - `fired`: every hook event, in order. `heard`: every entry that a subscriber gets. `log`: both in the order in which
 *   they came, as `{ hook }` and `{ entry }`.
 * - `send`, `idle`, `close`: those of the agent, failing when they hang.
 */
export function familyFor(
  t,
  {
    roles,
    definitions,
    homeDefinitions,
    files,
    folder = familyFolder(t, { definitions, homeDefinitions, files }),
    ...config
  },
) {
  const model = config.model ?? familyModel(roles);
  const { workdir, home } = folder;
  const given = { workdir, home, tools: familyTools(), ...config };
  if (config.models === undefined) given.model = model;
  const agent = createLiteAgent(given);
  folder.agents.push(agent);
  const fired = recordHooks(agent);
  const heard = [];
  const log = [];
  for (const name of ["run:start", "run:end", "tool:start", "tool:end"]) {
    agent.hook(name, (hook) => void log.push({ hook }));
  }
  agent.subscribe((entry) => {
    heard.push(entry);
    log.push({ entry });
  });
  t.after(() => assert.deepEqual(model.malformed ?? [], [], "every request is well formed"));
  return {
    agent,
    model,
    fired,
    heard,
    log,
    ...folder,
    send: (prompt = "go", options) => within(agent.send(prompt, options), `the run ${prompt}`),
    idle: (sessionId) => within(agent.awaitIdle(sessionId), "awaitIdle()"),
    close: () => within(agent.close(), "close()", 5_000),
  };
}

/** One family that starts one group of these children, to the end of it all. */
export async function runFamily(t, { tasks, ...given }, options) {
  const roles = { go: starts(...(tasks ?? Object.keys(given.roles))), ...given.roles };
  const family = familyFor(t, { ...given, roles });
  const result = await family.send("go", options);
  await family.idle();
  const [completion, ...others] = completionsOf(family);
  assert.deepEqual(others, [], "one completion");
  return { ...family, result, completion, sections: completion && sectionsOf(completion.content) };
}

// -- reading what they left -----------------------------------------------------------------------------------------------

/** The ids of the children in a text, in order, each once. */
export const agentIdsIn = (text) => [...new Set(text.match(AGENT_IDS) ?? [])];

/** What a call of the `Agent` tool was answered: its text, the children's ids, the group's id. */
export function answerOf({ messages }, id = "spawn") {
  const result = resultFor(messages, id);
  const text = contentText(result);
  return { text, isError: result.isError ?? false, agentIds: agentIdsIn(text), groupId: text.match(GROUP_ID)?.[0] };
}

/** The completions that were told, in order; `entries` have the sessions, too. */
export const completionEntriesOf = ({ heard }) => heard.filter(({ event }) => event.type === "background_completed");
export const completionsOf = (family) => completionEntriesOf(family).map(({ event }) => event.completion);

/** The sections of a completion's content. */
export function sectionsOf(content) {
  const heads = [...content.matchAll(/^## (.*) \(agentId: (agent-[0-9a-f]{16}-[0-9a-f]{16}); status: (\w+)\)$/gm)];
  return heads.map((head, index) => {
    const text = content.slice(head.index + head[0].length, heads[index + 1]?.index).trim();
    return { name: head[1], agentId: head[2], status: head[3], text };
  });
}

/** The text of a run's input, however it was given. */
export const inputText = (input) => (typeof input === "string" ? input : firstText(input.at(-1)));

/** The runs of a family in the order in which they began, from its hook events. */
export function runsOf({ fired }) {
  const ends = new Map(fired.filter(({ event }) => event === "run:end").map((end) => [end.runId, end]));
  return fired
    .filter(({ event }) => event === "run:start")
    .map(({ runId, agentId, sessionId, source, input }) => {
      const { status, result, error } = ends.get(runId) ?? {};
      return { runId, agentId, sessionId, source, input: inputText(input), status, result, error };
    });
}
export const childRunsOf = (family) => runsOf(family).filter(({ agentId }) => agentId !== undefined);
export const completionRunsOf = (family) =>
  runsOf(family).filter(({ agentId, source }) => agentId === undefined && source === "background");

/** Checks that each run and each tool call has one start and one end, of one identity, and that nothing follows a run's end. */
export function assertPaired({ fired }) {
  const identity = ({ runId, sessionId, agentId, source }) => JSON.stringify({ runId, sessionId, agentId, source });
  const open = new Map();
  const over = new Set();
  for (const event of fired) {
    const [kind, moment] = event.event.split(":");
    if (kind === "compact") continue;
    const key = kind === "run" ? event.runId : `${event.runId} ${event.call.id}`;
    assert.ok(!over.has(event.runId), `${event.event} after the end of its run`);
    if (moment === "start") {
      assert.ok(!open.has(key), `${event.event} twice`);
      open.set(key, identity(event));
    } else {
      assert.equal(open.get(key), identity(event), `${event.event} is of the one that began`);
      open.delete(key);
      if (kind === "run") over.add(event.runId);
    }
  }
  assert.deepEqual([...open.values()], [], "all that began has ended");
}

/** What children were told apart by, in the order in which their first requests came. */
export const childrenOrder = (model) =>
  model.calls.filter(({ role, position }) => !role.startsWith("go") && position === 0).map(({ role }) => role);

/** Lets everything go on that can go on without anybody's help: before a test says that something did not happen. */
export async function settled(rounds = 40) {
  for (let round = 0; round < rounds; round += 1) await new Promise(setImmediate);
}

/** The names of the tools of a request, sorted. */
export const toolNames = (request) => (request.tools ?? []).map(({ name }) => name).sort();
