// Finds processes by a word in their arguments, and counts what a process holds. Knows /proc, and nothing of the package.
import { randomInt } from "node:crypto";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { until } from "../support/waiting.mjs";

/** The promise is 2 s; a machine that does other things as well gets more. */
export const GONE_MS = 5_000;

/** A number that nobody else has, which `sleep` takes as its argument and which marks whoever has it in its arguments. */
export function marker() {
  return `7${randomInt(10 ** 9, 10 ** 10)}`;
}

function readOf(pid, name) {
  try {
    return readFileSync(`/proc/${pid}/${name}`, "utf8");
  } catch {
    return "";
  }
}

function pids() {
  return readdirSync("/proc").filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
}

/** Every living process with `mark` in its arguments, this one left out: `<pid> <arguments>`. */
export function processesOf(mark) {
  return pids()
    .map((pid) => [pid, readOf(pid, "cmdline").replaceAll("\0", " ").trim()])
    .filter(([, words]) => words.includes(mark))
    .map(([pid, words]) => `${pid} ${words.slice(0, 200)}`);
}

/** Every process that has `variable=value` of `mark` in its environment. */
export function processesWithVariable(mark) {
  return pids().filter((pid) => readOf(pid, "environ").includes(mark));
}

/** Waits until `sleep <mark>` itself runs, not only the shell whose text has it. */
export function sleeping(mark, count = 1) {
  const sleepers = () => processesOf(mark).filter((line) => /^\d+ (\S*\/)?sleep /.test(line));
  return until(() => sleepers().length >= count && sleepers(), `${count} processes with ${mark}`);
}

/** Waits until no process has `mark` in its arguments. */
export async function gone(mark, limitMs = GONE_MS) {
  const end = performance.now() + limitMs;
  let left;
  while ((left = processesOf(mark)).length > 0) {
    if (performance.now() > end) throw new Error(`still there after ${limitMs} ms:\n${left.join("\n")}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** The children of a process by their state: `{ pid, state, name }`. */
export function childrenOf(parent = process.pid) {
  const children = [];
  for (const pid of pids()) {
    const stat = readOf(pid, "stat");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    if (Number(fields[1]) === parent) {
      children.push({
        pid: Number(pid),
        state: fields[0],
        name: stat.slice(stat.indexOf("(") + 1, stat.lastIndexOf(")")),
      });
    }
  }
  return children;
}

/** What this process holds open: one line each. */
export function descriptors() {
  return readdirSync("/proc/self/fd")
    .map((number) => {
      try {
        return `${number} ${readlinkSync(`/proc/self/fd/${number}`)}`;
      } catch {
        return null;
      }
    })
    .filter((line) => line !== null && !/ \/proc\/\d+\/fd$/.test(line));
}
