// What is published: the two tarballs hold what is needed and nothing else, and work when they are installed where there
// is no network. Packs what `npm run pack` packs.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { pack } from "../scripts/pack.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const ADDON = "lite-agent.linux-x64-gnu.node";
const SUPERVISOR = "lite-agent-supervisor";

/** The first snippet of the hooks' specification, with a scripted model, and a run before and after `removeAudit()`. */
const SNIPPET = `
async function main() {
  const audited = [];
  const saveAudit = async (entry, { signal }) => {
    signal.throwIfAborted();
    audited.push(entry);
  };
  const message = { role: "assistant", content: [{ type: "text", text: "Hello!" }] };
  const model = fakeProvider([{ message }]);
  const workdir = process.cwd();

  const agent = createLiteAgent({ model, workdir });
  const removeAudit = agent.hook("run:end", async ({ status, result, runId }, { signal }) => {
    await saveAudit({ runId, status, text: result?.text }, { signal });
  });
  agent.hook("run:end", async ({ status }) => {
    console.log(status);
  });
  await agent.send("hello");
  removeAudit();

  await agent.send("hello again");
  await agent.close();
  for (const { runId, ...entry } of audited) console.log(typeof runId, JSON.stringify(entry));
}
main();
`;
const PRINTED = ["completed", "completed", 'string {"status":"completed","text":"Hello!"}', ""].join("\n");

