// The process of the stress test of families: plays rounds by their seeds, each in two copies at once, of which one is
// closed in the middle of it, and prints as JSON what was not as the specification has it. Knows the public face only.
//
//   node --expose-gc --unhandled-rejections=strict stress-process.mjs <seed> <rounds> [mark]
//
// With a mark, models also leave commands running, whose processes have it in their arguments.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { childrenOf, processesOf } from "../commands/processes.mjs";
import { pause, until, within } from "../support/waiting.mjs";
import { endOfCommands, judgeCommands } from "./stress-commands.mjs";
import { judge } from "./stress-judge.mjs";
import { AFTERMATH_MS } from "./stress-model.mjs";
import { planRound } from "./stress-plan.mjs";
import { driveAll, makeStage, settleAll, signalsHeard } from "./stress-stage.mjs";

const [seed, rounds] = process.argv.slice(2, 4).map(Number);
const mark = process.argv[4];
const CLOSE_LIMIT_MS = 10_000;
const MAX_VIOLATIONS = 40;

const folder = mkdtempSync(join(tmpdir(), "lite-agent-family-stress-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));

const violations = [];
const counts = { whole: {}, closed: {} };
const slowest = { close: 0 };

async function playCopy(roundSeed, closed) {
  const name = `round ${roundSeed}${closed ? ", closed" : ""}`;
  const violate = (text) => {
    if (violations.length < MAX_VIOLATIONS) violations.push(`${name}: ${text}`);
  };
  const round = planRound(roundSeed, { commands: mark !== undefined });
  const stage = makeStage(round, { folder: mkdtempSync(join(folder, "copy-")), mark, violate });
  const driving = driveAll(stage);
  if (closed) {
    await pause(round.closeMs);
  } else {
    await driving;
    await settleAll(stage);
    if (mark !== undefined) await endOfCommands(stage);
  }
  const began = performance.now();
  await within(stage.agent.close(), "close()", CLOSE_LIMIT_MS).catch((error) => violate(error.message));
  slowest.close = Math.max(slowest.close, performance.now() - began);
  const told = stage.log.length;
  const outcomes = await driving;
  await pause(AFTERMATH_MS);
  for (const { hook, entry } of stage.log.slice(told)) {
    if (hook !== undefined || entry !== undefined) violate(`${hook?.event ?? entry.event.type} after close()`);
  }
  for (const plan of signalsHeard(stage)) violate(`the signal of ${plan.id} is still listened to`);
  if (mark !== undefined) judgeCommands(stage);
  const of = counts[closed ? "closed" : "whole"];
  for (const [what, count] of Object.entries(judge(stage, outcomes, closed))) of[what] = (of[what] ?? 0) + count;
}

async function play(roundSeed) {
  const before = process.getActiveResourcesInfo();
  await Promise.all([playCopy(roundSeed, false), playCopy(roundSeed, true)]);
  const violate = (text) => violations.push(`round ${roundSeed}: ${text}`);
  if (mark !== undefined) {
    if (processesOf(mark).length > 0) violate(`processes are left: ${processesOf(mark)}`);
    // Zombies and supervisors as well; the one that the system has just reaped may still be listed.
    await until(() => childrenOf().length === 0, "no child", 1_000).catch(() =>
      violate(`children: ${JSON.stringify(childrenOf())}`),
    );
  }
  const left = process.getActiveResourcesInfo();
  // What was there at the start (files that are being read) may have gone.
  for (const resource of before) if (left.includes(resource)) left.splice(left.indexOf(resource), 1);
  if (left.length > 0) violate(`resources are left: ${left}`);
}

async function memory() {
  for (let round = 0; round < 4; round += 1) {
    gc();
    await new Promise(setImmediate);
  }
  const { heapUsed, rss } = process.memoryUsage();
  return { heapUsed, rss };
}

const memories = [];
for (let round = 0; round < rounds; round += 1) {
  await play(seed + round);
  memories.push(await memory());
}
process.stdout.write(JSON.stringify({ violations, counts, memories, slowest }));
