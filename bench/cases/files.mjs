// What the file tools cost: grep beside ripgrep's own program on the same tree, reading and editing beside node:fs. A
// call of a run of many is measured, whole: its admission, its events and its result are in it.
import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { policy } from "../../index.js";
import { makeAgent, makeFolder, watchFailures } from "../agents.mjs";
import { editPlainly, editSafely } from "../baseline-files.mjs";
import { median, scaled, takeTurns } from "../measure.mjs";
import { callingModel } from "../models.mjs";

const LINE = "const total = lines.reduce((sum, line) => sum + line.length, 0); // all of it\n";
const run = promisify(execFile);

/** @param {import("../measure.mjs").Pace} pace @returns {AsyncGenerator<import("../measure.mjs").Row>} */
export async function* fileRows(pace) {
  yield await grepRow(pace);
  for (const [label, bytes] of [
    ["4 KB", 4_000],
    ["400 KB", 400_000],
  ]) {
    yield await readRow(label, bytes, pace);
  }
  yield await editRow(pace);
}

/** Calls of one turn, one after another. */
function lite(workdir, calls) {
  return {
    prepare() {
      const agent = makeAgent({ model: callingModel(calls), workdir, permission: policy(), maxParallelTools: 1 });
      return { agent, check: watchFailures(agent) };
    },
    async batch({ agent }) {
      await agent.send("go");
    },
    async clean({ agent, check }) {
      await agent.close();
      check();
    },
  };
}

async function grepRow(pace) {
  const folder = makeFolder();
  const count = scaled(2_000, pace);
  for (let index = 0; index < count; index += 1) {
    const inner = join(folder, `folder-${index % 40}`);
    mkdirSync(inner, { recursive: true });
    const found = index % 100 === 0 ? "// needle 42\n" : "";
    writeFileSync(join(inner, `file-${index}.js`), LINE.repeat(80) + found);
  }
  const variants = {
    lite: lite(folder, [{ name: "grep", input: { pattern: "needle [0-9]+" } }]),
    plain: { batch: () => ripgrep(folder).then(() => undefined) },
  };
  const present = await ripgrep(folder);
  if (!present) delete variants.plain;
  const measured = await takeTurns(variants, pace);
  return {
    label: `grep, ${count.toLocaleString("en")} files${present ? "" : " (no rg here)"}`,
    ours: median(measured.lite),
    plain: present ? median(measured.plain) : undefined,
  };
}

/** Whether there is a ripgrep, which has then searched. */
async function ripgrep(folder) {
  try {
    await run("rg", ["--line-number", "--no-heading", "needle [0-9]+", "."], { cwd: folder });
    return true;
  } catch (error) {
    if (error.code === "ENOENT") return false;
    throw error;
  }
}

async function readRow(label, bytes, pace) {
  const folder = makeFolder();
  const count = scaled(50, pace);
  const file = join(folder, "a.js");
  writeFileSync(file, LINE.repeat(Math.ceil(bytes / LINE.length)));
  const measured = await takeTurns(
    {
      lite: lite(
        folder,
        Array.from({ length: count }, () => ({ name: "read_file", input: { path: "a.js" } })),
      ),
      plain: {
        async batch() {
          for (let index = 0; index < count; index += 1) await readFile(file, "utf8");
        },
      },
    },
    pace,
  );
  return { label: `read_file, ${label}`, ours: median(measured.lite) / count, plain: median(measured.plain) / count };
}

async function editRow(pace) {
  // Back and forth, so that each batch begins with the same file.
  const count = scaled(10, pace) * 2;
  const edits = Array.from({ length: count }, (_, index) =>
    index % 2 === 0 ? ["before", "after"] : ["after", "before"],
  );
  const makeFile = () => {
    const file = join(makeFolder(), "a.js");
    writeFileSync(file, `${LINE.repeat(25)}// before\n${LINE.repeat(25)}`);
    return file;
  };
  const plain = (edit) => {
    const file = makeFile();
    return {
      async batch() {
        for (const [old, replacement] of edits) await edit(file, old, replacement);
      },
    };
  };
  const ours = makeFile();
  const measured = await takeTurns(
    {
      lite: lite(
        join(ours, ".."),
        edits.map(([old_text, new_text]) => ({ name: "edit_file", input: { path: "a.js", old_text, new_text } })),
      ),
      plain: plain(editSafely),
      tuned: plain(editPlainly),
    },
    pace,
  );
  if (!readFileSync(ours, "utf8").includes("// before\n")) throw new Error("the edits did not happen");
  return {
    label: "edit_file, 4 KB",
    ours: median(measured.lite) / count,
    plain: median(measured.plain) / count,
    tuned: median(measured.tuned) / count,
  };
}
