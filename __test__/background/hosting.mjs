// Hosts of their own whose agent has a background command: for what only the end of a whole process can show. Knows the
// public face only, by its address.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const packageAddress = new URL("../../index.js", import.meta.url).href;
const supportAddress = new URL("../support/model.mjs", import.meta.url).href;

/** A folder of the test's own, which a host that is killed cannot remove itself. */
export function folderFor(t) {
  const folder = mkdtempSync(join(tmpdir(), "lite-agent-host-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A script that starts `command` in the background, as `globalThis.agent`, and goes idle. */
export function hostScript(folder, command) {
  const call = { id: "1", name: "bash", input: { command, run_in_background: true } };
  return `(async () => {
    const lite = await import(${JSON.stringify(packageAddress)});
    const support = await import(${JSON.stringify(supportAddress)});
    globalThis.agent = lite.createLiteAgent({
      workdir: ${JSON.stringify(folder)}, home: ${JSON.stringify(join(folder, "home"))}, sessions: false,
      permission: lite.policy(), model: support.scriptedModel([{ calls: [${JSON.stringify(call)}] }, { text: "ok" }]),
    });
    await agent.send("go").catch(() => {});
  })();`;
}

/** A Node process with that script, which does `then` when it is written to. */
export function startHost(t, command, { then = "" } = {}) {
  const { NODE_TEST_CONTEXT: _, NODE_OPTIONS: __, ...env } = process.env;
  const script = `process.stdin.once("data", () => { ${then} });\n${hostScript(folderFor(t), command)}`;
  const host = spawn(process.execPath, ["--eval", script], { env, stdio: ["pipe", "ignore", "ignore"] });
  t.after(() => host.kill("SIGKILL"));
  return host;
}

/** A script for `runChild` whose agent starts `command` in the background and prints the answer as JSON. */
export const childScript = (command, { config = "{}", after = "" } = {}) => `
  const call = { id: "1", name: "bash", input: { command: ${JSON.stringify(command)}, run_in_background: true } };
  const agent = makeAgent({ sessions: false, permission: lite.policy(), ...${config},
    model: support.scriptedModel([{ calls: [call] }, { text: "ok" }]) });
  agent.hook("tool:end", ({ result }) => console.log(JSON.stringify(result.content)));
  await agent.send("go");
  ${after}`;
