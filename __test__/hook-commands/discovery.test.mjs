// Which hooks.json files are found, when, and in what order their commands run. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { chmodSync, linkSync, mkdirSync, readFileSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { ConfigError, createLiteAgent, policy, query } from "../../index.js";
import { collect, hookFailures, scriptedModel, temporaryFolder, within } from "../support/model.mjs";
import { runChild } from "../support/child.mjs";
import { call, fileOf, hookAgent, hookFolder, runHooked } from "./hooked.mjs";

const say = (word) => ({ command: `echo ${word} >> order` });

test("global commands come first, then the project's, then handlers, each in the order in which they are written", async (t) => {
  const made = await hookAgent(t, {
    global: { "run:end": [say("global-1"), say("global-2")] },
    project: { "run:start": [say("start")], "run:end": [say("project-1"), say("project-2")] },
  });
  const seen = [];
  made.agent.hook("run:end", () => void seen.push(made.lines("order")));
  await made.agent.send("go");
  assert.deepEqual(seen, [["start", "global-1", "global-2", "project-1", "project-2"]]);
});

test("one after another, each awaited: a slow command holds the next and the run", async (t) => {
  const project = {
    "run:start": [{ command: "sleep 0.3; echo slow >> order" }, say("fast")],
    "run:end": [{ command: "sleep 0.3; echo last >> order" }],
  };
  const made = await hookAgent(t, { project });
  await made.agent.send("go");
  assert.deepEqual(made.lines("order"), ["slow", "fast", "last"]);
});

test("a project cannot take global hooks away: an empty file of its own changes nothing of them", async (t) => {
  for (const project of [{}, { "run:end": [] }, { "run:end": [say("mine")] }]) {
    const { lines } = await runHooked(t, { global: { "run:end": [say("global")] }, project });
    assert.equal(lines("order")[0], "global");
  }
});

test("no file, no folder: no hooks", async (t) => {
  const { failures, result } = await runHooked(t, {});
  assert.deepEqual(failures, []);
  assert.equal(result.text, "done");
  const folder = await temporaryFolder(t);
  const agent = createLiteAgent({
    workdir: folder.workdir,
    home: join(folder.home, "not", "there"),
    model: scriptedModel([{ text: "ok" }]),
    sessions: false,
  });
  assert.equal((await agent.send("go")).text, "ok");
  await agent.close();
});

const SAME = {
  "a home inside the project": (f) => ({ home: join(f.workdir, ".lite-agent") }),
  "a symbolic link from the home": (f) => symlinkSync(f.projectFile, f.globalFile),
  "a hard link": (f) => linkSync(f.projectFile, f.globalFile),
  "a linked home": (f) => {
    symlinkSync(join(f.workdir, ".lite-agent"), join(f.root, "linked"));
    return { home: join(f.root, "linked") };
  },
  "a linked project folder": (f) => {
    writeFileSync(f.globalFile, readFileSync(f.projectFile));
    rmSync(join(f.workdir, ".lite-agent"), { recursive: true });
    symlinkSync(f.home, join(f.workdir, ".lite-agent"));
  },
};
for (const [name, make] of Object.entries(SAME)) {
  test(`one physical file under both names (${name}) loads once, as global`, async (t) => {
    const folder = await hookFolder(t, { project: { "run:end": [{ command: "echo once >> order; exit 1" }] } });
    const { home = folder.home } = make(folder) ?? {};
    const model = scriptedModel([{ text: "ok" }]);
    const agent = createLiteAgent({ workdir: folder.workdir, home, model, sessions: false, permission: policy() });
    const { events } = await collect(agent.run("go"));
    await agent.close();
    assert.deepEqual(folder.lines("order"), ["once"]);
    assert.deepEqual(
      hookFailures(events).map(({ hook }) => [hook.source, hook.configFile]),
      [["global", join(home, "hooks.json")]],
    );
  });
}

test("two files of the same text are two files", async (t) => {
  const hooks = { "run:end": [say("each")] };
  const { lines } = await runHooked(t, { global: hooks, project: hooks });
  assert.deepEqual(lines("order"), ["each", "each"]);
});

test("files are read once, when the agent is made: what is changed, broken or removed later is not seen", async (t) => {
  const made = await hookAgent(t, { project: { "run:end": [say("first")] } });
  writeFileSync(made.projectFile, fileOf({ "run:end": [say("changed")] }));
  await made.agent.send("go");
  writeFileSync(made.projectFile, "{");
  await made.agent.send("go");
  unlinkSync(made.projectFile);
  await made.agent.send("go");
  assert.deepEqual(made.lines("order"), ["first", "first", "first"]);
});

