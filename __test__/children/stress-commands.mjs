// What of the commands that a round of the stress test left running was not as the specification has it, from its log.
// Knows no agent.
import { contentText } from "../runs/reading.mjs";
import { until } from "../support/waiting.mjs";
import { COMMANDS } from "./stress-model.mjs";

const STARTED = /^Started in the background: (bg_[0-9a-f]{16})\n/;
const REFUSED = /^Error: .*backgroundLimits\./;
const END_LIMIT_MS = 20_000;

/** Waits until those commands were told of that end by themselves or were killed. */
export async function endOfCommands({ log, violate, mark }) {
  const { started, killed } = commandsOf(log, mark);
  for (const [id, kind] of started) {
    if (kind.status === undefined && killed.get(id) !== "over") continue;
    const isTold = () => toldOf(log).some((completion) => completion.id === id);
    await until(isTold, `the end of ${id}, ${kind.command(mark)}`, END_LIMIT_MS).catch((error) =>
      violate(error.message),
    );
  }
}

/** @param {object} stage whose agent is closed */
export function judgeCommands({ log, violate, mark }) {
  const { started, killed, lost, refused } = commandsOf(log, mark);
  for (const text of refused) if (!REFUSED.test(text)) violate(`a command was not started: ${text}`);
  const counts = new Map();
  for (const { id, status, isError } of toldOf(log)) {
    counts.set(id, (counts.get(id) ?? 0) + 1);
    const kind = started.get(id);
    if (kind === undefined) continue;
    const due = killed.has(id) ? ["cancelled", kind.status] : [kind.status];
    if (due.includes(status) && isError === (status !== "completed")) continue;
    violate(`${id} (${kind.command(mark)}) was told as ${status}, isError ${isError}`);
  }
  const unknown = [...counts.keys()].filter((id) => !started.has(id));
  if (unknown.length > lost) violate(`commands that nobody started were told: ${unknown}`);
  for (const [id, count] of counts) if (count !== 1) violate(`${id} was told ${count} times`);
}

/** `lost` are the calls that were stopped: their commands may have been started, and nobody was told how they are called. */
function commandsOf(log, mark) {
  const found = { started: new Map(), killed: new Map(), lost: 0, refused: [] };
  for (const { hook } of log) {
    if (hook?.event !== "tool:end") continue;
    const { name, input } = hook.call;
    // A call that was stopped may have asked for it all the same.
    if (name === "KillBackground" && found.killed.get(input.id) !== "over") {
      found.killed.set(input.id, hook.result.isError ? "asked" : "over");
    }
    if (name !== "bash" || input.run_in_background !== true) continue;
    const text = contentText(hook.result);
    const id = text.match(STARTED)?.[1];
    if (id !== undefined) found.started.set(id, kindOf(input.command, mark));
    else if (hook.status === "cancelled") found.lost += 1;
    else found.refused.push(text);
  }
  return found;
}

const toldOf = (log) =>
  log.map(({ entry }) => entry?.event.completion).filter((completion) => completion?.awaitIdle === false);

const kindOf = (command, mark) => Object.values(COMMANDS).find((kind) => kind.command(mark) === command);
