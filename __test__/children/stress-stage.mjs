// One copy of a round of the stress test: an agent whose parts follow the plan, and a log of all that its hooks and
// subscribers hear. Drives the runs of its callers. Knows the public face only.
import { getEventListeners } from "node:events";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { SteerController, createLiteAgent, memoryCheckpointer, policy } from "../../index.js";
import { block, pause, within } from "../support/waiting.mjs";
import { AFTERMATH_MS, nameOf, stressModel, stressTools } from "./stress-model.mjs";

const LIMIT_MS = 60_000;
const DEEDS = {
  nothing: 10,
  await: 2,
  slow: 3,
  deaf: 2,
  throw: 1,
  reject: 1,
  never: 1,
  late: 1,
  block: 1,
  steer: 2,
  abort: 2,
};
/** Deadlines of the handlers of each event; those of the first are not reached. */
const DEADLINES_MS = [5_000, 3];

/**
 * @param {object} round its plan
 * @param {{ folder: string, mark?: string, violate: (text: string) => void }} options `mark` is in the arguments of every
 *   process of its commands
 */
export function makeStage(round, { folder, mark, violate }) {
  const stage = {
    round,
    mark,
    violate,
    /** Everything in the order in which it came: `{ hook }`, `{ entry }`, `{ settled }`, `{ aborted }`, `{ idle }`. */
    log: [],
    /** Those of the children that have begun, by name. */
    agentIds: new Map(),
    /** Of the runs that have begun, by their ids. */
    names: new Map(),
    /** Children between their first hook and their last: now, and at most. */
    inside: 0,
    most: 0,
    abort(plan, reason) {
      if (plan.controller.signal.aborted) return;
      stage.log.push({ aborted: plan.id });
      plan.controller.abort(reason);
    },
  };
  const home = join(folder, "home");
  mkdirSync(home, { recursive: true });
  stage.agent = createLiteAgent({
    model: stressModel(stage),
    tools: stressTools(stage),
    workdir: folder,
    home,
    ...permission(round),
    maxParallelSubagents: round.maxParallelSubagents,
    maxParallelTools: round.maxParallelTools,
    tasks: false,
    background: round.commands,
    ...{ files: {}, memory: { checkpointer: memoryCheckpointer() }, none: { sessions: false } }[round.store],
    use: [middleware(stage)],
  });
  listen(stage);
  return stage;
}

/** In some rounds certain calls are asked about, and some of those refused. */
function permission({ asks, chances: { chance, upTo } }) {
  if (!asks) return { permission: policy() };
  return {
    permission: policy({ ask: ["fine", "slow", "Agent"] }),
    onApproval: {
      async request({ id }) {
        await pause(upTo(5, id, "approval takes"));
        if (chance(id, "approval breaks") < 0.05) throw new Error("the approval broke");
        return chance(id, "approval") < 0.15 ? "deny" : "allow";
      },
    },
  };
}

function middleware({ round }) {
  const breaks =
    (step) =>
    ({ messages }) => {
      const name = messages
        .map(({ role, content }) => (role === "user" ? nameOf(content) : undefined))
        .findLast(Boolean);
      const plan = round.runs.get(name);
      if (plan?.middlewareBreaks === step) throw plan.thrown;
    };
  const made = {
    name: "stress",
    ...Object.fromEntries(["beforeAgent", "beforeModel", "afterAgent"].map((step) => [step, breaks(step)])),
  };
  if (round.wraps) made.wrapToolCall = async (_, next) => next();
  return made;
}

function listen(stage) {
  const { agent, log, round, agentIds, names } = stage;
  for (const event of ["run:start", "run:end", "tool:start", "tool:end"]) {
    agent.hook(event, (hook) => {
      log.push({ hook });
      if (event !== "run:start") return;
      names.set(hook.runId, nameOf(hook.input));
      if (hook.agentId === undefined) return;
      agentIds.set(nameOf(hook.input), hook.agentId);
      stage.inside += 1;
      stage.most = Math.max(stage.most, stage.inside);
    });
    DEADLINES_MS.forEach((timeoutMs, handler) => {
      agent.hook(event, (hook, { signal }) => misbehave(stage, { hook, signal, handler, timeoutMs }), { timeoutMs });
    });
  }
  agent.hook("run:end", ({ agentId }) => {
    if (agentId !== undefined) stage.inside -= 1;
  });
  agent.subscribe((entry) => {
    log.push({ entry });
    if (round.chances.chance(entry.sessionId, entry.event.type, log.length) < 0.01)
      throw new Error("the listener broke");
  });
}

