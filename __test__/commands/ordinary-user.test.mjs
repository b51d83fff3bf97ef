// The tests of commands, in the background too, and of hook commands again as an ordinary user, where they were started as root: what the system
// lets root do hides what it refuses to others.
import { test } from "node:test";
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { chownSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const NOBODY = 65534;
const long = process.env.LITE_AGENT_LONG === "1";
/** What is about the user, or about trees, which differ between users; the rest in the long round. */
const FILES = {
  "../commands": ["stopping", "many", ...(long ? ["environment", "host-death", "limits", "sandbox", "hosts"] : [])],
  "../background": ["killing", ...(long ? ["closing", "ending", "host-death", "many", "starting", "timeouts"] : [])],
  "../hook-commands": ["discovery", "failures", ...(long ? ["deadlines", "cancellation", "stress"] : [])],
};
const own = fileURLToPath(new URL(".", import.meta.url));
const files = Object.entries(FILES).flatMap(([folder, names]) =>
  names.map((name) => join(own, folder, `${name}.test.mjs`)),
);

/** Runs Node with these words as a user without any right. */
function runAsNobody(words, env) {
  const { NODE_TEST_CONTEXT: _, NODE_OPTIONS: __, ...inherited } = process.env;
  const user = [`--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups", "--inh-caps=-all", "--bounding-set=-all"];
  return new Promise((resolve) => {
    const options = { env: { ...inherited, ...env }, maxBuffer: 2 ** 26 };
    execFile("setpriv", [...user, process.execPath, ...words], options, (error, stdout, stderr) =>
      resolve({ code: error?.code ?? 0, stdout, stderr }),
    );
  });
}

// Started as an ordinary user, the tests themselves are this one.
for (const file of process.getuid() === 0 ? files : []) {
  test(`${file.split("/").slice(-2).join("/")} as an ordinary user`, async (t) => {
    const home = mkdtempSync(join(tmpdir(), "lite-agent-nobody-"));
    t.after(() => rmSync(home, { recursive: true, force: true }));
    chownSync(home, NOBODY, NOBODY);
    const words = ["--test", "--test-reporter=tap", file];
    const { code, stdout, stderr } = await runAsNobody(words, { HOME: home, TMPDIR: home });
    const failed = stdout.split("\n").filter((line) => /^\s*not ok/.test(line));
    assert.deepEqual([code, failed, stderr], [0, [], ""], stdout.slice(-4_000));
    assert.match(stdout, /# pass [1-9]/);
  });
}
