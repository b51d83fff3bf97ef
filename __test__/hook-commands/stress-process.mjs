// The process of the stress test of hook commands: runs with commands of random kinds, stopped at random moments, and
// what was not as it should be, as JSON. Every choice follows from the seed. Knows the public face only.
//
//   node --unhandled-rejections=strict stress-process.mjs <seed> <runs>
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLiteAgent, policy, tool } from "../../index.js";
import { childrenOf, descriptors, marker, processesOf } from "../commands/processes.mjs";
import { scriptedModel } from "../support/model.mjs";
import { chance, pick, upTo } from "../support/stress-plan.mjs";

const [, runs] = process.argv.slice(2).map(Number);
const RUNS_AN_AGENT = 10;
const AT_ONCE = 4;
const EVENTS = ["run:start", "tool:start", "tool:end", "run:end"];

const folder = mkdtempSync(join(tmpdir(), "lite-agent-hook-stress-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
const mark = marker();
const violations = [];
const outcomes = {};
const violate = (text) => {
  if (violations.length < 40) violations.push(text);
};

/** Each kind of command, and the reason of the failure that it must be. */
const KINDS = {
  fine: { command: "cat > /dev/null" },
  deaf: { command: "true" },
  talker: { command: "head -c 60000 /dev/zero; exit 0" },
  daemon: { command: `setsid sleep ${mark} >/dev/null 2>&1 & sleep ${mark} & exit 0` },
  exits: { command: "echo failed; exit 3", reason: "exit", exitCode: 3, output: "failed\n" },
  dies: { command: "kill -KILL $$", reason: "signal" },
  hangs: { command: `sleep ${mark}`, timeoutMs: 60, reason: "timeout" },
  stubborn: {
    command: `trap '' TERM; setsid sleep ${mark} & sleep ${mark}; sleep ${mark}`,
    timeoutMs: 60,
    reason: "timeout",
  },
  floods: { command: `yes ${mark}`, reason: "output_limit" },
  forbidden: { command: "true forbidden", reason: "denied" },
  unboxed: { command: "true unboxed", reason: "sandbox" },
};

function planAgent(number) {
  const hooks = {};
  for (const event of EVENTS) {
    const count = upTo(4, number, event, "count");
    hooks[event] = Array.from({ length: count }, (_, index) => pick(Object.keys(KINDS), number, event, index, "kind"));
  }
  return hooks;
}

const sandbox = {
  id: "stress",
  wrap(command) {
    if (command.includes("unboxed")) throw new Error("no boundary");
    return command;
  },
};

function makeAgent(number, hooks, sandboxed) {
  const workdir = join(folder, `agent-${number}`);
  mkdirSync(join(workdir, ".lite-agent"), { recursive: true });
  const entries = Object.fromEntries(
    EVENTS.map((event) => [
      event,
      hooks[event].map((kind) => ({ command: KINDS[kind].command, timeoutMs: KINDS[kind].timeoutMs ?? 30_000 })),
    ]),
  );
  writeFileSync(join(workdir, ".lite-agent", "hooks.json"), JSON.stringify({ version: 1, hooks: entries }));
  return createLiteAgent({
    workdir,
    home: join(folder, "home"),
    sessions: false,
    model: scriptedModel([
      ({ messages }) =>
        typeof messages.at(-1).content === "string"
          ? { calls: [{ id: "1", name: "work", input: {} }] }
          : { text: "ok" },
    ]),
    tools: [tool("work", "works", { type: "object" }, () => "worked")],
    permission: policy({ rules: [{ tool: "hook", when: { command: { contains: "forbidden" } }, effect: "deny" }] }),
    ...(sandboxed && { sandbox }),
  });
}

/** The failures that a whole run of these hooks must have, in order. */
function expected(hooks, sandboxed) {
  return EVENTS.flatMap((event) =>
    hooks[event].flatMap((kind, index) => {
      const { reason, exitCode, output } = KINDS[kind];
      if (reason === undefined || (reason === "sandbox" && !sandboxed)) return [];
      return [JSON.stringify({ event, index, reason, ...(exitCode && { exitCode }), ...(output && { output }) })];
    }),
  );
}

async function oneRun(agent, name, hooks, sandboxed) {
  const sessionId = name;
  const failures = [];
  const ends = [];
  const unsubscribe = agent.subscribe(({ sessionId: of, event }) => {
    if (of !== sessionId || event.type !== "diagnostic") return;
    const { event: at, index, reason, exitCode, output, durationMs } = event.hook ?? {};
    if (event.code !== "hook_failed") violate(`${name}: ${event.code}: ${event.message}`);
    if (durationMs > 20_000) violate(`${name}: ${reason} after ${durationMs} ms`);
    failures.push(
      JSON.stringify({ event: at, index, reason, ...(exitCode && { exitCode }), ...(reason === "exit" && { output }) }),
    );
  });
  const removeEnd = agent.hook("run:end", (event) => void (event.sessionId === sessionId && ends.push(event.status)));
  const how = pick(["whole", "whole", "signal", "signal", "break"], name, "how");
  const controller = new AbortController();
  if (how === "signal") setTimeout(() => controller.abort(), upTo(150, name, "abort"));
  let result;
  if (how === "break") {
    let left = upTo(12, name, "break at");
    for await (const _ of agent.run("go", { sessionId })) if ((left -= 1) < 0) break;
  } else {
    result = await agent.send("go", { sessionId, signal: controller.signal });
  }
  unsubscribe();
  removeEnd();
  const whole = expected(hooks, sandboxed);
  if (how === "whole" || result?.stopReason === "stop") {
    if (JSON.stringify(failures) !== JSON.stringify(whole)) violate(`${name} ${how}: ${failures} and not ${whole}`);
    if (ends.join() !== "completed") violate(`${name}: ended ${ends}`);
    outcomes.whole = (outcomes.whole ?? 0) + 1;
    return;
  }
  // What is left out is what did not begin: the rest is in order, and what ends a run is whole.
  let at = 0;
  for (const failure of failures) {
    const place = whole.indexOf(failure, at);
    if (place < 0) violate(`${name} ${how}: ${failure} is not in ${whole.slice(at)}`);
    else at = place + 1;
  }
  const ending = (list) => list.filter((failure) => failure.includes('"run:end"')).join();
  const begun = ends.length > 0;
  if (begun && ending(failures) !== ending(whole))
    violate(`${name} ${how}: the end failed with ${ending(failures)} and not ${ending(whole)}`);
  if (ends.length > 1 || (begun && how === "signal" && ends[0] !== "cancelled"))
    violate(`${name} ${how}: ended ${ends}`);
  outcomes[how] = (outcomes[how] ?? 0) + 1;
}

async function oneAgent(number, count) {
  const hooks = planAgent(number);
  const sandboxed = chance(number, "sandboxed") < 0.7;
  const agent = makeAgent(number, hooks, sandboxed);
  const running = Array.from({ length: count }, (_, run) => `run-${number}-${run}`);
  await Promise.all(
    Array.from({ length: 3 }, async () => {
      for (let name; (name = running.shift()) !== undefined;) await oneRun(agent, name, hooks, sandboxed);
    }),
  );
  await agent.close();
}

async function settle(what, condition) {
  const end = performance.now() + 5_000;
  while (!condition()) {
    if (performance.now() > end) return violate(what());
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

await oneAgent("warm", 2);
const before = descriptors();
const agents = Array.from({ length: Math.ceil(runs / RUNS_AN_AGENT) }, (_, number) => number);
await Promise.all(
  Array.from({ length: AT_ONCE }, async () => {
    for (let number; (number = agents.shift()) !== undefined;) await oneAgent(number, RUNS_AN_AGENT);
  }),
);
await settle(
  () => `processes left: ${processesOf(mark)}`,
  () => processesOf(mark).length === 0,
);
await settle(
  () => `children left: ${JSON.stringify(childrenOf())}`,
  () => childrenOf().length === 0,
);
await settle(
  () => `descriptors left: ${descriptors()} where there were ${before}`,
  () => descriptors().length <= before.length,
);
console.log(JSON.stringify({ violations, outcomes }));
