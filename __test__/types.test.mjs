// Compiles the files of types/ against the package's own declarations, as hosts of every kind would: each combination of
// module system and library checking, strict. What must not compile is marked with @ts-expect-error in those files.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const folder = join(root, "__test__", "types");
const typescript = createRequire(import.meta.url).resolve("typescript/package.json");
const compiler = join(dirname(typescript), "bin", "tsc");

const COMMON = [
  "--noEmit",
  "--strict",
  "--exactOptionalPropertyTypes",
  "--noUncheckedIndexedAccess",
  "--noPropertyAccessFromIndexSignature",
  "--target",
  "es2022",
];
const NODE = ["--types", "node", "--lib", "es2022,esnext.disposable"];
// No types beyond the library's: where the compiler would look for them, there are none.
const PLATFORM = ["--typeRoots", folder, "--lib", "es2022,dom,dom.asynciterable,esnext.disposable"];

const files = readdirSync(folder, { withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => join(folder, entry.name));
const platform = files.filter((file) => file.endsWith("platform.ts"));
const modules = files.filter((file) => file.endsWith(".ts") && !platform.includes(file));
const commonjs = files.filter((file) => file.endsWith(".cts"));

const HOSTS = [
  { title: "an ES module under nodenext", module: "nodenext", resolution: "nodenext", types: NODE, sources: modules },
  { title: "an ES module under node16", module: "node16", resolution: "node16", types: NODE, sources: modules },
  { title: "an ES module under a bundler", module: "esnext", resolution: "bundler", types: NODE, sources: modules },
  { title: "CommonJS under nodenext", module: "nodenext", resolution: "nodenext", types: NODE, sources: commonjs },
  { title: "CommonJS under node16", module: "node16", resolution: "node16", types: NODE, sources: commonjs },
  { title: "CommonJS under a bundler", module: "commonjs", resolution: "bundler", types: NODE, sources: commonjs },
  {
    title: "a host without the types of Node",
    module: "nodenext",
    resolution: "nodenext",
    types: PLATFORM,
    sources: platform,
  },
];

/** What the compiler had to say; empty when all is well. */
function compile({ module, resolution, types, sources }, skipLibCheck) {
  const options = ["--module", module, "--moduleResolution", resolution, "--skipLibCheck", String(skipLibCheck)];
  return new Promise((resolve, reject) => {
    const words = [compiler, ...COMMON, ...options, ...types, ...sources];
    execFile(process.execPath, words, { cwd: root, maxBuffer: 16 * 1024 * 1024 }, (error, stdout, stderr) => {
      if (error !== null && typeof error.code !== "number") reject(error);
      else resolve(error === null ? "" : `exit code ${error.code}\n${stdout}${stderr}`);
    });
  });
}

for (const host of HOSTS) {
  for (const skipLibCheck of [false, true]) {
    test(`the public types compile in ${host.title}, skipLibCheck ${skipLibCheck}`, async () => {
      assert.ok(host.sources.length > 0, `no type tests found in ${folder}`);
      const problems = await compile(host, skipLibCheck);
      assert.equal(problems, "", problems);
    });
  }
}

test("mistakes fail to compile, each at its place", async () => {
  const problems = await compile({ ...HOSTS[0], sources: [join(folder, "wrong", "misspelt.ts")] }, true);
  const places = problems.match(/misspelt\.ts\(\d+,\d+\): error TS\d+/g);
  assert.deepEqual(places, ["misspelt.ts(7,54): error TS2561", "misspelt.ts(8,12): error TS2345"], problems);
});
