// Families with everything going wrong in random places, again and again. LITE_AGENT_SEED repeats from a round on;
// LITE_AGENT_LONG=1 makes it ten times as long.
import { test } from "node:test";
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gone, marker, sleeping } from "../commands/processes.mjs";
import { runFile } from "../support/child.mjs";
import { chancesOf } from "../support/stress-chance.mjs";
import { pause, within } from "../support/waiting.mjs";

const seed = Number(process.env.LITE_AGENT_SEED ?? Date.now() % 2 ** 31);
const long = process.env.LITE_AGENT_LONG === "1";
const rounds = long ? 50 : 5;
const hosts = long ? 20 : 3;
/** What a round may take, on a machine that does other things as well. */
const ROUND_LIMIT_MS = 60_000;
/** What memory may differ between the first and the last third of the rounds; the first round warms up. */
const HEAP_TOLERANCE_BYTES = 1_500_000;
const RSS_TOLERANCE_BYTES = 40_000_000;
const GONE_MS = 2_000;

const address = (name) => new URL(name, import.meta.url);
const repeat = `repeat with LITE_AGENT_SEED=${seed}`;

for (const [name, mark] of [
  ["100 children in 20 groups over 5 sessions", undefined],
  ["the same with commands in the background", marker()],
]) {
  test(`${rounds} rounds of ${name}: all end as they should, also when the agent is closed in the middle`, async (t) => {
    t.diagnostic(`seed ${seed}: ${repeat}`);
    const { code, signal, stdout, stderr, overdue } = await runFile(address("./stress-process.mjs"), {
      flags: ["--expose-gc", "--unhandled-rejections=strict"],
      arguments: [String(seed), String(rounds), ...(mark === undefined ? [] : [mark])],
      limitMs: rounds * ROUND_LIMIT_MS,
    });
    const said = `${stdout.slice(0, 2_000)} ${stderr.slice(0, 2_000)}`;
    assert.equal(overdue, false, `${repeat}: the process did not end by itself; ${said}`);
    assert.deepEqual([code, signal, stderr], [0, null, ""], repeat);
    const { violations, counts, memories, slowest } = JSON.parse(stdout);
    assert.deepEqual(violations, [], `a round's own number repeats it; all: ${repeat}`);
    t.diagnostic(`to the end: ${JSON.stringify(counts.whole)}`);
    t.diagnostic(`closed: ${JSON.stringify(counts.closed)}; close() took ${Math.round(slowest.close)} ms at most`);
    assertHappened(counts.whole, mark !== undefined);
    const { heapUsed, rss } = growth(memories.slice(1));
    t.diagnostic(`from the first third to the last: heap ${kib(heapUsed)}, resident ${kib(rss)}`);
    assert.ok(heapUsed < HEAP_TOLERANCE_BYTES, `${repeat}: the heap grew by ${heapUsed} bytes`);
    assert.ok(rss < RSS_TOLERANCE_BYTES, `${repeat}: the process grew by ${rss} bytes`);
    if (mark !== undefined) await gone(mark, 0);
  });
}

/** A round in which nothing happened would show nothing. Few rounds may have nothing that is rare. */
function assertHappened(counts, commands) {
  const kinds = ["user", "child", "done"].flatMap((kind) => [`${kind} completed`, `${kind} failed`]);
  const wanted = [
    ...kinds,
    "user cancelled",
    "group partial",
    ...(commands ? ["command completed", "command failed"] : []),
  ];
  const rare = ["child cancelled", "group cancelled", ...(commands ? ["command cancelled"] : [])];
  for (const what of long ? [...wanted, ...rare] : wanted) {
    assert.ok(counts[what] > 0, `${repeat}: no ${what} in ${JSON.stringify(counts)}`);
  }
}

function growth(memories) {
  const third = Math.max(1, Math.floor(memories.length / 3));
  const mean = (list, name) => list.reduce((sum, one) => sum + one[name], 0) / list.length;
  const grown = (name) => mean(memories.slice(-third), name) - mean(memories.slice(0, third), name);
  return { heapUsed: grown("heapUsed"), rss: grown("rss") };
}

const kib = (bytes) => `${Math.round(bytes / 1024)} KiB`;

test(`SIGKILL of ${hosts} hosts in the middle of such a round: every process is gone within ${GONE_MS} ms`, async (t) => {
  const { NODE_TEST_CONTEXT: _, NODE_OPTIONS: __, ...inherited } = process.env;
  // Who is killed removes nothing.
  const folder = mkdtempSync(join(tmpdir(), "lite-agent-killed-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const env = { ...inherited, TMPDIR: folder };
  for (let host = 0; host < hosts; host += 1) {
    const mark = marker();
    const hostSeed = seed + host;
    const moment = chancesOf(hostSeed).upTo(600, "kill");
    t.diagnostic(`seed ${hostSeed}, ${moment} ms after the first command`);
    const script = fileURLToPath(address("./stress-process.mjs"));
    const child = spawn(process.execPath, ["--expose-gc", script, String(hostSeed), "20", mark], {
      env,
      stdio: "ignore",
    });
    t.after(() => child.kill("SIGKILL"));
    const exited = once(child, "exit");
    await sleeping(mark, 1);
    await pause(moment);
    child.kill("SIGKILL");
    const [, signal] = await within(exited, "the host's end");
    assert.equal(signal, "SIGKILL", `LITE_AGENT_SEED=${hostSeed}: the host was over before`);
    const began = performance.now();
    await gone(mark, GONE_MS);
    t.diagnostic(`gone after ${Math.round(performance.now() - began)} ms`);
  }
});

for (const store of ["none", "files"]) {
  test(`100 sessions of 20 turns at the same time all end right, stored in ${store}`, async (t) => {
    const { code, signal, stdout, stderr, overdue } = await runFile(address("./stress-sessions.mjs"), {
      arguments: ["100", "20", store],
      limitMs: 120_000,
    });
    assert.deepEqual({ code, signal, stderr, overdue }, { code: 0, signal: null, stderr: "", overdue: false });
    const { violations, stalls, tookMs, calls } = JSON.parse(stdout);
    assert.deepEqual(violations, []);
    const [immediate, delay, took] = [stalls.immediateMs, stalls.delayMs, tookMs].map(Math.round);
    t.diagnostic(
      `${calls} calls in ${took} ms; the event loop waited ${immediate} ms at most, by its histogram ${delay} ms`,
    );
  });
}
