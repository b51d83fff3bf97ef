// A reporter for `node --test`: writes each test as a line of JSON, for tally.mjs. A test is named by its file and the
// titles that lead to it, so that two tests of one title are told apart.

import { relative } from "node:path";
import { root } from "./process.mjs";

export default async function* record(events) {
  const titles = [];
  for await (const { type, data } of events) {
    if (type === "test:start") {
      titles.length = data.nesting;
      titles.push(data.name);
    }
    if (type !== "test:pass" && type !== "test:fail") continue;
    const { skip, todo, details, file, nesting, name } = data;
    const left = skip ?? todo;
    const skipped = left !== undefined && left !== false;
    // A suite is no test of its own, unless it was skipped, and its tests with it, or failed by itself.
    const ownFailure = type === "test:fail" && details?.error?.failureType !== "subtestsFailed";
    if (details?.type === "suite" && !skipped && !ownFailure) continue;
    const place = file === undefined ? [] : [relative(root, file)];
    const line = {
      name: [...place, ...titles.slice(0, nesting), name].join(" > "),
      outcome: skipped ? "skipped" : type === "test:pass" ? "passed" : "failed",
      reason: typeof left === "string" ? left : undefined,
    };
    yield `${JSON.stringify(line)}\n`;
  }
}
