// Permission of background commands: as of any command, before anything is started. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { bashCommand, policy, strictPolicy } from "../../index.js";
import { deferred, within } from "../support/model.mjs";
import { drivenAgent, idIn } from "./driving.mjs";

const ran = ({ workdir }) => existsSync(join(workdir, "ran"));

test("the default asks, and without a handler denies: nothing is started", async (t) => {
  const driven = drivenAgent(t, { permission: undefined });
  const { content, isError } = await driven.ask("touch ran");
  assert.equal(isError, true);
  assert.match(content, /^Error: blocked by policy/);
  await driven.close();
  assert.equal(ran(driven), false);
});

test("the handler is asked once, with the input as the model wrote it", async (t) => {
  const asked = [];
  const onApproval = { request: async (call) => (asked.push(call.input), "allow") };
  const driven = drivenAgent(t, { permission: undefined, onApproval });
  await driven.readToEnd(await driven.start("touch ran"));
  assert.deepEqual(asked, [{ command: "touch ran", run_in_background: true }]);
  assert.equal(ran(driven), true);
});

test("reading and ending a command need no approval under the default", async (t) => {
  const asked = [];
  const onApproval = { request: async ({ name }) => (asked.push(name), "allow") };
  const driven = drivenAgent(t, { permission: undefined, onApproval });
  const id = await driven.start("sleep 60");
  await driven.read(id);
  await driven.kill(id);
  assert.deepEqual(asked, ["bash"]);
});

test("an approval that is refused starts nothing, and takes no place", async (t) => {
  const onApproval = { request: async ({ input }) => (input.command === "touch ran" ? "deny" : "allow") };
  const driven = drivenAgent(t, { permission: undefined, onApproval, backgroundLimits: { maxDetached: 1 } });
  assert.equal((await driven.ask("touch ran")).isError, true);
  assert.equal((await driven.ask("true")).isError, false);
  await driven.close();
  assert.equal(ran(driven), false);
});

for (const command of ["rm kept", "true && rm kept", "true; /bin/rm kept", "echo $(rm kept)", "bash -c 'rm kept'"]) {
  test(`a bashCommand rule that denies rm holds for ${command} in the background`, async (t) => {
    const driven = drivenAgent(t, { permission: policy({ rules: [bashCommand("rm *", "deny")] }) });
    writeFileSync(join(driven.workdir, "kept"), "");
    const { content, isError } = await driven.ask(command);
    assert.equal(isError, true);
    assert.match(content, /blocked by policy/);
    await driven.close();
    assert.ok(existsSync(join(driven.workdir, "kept")));
  });
}

test("a bashCommand rule that allows a command allows it in the background", async (t) => {
  const permission = strictPolicy({ allow: ["BashOutput"], rules: [bashCommand("touch ran", "allow")] });
  const driven = drivenAgent(t, { permission });
  assert.equal((await driven.ask("touch ran; touch more")).isError, true);
  await driven.readToEnd(await driven.start("touch ran"));
  assert.equal(ran(driven), true);
});

test("a rule may look at the flag", async (t) => {
  const rules = [{ tool: "bash", when: { run_in_background: { equals: true } }, effect: "deny" }];
  const driven = drivenAgent(t, { permission: policy({ rules }) });
  assert.equal((await driven.ask("touch ran")).isError, true);
  assert.equal((await driven.call("bash", { command: "touch ran" })).isError, false);
});

test("a strict policy holds for BashOutput and KillBackground as for any tool", async (t) => {
  const driven = drivenAgent(t, { permission: strictPolicy({ allow: ["bash"] }) });
  const id = await driven.start("sleep 60");
  assert.match((await driven.read(id)).content, /blocked by policy/);
  assert.match((await driven.kill(id)).content, /blocked by policy/);
});

test("a stop while an approval is pending starts nothing, not even when it is given later", async (t) => {
  const asked = deferred();
  const answer = deferred();
  const onApproval = { request: () => (asked.resolve(), answer.promise) };
  const driven = drivenAgent(t, { permission: undefined, onApproval });
  const controller = new AbortController();
  const asking = driven.ask("touch ran", {}, { signal: controller.signal });
  await asked.promise;
  controller.abort();
  await within(Promise.allSettled([asking]), "the run");
  answer.resolve("allow");
  await driven.close();
  assert.equal(ran(driven), false);
});

test("in a dry run the command runs whatever the verdict", async (t) => {
  const driven = drivenAgent(t, { permission: policy({ deny: ["bash"] }), permissionMode: "dry-run" });
  const { content } = await driven.ask("touch ran");
  await driven.readToEnd(idIn(content));
  assert.equal(ran(driven), true);
});