describe("the packages", () => {
  let folder;
  let packed;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "lite-agent-package-"));
    packed = await pack(folder);
  });
  after(() => rm(folder, { recursive: true, force: true }));

  /** Installs tarballs into an empty project; npm has no network and an empty cache. */
  async function install(name, ...words) {
    const project = join(folder, name);
    await mkdir(project);
    await writeFile(join(project, "package.json"), '{ "private": true }');
    await start("npm", ["install", "--offline", "--no-audit", "--no-fund", ...words], project);
    return project;
  }

  function start(program, words, cwd) {
    // What npm tells its scripts about the project that they belong to would lead a second npm astray.
    const inherited = Object.entries(process.env).filter(
      ([key]) => !/^(npm_|NODE_TEST_CONTEXT$|NODE_OPTIONS$)/.test(key),
    );
    const env = { ...Object.fromEntries(inherited), npm_config_cache: join(folder, "cache"), HOME: folder };
    return promisify(execFile)(program, words, { cwd, env });
  }

  async function runFile(project, name, source) {
    await writeFile(join(project, name), source);
    return start(process.execPath, ["--unhandled-rejections=strict", name], project);
  }

  it("ship what is needed and nothing else", async () => {
    const lib = await readdir(join(root, "lib"), { recursive: true });
    const scripts = lib.filter((name) => name.endsWith(".js")).map((name) => `lib/${name}`);
    const beside = ["LICENSE", "README.md", "index.d.cts", "index.d.ts", "index.js", "package.json"];
    assert.deepEqual(packed.main.files, [...beside, ...scripts, "schema/hooks.schema.json"].sort());
    assert.deepEqual(packed.platform.files, ["LICENSE", "README.md", ADDON, SUPERVISOR, "package.json"].sort());
  });

  it("depend on nothing but the native part, in the same version", async () => {
    const main = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
    const platform = JSON.parse(await readFile(join(root, "npm", "linux-x64-gnu", "package.json"), "utf8"));
    assert.equal(main.dependencies, undefined);
    assert.equal(main.peerDependencies, undefined);
    assert.deepEqual(main.optionalDependencies, { [platform.name]: main.version });
    assert.equal(platform.version, main.version);
    assert.deepEqual(platform.engines, main.engines);
    for (const hook of ["preinstall", "install", "postinstall", "prepare"]) assert.ok(!(hook in main.scripts), hook);
  });

  it("have a line in docs/dependencies.md for each dependency that they are built with", async () => {
    const text = await readFile(join(root, "docs", "dependencies.md"), "utf8");
    const { devDependencies } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
    const cargo = await readFile(join(root, "Cargo.toml"), "utf8");
    const sections = [...cargo.matchAll(/^\[(?:build-|dev-)?dependencies\]\n((?:[^[\n].*\n|\n)*)/gm)];
    const crates = sections.flatMap(([, section]) => [...section.matchAll(/^([\w-]+) = /gm)].map(([, name]) => name));
    assert.ok(crates.length > 5, `only ${crates} found in Cargo.toml`);
    const silent = [...crates, ...Object.keys(devDependencies)].filter((name) => !text.includes(`\`${name}\``));
    assert.deepEqual(silent, []);
  });

  it("install without a network, and run the first snippet by import and by require", async () => {
    const project = await install("together", packed.main.path, packed.platform.path);
    const names = "createLiteAgent, fakeProvider";
    const imported = await runFile(project, "esm.mjs", `import { ${names} } from "lite-agent";\n${SNIPPET}`);
    assert.deepEqual(imported, { stdout: PRINTED, stderr: "" });
    const required = await runFile(project, "commonjs.cjs", `const { ${names} } = require("lite-agent");\n${SNIPPET}`);
    assert.deepEqual(required, { stdout: PRINTED, stderr: "" });
    const installed = await readdir(join(project, "node_modules"));
    assert.deepEqual(installed.filter((name) => !name.startsWith(".")).sort(), ["@lite-agent", "lite-agent"]);
  });

  it("install a supervisor that is small and can be executed", async () => {
    const project = await install("supervised", packed.main.path, packed.platform.path);
    const file = join(project, "node_modules", "@lite-agent", "binding-linux-x64-gnu", SUPERVISOR);
    const { mode, size } = await stat(file);
    assert.equal(mode & 0o111, 0o111);
    assert.ok(size < 1_500_000, `${size} bytes`);
    // By hand it does nothing, and says so.
    await assert.rejects(start(file, [], project), ({ code, stderr }) => code === 2 && /is started by/.test(stderr));
  });

  it("offer nothing to import but the main entry and package.json", async () => {
    const project = await install("entries", packed.main.path, packed.platform.path);
    const { stdout } = await runFile(
      project,
      "entries.cjs",
      `console.log(require("lite-agent/package.json").name);
       for (const inner of ["lite-agent/index.js", "lite-agent/lib/native.js"]) {
         try { require(inner); } catch (error) { console.log(error.code); }
       }`,
    );
    assert.equal(stdout, "lite-agent\nERR_PACKAGE_PATH_NOT_EXPORTED\nERR_PACKAGE_PATH_NOT_EXPORTED\n");
  });

  it("say where the native part was looked for when it is missing", async () => {
    const project = await install("alone", "--omit=optional", packed.main.path);
    assert.ok(!existsSync(join(project, "node_modules", "@lite-agent", "binding-linux-x64-gnu", ADDON)));
    const script = 'import("lite-agent").catch(({ message }) => console.log(message));';
    const { stdout } = await runFile(project, "missing.cjs", script);
    assert.match(stdout, /^the native part of lite-agent is missing: /);
    assert.ok(stdout.includes(join(project, "node_modules", "lite-agent", ADDON)), stdout);
    assert.match(stdout, /the package @lite-agent\/binding-linux-x64-gnu\. .*install lite-agent again/);
  });

  it("say why a native part that is there cannot be loaded", async () => {
    const project = await install("broken", packed.main.path, packed.platform.path);
    await writeFile(join(project, "node_modules", "lite-agent", ADDON), "not a library");
    const script = 'import("lite-agent").catch(({ message, cause }) => console.log(message, cause.code));';
    const { stdout } = await runFile(project, "broken.cjs", script);
    assert.match(stdout, /^the native part of lite-agent at .*\.node cannot be loaded: .* ERR_DLOPEN_FAILED$/m);
  });
});
