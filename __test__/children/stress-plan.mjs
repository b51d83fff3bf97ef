// The plan of one round of the stress test, from its seed alone: which runs there are in which session, what their models
// say, which groups of children they start, what goes wrong, and how a run that nobody stops must end. Knows nothing of
// the package.
import { chancesOf } from "../support/stress-chance.mjs";

export const SESSIONS = 5;
const GROUPS_A_SESSION = 4;
const CHILDREN = 100;
const RUNS_BETWEEN = 4;
/** The longest that the second copy of a round goes on before it is closed. */
const CLOSE_WITHIN_MS = 1_500;

const TOOLS = { fine: 5, slow: 3, throws: 1, fails: 1, overruns: 1, deaf: 1, missing: 1, strict: 1 };
const COMMANDS = { leave: 4, read: 3, kill: 2, command: 1 };
const TROUBLES = { none: 6, provider: 2, middleware: 1 };
const WAYS = { send: 8, run: 6, break: 2, throw: 1 };
const ABORTS = { none: 16, already: 1, timer: 3, hook: 2, tool: 2, model: 2 };
/** Of the runs that start groups fewer fail: there must be something to stop. */
const FEWER_TROUBLES = { none: 14, provider: 2, middleware: 1 };

/**
 * @param {number} seed
 * @param {{ commands: boolean }} options `commands`: the models also leave commands of bash running
 */
export function planRound(seed, { commands }) {
  const chances = chancesOf(seed);
  const round = {
    seed,
    commands,
    chances,
    /** Every run by its name: `s0u1` of a user, `g3c0` of a child, `g3done` that takes up a completion. */
    runs: new Map(),
    groups: new Map(),
    sessions: Array.from({ length: SESSIONS }, (_, index) => ({ id: `session-${index}`, index, users: [] })),
    maxParallelSubagents: 1 + chances.upTo(8, "pool"),
    maxParallelTools: 1 + chances.upTo(4, "tools"),
    store: chances.pick(["files", "memory", "none"], "store"),
    wraps: chances.chance("wraps") < 0.5,
    asks: chances.chance("asks") < 0.4,
    closeMs: chances.upTo(CLOSE_WITHIN_MS, "close"),
  };
  const sizes = groupSizes(chances);
  for (const session of round.sessions) planSession(round, session, sizes);
  return round;
}

/** So many children in each group that all of them are `CHILDREN`, and none is empty. */
function groupSizes({ upTo }) {
  const sizes = Array(SESSIONS * GROUPS_A_SESSION).fill(1);
  for (let child = sizes.length; child < CHILDREN; child += 1) sizes[upTo(sizes.length, "size", child)] += 1;
  return sizes;
}

function planSession(round, session, sizes) {
  const { chance, upTo, pick } = round.chances;
  const earlier = [];
  let user;
  for (let index = 0; index < GROUPS_A_SESSION; index += 1) {
    const id = `g${session.index * GROUPS_A_SESSION + index}`;
    const how = earlier.length === 0 ? 1 : chance(id, "starter");
    // By a completion's own run, by the same run as the one before, or by a run of its own.
    let starter;
    if (how < 0.25) starter = earlier.at(-1).done;
    else if (how < 0.45) starter = user;
    else starter = user = planUser(round, session, true);
    planGroup(round, session, { id, size: sizes.shift(), starter, earlier });
    earlier.push(round.groups.get(id));
  }
  for (let index = 0; index < RUNS_BETWEEN; index += 1) {
    const between = planUser(round, session, false);
    session.users.splice(upTo(session.users.length, between.id, "place"), 0, session.users.pop());
    between.steered = pick([[], ["steer"], ["followUp"], ["steer", "followUp"]], between.id, "steered");
  }
}

