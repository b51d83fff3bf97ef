// The process of the stress test: makes agents, drives runs through them by a seeded plan, and prints as JSON what was
// not as the specification has it. Every choice follows from the seed, whatever the interleaving. Knows the public face only.
//
//   node --expose-gc --unhandled-rejections=strict stress-process.mjs <seed> <runs>
import { mkdtempSync, mkdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLiteAgent, assertWellFormed, ReentrancyError, ClosedError, tool } from "../../index.js";
import { chance, expectation, pick, planRun, upTo } from "./stress-plan.mjs";
import { block, pause } from "./waiting.mjs";

const [seed, runs] = process.argv.slice(2).map(Number);
const RUNS_AN_AGENT = 20;
const SESSIONS_AN_AGENT = 4;
const AGENTS_AT_ONCE = 3;
/** The longest that anything which a run leaves behind goes on. */
const AFTERMATH_MS = 40;

const folder = mkdtempSync(join(tmpdir(), "lite-agent-stress-"));
mkdirSync(join(folder, "home"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));

const violations = [];
const outcomes = {};
const violate = (text) => {
  if (violations.length < 40) violations.push(text);
};

// -- an agent whose parts follow the plans of its runs -------------------------------------------------------------------

function makeAgent(name) {
  const plans = new Map();
  const fired = [];
  const planOf = (messages) => {
    for (let position = messages.length - 1; position >= 0; position -= 1) {
      const found =
        messages[position].role === "user" &&
        [...JSON.stringify(messages[position].content).matchAll(/prompt of (\w+)/g)].at(-1);
      if (found) return plans.get(found[1]);
    }
    throw new Error("a request without its prompt");
  };

  const model = {
    id: "stress",
    async *stream(request, signal) {
      try {
        assertWellFormed(request);
      } catch (error) {
        violate(`${name}: ill-formed request: ${error.message}`);
        throw error;
      }
      const plan = planOf(request.messages);
      plan.requests = (plan.requests ?? 0) + 1;
      const position = plan.requests - 1;
      const turn = plan.turns[position] ?? { calls: [], text: "more" };
      const breaks = plan.providerBreaks?.turn === position ? plan.providerBreaks.how : undefined;
      if (plan.abort === "model" && position === plan.abortMs % plan.turns.length)
        plan.controller.abort(new Error("aborted by the model"));
      if (breaks === "first" || breaks === "string" || breaks === "null") throw plan.thrown;
      if (turn.delayMs) await pause(turn.delayMs);
      // Some models heed their signal, some do not.
      if (chance(plan.id, "heeds") < 0.5) signal?.throwIfAborted();
      for (const text of turn.text.match(/.{1,6}/g) ?? []) {
        yield { type: "text_delta", text };
        if (breaks === "deltas") throw plan.thrown;
      }
      if (breaks) throw plan.thrown;
      const content = [
        ...(turn.text ? [{ type: "text", text: turn.text }] : []),
        ...turn.calls.map((call) => ({ type: "tool_call", ...call })),
      ];
      yield {
        type: "message_done",
        message: { role: "assistant", content },
        usage: { inputTokens: 3, outputTokens: 2 },
        stopReason: turn.calls.length ? "tool_use" : "stop",
      };
    },
  };

  const planOfCall = ({ id }) => plans.get(id.split("-")[0]);
  const make = (toolName, execute, options, schema = { type: "object" }) =>
    tool(
      toolName,
      toolName,
      schema,
      (input, context) => {
        const plan = planOfCall(context.call);
        if (plan.abort === "tool") plan.controller.abort();
        return execute(input, context);
      },
      options,
    );
  const heedful = ({ signal }, durationMs) =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(resolve, durationMs, "done");
      signal.addEventListener(
        "abort",
        () => {
          clearTimeout(timer);
          reject(signal.reason);
        },
        { once: true },
      );
    });
  const tools = [
    make("fine", () => "fine"),
    make("slow", (_, context) => heedful(context, upTo(6, context.call.id, "slow"))),
    make("throws", () => {
      throw new TypeError("the tool broke");
    }),
    make("odd", (_, { call }) => {
      throw pick([undefined, null, Symbol("odd"), "text", Object.freeze({})], call.id, "odd");
    }),
    make("fails", async () => ({ content: "it failed", isError: true })),
    make("overruns", () => new Promise(() => {}), { timeoutMs: 4 }),
    make("deaf", () => pause(AFTERMATH_MS / 4).then(() => "deaf")),
    make(
      "late",
      () =>
        pause(AFTERMATH_MS / 4).then(() => {
          throw new Error("late");
        }),
      { timeoutMs: 3 },
    ),
    make("strict", () => "never", {}, { type: "object", required: ["absent"] }),
  ];

  const breakIf =
    (step) =>
    ({ messages }) => {
      const plan = planOf(messages);
      if (plan?.middlewareBreaks === step) throw plan.thrown;
    };
  const agent = createLiteAgent({
    model,
    tools,
    workdir: folder,
    // Agents of one home would share the sessions, and each other's logs.
    home: join(folder, "home", name),
    maxParallelTools: 1 + upTo(4, name, "parallel"),
    use: [
      {
        name: "stress",
        beforeAgent: breakIf("beforeAgent"),
        beforeModel: breakIf("beforeModel"),
        afterAgent: breakIf("afterAgent"),
        async wrapToolCall(_, next) {
          return next();
        },
      },
    ],
  });

  // The first handler of each event records it; what it sees is what is judged.
  for (const event of ["run:start", "run:end", "tool:start", "tool:end"]) {
    agent.hook(event, (given) => {
      if (!Object.isFrozen(given)) violate(`${name}: ${event} is not frozen`);
      fired.push(given);
      // A plan is found by its run's id once its start has been seen.
      const plan = event === "run:start" && plans.get(given.input.slice("prompt of ".length));
      if (plan) plan.runId = given.runId;
    });
    for (let handler = 0; handler < 3; handler += 1) {
      const timeoutMs = [2_000, 2, 4][handler];
      agent.hook(event, (given, { signal }) => misbehave({ agent, plans, given, signal, event, handler, timeoutMs }), {
        timeoutMs,
      });
    }
  }
  agent.subscribe(({ event }) => {
    if (event.type === "diagnostic" && event.code === "hook_failed") {
      outcomes[`hook ${event.hook.reason}`] = (outcomes[`hook ${event.hook.reason}`] ?? 0) + 1;
      if (!["error", "timeout"].includes(event.hook.reason))
        violate(`${name}: hook failed with reason ${event.hook.reason}`);
    }
    if (chance(name, event.type, fired.length, "listener") < 0.02) throw new Error("the listener broke");
  });
  return { agent, plans, fired };
}

