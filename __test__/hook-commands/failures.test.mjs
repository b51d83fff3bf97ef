// How a command fails, and what is said of it: one diagnostic each, with HookFailure, masked. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { chmodSync, existsSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gone, marker } from "../commands/processes.mjs";
import { hookFailures, plainTool, scriptedModel } from "../support/model.mjs";
import { call, hookAgent, runHooked } from "./hooked.mjs";

const FIELDS = ["event", "source", "configFile", "index", "reason", "exitCode", "durationMs", "output"];
const end = (command, more = {}) => ({ project: { "run:end": [{ command, ...more }, { command: "touch after" }] } });

/** One run with this command at its end: its one failure, and that all else went on. */
async function failureOf(t, command, { entry, ...config } = {}) {
  const made = await runHooked(t, { ...end(command, entry), ...config });
  assert.equal(made.failures.length, 1, JSON.stringify(made.failures));
  const [failure] = made.failures;
  assert.deepEqual([failure.level, failure.code], ["error", "hook_failed"]);
  const { hook } = failure;
  assert.deepEqual([hook.event, hook.source, hook.index, hook.configFile], ["run:end", "project", 0, made.projectFile]);
  assert.deepEqual(
    Object.keys(hook).filter((key) => !FIELDS.includes(key)),
    [],
  );
  assert.ok(Number.isFinite(hook.durationMs) && hook.durationMs >= 0);
  assert.equal("exitCode" in hook, hook.reason === "exit");
  assert.ok(
    failure.message.includes("run:end") && failure.message.includes("project") && failure.message.includes(hook.reason),
    failure.message,
  );
  assert.equal(made.result.stopReason, "stop");
  assert.equal(made.read("after"), "", "the next command ran");
  assert.deepEqual(hookFailures(made.heard), made.failures, "subscribe() heard the same");
  assert.equal(made.stream.at(-1).type, "done", "the diagnostic comes before the event that follows");
  return { ...made, failure, hook };
}

for (const code of [1, 2, 127, 255]) {
  test(`exit ${code}: reason exit with the code`, async (t) => {
    const { hook } = await failureOf(t, `echo out; echo err >&2; exit ${code}`);
    assert.deepEqual([hook.reason, hook.exitCode, hook.output], ["exit", code, "out\nerr\n"]);
  });
}

test("exit 0 is no failure, whatever it wrote", async (t) => {
  const { failures } = await runHooked(t, end("echo error >&2; echo no; exit 0"));
  assert.deepEqual(failures, []);
});

for (const [name, number] of [
  ["KILL", 9],
  ["TERM", 15],
  ["SEGV", 11],
]) {
  test(`SIG${name} of its own: reason signal, and the message has it`, async (t) => {
    const { hook, failure } = await failureOf(t, `kill -${name} $$; sleep 5`);
    assert.equal(hook.reason, "signal");
    assert.match(failure.message, new RegExp(`\\b(${number}|SIG${name})\\b`));
    assert.ok(!("output" in hook), "nothing was written");
  });
}

test("over 64 KiB: killed at once, reason output_limit; exactly 64 KiB is fine; both streams together", async (t) => {
  const mark = marker();
  const bytes = (count, to = "") => `head -c ${count} /dev/zero | tr '\\0' x ${to}`;
  const { hook } = await failureOf(t, `${bytes(65_537)}; sleep ${mark}`);
  assert.equal(hook.reason, "output_limit");
  await gone(mark);
  const both = await failureOf(t, `${bytes(40_000)}; ${bytes(40_000, ">&2")}; sleep ${mark}`);
  assert.equal(both.hook.reason, "output_limit");
  await gone(mark);
  assert.deepEqual((await runHooked(t, end(`${bytes(30_000)}; ${bytes(35_536, ">&2")}`))).failures, []);
});

test("a gigabyte on each stream: output_limit at once, memory flat, nothing left blocked", async (t) => {
  const mark = marker();
  const before = process.memoryUsage().rss;
  const flood = `head -c 1073741824 /dev/zero`;
  const { hook } = await failureOf(t, `${flood} & ${flood} >&2 & wait; sleep ${mark}`);
  assert.equal(hook.reason, "output_limit");
  assert.ok(hook.durationMs < 8_000);
  assert.ok(process.memoryUsage().rss - before < 60 * 2 ** 20);
  await gone(mark);
});

