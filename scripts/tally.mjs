// Counts what the test runners report and decides whether a run passed. A skip passes only if expected-skips.json names
// it: a test that quietly stops running would look like one that passes.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./process.mjs";

/** One test: `name` tells it from all others, `reason` why it was skipped. */
/** @typedef {{ name: string, outcome: "passed" | "failed" | "skipped", reason?: string }} TestRecord */

export class Tally {
  #passed = 0;
  #skipped = [];
  #problems = [];

  /** @param {TestRecord} record */
  add({ name, outcome, reason }) {
    if (outcome === "passed") this.#passed += 1;
    else if (outcome === "failed") this.#problems.push(`failed: ${name}`);
    else this.#skipped.push({ name, reason });
  }

  addPassed(count) {
    this.#passed += count;
  }

  /** What went wrong without being one test's failure; it counts as one. */
  addProblem(text) {
    this.#problems.push(text);
  }

  get failures() {
    return this.#problems.length;
  }

  /** Prints the skips with their reasons, what failed, and the closing line. @returns {number} the exit code */
  conclude(expected = expectedSkips()) {
    for (const { name, reason } of this.#skipped) {
      process.stdout.write(`skipped: ${name}: ${reason || "no reason given"}\n`);
      if (!expected.has(name)) this.addProblem(`a skip that scripts/expected-skips.json does not name: ${name}`);
      else if (!reason) this.addProblem(`a skip without a reason: ${name}`);
    }
    if (this.#passed === 0) this.addProblem("no test passed");
    for (const problem of this.#problems) process.stdout.write(`${problem}\n`);
    process.stdout.write(`${this.#passed} passed, ${this.failures} failed, ${this.#skipped.length} skipped\n`);
    return this.failures === 0 ? 0 : 1;
  }
}

/** The names of the tests that may skip, each with when that is right. */
function expectedSkips() {
  return new Set(Object.keys(JSON.parse(readFileSync(join(root, "scripts", "expected-skips.json"), "utf8"))));
}