function misbehave({ agent, plans, given, signal, event, handler, timeoutMs }) {
  const plan = given.call
    ? plans.get(given.call.id.split("-")[0])
    : [...plans.values()].find(({ runId }) => runId === given.runId);
  const key = given.call?.id ?? plan?.id;
  if (
    plan?.abort === "hook" &&
    handler === plan.abortMs % 3 &&
    event !== "run:end" &&
    chance(key, event, "aborts") < 0.5
  )
    plan.controller.abort("by a hook");
  const deed = pick(
    [
      "nothing",
      "nothing",
      "nothing",
      "await",
      "slow",
      "throw",
      "reject",
      "never",
      "late",
      "deaf",
      "block",
      "register",
      "reenter",
      "write",
      "odd",
    ],
    key,
    event,
    handler,
    "deed",
  );
  switch (deed) {
    case "await":
      return Promise.resolve();
    case "slow":
      return pause(upTo(3, key, "slow"));
    case "throw":
      throw new Error("the hook broke");
    case "reject":
      return pause(1).then(() => {
        throw undefined;
      });
    // A limit of two seconds is for handlers that end; these do not.
    case "never":
      return timeoutMs < 1_000 ? new Promise(() => {}) : undefined;
    case "late":
      return timeoutMs < 1_000
        ? pause(AFTERMATH_MS / 4).then(() => {
            throw new Error("late");
          })
        : undefined;
    case "deaf":
      return pause(AFTERMATH_MS / 4);
    case "block":
      return block(timeoutMs < 1_000 ? timeoutMs + 1 : 1);
    case "register":
      agent.hook("run:start", () => {})();
      return undefined;
    case "reenter":
      return timeoutMs < 1_000
        ? undefined
        : agent.send("from a hook").then(
            () => violate("a send inside a hook was let through"),
            (error) => {
              if (!(error instanceof ReentrancyError) && !signal.aborted) violate(`a send inside a hook: ${error}`);
            },
          );
    case "write":
      given.event = "other";
      return undefined;
    case "odd":
      return {
        get then() {
          throw Symbol("odd");
        },
      };
    default:
      return undefined;
  }
}

