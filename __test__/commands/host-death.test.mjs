// A host that ends in the middle of a command takes the command's whole tree along, however it ends. Knows the public
// face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { Worker } from "node:worker_threads";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { within } from "../support/waiting.mjs";
import { gone, marker, processesOf, sleeping } from "./processes.mjs";

const packageAddress = new URL("../../index.js", import.meta.url).href;
const supportAddress = new URL("../support/model.mjs", import.meta.url).href;

/** A tree with a shell that ignores TERM, a session of its own, and a double fork. */
const tree = (mark) =>
  `trap '' TERM HUP INT; setsid sleep ${mark} & (setsid sh -c 'trap "" TERM HUP; sleep ${mark} & wait' >/dev/null 2>&1 &) ; sleep ${mark}`;

/** A script that starts the tree through bash, or through a hook of a file, in `folder`. */
function hostScript(folder, mark, through) {
  const hook = JSON.stringify({ version: 1, hooks: { "run:start": [{ command: tree(mark), timeoutMs: 120_000 }] } });
  return `(async () => {
    const lite = await import(${JSON.stringify(packageAddress)});
    const support = await import(${JSON.stringify(supportAddress)});
    const { mkdirSync, writeFileSync } = await import("node:fs");
    mkdirSync(${JSON.stringify(join(folder, ".lite-agent"))}, { recursive: true });
    ${through === "hook" ? `writeFileSync(${JSON.stringify(join(folder, ".lite-agent", "hooks.json"))}, ${JSON.stringify(hook)});` : ""}
    const call = { id: "1", name: "bash", input: { command: ${JSON.stringify(tree(mark))} } };
    globalThis.agent = lite.createLiteAgent({
      workdir: ${JSON.stringify(folder)}, home: ${JSON.stringify(join(folder, "home"))}, sessions: false, permission: lite.policy(),
      model: support.scriptedModel([${through === "hook" ? "" : "{ calls: [call] }, "}{ text: "ok" }]),
    });
    agent.send("go").catch(() => {});
  })();`;
}

const folderFor = (t) => {
  const folder = mkdtempSync(join(tmpdir(), "lite-agent-host-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
};

function startHost(t, folder, mark, { through = "bash", then = "", how = {} } = {}) {
  const { NODE_TEST_CONTEXT: _, NODE_OPTIONS: __, ...env } = process.env;
  const script = `process.stdin.once("data", () => { ${then} });\n${hostScript(folder, mark, through)}`;
  const host = spawn(process.execPath, ["--eval", script], { env, stdio: ["pipe", "ignore", "ignore"], ...how });
  t.after(() => host.kill("SIGKILL"));
  return host;
}

/** Only what came from the command: the host's own arguments hold its script. */
const goneButHost = (mark, host) =>
  gone(mark).catch((error) => {
    const left = processesOf(mark).filter((line) => !line.startsWith(`${host.pid} `));
    if (left.length > 0) throw error;
  });

const deaths = {
  "process.exit()": "process.exit(0)",
  "process.exit() right after close() was called": "agent.close(); process.exit(0)",
  "an uncaught error": "throw new Error('on purpose')",
  "process.abort()": "process.abort()",
  "a SIGTERM": "process.kill(process.pid, 'SIGTERM')",
};
for (const [name, then] of Object.entries(deaths)) {
  test(`${name} in the middle of a command: the whole tree is gone`, async (t) => {
    const mark = marker();
    const host = startHost(t, folderFor(t), mark, { then });
    await sleeping(mark, 3);
    const exited = once(host, "exit");
    host.stdin.write("now\n");
    await within(exited, "the host's end");
    await gone(mark);
  });
}

for (const through of ["bash", "hook"]) {
  test(`SIGKILL of the host in the middle of a command of ${through}: the whole tree is gone`, async (t) => {
    const mark = marker();
    const host = startHost(t, folderFor(t), mark, { through });
    await sleeping(mark, 3);
    const exited = once(host, "exit");
    host.kill("SIGKILL");
    await within(exited, "the host's end");
    await gone(mark);
  });
}

test("SIGKILL of a host at any moment while a command starts leaves nothing", async (t) => {
  const marks = [];
  for (let round = 0; round < 4; round += 1) {
    const mark = marker();
    marks.push(mark);
    const host = startHost(t, folderFor(t), mark, {
      then: "",
    });
    const exited = once(host, "exit");
    // From before the command is there to after it is.
    const begin = performance.now();
    while (processesOf(mark).length < 2 && performance.now() - begin < 20_000)
      await new Promise((resolve) => setImmediate(resolve));
    await new Promise((resolve) => setTimeout(resolve, 2 * round));
    host.kill("SIGKILL");
    await within(exited, "the host's end");
    await goneButHost(mark, host);
  }
  for (const mark of marks) await gone(mark);
});

test("a host in a process group that is signalled dies alone: commands get no signal of the terminal", async (t) => {
  const mark = marker();
  const host = startHost(t, folderFor(t), mark, {
    how: { detached: true },
    then: "agent.close().then(() => process.exit(0))",
  });
  await sleeping(mark, 3);
  process.kill(-host.pid, "SIGWINCH");
  const exited = once(host, "exit");
  host.stdin.write("now\n");
  const [code, signal] = await within(exited, "the host's end");
  assert.deepEqual([code, signal], [0, null]);
  await gone(mark);
});

for (const through of ["bash", "hook"]) {
  test(`a worker thread that is terminated in the middle of a command of ${through} takes the tree along, and the process lives`, async (t) => {
    const mark = marker();
    const worker = new Worker(hostScript(folderFor(t), mark, through), { eval: true });
    const failures = [];
    worker.on("error", (error) => failures.push(error));
    await sleeping(mark, 3);
    await within(worker.terminate(), "terminate()");
    assert.deepEqual(failures, []);
    await gone(mark);
  });
}

test("a worker thread that ends by process.exit() in the middle of a command takes the tree along", async (t) => {
  const mark = marker();
  const script = `require("node:worker_threads").parentPort.once("message", () => process.exit(0));\n${hostScript(folderFor(t), mark, "bash")}`;
  const worker = new Worker(script, { eval: true });
  const exited = once(worker, "exit");
  await sleeping(mark, 3);
  worker.postMessage("now");
  await within(exited, "the worker's end");
  await gone(mark);
});
