// What of a round of the stress test was not as the specification has it, from its plan and its log. Knows no agent.
import { assertConversation, blocksOf, contentText } from "../runs/reading.mjs";
import { expectation } from "../support/stress-plan.mjs";
import { AGENT_ID, UUID, sectionsOf } from "./family.mjs";
import { mayBeStopped } from "./stress-plan.mjs";

const ACCEPTED = /^Accepted: (group_[0-9a-f]{16}) with (\d+) agents?\./;
/** One that is to be resumed is at work; or permission was refused. */
const REFUSED = /^Error: (.* still at work;|blocked by policy: )/;
const NAMED = /^- (\w+) \(agentId: (agent-[0-9a-f]{16}-[0-9a-f]{16})\)$/gm;
/** What may come of a run after its run:end hooks have begun. */
const AFTER_END = new Set(["diagnostic", "done", "background_completed"]);
const STATUS_OF = { stop: "completed", aborted: "cancelled", max_turns: "max_turns" };

/**
 * @param {object} stage whose runs are all over
 * @param {Map<string, object>} outcomes what callers got, by the names of their runs
 * @param {boolean} closed the agent was closed in the middle of it
 * @returns {Record<string, number>} how many of what there were
 */
export function judge(stage, outcomes, closed) {
  const facts = factsOf(stage, closed);
  for (const hooks of facts.byRun.values()) judgeHooks(facts, hooks);
  for (const plan of stage.round.runs.values()) judgeRun(facts, plan);
  for (const [name, outcome] of outcomes) judgeOutcome(facts, stage.round.runs.get(name), outcome);
  for (const group of stage.round.groups.values()) judgeGroup(facts, group);
  judgeOrder(facts, outcomes);
  if (stage.most > stage.round.maxParallelSubagents) {
    facts.violate(`${stage.most} children at once in a pool of ${stage.round.maxParallelSubagents}`);
  }
  return countsOf(facts);
}

function factsOf({ round, log, names, violate }, closed) {
  const byRun = new Map();
  const runs = new Map();
  const completions = [];
  const position = {};
  log.forEach(({ hook, entry, settled, aborted }, index) => {
    if (hook !== undefined) {
      if (!byRun.has(hook.runId)) byRun.set(hook.runId, []);
      byRun.get(hook.runId).push(hook);
      position[`${hook.event} ${names.get(hook.runId)}`] ??= index;
    }
    if (entry?.event.type === "background_completed")
      completions.push({ ...entry, completion: entry.event.completion, index });
    if (settled !== undefined) position[`settled ${settled}`] = index;
    if (aborted !== undefined) position[`aborted ${aborted}`] = index;
  });
  for (const [runId, hooks] of byRun) {
    const name = names.get(runId);
    if (runs.has(name)) violate(`${name} began twice`);
    runs.set(name, { hooks, start: hooks[0], end: hooks.at(-1) });
  }
  return { round, log, names, violate, closed, byRun, runs, completions, position };
}

/** One run's hooks among themselves. */
function judgeHooks({ names, violate }, hooks) {
  const name = names.get(hooks[0].runId);
  const say = (text) => violate(`${name}: ${text}`);
  const identity = ({ runId, sessionId, agentId, source }) => JSON.stringify({ runId, sessionId, agentId, source });
  for (const hook of hooks)
    if (identity(hook) !== identity(hooks[0])) say(`${hook.event} of ${identity(hook)}, not ${identity(hooks[0])}`);
  const count = (event) => hooks.filter((hook) => hook.event === event).length;
  if (count("run:start") !== 1 || count("run:end") !== 1)
    say(`${count("run:start")} run:start and ${count("run:end")} run:end`);
  if (hooks[0].event !== "run:start") say(`${hooks[0].event} before run:start`);
  if (hooks.at(-1).event !== "run:end") say(`${hooks.at(-1).event} after run:end`);
  if (!UUID.test(hooks[0].runId)) say(`its runId is ${hooks[0].runId}`);
}

const isOver = ({ closed }, plan) => closed || mayBeStopped(plan);

