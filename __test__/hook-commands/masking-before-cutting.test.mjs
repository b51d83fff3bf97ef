// A redactor of the host sees what commands wrote, and the commands themselves, before anything is cut: no part of a secret
// is left at a cut. And permission of end hooks that never comes does not hold up close(). Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createLiteAgent, policy } from "../../index.js";
import { scriptedModel, temporaryFolder, within } from "../support/model.mjs";

const SECRET = `own-${"7".repeat(40)}`;
const redact = (value) => (typeof value === "string" ? value.replaceAll(SECRET, "[mine]") : value);

async function failingWith(t, command, config) {
  const { workdir, home } = await temporaryFolder(t);
  mkdirSync(join(workdir, ".lite-agent"));
  const hooks = { "run:end": [{ command, timeoutMs: 300 }] };
  writeFileSync(join(workdir, ".lite-agent", "hooks.json"), JSON.stringify({ version: 1, hooks }));
  const agent = createLiteAgent({ workdir, home, model: scriptedModel([{ text: "ok" }]), ...config });
  t.after(() => within(agent.close(), "close() after the test"));
  const told = [];
  agent.subscribe(({ event }) => {
    if (event.code === "hook_failed") told.push(event);
  });
  return { agent, told };
}

for (const [name, command] of Object.entries({
  "at the end of the output's last 2 KiB": `printf '%s' '${SECRET}'; head -c 2028 /dev/zero | tr '\\0' x; exit 3`,
  "in the last line, across the quoted 200 characters": `printf '%s' '${"y".repeat(180)}${SECRET}'; exit 3`,
  "in the command, across the quoted 200 characters": `exit 3 # ${"z".repeat(170)}${SECRET}`,
})) {
  test(`no part of a secret that the host masks is told: ${name}`, async (t) => {
    const { agent, told } = await failingWith(t, command, { permission: policy(), redact });
    await agent.send("go");
    assert.equal(told.length, 1);
    assert.doesNotMatch(JSON.stringify(told[0]), /7{4}/);
  });
}

test("close() does not wait for ever for a policy that never decides about an end hook", async (t) => {
  const check = ({ name }) => (name === "hook" ? new Promise(() => {}) : "allow");
  const { agent, told } = await failingWith(t, "true", { permission: { check } });
  agent.send("go").catch(() => {});
  await within(agent.close(), "close()", 10_000);
  assert.equal(told.length, 1);
  assert.equal(told[0].hook.reason, "denied");
  assert.match(told[0].message, /300 ms/);
});
