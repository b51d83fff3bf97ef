// What the file tools and the stores are measured against: node:fs as it is, and with the same promises. Imports nothing
// of lite-agent.
import { appendFile, open, readFile, rename, stat, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** Replaces the one occurrence, whole or not at all: a new file beside it, on the disk, in its place. */
export async function editSafely(file, old, replacement) {
  const changed = replacedOnce(await readFile(file, "utf8"), old, replacement);
  const { mode } = await stat(file);
  const handle = await open(`${file}.new`, "wx", mode);
  try {
    await handle.writeFile(changed);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(`${file}.new`, file);
}

/** The same without care: a crash leaves half a file. */
export async function editPlainly(file, old, replacement) {
  await writeFile(file, replacedOnce(await readFile(file, "utf8"), old, replacement));
}

function replacedOnce(text, old, replacement) {
  const at = text.indexOf(old);
  if (at < 0 || text.indexOf(old, at + 1) >= 0) throw new Error(`the text does not hold "${old}" once`);
  return text.slice(0, at) + replacement + text.slice(at + old.length);
}

/** One line for an event. @param {boolean} durable on the disk before it resolves */
export async function appendEvent(file, event, durable) {
  const line = `${JSON.stringify(event)}\n`;
  if (!durable) return appendFile(file, line);
  const handle = await open(file, "a");
  try {
    await handle.appendFile(line);
    await handle.datasync();
  } finally {
    await handle.close();
  }
}

export async function readEvents(file) {
  const events = [];
  for (const line of (await readFile(file, "utf8")).split("\n")) if (line !== "") events.push(JSON.parse(line));
  return events;
}

/** The logs of a folder, most recent first. */
export async function listLogs(folder) {
  const names = (await readdir(folder)).filter((name) => name.endsWith(".jsonl"));
  const logs = await Promise.all(
    names.map(async (name) => ({ name, mtime: (await stat(join(folder, name))).mtimeMs })),
  );
  return logs.sort((left, right) => right.mtime - left.mtime);
}