test("the home's file is that of LITE_AGENT_HOME, else of ~/.lite-agent; a home that is given goes before both", async () => {
  const script = `
    import { writeFileSync, readFileSync } from "node:fs";
    const put = (folder, word) => {
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, "hooks.json"), JSON.stringify({ version: 1, hooks: { "run:end": [{ command: "echo " + word + " >> order" }] } }));
      return folder;
    };
    process.env.HOME = join(work, "me");
    delete process.env.LITE_AGENT_HOME;
    put(join(work, "me", ".lite-agent"), "tilde");
    const variable = put(join(work, "variable"), "variable");
    const given = put(join(work, "given"), "given");
    const run = async (config) => {
      const agent = lite.createLiteAgent({ workdir: work, model: support.scriptedModel([{ text: "ok" }]), sessions: false, permission: lite.policy(), ...config });
      await agent.send("go");
      await agent.close();
    };
    await run({});
    process.env.LITE_AGENT_HOME = variable;
    await run({});
    await run({ home: given });
    console.log(readFileSync(join(work, "order"), "utf8").split("\\n").join(" ").trim());`;
  const { stdout, stderr } = await runChild(script);
  assert.deepEqual([stdout.trim(), stderr], ["tilde variable given", ""]);
});

test("hookFiles: false reads no file, not even an invalid one, and handlers work", async (t) => {
  const made = await hookAgent(t, { global: "{", project: { "run:end": [say("never")] }, hookFiles: false });
  const seen = [];
  made.agent.hook("run:end", () => void seen.push("handler"));
  await made.agent.send("go");
  assert.deepEqual(seen, ["handler"]);
  assert.equal(made.read("order"), undefined);
});

test("query() loads both files, and runs nothing where permission does not let it", async (t) => {
  const folder = await hookFolder(t, {
    global: { "run:end": [say("global")] },
    project: { "tool:end": [say("tool")], "run:end": [say("project")] },
  });
  const ask = (config) =>
    collect(
      query({
        prompt: "go",
        cwd: folder.workdir,
        home: folder.home,
        model: scriptedModel([{ calls: [call("1", "nothing")] }, { text: "ok" }]),
        sessions: false,
        ...config,
      }),
    );
  const denied = await ask({});
  assert.deepEqual(
    hookFailures(denied.events).map(({ hook }) => hook.reason),
    ["denied", "denied", "denied"],
  );
  assert.equal(folder.read("order"), undefined);
  await ask({ permission: policy() });
  assert.deepEqual(folder.lines("order"), ["tool", "global", "project"]);
  await ask({ permission: policy(), hookFiles: false });
  assert.equal(folder.lines("order").length, 3);
});

test("query() with an invalid file throws before any model is asked", async (t) => {
  const folder = await hookFolder(t, { project: "[]" });
  const model = scriptedModel([{ text: "ok" }]);
  await assert.rejects(
    async () => collect(query({ prompt: "go", cwd: folder.workdir, home: folder.home, model, sessions: false })),
    (error) => error instanceof ConfigError && error.file === folder.projectFile,
  );
  assert.equal(model.requests.length, 0);
});

test("a byte-order mark at the start is accepted, and $schema is ignored", async (t) => {
  const text = JSON.stringify({
    $schema: "https://example.com/anything",
    version: 1,
    hooks: { "run:end": [say("marked")] },
  });
  const { lines } = await runHooked(t, { project: `\uFEFF${text}` });
  assert.deepEqual(lines("order"), ["marked"]);
});

test("a relative workdir and home give absolute files in what is said of them", async (t) => {
  const folder = await hookFolder(t, {
    global: { "run:end": [{ command: "exit 1" }] },
    project: { "run:end": [{ command: "exit 2" }] },
  });
  const agent = createLiteAgent({
    workdir: relative(process.cwd(), folder.workdir),
    home: relative(process.cwd(), folder.home),
    model: scriptedModel([{ text: "ok" }]),
    sessions: false,
    permission: policy(),
  });
  const { events } = await collect(agent.run("go"));
  await agent.close();
  assert.deepEqual(
    hookFailures(events).map(({ hook }) => hook.configFile),
    [folder.globalFile, folder.projectFile],
  );
});

