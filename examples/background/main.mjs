// node examples/background/main.mjs: a model starts a server in the background, reads its port from what it writes, asks it
// something, and ends it. In a temporary folder, with a scripted model; the server and the request are real.
import { copyFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { bashCommand, createLiteAgent, policy } from "lite-agent";

const FILES = {
  "server.mjs": `import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
const { name, version } = JSON.parse(await readFile("package.json", "utf8"));
const server = createServer((request, response) => {
  console.log(request.method, request.url);
  response.end(\`\${name} \${version}\`);
});
server.listen(0, "127.0.0.1", () => console.log("listening on port", server.address().port));
`,
  "ask.mjs": `const answer = await fetch(\`http://127.0.0.1:\${process.argv[2]}/version\`);
console.log(await answer.text());
`,
};

const text = (text) => ({ type: "text", text });
const call = (name, input) => ({ type: "tool_call", id: `${name} ${crypto.randomUUID()}`, name, input });

/** @type {import("lite-agent").ModelProvider} */
const operator = {
  id: "operator",
  async *stream({ messages }) {
    const message = { role: "assistant", content: [nextStep(resultsOf(messages))] };
    yield { type: "message_done", message, usage: { inputTokens: 100, outputTokens: 20 } };
  },
};

/** What the tools returned, in order. */
function resultsOf(messages) {
  const blocks = messages.flatMap(({ content }) => (Array.isArray(content) ? content : []));
  return blocks.filter(({ type }) => type === "tool_result").map(({ content }) => content);
}

function nextStep(results) {
  const [id] = /bg_\w+/.exec(results[0]) ?? [];
  if (id === undefined) return call("bash", { command: "node server.mjs", run_in_background: true });
  const [, port] = /^listening on port (\d+)$/m.exec(results.join("\n")) ?? [];
  if (port === undefined) {
    // It is starting: a model waits in the foreground, and looks again.
    return results.at(-1) === "[running]" ? call("bash", { command: "sleep 0.1" }) : call("BashOutput", { id });
  }
  const [, version] = /^(.+)\nexit code: 0$/m.exec(results.join("\n\n")) ?? [];
  if (version === undefined) return call("bash", { command: `node ask.mjs ${port}` });
  if (!results.some((result) => result.includes("GET /version"))) return call("BashOutput", { id });
  if (!results.at(-1).endsWith("was killed")) return call("KillBackground", { id });
  return text(`The server said "${version}", and is ended.`);
}

async function main() {
  const folder = await mkdtemp(join(tmpdir(), "lite-agent-background-"));
  try {
    await copyFile(new URL("../../package.json", import.meta.url), join(folder, "package.json"));
    for (const [name, content] of Object.entries(FILES)) await writeFile(join(folder, name), content);
    await operate(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function operate(workdir) {
  const agent = createLiteAgent({
    model: operator,
    workdir,
    home: join(workdir, "home"),
    // Commands find the Node that runs this, and no key of yours.
    bash: { env: { PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH ?? ""}` } },
    backgroundLimits: { maxDetached: 1, maxTaskMs: 60_000 },
    permission: policy({
      default: "deny",
      allow: ["BashOutput", "KillBackground"],
      rules: [
        bashCommand("node server.mjs", "allow"),
        bashCommand("node ask.mjs:*", "allow"),
        bashCommand("sleep 0.1", "allow"),
      ],
    }),
  });
  agent.subscribe(({ event }) => {
    if (event.type === "tool_result") console.log(`${event.result.name}: ${event.result.content}`);
    if (event.type === "background_completed") {
      const { label, status, content } = event.completion;
      console.log(`(${label} is over: ${status}, its last line is ${content.split("\n").at(-1)})`);
    }
  });
  console.log((await agent.send("Start the server and ask it for its version.")).text);
  await agent.close();
}

await main();
