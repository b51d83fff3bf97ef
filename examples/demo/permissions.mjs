// What the demo's agent may do: a policy of rules, and somebody who is asked where a rule says so. Knows the tools and
// hook commands by name, and nothing of how they work.
import { bashCommand, filePath, policy } from "lite-agent";

/** The commands of hooks.json files that may run. A clone with other ones runs none of them. */
const KNOWN_HOOKS = [
  "cat >> ../runs.jsonl",
  "node scripts/back-up.mjs",
  "node scripts/record-change.mjs",
  "node scripts/update-index.mjs",
];

/** What no rule names is denied; where several match, the strictest wins. */
export const permission = policy({
  default: "deny",
  allow: ["read_file", "write_file", "edit_file", "glob", "grep", "Agent", "BashOutput", "KillBackground"],
  rules: [
    { id: "secrets", description: "keys are not for models", ...filePath("secrets/", "deny") },
    { id: "deletions", description: "somebody must agree", tool: "delete_file", effect: "ask" },
    { id: "the check", ...bashCommand("node check.mjs", "allow") },
    { id: "the watch", ...bashCommand("sh scripts/watch.sh", "allow") },
    { id: "known hooks", tool: "hook", when: { command: { in: KNOWN_HOOKS } }, effect: "allow" },
  ],
});

/** Children are under both: they read, and change nothing. */
export const subagentPermission = policy({ deny: ["bash", "{write,edit,delete}_file"] });

/** Here a function answers; in a program of yours, a person would. */
export const onApproval = {
  request: async (call) => (call.name === "delete_file" && call.input.path.startsWith("notes/") ? "allow" : "deny"),
};
