// The JSON Schema of hooks.json that ships in the package: it accepts what the loader accepts and refuses what it refuses,
// but for what a schema cannot say. Knows the public face, and where the schema lies.
import { test } from "node:test";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createLiteAgent, tool } from "../../index.js";
import { collect, scriptedModel, temporaryFolder } from "../support/model.mjs";
import { ALL_EVENTS, hookFolder } from "./hooked.mjs";
import { INVALID } from "./invalid-files.mjs";

const schema = JSON.parse(readFileSync(new URL("../../schema/hooks.schema.json", import.meta.url), "utf8"));

/** Whether the schema lets each value through, by the package's own validation. */
async function accepted(t, values) {
  const { workdir, home } = await temporaryFolder(t);
  const calls = values.map((input, position) => ({ id: String(position), name: "check", input }));
  const agent = createLiteAgent({
    workdir,
    home,
    sessions: false,
    model: scriptedModel([{ calls }, { text: "ok" }]),
    tools: [tool("check", "checks", schema, () => "accepted")],
  });
  const { events } = await collect(agent.run("go"));
  await agent.close();
  const results = new Map(events.filter(({ type }) => type === "tool_result").map(({ result }) => [result.id, result]));
  return values.map((_, position) => results.get(String(position)).content === "accepted");
}

const VALID = {
  "the example of the specification": {
    version: 1,
    hooks: {
      "tool:end": [
        { match: "write_file", command: "node scripts/record-change.mjs", timeoutMs: 10000 },
        { match: "write_file", command: "node scripts/update-index.mjs" },
      ],
      "run:end": [{ command: "node scripts/record-run.mjs" }],
    },
  },
  "no events": { version: 1, hooks: {} },
  "every event, without entries": { version: 1, hooks: Object.fromEntries(ALL_EVENTS.map((name) => [name, []])) },
  "every event": {
    $schema: "x",
    version: 1,
    hooks: Object.fromEntries(ALL_EVENTS.map((name) => [name, [{ command: " a\n", timeoutMs: 120000 }]])),
  },
};

test("the schema accepts what the loader accepts", async (t) => {
  assert.deepEqual(
    await accepted(t, Object.values(VALID)),
    Object.values(VALID).map(() => true),
  );
  for (const content of Object.values(VALID)) {
    const { workdir, home } = await hookFolder(t, { project: JSON.stringify(content) });
    const agent = createLiteAgent({ workdir, home, sessions: false, model: scriptedModel([{ text: "ok" }]) });
    await agent.close();
  }
});

test("the schema refuses what the loader refuses, but for syntax, duplicate keys and globs", async (t) => {
  const beyond = /glob that does not compile|twice|^timeoutMs 1e400|at the top$|surrogate/;
  const kinds = Object.entries(INVALID).flatMap(([name, [text]]) => {
    if (beyond.test(name)) return [];
    try {
      return [[name, JSON.parse(text)]];
    } catch {
      return [];
    }
  });
  assert.ok(kinds.length > 30);
  const answers = await accepted(
    t,
    kinds.map(([, value]) => value),
  );
  assert.deepEqual(
    kinds.filter((_, position) => answers[position]).map(([name]) => name),
    [],
  );
});
