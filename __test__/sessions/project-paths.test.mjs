// resolveProjectPaths: where what belongs to a project is kept. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, symlinkSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, isAbsolute, join, relative } from "node:path";
import { resolveProjectPaths } from "../../index.js";
import { temporaryFolder } from "../support/model.mjs";

test("sessions are under <home>/projects/<hash>/sessions, tasks beside them, and nothing is made", async (t) => {
  const { workdir, home } = await temporaryFolder(t);
  const paths = resolveProjectPaths({ workdir, home });
  assert.equal(paths.home, home);
  assert.match(paths.hash, /^[A-Za-z0-9_-]+$/);
  assert.equal(paths.sessionsDir, join(home, "projects", paths.hash, "sessions"));
  assert.equal(dirname(paths.tasksDir), join(home, "projects", paths.hash));
  assert.notEqual(paths.tasksDir, paths.sessionsDir);
  assert.deepEqual(Object.keys(paths).sort(), ["hash", "home", "sessionsDir", "tasksDir"]);
  assert.deepEqual(readdirSync(home), []);
});

test("the same folder has the same hash, however it is written; another has another", async (t) => {
  const { root, workdir, home } = await temporaryFolder(t);
  const { hash } = resolveProjectPaths({ workdir, home });
  for (const same of [`${workdir}/`, join(workdir, "."), `${workdir}/../work`, relative(process.cwd(), workdir)]) {
    assert.equal(resolveProjectPaths({ workdir: same, home }).hash, hash, same);
  }
  symlinkSync(workdir, join(root, "link"));
  assert.equal(resolveProjectPaths({ workdir: join(root, "link"), home }).hash, hash);
  const hashes = new Set([hash]);
  for (let index = 0; index < 50; index += 1) {
    const other = join(root, `other-${index}`);
    mkdirSync(other);
    hashes.add(resolveProjectPaths({ workdir: other, home }).hash);
  }
  assert.equal(hashes.size, 51);
});

test("the hash does not depend on the home", async (t) => {
  const { root, workdir, home } = await temporaryFolder(t);
  assert.equal(
    resolveProjectPaths({ workdir, home }).hash,
    resolveProjectPaths({ workdir, home: join(root, "elsewhere") }).hash,
  );
  assert.ok(!existsSync(join(root, "elsewhere")));
});

test("without a home it is LITE_AGENT_HOME, else .lite-agent in the user's", async (t) => {
  const { workdir, home } = await temporaryFolder(t);
  const before = process.env.LITE_AGENT_HOME;
  try {
    process.env.LITE_AGENT_HOME = home;
    assert.equal(resolveProjectPaths({ workdir }).home, home);
    assert.equal(resolveProjectPaths({ workdir, home: undefined }).home, home);
    delete process.env.LITE_AGENT_HOME;
    assert.equal(resolveProjectPaths({ workdir }).home, join(homedir(), ".lite-agent"));
  } finally {
    if (before === undefined) delete process.env.LITE_AGENT_HOME;
    else process.env.LITE_AGENT_HOME = before;
  }
});

test("relative paths resolve against the current folder, so that all that is given back is absolute", () => {
  const paths = resolveProjectPaths({ workdir: ".", home: "some/home" });
  for (const name of ["home", "sessionsDir", "tasksDir"]) assert.ok(isAbsolute(paths[name]), name);
  assert.equal(paths.home, join(process.cwd(), "some/home"));
});

test("options that are none are refused in words", () => {
  for (const given of [undefined, null, "dir", {}, { workdir: 5 }, { workdir: "" }, { workdir: ".", home: 5 }]) {
    assert.throws(
      () => resolveProjectPaths(given),
      (error) => error instanceof TypeError || error.name === "ConfigError",
      JSON.stringify(given),
    );
  }
});