const UNUSABLE = {
  "a folder": (file) => mkdirSync(file),
  "a link to nowhere": (file) => symlinkSync(join(file, "..", "nowhere.json"), file),
  "a link to itself": (file) => symlinkSync(file, file),
  "a file over 256 KiB": (file) => writeFileSync(file, `${" ".repeat(256 * 1024)}{"version":1,"hooks":{}}`),
  "a file that is not UTF-8": (file) =>
    writeFileSync(file, Buffer.from('{"version":1,"hooks":{"run:end":[{"command":"echo \xe4"}]}}', "latin1")),
  "a link to a device that never ends": (file) => symlinkSync("/dev/zero", file),
  "a link to a device that is empty": (file) => symlinkSync("/dev/null", file),
  "an empty file": (file) => writeFileSync(file, ""),
  "a file in UTF-16": (file) => writeFileSync(file, Buffer.from('\uFEFF{"version":1,"hooks":{}}', "utf16le")),
};
for (const [name, make] of Object.entries(UNUSABLE)) {
  for (const which of ["projectFile", "globalFile"]) {
    test(`${name} as ${which === "projectFile" ? "the project's" : "the global"} hooks.json is a ConfigError that names it`, async (t) => {
      const folder = await hookFolder(t);
      make(folder[which]);
      assert.throws(
        () =>
          createLiteAgent({
            workdir: folder.workdir,
            home: folder.home,
            model: scriptedModel([{ text: "ok" }]),
            sessions: false,
          }),
        (error) => {
          assert.ok(error instanceof ConfigError, String(error));
          assert.ok(error.message.startsWith(`Invalid hooks configuration ${folder[which]}`), error.message);
          assert.equal(error.file, folder[which]);
          return true;
        },
      );
    });
  }
}

test("exactly 256 KiB is fine", async (t) => {
  const text = fileOf({ "run:end": [say("large")] });
  const { lines } = await runHooked(t, { project: text.padEnd(256 * 1024, " ") });
  assert.deepEqual(lines("order"), ["large"]);
});

test("a pipe in the file's place does not hang", async (t) => {
  const folder = await hookFolder(t);
  const { execFileSync } = await import("node:child_process");
  execFileSync("mkfifo", [folder.projectFile]);
  const script = `try { lite.createLiteAgent({ workdir: ${JSON.stringify(folder.workdir)}, home: ${JSON.stringify(folder.home)}, model: support.scriptedModel([{ text: "ok" }]), sessions: false }); }
    catch (error) { console.log(error.name, error.message); }`;
  const { stdout, overdue } = await within(runChild(script, { limitMs: 10_000 }), "the process", 15_000);
  assert.equal(overdue, false);
  assert.match(stdout, /^ConfigError Invalid hooks configuration/);
});

// Root reads every file.
if (process.getuid() !== 0) {
  for (const [name, hide] of [
    ["a file without permission to read", (folder) => chmodSync(folder.projectFile, 0)],
    ["a folder without permission to enter", (folder) => chmodSync(join(folder.workdir, ".lite-agent"), 0)],
  ]) {
    test(`${name} is a ConfigError that names the file`, async (t) => {
      const folder = await hookFolder(t, { project: {} });
      hide(folder);
      try {
        assert.throws(
          () =>
            createLiteAgent({
              workdir: folder.workdir,
              home: folder.home,
              model: scriptedModel([{ text: "ok" }]),
              sessions: false,
            }),
          (error) =>
            error instanceof ConfigError &&
            error.message.startsWith(`Invalid hooks configuration ${folder.projectFile}`),
        );
      } finally {
        chmodSync(join(folder.workdir, ".lite-agent"), 0o755);
      }
    });
  }
}

test("a file in the place of the .lite-agent folder is a ConfigError that names it", async (t) => {
  const folder = await hookFolder(t);
  rmSync(join(folder.workdir, ".lite-agent"), { recursive: true });
  writeFileSync(join(folder.workdir, ".lite-agent"), "");
  assert.throws(
    () =>
      createLiteAgent({
        workdir: folder.workdir,
        home: folder.home,
        model: scriptedModel([{ text: "ok" }]),
        sessions: false,
      }),
    (error) =>
      error instanceof ConfigError && error.message.startsWith(`Invalid hooks configuration ${folder.projectFile}`),
  );
});

test("a home that is the workdir has two files", async (t) => {
  const folder = await hookFolder(t, { project: { "run:end": [say("project")] } });
  writeFileSync(join(folder.workdir, "hooks.json"), fileOf({ "run:end": [say("global")] }));
  const agent = createLiteAgent({
    workdir: folder.workdir,
    home: folder.workdir,
    model: scriptedModel([{ text: "ok" }]),
    sessions: false,
    permission: policy(),
  });
  await agent.send("go");
  await agent.close();
  assert.deepEqual(folder.lines("order"), ["global", "project"]);
});
