// node examples/structured-output/main.mjs: what this repository's changelog says, as data of a shape that a schema asks
// for. In a temporary folder, with a scripted model that first gets a type wrong and mends it.
import { copyFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLiteAgent } from "lite-agent";

const ENTRY = {
  type: "object",
  properties: {
    line: { type: "integer", minimum: 1, description: "Where it begins in the file." },
    title: { type: "string", minLength: 1, description: "Its beginning, up to the first colon, comma or full stop." },
  },
  required: ["line", "title"],
  additionalProperties: false,
};
const SCHEMA = {
  type: "object",
  properties: {
    release: { type: "string", description: "The newest release that the file has." },
    entries: { type: "array", items: ENTRY, minItems: 1 },
  },
  required: ["release", "entries"],
  additionalProperties: false,
};

const call = (name, input) => ({ type: "tool_call", id: `${name} ${crypto.randomUUID()}`, name, input });

/** Looks for headings and entries, and answers: the first time with numbers as text. */
function nextStep(messages) {
  const results = messages.filter(({ role, content }) => role === "user" && Array.isArray(content));
  if (results.length === 0) return call("grep", { pattern: "^(## |- )", path: "CHANGELOG.md" });
  const [, release, list] = /:## (.+)\n([^]*?)(?=\n.*:## |$)/.exec(results[0].content[0].content);
  const entries = [...list.matchAll(/:(\d+):- ([^:,.]+)/g)].map(([, line, title]) => ({
    line: results.length === 1 ? line : Number(line),
    title,
  }));
  return call("final_answer", { release, entries });
}

/** @type {import("lite-agent").ModelProvider} */
const model = {
  id: "reader",
  async *stream({ messages }) {
    const message = { role: "assistant", content: [nextStep(messages)] };
    yield { type: "message_done", message, usage: { inputTokens: 100, outputTokens: 50 } };
  },
};

async function main() {
  const workdir = await mkdtemp(join(tmpdir(), "lite-agent-structured-output-"));
  try {
    await copyFile(new URL("../../CHANGELOG.md", import.meta.url), join(workdir, "CHANGELOG.md"));
    await show(workdir);
  } finally {
    await rm(workdir, { recursive: true, force: true });
  }
}

async function show(workdir) {
  const agent = createLiteAgent({ model, workdir, home: join(workdir, "home"), outputSchema: SCHEMA });
  agent.subscribe(({ event }) => {
    if (event.type !== "tool_result" || event.result.name !== "final_answer") return;
    console.log(event.result.isError ? `refused: ${event.result.content}` : "accepted");
  });
  const { output, usage } = await agent.send("What is new?");
  await agent.close();
  if (output === undefined) throw new Error("the model gave no answer");
  console.log(`${output.release}: ${output.entries.length} entries, for ${usage.outputTokens} tokens`);
  for (const { line, title } of output.entries) console.log(`  line ${String(line).padStart(3)}  ${title}`);
}

await main();