function misbehave(stage, { hook, signal, handler, timeoutMs }) {
  const { round } = stage;
  const name = stage.names.get(hook.runId);
  const key = hook.call?.id ?? name;
  const plan = round.runs.get(name);
  const endless = handler > 0;
  switch (round.chances.weighted(DEEDS, key, hook.event, handler)) {
    case "await":
      return Promise.resolve();
    case "slow":
      return pause(round.chances.upTo(6, key, "slow hook"));
    case "deaf":
      return pause(AFTERMATH_MS / 4);
    case "throw":
      throw new Error("the hook broke");
    case "reject":
      return pause(1).then(() => Promise.reject(undefined));
    case "never":
      return endless ? new Promise(() => {}) : undefined;
    case "late":
      return endless ? pause(AFTERMATH_MS / 4).then(() => Promise.reject(new Error("late"))) : undefined;
    case "block":
      return block(endless ? timeoutMs + 1 : 1);
    case "steer":
      steer(plan);
      return undefined;
    case "abort":
      if (plan?.abort === "hook" && hook.event !== "run:end" && !signal.aborted) stage.abort(plan, "by a hook");
      return undefined;
    default:
      return undefined;
  }
}

function steer(plan) {
  for (const kind of plan?.steered ?? []) plan.steering[kind](`${kind} a little`);
}

// -- driving --------------------------------------------------------------------------------------------------------------

/** Starts the runs of all sessions; resolves when all have settled, to what became of each by name. */
export async function driveAll(stage) {
  const outcomes = new Map();
  await Promise.all(stage.round.sessions.map((session) => driveSession(stage, session, outcomes)));
  return outcomes;
}

async function driveSession(stage, session, outcomes) {
  const pending = [];
  for (const plan of session.users) {
    const over = drive(stage, plan).then((outcome) => {
      stage.log.push({ settled: plan.id });
      outcomes.set(plan.id, outcome);
    });
    pending.push(over);
    if (plan.awaited) await over;
    else await pause(stage.round.chances.upTo(20, plan.id, "then"));
  }
  await Promise.all(pending);
}

async function drive(stage, plan) {
  const { signal } = plan.controller;
  plan.steering = new SteerController();
  if (plan.abort === "already") stage.abort(plan, undefined);
  const timer = plan.abort === "timer" ? setTimeout(() => stage.abort(plan, undefined), plan.abortMs) : undefined;
  const options = { sessionId: plan.session.id, maxTurns: plan.maxTurns, steer: plan.steering };
  if (plan.abort !== "none" || stage.round.chances.chance(plan.id, "signal") < 0.5) options.signal = signal;
  try {
    return await within(begin(stage.agent, plan, options), `the run ${plan.id}`, LIMIT_MS);
  } catch (error) {
    return { error, thrown: true };
  } finally {
    clearTimeout(timer);
  }
}

async function begin(agent, plan, options) {
  const input = `prompt of ${plan.id}`;
  if (plan.how === "send") return { result: await agent.send(input, options) };
  const run = agent.run(input, options);
  if (plan.how === "run") {
    for (;;) {
      const { done, value } = await run.next();
      if (done) return { result: value };
    }
  }
  let seen = 0;
  const mine = new Error("of the loop");
  try {
    for await (const _ of run) {
      seen += 1;
      if (seen <= plan.stopAt) continue;
      if (plan.how === "throw") throw mine;
      break;
    }
  } catch (error) {
    if (error !== mine) throw error;
  }
  return { stopped: true };
}

/** Waits for every session to be idle, and looks whether each is still usable. */
export async function settleAll(stage) {
  const { agent, round, violate } = stage;
  await Promise.all(
    round.sessions.map(async ({ id, index }) => {
      await within(agent.awaitIdle(id), `awaitIdle() of ${id}`, LIMIT_MS).catch((error) => violate(error.message));
      stage.log.push({ idle: id });
      // Whatever could still come, came by then.
      await pause(AFTERMATH_MS);
      stage.log.push({ probed: id });
      const probe = probeOf(round, id, index);
      const { text } = await within(agent.send(`prompt of ${probe.id}`, { sessionId: id }), probe.id, LIMIT_MS).catch(
        (error) => ({
          text: String(error),
        }),
      );
      if (text !== probe.turns[0].text) violate(`${probe.id}: the session is not usable any more: ${text}`);
    }),
  );
}

function probeOf({ runs }, sessionId, index) {
  const turns = [{ calls: [], text: "still well", delayMs: 0 }];
  const plan = {
    id: `s${index}probe`,
    kind: "user",
    session: { id: sessionId },
    source: "user",
    turns,
    maxTurns: 50,
    requests: 0,
    made: [],
  };
  runs.set(plan.id, plan);
  return plan;
}

/** The callers' signals that somebody still listens to. */
export const signalsHeard = ({ round }) =>
  [...round.runs.values()].filter(
    ({ controller }) => controller && getEventListeners(controller.signal, "abort").length > 0,
  );
