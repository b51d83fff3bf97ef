// What a decision costs: a policy of 1, 10 and 100 rules that do not match, asked from JS.
import { bashCommand, filePath, policy } from "../../index.js";
import { median, scaled, takeTurns } from "../measure.mjs";

const KINDS = {
  "by name": [
    (index) => ({ tool: `tool_${index}`, effect: "deny" }),
    { name: "read_file", input: { path: "doc/a.md" } },
  ],
  "by glob": [(index) => filePath(`src/${index}/**`, "deny"), { name: "read_file", input: { path: "doc/a/b.md" } }],
  "by regular expression": [
    (index) => ({ tool: "bash", when: { command: { regex: `^make ${index} .*all$` } }, effect: "deny" }),
    { name: "bash", input: { command: "ls -la src" } },
  ],
  "by shell command": [
    (index) => bashCommand(`command${index} *`, "deny"),
    { name: "bash", input: { command: "ls -la src && git status" } },
  ],
};

/** @param {import("../measure.mjs").Pace} pace @returns {AsyncGenerator<import("../measure.mjs").Row>} */
export async function* permissionRows(pace) {
  const calls = scaled(2_000, pace);
  for (const [title, [makeRule, call]] of Object.entries(KINDS)) {
    for (const count of [1, 10, 100]) {
      const rules = Array.from({ length: count }, (_, index) => makeRule(index));
      const made = policy({ rules });
      const asked = { id: "1", ...call };
      const context = { sessionId: "bench" };
      const { ours } = await takeTurns(
        {
          ours: {
            batch() {
              for (let index = 0; index < calls; index += 1) made.check(asked, context);
            },
          },
        },
        pace,
      );
      yield {
        label: `${count} rule${count === 1 ? "" : "s"} ${title}`,
        ours: median(ours) / calls,
        target: { kind: "time", limit: 10 },
      };
    }
  }
}
