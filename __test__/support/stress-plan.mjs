// The plans of the stress test: what each run is to meet, from a seed and the run's name alone, whatever the interleaving,
// and how a run that nobody stops must end. Knows nothing of the package.

const seed = Number(process.argv[2]);

/** A number from 0 to 1 (without) that depends on the seed and these words alone. */
export function chance(...words) {
  let hash = 2166136261 ^ seed;
  for (const character of words.join("|")) hash = Math.imul(hash ^ character.charCodeAt(0), 16777619);
  hash = Math.imul(hash ^ (hash >>> 15), 2246822507);
  hash = Math.imul(hash ^ (hash >>> 13), 3266489909);
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32;
}
export const pick = (list, ...words) => list[Math.floor(chance(...words) * list.length)];
export const upTo = (limit, ...words) => Math.floor(chance(...words) * limit);

export function planRun(id) {
  const turns = [];
  const turnCount = 1 + upTo(4, id, "turns");
  for (let turn = 0; turn < turnCount; turn += 1) {
    const last = turn === turnCount - 1;
    const calls = last
      ? []
      : Array.from({ length: 1 + upTo(4, id, turn, "calls") }, (_, position) => ({
          id: `${id}-${turn}-${position}`,
          name: pick(
            ["fine", "slow", "throws", "odd", "fails", "overruns", "deaf", "late", "strict", "missing"],
            id,
            turn,
            position,
            "tool",
          ),
          input: { position, note: "n".repeat(upTo(200, id, turn, position, "note")) },
        }));
    turns.push({
      calls,
      text: last || chance(id, turn, "text") < 0.5 ? `words of ${id}` : "",
      delayMs: upTo(4, id, turn, "delay"),
    });
  }
  const plan = { id, turns, maxTurns: chance(id, "maxTurns") < 0.2 ? 1 + upTo(3, id, "maxTurns of") : 50 };
  const trouble = pick(["none", "none", "none", "provider", "provider", "middleware"], id, "trouble");
  if (trouble === "provider") {
    plan.providerBreaks = {
      turn: upTo(turnCount, id, "breaks at"),
      how: pick(["first", "deltas", "end", "string", "null"], id, "breaks how"),
    };
    plan.thrown = { string: "broken by plan", null: null }[plan.providerBreaks.how];
    if (plan.thrown === undefined) plan.thrown = new Error(`the provider broke in ${id}`);
  }
  if (trouble === "middleware") {
    plan.middlewareBreaks = pick(["beforeAgent", "beforeModel", "afterAgent"], id, "middleware");
    plan.thrown = new Error(`the middleware broke in ${id}`);
  }
  plan.how = pick(["send", "send", "run", "run", "break", "throw"], id, "how");
  plan.stopAt = upTo(25, id, "stop at");
  plan.abort = pick(["none", "none", "none", "already", "timer", "hook", "tool", "model"], id, "abort");
  plan.abortMs = upTo(12, id, "abort after");
  plan.controller = new AbortController();
  plan.stops = plan.abort !== "none" || plan.how === "break" || plan.how === "throw";
  return plan;
}

/** The status and error of a run that nobody stops. */
export function expectation({ turns, maxTurns, providerBreaks, middlewareBreaks }) {
  if (middlewareBreaks === "beforeAgent" || middlewareBreaks === "beforeModel") return "failed";
  for (let turn = 0; ; turn += 1) {
    if (providerBreaks?.turn === turn) return "failed";
    const over = turns[turn].calls.length === 0 ? "completed" : turn + 1 === maxTurns ? "max_turns" : undefined;
    if (over) return middlewareBreaks === "afterAgent" ? "failed" : over;
  }
}