// -- driving one run ------------------------------------------------------------------------------------------------------

async function drive(agent, plan, sessionId) {
  const { signal } = plan.controller;
  if (plan.abort === "already") plan.controller.abort();
  if (plan.abort === "timer") setTimeout(() => plan.controller.abort(), plan.abortMs);
  const input = `prompt of ${plan.id}`;
  const options = { sessionId, maxTurns: plan.maxTurns, ...(plan.abort === "none" ? {} : { signal }) };
  try {
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
      for await (const event of run) {
        if (event.type === "done") plan.sawDone = event.reason;
        seen += 1;
        if (seen <= plan.stopAt) continue;
        if (plan.how === "throw") throw mine;
        break;
      }
    } catch (error) {
      if (error !== mine) throw error;
    }
    return { stopped: true };
  } catch (error) {
    return { error, thrown: true };
  }
}

function judge(plan, outcome, events, closing) {
  const say = (text) => violate(`${plan.id} (${plan.how}, abort ${plan.abort}): ${text}`);
  const starts = events.filter(({ event }) => event === "run:start");
  const ends = events.filter(({ event }) => event === "run:end");
  if (starts.length > 1 || ends.length !== starts.length)
    return say(`${starts.length} run:start and ${ends.length} run:end`);
  const open = new Map();
  for (const { event, call } of events) {
    if (event === "tool:start") open.set(call.id, open.has(call.id) ? "twice" : "open");
    if (event === "tool:end") open.set(call.id, open.get(call.id) === "open" ? "closed" : "unpaired end");
  }
  for (const [id, state] of open) if (state !== "closed") say(`call ${id}: ${state}`);
  if (outcome.thrown && outcome.error instanceof ClosedError && closing) return undefined;
  if (starts.length === 0) {
    if (!plan.stops && !closing) say("fired nothing");
    if (outcome.result && outcome.result.stopReason !== "aborted")
      say(`fired nothing and ended as ${outcome.result.stopReason}`);
    return undefined;
  }
  if (events.at(-1).event !== "run:end") say(`${events.at(-1).event} after run:end`);
  const [end] = ends;
  outcomes[end.status] = (outcomes[end.status] ?? 0) + 1;
  const expected = expectation(plan);
  const allowed = plan.stops || closing ? [expected, "cancelled"] : [expected];
  if (!allowed.includes(end.status)) say(`${end.status} where ${allowed.join(" or ")} was due; ${outcome.error ?? ""}`);
  if ("error" in end !== (end.status === "failed") && end.status !== "cancelled")
    say(`${end.status} ${"error" in end ? "with" : "without"} error`);
  if ("result" in end !== (end.status !== "failed"))
    say(`${end.status} ${"result" in end ? "with" : "without"} result`);
  if (outcome.result) {
    const status = { stop: "completed", aborted: "cancelled", max_turns: "max_turns" }[outcome.result.stopReason];
    if (status !== end.status) say(`resolved with ${outcome.result.stopReason}, run:end says ${end.status}`);
    if (end.result.stopReason !== outcome.result.stopReason) say("stop reasons differ");
    assertWellFormedConversation(outcome.result.messages, say);
  }
  if (outcome.thrown) {
    if (end.status !== "failed") say(`threw ${String(outcome.error?.message)}, run:end says ${end.status}`);
    if (outcome.error !== plan.thrown)
      say(`threw ${String(outcome.error?.stack ?? outcome.error)} in place of what broke it`);
  }
  return undefined;
}

