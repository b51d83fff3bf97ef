// The type of result.output under zod, valibot and arktype. Knows the compiler, and libraries.ts beside it.
import { test } from "node:test";
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const folder = dirname(fileURLToPath(import.meta.url));
const typescript = createRequire(import.meta.url).resolve("typescript/package.json");
const OPTIONS = [
  "--noEmit",
  "--strict",
  "--exactOptionalPropertyTypes",
  "--skipLibCheck",
  ...["--target", "es2022", "--module", "nodenext", "--moduleResolution", "nodenext"],
  ...["--types", "node", "--lib", "es2022,esnext.disposable"],
];

test("a library's schema types result.output, transforms and defaults included", async () => {
  const words = [join(dirname(typescript), "bin", "tsc"), ...OPTIONS, join(folder, "libraries.ts")];
  const problems = await new Promise((resolve) => {
    execFile(process.execPath, words, { cwd: dirname(dirname(folder)) }, (error, stdout, stderr) =>
      resolve(error === null ? "" : `exit code ${error.code}\n${stdout}${stderr}`),
    );
  });
  assert.equal(problems, "", problems);
});