/** What a run's hooks were beside its plan. */
function judgeRun(facts, plan) {
  const say = (text) => facts.violate(`${plan.id} (${plan.how ?? plan.kind}, abort ${plan.abort ?? "none"}): ${text}`);
  const run = facts.runs.get(plan.id);
  if (run === undefined) {
    if (plan.requests > 0) say(`${plan.requests} requests of a run that never began`);
    return;
  }
  const { start, end, hooks } = run;
  const expectedSource = rootSource(plan);
  if (start.source !== expectedSource) say(`its source is ${start.source}, not ${expectedSource}`);
  if (plan.kind === "child") {
    if (!AGENT_ID.test(start.agentId) || start.agentId !== start.sessionId)
      say(`it is ${start.agentId} in ${start.sessionId}`);
    if (plan.resumed !== undefined && start.agentId !== plan.resumed)
      say(`it is ${start.agentId}, not ${plan.resumed}`);
  } else if (start.agentId !== undefined || start.sessionId !== plan.session.id) {
    say(`it is ${start.agentId} in ${start.sessionId}`);
  }

  const status = end.status;
  const expected = expectedStatuses(facts, plan);
  if (!expected.includes(status)) say(`${status} where ${expected.join(" or ")} was due: ${JSON.stringify(end.error)}`);
  if (status !== "cancelled" && "error" in end !== (status === "failed"))
    say(`${status} and its error is ${JSON.stringify(end.error)}`);
  if ("result" in end !== (status !== "failed")) say(`${status} ${"result" in end ? "with" : "without"} result`);

  const began = countBy(hooks, "tool:start");
  const ended = countBy(hooks, "tool:end");
  const made = new Set(plan.made.map(({ id }) => id));
  for (const id of [...began.keys(), ...ended.keys()])
    if (!made.has(id)) say(`hooks of the call ${id}, which nobody made`);
  for (const id of made) {
    const pair = `${began.get(id) ?? 0} tool:start and ${ended.get(id) ?? 0} tool:end`;
    if (pair === "1 tool:start and 1 tool:end") continue;
    if (status === "cancelled" && pair === "0 tool:start and 0 tool:end") continue;
    say(`the call ${id} of a run that was ${status} has ${pair}`);
  }
}

const rootSource = (plan) => (plan.kind === "child" ? rootSource(plan.group.starter) : plan.source);

function countBy(hooks, event) {
  const counts = new Map();
  for (const hook of hooks) if (hook.event === event) counts.set(hook.call.id, (counts.get(hook.call.id) ?? 0) + 1);
  return counts;
}

function expectedStatuses(facts, plan) {
  const allowed = [expectation(plan)];
  if (isOver(facts, plan)) allowed.push("cancelled");
  // A follow-up that comes in the last allowed turn.
  if (plan.steered?.length > 0 && plan.requests >= plan.maxTurns) allowed.push("max_turns");
  if (plan.resumed !== undefined && !wasStored(facts, plan.resumes)) allowed.push("failed");
  return allowed;
}

/** Whether a child is known to have left something that can be taken up. */
const wasStored = ({ round, runs }, plan) => round.store !== "none" && runs.get(plan.id)?.end.status !== "cancelled";

function judgeOutcome(facts, plan, { result, error, thrown }) {
  const say = (text) => facts.violate(`${plan.id} (${plan.how}, abort ${plan.abort}): ${text}`);
  const run = facts.runs.get(plan.id);
  const status = run?.end.status;
  if (run === undefined && !isOver(facts, plan)) say(`fired nothing: ${error}`);
  if (result !== undefined) {
    const told = STATUS_OF[result.stopReason];
    if (told !== (status ?? "cancelled")) say(`resolved with ${result.stopReason}, its run was ${status}`);
    // One that never began may have got what another run of the session was in the middle of.
    if (run !== undefined) judgeConversation(say, plan, run, result.messages);
  }
  if (!thrown) return;
  if (facts.closed && run === undefined && error?.name === "ClosedError") return;
  if (status !== "failed") say(`threw ${error?.stack ?? error}, its run was ${status}`);
  else if (error !== plan.thrown) say(`threw ${error?.stack ?? error} in place of what broke it`);
}

/** It is well formed; and a call that had no hooks never began: its result says so. */
function judgeConversation(say, { made }, { hooks }, messages) {
  // Stopped before its message was stored, as the first of its session.
  if (messages.length === 0 && made.length === 0) return;
  try {
    assertConversation(messages);
  } catch (problem) {
    say(`its conversation: ${problem.message}`);
  }
  const began = countBy(hooks, "tool:start");
  for (const result of blocksOf(messages, "tool_result")) {
    if (!made.some(({ id }) => id === result.id) || began.has(result.id)) continue;
    if (contentText(result) !== "interrupted")
      say(`the call ${result.id} never began, and came to ${contentText(result)}`);
  }
}

