// A package whose supervisor is missing or cannot be started: commands say so, with the place, and nothing runs without
// it. Knows which files the package has.
import { before, after, test } from "node:test";
import assert from "node:assert/strict";
import { copyFile, cp, link, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { collect, scriptedModel, temporaryFolder } from "../support/model.mjs";
import { bashCall } from "./bashing.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
const ADDON = "lite-agent.linux-x64-gnu.node";
const SUPERVISOR = "lite-agent-supervisor";

let folder;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "lite-agent-copy-"));
});
after(() => rm(folder, { recursive: true, force: true }));

/** A copy of the package without its supervisor. The addon is linked where it can be: it is large. */
async function copied(name) {
  const place = join(folder, name);
  await mkdir(place);
  for (const entry of ["index.js", "package.json", "lib", "schema"]) {
    await cp(join(root, entry), join(place, entry), { recursive: true });
  }
  await link(join(root, ADDON), join(place, ADDON)).catch(() => copyFile(join(root, ADDON), join(place, ADDON)));
  assert.ok(!(await readdir(place)).includes(SUPERVISOR));
  return { place, lite: await import(join(place, "index.js")) };
}

/** One command with this copy of the package: its result. */
async function attemptBash(t, lite) {
  const { workdir, home } = await temporaryFolder(t);
  const model = scriptedModel([{ calls: [bashCall("touch ran")] }, { text: "done" }]);
  const agent = lite.createLiteAgent({ workdir, home, model, sessions: false, permission: lite.policy() });
  const { events, result } = await collect(agent.run("go"));
  await agent.close();
  assert.equal(existsSync(join(workdir, "ran")), false);
  assert.equal(result.text, "done", "the run goes on");
  const bash = events.find(({ type }) => type === "tool_result").result;
  assert.equal(bash.isError, true);
  return bash.content;
}

/** One hook command with this copy of the package: what is said of it, when the agent is made or in the run. */
async function attemptHook(t, lite) {
  const { workdir, home } = await temporaryFolder(t);
  await mkdir(join(workdir, ".lite-agent"));
  const hooks = { "run:start": [{ command: "touch hooked" }] };
  await writeFile(join(workdir, ".lite-agent", "hooks.json"), JSON.stringify({ version: 1, hooks }));
  let said;
  try {
    const model = scriptedModel([{ text: "done" }]);
    const agent = lite.createLiteAgent({ workdir, home, model, sessions: false, permission: lite.policy() });
    const { events } = await collect(agent.run("go"));
    await agent.close();
    const failure = events.find(({ code }) => code === "hook_failed");
    assert.ok(["spawn", "error"].includes(failure.hook.reason));
    said = failure.message;
  } catch (error) {
    if (!(error instanceof lite.ConfigError)) throw error;
    said = error.message;
  }
  assert.equal(existsSync(join(workdir, "hooked")), false);
  return said;
}

for (const [name, word, make] of [
  ["nothing", /No such file|not there|missing/, async () => {}],
  ["a folder", /no file|folder|directory/, (file) => mkdir(file)],
  ["a link to nowhere", /No such file|not there|missing/, (file) => symlink("/nowhere/at/all", file)],
  ["a file that is not executable", /execut/, (file) => writeFile(file, "", { mode: 0o644 })],
]) {
  test(`${name} in the supervisor's place: commands and hook commands fail with that place and what to do, and none runs`, async (t) => {
    const { place, lite } = await copied(name.replaceAll(" ", "-"));
    await make(join(place, SUPERVISOR));
    for (const said of [await attemptBash(t, lite), await attemptHook(t, lite)]) {
      assert.ok(said.includes(join(place, SUPERVISOR)), said);
      assert.match(said, word);
      assert.match(said, /install|build|chmod/);
    }
  });
}

for (const [name, text] of [
  ["some other program", "#!/bin/sh\nexit 0\n"],
  ["an empty file", ""],
]) {
  test(`${name} in the supervisor's place: commands and hook commands fail with a word on the supervisor, and none runs`, async (t) => {
    const { place, lite } = await copied(name.replaceAll(" ", "-"));
    await writeFile(join(place, SUPERVISOR), text, { mode: 0o755 });
    for (const said of [await attemptBash(t, lite), await attemptHook(t, lite)]) assert.match(said, /supervisor/);
  });
}

test("a package without its supervisor is fine for an agent that starts no command", async (t) => {
  const { lite } = await copied("unused");
  const { workdir, home } = await temporaryFolder(t);
  const agent = lite.createLiteAgent({ workdir, home, model: scriptedModel([{ text: "ok" }]), sessions: false });
  assert.equal((await agent.send("hi")).text, "ok");
  await agent.close();
});
