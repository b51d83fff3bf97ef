// A process whose current directory was removed: what is absolute works, hooks.json and its commands included, and what is
// relative is refused by name. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { hookFolder } from "./hooked.mjs";

const MAIN = `
  import { mkdirSync, rmdirSync } from "node:fs";
  const { AgentError, createLiteAgent, fakeProvider, fileCheckpointer, policy, resolveProjectPaths, sqliteCheckpointer } =
    await import(process.env.INDEX);
  const { WORKDIR: workdir, HOME_FOLDER: home, GONE: gone } = process.env;
  mkdirSync(gone);
  process.chdir(gone);
  rmdirSync(gone);
  const model = fakeProvider([{ message: { role: "assistant", content: [{ type: "text", text: "Hi." }] } }]);
  const agent = createLiteAgent({ model, workdir, home, permission: policy() });
  await agent.send("go");
  await agent.close();
  const refused = {};
  const attempt = (name, make) => {
    try {
      make();
    } catch (error) {
      refused[name] = [error instanceof AgentError, error.name, error.message];
    }
  };
  attempt("workdir", () => createLiteAgent({ model, home, workdir: "." }));
  attempt("home", () => createLiteAgent({ model, workdir, home: "home" }));
  attempt("agentsDir", () => createLiteAgent({ model, workdir, home, agentsDir: "agents" }));
  attempt("resolveProjectPaths", () => resolveProjectPaths({ workdir: "." }));
  attempt("fileCheckpointer", () => fileCheckpointer({ dir: "sessions" }));
  attempt("sqliteCheckpointer", () => sqliteCheckpointer({ file: "sessions.db" }));
  process.env.LITE_AGENT_HOME = "home";
  attempt("LITE_AGENT_HOME", () => createLiteAgent({ model, workdir }));
  console.log(JSON.stringify(refused));
`;

test("without a current directory hooks.json is read and its commands run; relative paths are a ConfigError by name", async (t) => {
  const made = await hookFolder(t, { project: { "run:end": [{ command: "pwd > where" }] } });
  const env = {
    ...process.env,
    INDEX: new URL("../../index.js", import.meta.url).href,
    WORKDIR: made.workdir,
    HOME_FOLDER: made.home,
    GONE: join(made.home, "gone"),
  };
  const said = execFileSync(process.execPath, ["--input-type=module", "-e", MAIN], { env, encoding: "utf8" });
  assert.equal(made.read("where"), `${made.workdir}\n`);
  assert.ok(!existsSync(env.GONE));
  const refused = JSON.parse(said);
  const names = ["workdir", "home", "agentsDir", "workdir", "fileCheckpointer: dir", "sqliteCheckpointer: file"];
  assert.deepEqual(
    Object.values(refused).map(([isAgentError, name, message]) => [isAgentError, name, message.split(" must be ")[0]]),
    [...names, "LITE_AGENT_HOME"].map((name) => [true, "ConfigError", name]),
  );
  for (const [, , message] of Object.values(refused)) assert.match(message, /no current directory/);
});