/** A group from the call that started it to the run that took it up. */
function judgeGroup(facts, group) {
  const { closed, runs, completions, position } = facts;
  const say = (text) => facts.violate(`${group.id} (of ${group.starter.id}): ${text}`);
  const starter = runs.get(group.starter.id);
  const answer = starter?.hooks.find(({ event, call }) => event === "tool:end" && call.id === group.call)?.result;
  const text = answer === undefined ? "" : contentText(answer);
  const mine = completions.filter(({ completion }) => completion.label.split(", ")[0] === group.children[0].id);
  const children = group.children.filter(({ id }) => runs.has(id));
  const accepted = text.match(ACCEPTED);
  if (accepted === null) {
    // An onion around the call may have been left while it was being told.
    if (starter?.end.status === "cancelled") {
      if (mine.length > (children.length > 0 || text === "interrupted" ? 1 : 0))
        say(`${mine.length} completions, though ${text}`);
      return;
    }
    if (children.length > 0 || mine.length > 0)
      say(`${children.length} children and ${mine.length} completions, though ${text}`);
    if (answer !== undefined && !REFUSED.test(text)) say(`was not accepted: ${text}`);
    return;
  }
  group.accepted = true;

  const named = [...text.matchAll(NAMED)].map(([, name, agentId]) => ({ name, agentId }));
  const names = group.children.map(({ id }) => id);
  if (named.map(({ name }) => name).join() !== names.join()) say(`accepted ${named.map(({ name }) => name)}`);
  const prefix = named[0]?.agentId.slice(0, -17);
  for (const { name, agentId } of named) {
    if (!agentId.startsWith(prefix)) say(`${name} is ${agentId}, of another session`);
    const start = runs.get(name)?.start;
    if (start !== undefined && start.agentId !== agentId) say(`${name} was to be ${agentId}, and is ${start.agentId}`);
  }

  const taken = runs.get(group.done.id);
  if (mine.length !== 1 && !(closed && mine.length === 0)) say(`${mine.length} completions`);
  if (mine.length === 0) {
    if (taken !== undefined) say("a run took up what was not told");
    return;
  }
  const [{ completion, index, sessionId, source }] = mine;
  if (completion.id !== accepted[1] || completion.label !== names.join(", "))
    say(`completion ${completion.id} of ${completion.label}`);
  if (sessionId !== group.session.id || source !== "background") say(`its completion is of ${sessionId}, ${source}`);
  judgeSections(facts, group, completion, say);
  for (const { id } of children) if (!(position[`run:end ${id}`] < index)) say(`told before the end of ${id}`);

  const cancelled = mayBeCancelled(facts, group.starter);
  if (taken === undefined && !cancelled) say(`no run took it up; it was ${completion.status}`);
  if (taken !== undefined && completion.status === "cancelled") say("a run took up a group that was cancelled");
  if (taken !== undefined && position[`run:start ${group.done.id}`] < index) say("was taken up before it was told");
}

/** Whether a group of this run may have been cancelled: its caller stopped it before it was over. */
function mayBeCancelled(facts, plan) {
  const { closed, runs, position } = facts;
  if (closed || runs.get(plan.id)?.end.status === "cancelled") return true;
  if (plan.group !== undefined) return mayBeCancelled(facts, plan.group.starter);
  if (plan.how === "break" || plan.how === "throw") return true;
  return position[`aborted ${plan.id}`] < position[`settled ${plan.id}`];
}

function judgeSections(facts, group, { status, isError, content }, say) {
  const { runs } = facts;
  const sections = sectionsOf(content);
  if (sections.map(({ name }) => name).join() !== group.children.map(({ id }) => id).join())
    return say(`its sections: ${content}`);
  sections.forEach((section, index) => {
    const child = group.children[index];
    const run = runs.get(child.id);
    if (run === undefined) {
      // One that never began: nobody but who cancels it keeps it from that.
      if (section.status !== "cancelled") say(`${child.id} never began, and was told as ${section.status}`);
      return;
    }
    if (section.agentId !== run.start.agentId) say(`${child.id} was told as ${section.agentId}`);
    const { end } = run;
    const due = end.status === "completed" && end.result.text === "" ? "failed" : end.status;
    if (section.status !== due) say(`${child.id} was ${end.status}, and told as ${section.status}`);
    const text = section.status === "completed" ? end.result?.text : undefined;
    if (text !== undefined && section.text !== text) say(`${child.id} said ${text}, and was told as ${section.text}`);
    if (section.status === "failed" && !section.text.startsWith("Error: "))
      say(`${child.id} failed, and was told as ${section.text}`);
  });
  const statuses = sections.map((section) => section.status);
  const count = (wanted) => statuses.filter((one) => one === wanted).length;
  const due =
    count("completed") === statuses.length
      ? "completed"
      : count("completed") > 0
        ? "partial"
        : count("cancelled") === statuses.length
          ? "cancelled"
          : "failed";
  if (status !== due || isError !== (due !== "completed"))
    say(`told as ${status}, ${isError}, where ${due} was due: ${statuses}`);
  return undefined;
}

