// Runs every JavaScript block of the README and of the documents in a process and a folder of its own, after the shell
// block that prepares the folder, so that they stay true. Knows the package as its readers do: by its name.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { test } from "node:test";

const root = fileURLToPath(new URL("..", import.meta.url));

/** What each block must print, line by line; the count must match the number of blocks. */
const expected = {
  "README.md": [
    [/^[0-9a-f-]{36} completed Hello!$/],
    [/^weather completed after \d+(\.\d+)? ms$/, /^Oslo: -4 °C, snow$/, /^Snow in Oslo\.$/],
    [/^created 'tides\.md' with 20 bytes$/, /^1 tides\.md$/, /^exit code: 0$/, /^Error: blocked by policy$/],
    [/^\{"event":"run:end",.*"status":"completed",.*\}$/],
    [/^4 The harbour opens at six\.$/, /^0 The harbour opens at six\.$/, /^2 When does it open\?$/],
    [
      /^## Bergen \(agentId: agent-[0-9a-f]{16}-[0-9a-f]{16}; status: completed\)$/,
      /^$/,
      /^Open since six\.$/,
      /^$/,
      /^## Oslo \(agentId: agent-[0-9a-f]{16}-[0-9a-f]{16}; status: completed\)$/,
      /^$/,
      /^Open since six\.$/,
      /^Open since six\.$/,
    ],
    [/^Started in the background: bg_[0-9a-f]{16}$/, /^BashOutput reads what it writes, KillBackground ends it\.$/],
    [/^\{ city: 'Oslo', degrees: -4 \}$/],
    [
      /^Times are in UTC\.$/,
      /^$/,
      /^\[the files of this skill are in .*\/\.lite-agent\/skills\/tides\]$/,
      /^created task 1: Read the tables$/,
      /^\{"selected":\["Oslo"\]\}$/,
    ],
    [/^You said: good morning$/],
  ],
  "docs/hooks.md": [
    [/^completed$/, /^completed$/, /^1$/],
    [/^hook_failed timeout$/, /^Hi\.$/],
    [
      /^error hook_failed .*run:start.*the audit's disk is full/,
      /^\{$/,
      /event: 'run:start'/,
      /source: 'programmatic'/,
      /index: 0/,
      /reason: 'error'/,
      /durationMs: /,
      /^\}$/,
    ],
    [/^true$/, /^now there is time for it$/],
  ],
  "docs/permissions.md": [[/^deny deploys user$/], [/^\{ decision: 'deny', ruleId: 'company-no-rm' \}$/]],
  "docs/subagents.md": [
    [
      /^## Bergen \(agentId: agent-[0-9a-f]{16}-[0-9a-f]{16}; status: completed\)$/,
      /^$/,
      /^Open since six\.$/,
      /^$/,
      /^## Oslo \(agentId: agent-[0-9a-f]{16}-[0-9a-f]{16}; status: completed\)$/,
      /^$/,
      /^Open since six\.$/,
      /^Both are open\.$/,
    ],
    [
      /^a child completed: 06:[14]0 high [\d.]+$/,
      /^a child completed: 06:[14]0 high [\d.]+$/,
      /^north, south completed$/,
      /^The highest water was in the north\.$/,
    ],
  ],
  "docs/background.md": [
    [/^Started in the background: bg_[0-9a-f]{16}$/, /^BashOutput reads what it writes, KillBackground ends it\.$/],
    [
      /^It is building\.$/,
      /^sh build\.sh completed$/,
      /^warning: tides\.c:12 unused variable$/,
      /^\[exit code: 0\]$/,
      /^It is built, with one warning\.$/,
    ],
  ],
  "docs/structured-output.md": [
    [/^\{ city: 'Oslo', degrees: -4 \}$/],
    [/tides\.0\.metres: /, /^The answer was accepted\.$/, /^06:10 4\.1 m$/],
  ],
  "docs/skills.md": [
    [
      /^Times are in UTC\. The third column is metres above chart datum\.$/,
      /^$/,
      /^\[the files of this skill are in .*\/\.lite-agent\/skills\/tide-tables\]$/,
    ],
  ],
  "docs/tasks.md": [
    [
      /^created task 1: Read the tables$/,
      /^created task 2: Write the report$/,
      /^updated task 2: blocked by 1$/,
      /^updated task 1: status completed$/,
      /^1 \[completed\] Read the tables$/,
      /^2 \[pending\] Write the report$/,
    ],
  ],
  "docs/ask-user.md": [[/^Which harbour\?$/, /^\{ selected: \[ 'Bergen' \] \}$/, /^\{"selected":\["Bergen"\]\}$/]],
};

