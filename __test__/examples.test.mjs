// Runs each example as its reader does, in a process of its own, and looks at what it prints: that it did what it says, on
// its real input, and left nothing behind. (The demo has tests of its own.)
import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { runFile } from "./support/child.mjs";

const fileOf = (path) => new URL(`../${path}`, import.meta.url);
const limitMs = 60_000;

/** What an example prints, in lines. It must end well, write nothing to stderr, and remove its folder. */
async function linesOf(t, example) {
  const temporary = await mkdtemp(join(tmpdir(), "lite-agent-examples-test-"));
  t.after(() => rm(temporary, { recursive: true, force: true }));
  const { code, overdue, stdout, stderr } = await runFile(fileOf(`examples/${example}/main.mjs`), {
    env: { TMPDIR: temporary },
    limitMs,
  });
  assert.deepEqual({ code, overdue, stderr }, { code: 0, overdue: false, stderr: "" }, stdout);
  assert.deepEqual(await readdir(temporary), []);
  return stdout.trimEnd().split("\n");
}

test("every example has a test", async () => {
  const examples = await readdir(fileOf("examples"));
  assert.deepEqual(examples.sort(), ["background", "demo", "structured-output", "subagents"]);
});

test("subagents: three children read three pages, and the completion run writes down their real headings", async (t) => {
  const pages = ["hooks.md", "permissions.md", "sessions.md"];
  const lines = await linesOf(t, "subagents");
  assert.equal(lines[0], "editor: glob completed");
  for (const page of pages) assert.ok(lines.includes(`reader of ${page}: grep completed`), page);
  const over = lines.indexOf(`${pages.join(", ")}: completed`);
  const written = lines.indexOf("editor: write_file completed");
  assert.ok(over > lines.indexOf("editor: Agent completed") && written > over, `${over} ${written}`);
  const contents = await Promise.all(
    pages.map(async (page) => {
      const headings = (await readFile(fileOf(`docs/${page}`), "utf8")).match(/(?<=^## ).+$/gm);
      return `- ${page}: ${headings.join(", ")}`;
    }),
  );
  assert.deepEqual(lines.slice(written + 1), contents);
});

test("background: a server is started, asked, read and ended", async (t) => {
  const { name, version } = JSON.parse(await readFile(fileOf("package.json"), "utf8"));
  const lines = await linesOf(t, "background");
  const id = /^bash: Started in the background: (bg_[0-9a-f]{16})$/.exec(lines[0])?.[1];
  assert.ok(id, lines[0]);
  const text = lines.join("\n");
  assert.match(text, /^BashOutput: listening on port \d+\n\[running\]$/m);
  assert.ok(text.includes(`bash: ${name} ${version}\nexit code: 0`), text);
  assert.match(text, /^BashOutput: GET \/version\n\[running\]$/m);
  assert.match(text, /^\(node server\.mjs is over: cancelled, its last line is \[killed\]\)$/m);
  assert.ok(lines.includes(`KillBackground: ${id} was killed`));
  assert.equal(lines.at(-1), `The server said "${name} ${version}", and is ended.`);
});

test("structured-output: the answer is refused, mended, and what the changelog says", async (t) => {
  const changelog = (await readFile(fileOf("CHANGELOG.md"), "utf8")).split("\n");
  const release = changelog.find((line) => line.startsWith("## ")).slice(3);
  const begin = changelog.indexOf(`## ${release}`);
  const end = changelog.findIndex((line, index) => index > begin && line.startsWith("## "));
  const entries = changelog
    .map((line, index) => [index + 1, line])
    .slice(begin, end === -1 ? undefined : end)
    .filter(([, line]) => line.startsWith("- "));
  const lines = await linesOf(t, "structured-output");
  assert.match(lines[0], /^refused: Error: invalid input for tool 'final_answer': entries\.0\.line: /);
  assert.equal(lines[1], "accepted");
  assert.equal(lines[2], `${release}: ${entries.length} entries, for 150 tokens`);
  assert.equal(lines.length, 3 + entries.length);
  entries.forEach(([number, line], index) => {
    const [, told, title] = /^ {2}line +(\d+) {2}(.+)$/.exec(lines[3 + index]);
    assert.equal(Number(told), number);
    assert.ok(line.startsWith(`- ${title}`), `${line} begins with ${title}`);
  });
});