test("the output of a failure is its last 2 KiB, never cut inside a character", async (t) => {
  for (const pad of ["", "x", "xx", "xxx"]) {
    const { hook } = await failureOf(
      t,
      `printf '${pad}'; i=0; while [ $i -lt 1500 ]; do printf '—'; i=$((i+1)); done; printf end; exit 1`,
    );
    assert.ok(Buffer.byteLength(hook.output) <= 2_048, `${Buffer.byteLength(hook.output)}`);
    assert.ok(Buffer.byteLength(hook.output) > 2_030);
    assert.match(hook.output, /^—+end$/);
  }
});

test("a character whose bytes come apart is whole, bytes that are none come as U+FFFD, and none is torn at the cap", async (t) => {
  const apart = await failureOf(t, String.raw`printf '\342'; sleep 0.1; printf '\200\224\377\n'; exit 1`);
  assert.equal(apart.hook.output, "—\uFFFD\n");
  const torn = await failureOf(t, "head -c 65534 /dev/zero | tr '\\0' x; printf '———'");
  assert.equal(torn.hook.reason, "output_limit");
  assert.match(torn.hook.output, /^x+$/);
});

/** Secrets are put together here, so that none stands in this file. */
const LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789";
const SECRETS = {
  "a key": `sk-ant-${LETTERS}`,
  "a GitHub token": `ghp_${LETTERS}`,
  "a bearer token": "Authorization: Bearer abcdefghijklmnop.qrstuvwxyz",
  "an assignment": "API_TOKEN=hunter2hunter2",
  "a password in a URL": "https://me:hunter2hunter2@example.com/",
};
for (const [name, text] of Object.entries(SECRETS)) {
  test(`${name} in the output or the command is masked in the diagnostic`, async (t) => {
    const secret = /(sk-ant-\S+|ghp_\S+|abcdefghijklmnop\.\S+|hunter2hunter2)/.exec(text)[0];
    const { failure } = await failureOf(t, `echo '${text}'; exit 1`);
    assert.ok(!JSON.stringify(failure).includes(secret), JSON.stringify(failure));
    assert.match(failure.hook.output, /redacted/);
  });
}

test("a secret that the cut at 2 KiB would halve is masked, or not shown", async (t) => {
  const key = `sk-ant-${LETTERS}`;
  for (const after of [2_005, 2_015, 2_025, 2_035, 2_042]) {
    const { failure } = await failureOf(t, `printf 'key ${key} '; head -c ${after} /dev/zero | tr '\\0' '.'; exit 1`);
    assert.ok(!JSON.stringify(failure).includes("wxyz0123456789"), failure.hook.output.slice(0, 60));
  }
});

test("a redactor that throws lets nothing through that the default one masks", async (t) => {
  const redact = () => {
    throw new Error("broken");
  };
  const { failure, stream } = await failureOf(t, `echo 'sk-ant-${LETTERS}'; exit 1`, { redact });
  assert.ok(!JSON.stringify([failure, ...stream]).includes(LETTERS));
});

test("the redactor of the host is the one that masks", async (t) => {
  const mask = (value) => (typeof value === "string" ? value.replaceAll("plum", "#") : value);
  const redact = (value) =>
    typeof value === "object" && value !== null ? JSON.parse(mask(JSON.stringify(value))) : mask(value);
  const { failure } = await failureOf(t, "echo plum; exit 1", { redact });
  assert.equal(failure.hook.output, "#\n");
  assert.ok(!JSON.stringify(failure).includes("plum"), JSON.stringify(failure));
});

test("a workdir that is gone: reason spawn, and the message names it", async (t) => {
  const made = await hookAgent(t, { project: { "run:end": [{ command: "true" }] } });
  renameSync(made.workdir, `${made.workdir}-moved`);
  await made.agent.send("go");
  const [failure] = hookFailures(made.heard);
  assert.equal(failure.hook.reason, "spawn");
  assert.ok(failure.message.includes(made.workdir), failure.message);
});

test("a workdir that is a file by now: reason spawn, and the message names it", async (t) => {
  const made = await hookAgent(t, { project: { "run:end": [{ command: "true" }] } });
  renameSync(made.workdir, `${made.workdir}-moved`);
  writeFileSync(made.workdir, "");
  await made.agent.send("go");
  const [failure] = hookFailures(made.heard);
  assert.equal(failure.hook.reason, "spawn");
  assert.ok(failure.message.includes(made.workdir), failure.message);
});