for (const [file, blocks] of Object.entries(expected)) {
  test(`every JavaScript block of ${file} runs and prints what it says`, async (t) => {
    const sources = blocksOf(await readFile(join(root, file), "utf8"));
    assert.equal(sources.length, blocks.length, "a block was added or removed: say here what it prints");
    await Promise.all(
      sources.map(async ({ code, line, preparation }, index) => {
        const { status, stdout, stderr } = await runBlock(t, code, preparation);
        const where = `${file}:${line}`;
        assert.equal(status, 0, `${where} ended with ${status}\n${stderr}`);
        assert.equal(stderr, "", `${where} wrote to stderr`);
        const lines = stdout.trimEnd().split("\n");
        assert.equal(lines.length, blocks[index].length, `${where} printed\n${stdout}`);
        blocks[index].forEach((pattern, at) => assert.match(lines[at], pattern, where));
      }),
    );
  });
}

test("the README begins with the two commands", async () => {
  const [, commands] =
    /^# lite-agent\n+```sh\n([\s\S]*?)```/.exec(await readFile(join(root, "README.md"), "utf8")) ?? [];
  assert.deepEqual(commands?.match(/^npm \w+( demo)?/gm), ["npm run demo", "npm test"]);
});

test("the README asks for the Rust that the crate asks for", async () => {
  const [, needed] = /^rust-version = "(.+)"/m.exec(await readFile(join(root, "Cargo.toml"), "utf8"));
  const [, told] = /Rust (\d+\.\d+)/.exec(await readFile(join(root, "README.md"), "utf8"));
  assert.equal(told, needed);
});

test("every relative link of the documents leads to a file", async () => {
  const documents = (await readdir(join(root, "docs"))).filter((name) => name.endsWith(".md"));
  for (const file of ["README.md", "bench/README.md", ...documents.map((name) => `docs/${name}`)]) {
    const text = await readFile(join(root, file), "utf8");
    for (const [, target] of text.matchAll(/\]\((?!https?:)([^)#]+)\)/g)) {
      const address = new URL(target, new URL(`../${file}`, import.meta.url));
      await assert.doesNotReject(
        readFile(address).catch((error) => {
          if (error.code !== "EISDIR") throw error;
        }),
        `${file} links to ${target}`,
      );
    }
  }
});

/** The JavaScript blocks. `preparation` is a shell block right before one that is not about npm. */
function blocksOf(markdown) {
  const blocks = [];
  let preparation = "";
  for (const { 1: language, 2: code, index } of markdown.matchAll(/^```(js|sh)\n([\s\S]*?)^```$/gm)) {
    if (language === "sh") {
      preparation = code.startsWith("npm ") ? "" : code;
      continue;
    }
    blocks.push({ code, preparation, line: markdown.slice(0, index).split("\n").length });
    preparation = "";
  }
  return blocks;
}

/** Runs a block in a folder as a reader would have it: an own project, into which the package was installed. */
async function runBlock(t, code, preparation) {
  const folder = await mkdtemp(join(tmpdir(), "lite-agent-readme-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const project = join(folder, "project");
  await mkdir(join(project, "node_modules"), { recursive: true });
  await symlink(root, join(project, "node_modules", "lite-agent"));
  execFileSync("/bin/sh", ["-ec", preparation], { cwd: project });
  return await runModule(code, { project, home: join(folder, "home") });
}

function runModule(code, { project, home }) {
  const { NODE_TEST_CONTEXT: _, NODE_OPTIONS: __, ...inherited } = process.env;
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ["--unhandled-rejections=strict", "--input-type=module", "--eval", code], {
      cwd: project,
      env: { ...inherited, LITE_AGENT_HOME: home, NO_COLOR: "1" },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let stdout = "";
    let stderr = "";
    child.stdout.setEncoding("utf8").on("data", (text) => {
      stdout += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text) => {
      stderr += text;
    });
    child.on("error", reject);
    child.on("close", (status) => resolve({ status, stdout, stderr }));
  });
}