/** A run that a caller starts. */
function planUser(round, session, starts) {
  const { chance, upTo, weighted } = round.chances;
  const id = `s${session.index}u${session.users.length}`;
  const plan = planRun(round, id, starts ? { minimum: 2, troubles: FEWER_TROUBLES } : {});
  Object.assign(plan, {
    kind: "user",
    session,
    source: "user",
    maxTurns: chance(id, "maxTurns") < 0.2 ? 1 + upTo(3, id, "maxTurns of") : 50,
    how: weighted(WAYS, id, "how"),
    stopAt: 10 + upTo(80, id, "stop at"),
    abort: weighted(ABORTS, id, "abort"),
    abortMs: upTo(150, id, "abort after"),
    /** Whether the next run of the session begins only when this one is over. */
    awaited: chance(id, "awaited") < 0.5,
    steered: chance(id, "steered") < 0.3 ? ["steer"] : [],
    controller: new AbortController(),
  });
  plan.stops = plan.abort !== "none" || plan.how === "break" || plan.how === "throw";
  session.users.push(plan);
  return plan;
}

function planGroup(round, session, { id, size, starter, earlier }) {
  const { chance, upTo, pick } = round.chances;
  const group = { id, session, starter, children: [] };
  for (let index = 0; index < size; index += 1) {
    const child = planRun(round, `${id}c${index}`);
    Object.assign(child, { kind: "child", session, group, source: starter.source, maxTurns: starter.maxTurns });
    if (chance(child.id, "silent") < 0.1) child.turns.at(-1).text = "";
    const resumable = earlier.flatMap(({ children }) => children).filter(({ resumedBy }) => resumedBy === undefined);
    if (resumable.length > 0 && chance(child.id, "resumes") < 0.08) {
      child.resumes = pick(resumable, child.id, "resumes whom");
      child.resumes.resumedBy = child;
    }
    group.children.push(child);
  }
  group.done = planRun(round, `${id}done`, { minimum: 2, troubles: FEWER_TROUBLES });
  Object.assign(group.done, { kind: "done", session, group, source: "background", maxTurns: starter.maxTurns });
  const { calls } = starter.turns[chance(id, "soon") < 0.6 ? 0 : upTo(starter.turns.length - 1, id, "turn")];
  calls.splice(upTo(calls.length + 1, id, "position"), 0, { name: "Agent", group });
  round.groups.set(id, group);
}

/** What every run has: turns, and what breaks it. */
function planRun(round, id, { minimum = 1, troubles = TROUBLES } = {}) {
  const { chance, upTo, pick, weighted } = round.chances;
  const tools = round.commands ? { ...TOOLS, ...COMMANDS } : TOOLS;
  const count = minimum + upTo(3, id, "turns");
  const turns = Array.from({ length: count }, (_, turn) => {
    const last = turn === count - 1;
    const calls = Array.from({ length: last ? 0 : 1 + upTo(3, id, turn, "calls") }, (_, position) => ({
      name: weighted(tools, id, turn, position, "tool"),
    }));
    return {
      calls,
      text: last || chance(id, turn, "text") < 0.5 ? `words of ${id}` : "",
      delayMs: upTo(5, id, turn, "delay"),
    };
  });
  const plan = { id, turns, heeds: chance(id, "heeds") < 0.5, requests: 0, made: [] };
  const trouble = weighted(troubles, id, "trouble");
  if (trouble === "provider") {
    const how = pick(["first", "deltas", "end", "string", "null"], id, "breaks how");
    plan.providerBreaks = { turn: upTo(count, id, "breaks at"), how };
    plan.thrown =
      how === "string" ? "broken by plan" : how === "null" ? null : new Error(`the provider broke in ${id}`);
  }
  if (trouble === "middleware") {
    plan.middlewareBreaks = pick(["beforeAgent", "beforeModel", "afterAgent"], id, "middleware");
    plan.thrown = new Error(`the middleware broke in ${id}`);
  }
  round.runs.set(id, plan);
  return plan;
}

/** Whether somebody may stop a run or a group, or may have stopped what it came from. */
export function mayBeStopped({ stops, group, starter }) {
  return (
    stops === true || (group !== undefined && mayBeStopped(group)) || (starter !== undefined && mayBeStopped(starter))
  );
}