if (process.getuid() !== 0) {
  test("a workdir that may not be entered: reason spawn", async (t) => {
    const made = await hookAgent(t, { project: { "run:end": [{ command: "true" }] } });
    chmodSync(made.workdir, 0);
    await made.agent.send("go");
    chmodSync(made.workdir, 0o755);
    const [failure] = hookFailures(made.heard);
    assert.equal(failure.hook.reason, "spawn");
  });
}

test("memory over bash.memoryBytes: killed, reason memory_limit", async (t) => {
  const mark = marker();
  const hog = `${process.execPath} -e 'const a = []; for (;;) a.push(Buffer.alloc(1e6, 1))' ${mark}`;
  const { hook } = await failureOf(t, `(${hog}); sleep ${mark}`, { bash: { memoryBytes: 150_000_000 } });
  assert.equal(hook.reason, "memory_limit");
  await gone(mark);
});

test("bash.timeoutMs and bash.maxOutputBytes are not the hooks'", async (t) => {
  const { failures } = await runHooked(t, {
    ...end("sleep 0.3; head -c 60000 /dev/zero"),
    bash: { timeoutMs: 50, maxOutputBytes: 10 },
  });
  assert.deepEqual(failures, []);
});

test("a background child that holds the pipe: the command is over at once, without a failure, and the child is gone", async (t) => {
  const mark = marker();
  const { failures } = await runHooked(t, end(`sleep ${mark} & exit 0`));
  assert.deepEqual(failures, []);
  await gone(mark);
  const failing = await failureOf(t, `setsid sleep ${mark} & exit 3`);
  assert.deepEqual([failing.hook.reason, failing.hook.exitCode], ["exit", 3]);
  await gone(mark);
});

test("a failure of tool commands changes neither the tool's result, nor its status for the next, nor the calls", async (t) => {
  let calls = 0;
  const made = await runHooked(t, {
    project: { "tool:start": [{ command: "exit 1" }], "tool:end": [{ command: "exit 1" }, { command: "cat > seen" }] },
    calls: [call()],
    tools: [plainTool("work", () => `worked ${(calls += 1)}`)],
  });
  assert.deepEqual(made.reasons, ["exit", "exit"]);
  assert.equal(calls, 1);
  const [event] = made.events("seen");
  assert.deepEqual([event.status, event.result.content, "error" in event], ["completed", "worked 1", false]);
});

test("a failure of commands at the end of a failed run leaves the error that it failed with", async (t) => {
  const thrown = new Error("the provider broke");
  const made = await runHooked(t, { ...end("cat > seen; exit 1"), model: scriptedModel([{ error: thrown }]) });
  assert.equal(made.error, thrown);
  assert.deepEqual(made.reasons, ["exit"]);
  const [event] = made.events("seen");
  assert.deepEqual(
    [event.status, event.error, "result" in event],
    ["failed", { name: "Error", message: "the provider broke" }, false],
  );
});

test("each of many failures has one diagnostic, in order, with its place", async (t) => {
  const made = await hookAgent(t, {
    global: { "run:end": [{ command: "exit 1" }, { command: "true" }] },
    project: { "run:end": [{ command: "exit 2" }] },
  });
  made.agent.hook("run:end", () => {
    throw new Error("three");
  });
  await made.agent.send("go");
  assert.deepEqual(
    hookFailures(made.heard).map(({ hook }) => [hook.index, hook.source, hook.reason, hook.exitCode, hook.configFile]),
    [
      [0, "global", "exit", 1, made.globalFile],
      [2, "project", "exit", 2, made.projectFile],
      [3, "programmatic", "error", undefined, undefined],
    ],
  );
});

test("after break, the failure of a command is told to subscribe() alone", async (t) => {
  const made = await hookAgent(t, end("exit 4"));
  for await (const event of made.agent.run("go")) if (event.type === "turn_start") break;
  assert.deepEqual(
    hookFailures(made.heard).map(({ hook }) => hook.exitCode),
    [4],
  );
  assert.ok(existsSync(join(made.workdir, "after")));
});
