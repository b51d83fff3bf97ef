// node examples/subagents/main.mjs: one agent hands three pages of docs/ to three children, which read them at the same
// time, and makes a table of contents of what they report. In a temporary folder, with scripted models.
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLiteAgent, filePath, policy } from "lite-agent";

const PAGES = ["hooks.md", "permissions.md", "sessions.md"];
const DEFINITION = `---
name: page-reader
description: Reads one page and reports its sections.
tools: [grep]
model: simple
---
You read one page of a manual. Report its name and its sections, on one line.
`;

const text = (text) => ({ type: "text", text });
const call = (name, input) => ({ type: "tool_call", id: `${name} ${crypto.randomUUID()}`, name, input });

/** A model that decides by a function of the conversation. @returns {import("lite-agent").ModelProvider} */
function scripted(id, next) {
  return {
    id,
    async *stream({ messages }) {
      const message = { role: "assistant", content: [next(messages)] };
      yield { type: "message_done", message, usage: { inputTokens: 100, outputTokens: 20 } };
    },
  };
}

/** The child: looks for headings in the page that its prompt names, and reports them. */
const reader = scripted("reader", ([prompt, , found]) => {
  if (found === undefined) return call("grep", { pattern: "^## ", path: prompt.content });
  const sections = [...found.content[0].content.matchAll(/:## (.+)$/gm)].map(([, title]) => title);
  return text(`${prompt.content}: ${sections.join(", ")}`);
});

/** The parent: finds the pages, starts a child for each, and writes down what they report. */
const editor = scripted("editor", (messages) => {
  const turn = messages.filter(({ role }) => role === "assistant").length;
  const last = messages.at(-1).content;
  if (turn === 0) return call("glob", { pattern: "*.md" });
  if (turn === 1) {
    const pages = last[0].content.split("\n");
    const tasks = pages.map((page) => ({ display_name: page, subagent_type: "page-reader", prompt: page }));
    return call("Agent", { tasks });
  }
  if (turn === 2) return text("The pages are being read.");
  if (turn === 3) {
    const reports = [...last.matchAll(/^(\S+\.md): (.+)$/gm)];
    const content = reports.map(([, page, sections]) => `- ${page}: ${sections}\n`).join("");
    return call("write_file", { path: "contents.md", content });
  }
  return text("contents.md has it.");
});

async function main() {
  const folder = await mkdtemp(join(tmpdir(), "lite-agent-subagents-"));
  try {
    const workdir = join(folder, "manual");
    await mkdir(join(workdir, ".lite-agent", "agents"), { recursive: true });
    await writeFile(join(workdir, ".lite-agent", "agents", "page-reader.md"), DEFINITION);
    for (const page of PAGES) await copyFile(new URL(`../../docs/${page}`, import.meta.url), join(workdir, page));
    await makeContents(workdir, join(folder, "home"));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function makeContents(workdir, home) {
  const agent = createLiteAgent({
    models: {
      simple: { provider: reader, modelName: "small" },
      medium: { provider: editor, modelName: "large" },
      complex: { provider: editor, modelName: "large" },
    },
    workdir,
    home,
    permission: policy({
      default: "deny",
      // Searches show what may be read.
      allow: ["glob", "grep", "read_file", "Agent"],
      rules: [filePath("contents.md", "allow")],
    }),
    // Children change nothing, whatever their definition says.
    subagentPermission: policy({ deny: ["{write,edit,delete}_file", "bash"] }),
  });

  // One registration hears the whole family; `agentId` tells who it is. A child's input is its prompt.
  const pages = new Map();
  agent.hook("run:start", ({ agentId, input }) => {
    if (agentId !== undefined) pages.set(agentId, input);
  });
  agent.hook("tool:end", ({ agentId, call: { name }, status }) => {
    console.log(`${agentId === undefined ? "editor" : `reader of ${pages.get(agentId)}`}: ${name} ${status}`);
  });
  agent.subscribe(({ event }) => {
    if (event.type === "background_completed") console.log(`${event.completion.label}: ${event.completion.status}`);
  });

  const { text: said } = await agent.send("Make a table of contents of this manual.");
  console.log(said);
  await agent.awaitIdle();
  await agent.close();
  console.log(await readFile(join(workdir, "contents.md"), "utf8"));
}

await main();
