// What a command finds around it: variables, standard input, descriptors, signals, its shell. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { runChild } from "../support/child.mjs";
import { temporaryFolder } from "../support/model.mjs";
import { bash, bashAgent, written } from "./bashing.mjs";
import { gone, marker, processesOf, processesWithVariable, sleeping } from "./processes.mjs";
import { collect } from "../support/model.mjs";
import { readFileSync } from "node:fs";

const SIX = ["PATH", "HOME", "TMPDIR", "LANG", "LC_ALL", "TERM"];
/** What a shell sets itself. */
const OF_THE_SHELL = ["PWD", "OLDPWD", "SHLVL", "_"];
const variables = (text) =>
  Object.fromEntries(
    text
      .split("\n")
      .filter((line) => line.includes("="))
      .map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]),
  );

test("a command inherits six variables by name, and nothing else of the host: no key of it", async () => {
  const host = {
    TMPDIR: "/tmp",
    LANG: "C.UTF-8",
    LC_ALL: "C",
    TERM: "dumb",
    ANTHROPIC_API_KEY: "sk-ant-secret",
    OPENAI_API_KEY: "sk-secret",
    AWS_SECRET_ACCESS_KEY: "secret",
    NODE_EXTRA_CA_CERTS: "",
    LD_LIBRARY_PATH: "/nowhere",
    LITE_AGENT_HOME: "/tmp",
    LC_TIME: "C",
    USER: "somebody",
  };
  const script = `
    const agent = makeAgent({
      sessions: false, permission: lite.policy(),
      model: support.scriptedModel([{ calls: [{ id: "1", name: "bash", input: { command: "env" } }] }, { text: "ok" }]),
    });
    agent.hook("tool:end", ({ result }) => console.log(result.content));
    process.env.LANG = "changed.after.the.agent";
    await agent.send("go");
    await agent.close();`;
  const { stdout, stderr, code } = await runChild(script, { env: host });
  assert.deepEqual([code, stderr], [0, ""]);
  const seen = variables(stdout);
  for (const name of OF_THE_SHELL) delete seen[name];
  const expected = {
    PATH: process.env.PATH,
    HOME: process.env.HOME,
    TMPDIR: "/tmp",
    LANG: "C.UTF-8",
    LC_ALL: "C",
    TERM: "dumb",
  };
  assert.deepEqual(
    Object.keys(seen).sort(),
    Object.keys(expected)
      .filter((name) => expected[name] !== undefined)
      .sort(),
  );
  for (const name of SIX) assert.equal(seen[name], expected[name], name);
});

test("bash.env replaces all of it, undefined members left out, and is read once", async (t) => {
  const env = { PATH: process.env.PATH, ONE: "1 \u00e4\n2", TWO: undefined, EMPTY: "" };
  const { agent, ends } = await bashAgent(t, [`${process.execPath} -p 'JSON.stringify(process.env)'`], {
    bash: { env },
  });
  env.THREE = "3";
  env.ONE = "changed";
  await collect(agent.run("go"));
  const seen = JSON.parse(written(ends[0].result.content));
  for (const name of OF_THE_SHELL) delete seen[name];
  assert.deepEqual(seen, { PATH: process.env.PATH, ONE: "1 \u00e4\n2", EMPTY: "" });
});

test("an empty bash.env gives nothing, not even PATH", async (t) => {
  const { content } = await bash(t, "/usr/bin/env", { bash: { env: {} } });
  const seen = variables(written(content));
  for (const name of OF_THE_SHELL) delete seen[name];
  assert.deepEqual(seen, {});
});

test("standard input is at its end", async (t) => {
  const { content } = await bash(t, "cat; echo end $?; read x || echo nothing");
  assert.equal(written(content), "end 0\nnothing\n");
});

test("a command has no descriptor above 2", async (t) => {
  const { content } = await bash(
    t,
    "for f in /proc/$$/fd/*; do n=${f##*/}; [ $n -le 2 ] || readlink $f; done; echo over",
  );
  assert.equal(written(content).replace(/^\/proc\/\d+\/fd\n|^.*(?=over)/s, ""), "over\n");
});

test("a command starts with every signal at its default, SIGPIPE included", async (t) => {
  const { content } = await bash(t, "grep -E 'Sig(Ign|Blk)' /proc/self/status; yes | head -1; echo ${PIPESTATUS[0]}");
  assert.match(content, /SigBlk:\t0{16}\nSigIgn:\t0{16}\ny\n141\n/);
});

test("a command is a child as any other: same user, same mounts, no no_new_privs", async (t) => {
  const { content } = await bash(t, "grep NoNewPrivs /proc/self/status; id -u; readlink /proc/self/ns/pid");
  const own = readFileSync("/proc/self/status", "utf8").match(/NoNewPrivs:\t\d/)[0];
  assert.match(content, new RegExp(`^${own}\\n${process.getuid()}\\npid:`));
});

test("the command's text and variables are in nobody's arguments or environment but its own", async (t) => {
  const mark = marker();
  const secret = `secret${marker()}`;
  const controller = new AbortController();
  const { agent } = await bashAgent(t, [`sleep ${mark}; true ${mark}`], {
    bash: { env: { PATH: process.env.PATH, SECRET: secret } },
  });
  const running = agent.send("go", { signal: controller.signal });
  await sleeping(mark);
  assert.deepEqual(
    processesOf(mark).filter((line) => !/^\d+ (\S*\/)?(bash -c|sleep) /.test(line)),
    [],
  );
  const names = processesWithVariable(secret).map((pid) => readFileSync(`/proc/${pid}/comm`, "utf8").trim());
  assert.deepEqual(names.sort(), ["bash", "sleep"]);
  controller.abort();
  await running;
  await gone(mark);
});

test("where PATH has no bash, the usual folders' is taken", async (t) => {
  const { root } = await temporaryFolder(t);
  await mkdir(join(root, "bin"));
  await symlink("/bin/echo", join(root, "bin", "echo"));
  const { content } = await bash(t, "echo ${BASH_VERSION:+bash}", { bash: { env: { PATH: join(root, "bin") } } });
  assert.equal(written(content), "bash\n");
});

test("a bash that PATH puts first is the one that runs", async (t) => {
  const { root } = await temporaryFolder(t);
  await mkdir(join(root, "bin"));
  await symlink("/bin/echo", join(root, "bin", "bash"));
  const { content } = await bash(t, "hello", { bash: { env: { PATH: `${join(root, "bin")}:${process.env.PATH}` } } });
  assert.match(content, /^-c hello\n/);
});

test("a host whose own standard streams are closed runs commands all the same", async (t) => {
  const script = `
    import { closeSync, writeFileSync } from "node:fs";
    closeSync(0);
    const agent = makeAgent({
      sessions: false, permission: lite.policy(),
      model: support.scriptedModel([{ calls: [{ id: "1", name: "bash", input: { command: "cat; echo fine; echo err >&2" } }] }, { text: "ok" }]),
    });
    agent.hook("tool:end", ({ result }) => console.log(JSON.stringify(result.content)));
    await agent.send("go");
    await agent.close();`;
  const { stdout, stderr, code } = await runChild(script);
  assert.deepEqual([code, stderr], [0, ""]);
  assert.match(JSON.parse(stdout), /^fine\nerr\n/);
});