/** The order of everything in each session: one run after another, nothing of one after its end, nothing while it is idle. */
function judgeOrder({ log, names, violate, round, runs }, outcomes) {
  const sessions = new Map();
  const stateOf = (id) => {
    if (!sessions.has(id)) sessions.set(id, { run: null, status: undefined, aborted: 0 });
    return sessions.get(id);
  };
  const parents = new Map();
  for (const { hook } of log) {
    if (hook?.event !== "run:start" || hook.agentId === undefined) continue;
    parents.set(hook.agentId, round.runs.get(names.get(hook.runId)).session.id);
  }
  const idle = new Set();
  for (const { hook, entry, idle: nowIdle, probed } of log) {
    if (nowIdle !== undefined) {
      idle.add(nowIdle);
      for (const [id, state] of sessions) {
        const isOf = id === nowIdle || parents.get(id) === nowIdle;
        if (isOf && state.run !== null && state.status === undefined)
          violate(`${nowIdle} was idle while ${names.get(state.run)} went on`);
      }
    }
    if (probed !== undefined) idle.delete(probed);
    const { sessionId } = hook ?? entry ?? {};
    if (sessionId === undefined) continue;
    const isCommand = entry?.event.type === "background_completed" && entry.event.completion.awaitIdle === false;
    const owner = parents.get(sessionId) ?? sessionId;
    if (idle.has(owner) && !isCommand)
      violate(`${hook?.event ?? entry.event.type} in ${sessionId} while ${owner} was idle`);
    const state = stateOf(sessionId);
    if (hook !== undefined) followHook(state, hook, names, violate);
    else followEntry(state, entry, names, violate);
  }
  for (const { hooks } of runs.values())
    if (hooks.at(-1).status === "cancelled") stateOf(hooks[0].sessionId).aborted -= 1;
  for (const [name, outcome] of outcomes) {
    if (!runs.has(name) && outcome.error === undefined) stateOf(round.runs.get(name).session.id).aborted -= 1;
  }
  // Children and completion runs that were stopped just before they began are told to be done as well.
  const mayBe = new Map(round.sessions.map(({ id }) => [id, 0]));
  for (const { kind, id, session } of round.runs.values()) {
    if (kind === "done" && !runs.has(id)) mayBe.set(session.id, mayBe.get(session.id) + 1);
  }
  for (const [id, { aborted }] of sessions) {
    if (aborted < 0 || aborted > (mayBe.get(id) ?? 1))
      violate(`${aborted} more were done as aborted in ${id} than were`);
  }
}

/** `state` has the run that goes on, and its status once its run:end hooks have begun. */
function followHook(state, { event, runId, source, agentId, status }, names, violate) {
  const name = names.get(runId);
  if (event === "run:start") {
    const isOver = state.run === null || state.status === "failed" || state.status === "cancelled";
    if (!isOver) violate(`${name} began before the end of ${names.get(state.run)}`);
    Object.assign(state, { run: runId, source, agentId, status: undefined });
    return;
  }
  if (state.run !== runId) violate(`${event} of ${name} while ${names.get(state.run)} went on`);
  else if (state.status !== undefined) violate(`${event} of ${name} after its run:end`);
  if (event === "run:end") state.status = status;
}

function followEntry(state, { event, source, sessionId }, names, violate) {
  const { type } = event;
  if (type === "background_completed") return;
  if (type === "done" && event.reason === "aborted") {
    // Of which run, it does not say: one that was stopped while it waited is told to be done as well, and no more.
    state.aborted += 1;
    return;
  }
  if (state.run === null) {
    violate(`${type} in ${sessionId}, where no run goes on`);
    return;
  }
  const name = names.get(state.run);
  if (state.status !== undefined && !AFTER_END.has(type)) violate(`${type} of ${name} after its run:end`);
  if (source !== state.source || event.agentId !== state.agentId)
    violate(`${type} of ${name} is of ${event.agentId}, ${source}`);
  if (type !== "done") return;
  if (STATUS_OF[event.reason] !== state.status) violate(`${name} was done by ${event.reason}, and is ${state.status}`);
  state.run = null;
}

function countsOf({ runs, completions, round }) {
  const counts = {};
  const add = (what) => {
    counts[what] = (counts[what] ?? 0) + 1;
  };
  for (const [name, { end }] of runs) add(`${round.runs.get(name).kind} ${end.status}`);
  for (const { completion } of completions) {
    if (completion.awaitIdle === undefined) add(`group ${completion.status}`);
    else add(`command ${completion.status}`);
  }
  for (const { accepted } of round.groups.values()) if (accepted) add("groups accepted");
  return counts;
}