function assertWellFormedConversation(messages, say) {
  const open = new Set();
  for (const { content } of messages) {
    if (typeof content === "string") continue;
    for (const { type, id } of content) {
      if (type === "tool_call") open.add(id);
      if (type === "tool_result" && !open.delete(id)) say(`result without call ${id}`);
    }
  }
  if (open.size > 0) say(`calls without result: ${[...open]}`);
}

async function useAgent(name, count) {
  const { agent, plans, fired } = makeAgent(name);
  // One agent in five is closed in the middle of its runs.
  const closesMs = chance(name, "closes") < 0.2 ? 5 + upTo(60, name, "closes at") : undefined;
  const pending = Array.from({ length: count }, (_, position) => {
    const plan = planRun(`${name}r${position}`);
    plans.set(plan.id, plan);
    return { plan, sessionId: `session-${upTo(SESSIONS_AN_AGENT, plan.id, "session")}` };
  });
  const closing = closesMs === undefined ? undefined : pause(closesMs).then(() => agent.close());
  const outcomesOfRuns = await Promise.all(pending.map(({ plan, sessionId }) => drive(agent, plan, sessionId)));
  if (!closing) {
    await agent.awaitIdle();
    for (let session = 0; session < SESSIONS_AN_AGENT; session += 1) {
      const plan = { id: `${name}last${session}`, turns: [{ calls: [], text: "still well" }] };
      plans.set(plan.id, plan);
      await agent.send(`prompt of ${plan.id}`, { sessionId: `session-${session}` }).then(
        ({ text }) => {
          if (text !== "still well") violate(`${plan.id}: said ${text}`);
        },
        (error) => violate(`${plan.id}: the session is not usable: ${error}`),
      );
    }
  }
  await Promise.all([closing, agent.close()]);
  await pause(AFTERMATH_MS);
  const byRun = Map.groupBy?.(fired, ({ runId }) => runId) ?? group(fired);
  const known = new Map([...byRun.values()].map((events) => [promptOf(events), events]));
  if (known.has(undefined))
    violate(`${name}: events of a run without run:start: ${known.get(undefined).map(({ event }) => event)}`);
  pending.forEach(({ plan }, position) =>
    judge(plan, outcomesOfRuns[position], known.get(plan.id) ?? [], closing !== undefined),
  );
}

const promptOf = (events) => events.find(({ event }) => event === "run:start")?.input.slice("prompt of ".length);
function group(events) {
  const groups = new Map();
  for (const event of events) groups.set(event.runId, [...(groups.get(event.runId) ?? []), event]);
  return groups;
}

async function heapBytes() {
  for (let round = 0; round < 4; round += 1) {
    gc();
    await new Promise(setImmediate);
  }
  return process.memoryUsage().heapUsed;
}

async function main() {
  // Nothing may have come; what was there at the start (files that are being read) may have gone.
  const resourcesBefore = process.getActiveResourcesInfo();
  const batch = RUNS_AN_AGENT * AGENTS_AT_ONCE;
  // The first batch warms code and caches up, and is judged like the others.
  let made = 0;
  const heap = [];
  for (let done = 0; done < runs + batch; done += batch) {
    await Promise.all(Array.from({ length: AGENTS_AT_ONCE }, () => useAgent(`a${made++}`, RUNS_AN_AGENT)));
    if (done > 0) heap.push(await heapBytes());
  }
  await pause(AFTERMATH_MS);
  const resourcesLeft = process.getActiveResourcesInfo();
  for (const resource of resourcesBefore)
    if (resourcesLeft.includes(resource)) resourcesLeft.splice(resourcesLeft.indexOf(resource), 1);
  const third = Math.max(1, Math.floor(heap.length / 3));
  const mean = (list) => list.reduce((sum, value) => sum + value, 0) / list.length;
  process.stdout.write(
    JSON.stringify({
      seed,
      runs: made * RUNS_AN_AGENT,
      violations,
      outcomes,
      resourcesLeft,
      heapFirst: mean(heap.slice(0, third)),
      heapLast: mean(heap.slice(-third)),
    }),
  );
}

main();
