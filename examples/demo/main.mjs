// npm run demo: a scripted model works on a small real folder through custom tools, while function hooks time the tools
// and keep an audit. One hook fails and one overruns its deadline: neither changes what the runs do.
//
//   npm run demo                  the project is made in a new temporary folder
//   npm run demo -- ./somewhere   or in a folder of yours, which must be empty
import { mkdir, mkdtemp, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createLiteAgent } from "lite-agent";
import { backUp, HookCount, keepAudit, timeTools, updateSearchIndex } from "./hooks.mjs";
import { scriptedModel } from "./model.mjs";
import { checkProject, createProject, readProject } from "./project.mjs";
import { showSummary } from "./summary.mjs";
import { fileTools } from "./tools.mjs";
import { View } from "./view.mjs";

const BACKUP_DEADLINE_MS = 60;

async function main() {
  const view = new View(process.stdout);
  const folder = process.argv[2] ? resolve(process.argv[2]) : await mkdtemp(join(tmpdir(), "lite-agent-demo-"));
  const workdir = join(folder, "project");
  const auditFile = join(folder, "audit.jsonl");
  await mkdir(folder, { recursive: true });
  await createProject(workdir);
  const before = { files: await readProject(workdir), check: await checkProject(workdir) };

  view.line(view.paint("bold", "lite-agent demo"));
  view.line("A scripted model works on a real folder through four tools. No key, no network.");
  view.line();
  view.line(`  project  ${workdir}`);
  view.line(`  audit    ${auditFile}`);
  view.line("  hooks    audit   writes a line at the start and the end of every run and tool");
  view.line("           timer   adds up how long each tool takes");
  view.line("           index   fails at every file that is written");
  view.line(`           backup  would take ten seconds and has a deadline of ${BACKUP_DEADLINE_MS} ms`);

  // An agent: a model, a folder, tools.
  const agent = createLiteAgent({
    model: scriptedModel({ paceMs: process.stdout.isTTY ? 25 : 4 }),
    workdir,
    home: join(folder, "home"),
    system: "You look after a small project.",
    tools: fileTools(workdir),
  });

  // Its hooks. `counted` only lets the summary know: agent.hook("tool:end", timeTools(toolTimes)) would do.
  const hooks = new HookCount((ran) => view.hookRan(ran));
  const counted = (name, handler) => hooks.count(name, handler);
  const toolTimes = new Map();
  for (const name of ["run:start", "run:end", "tool:start", "tool:end"]) {
    agent.hook(name, counted("audit", keepAudit(auditFile)));
  }
  agent.hook("tool:end", counted("timer", timeTools(toolTimes)));
  agent.hook("tool:end", counted("index", updateSearchIndex));
  const removeBackUp = agent.hook("run:end", counted("backup", backUp), { timeoutMs: BACKUP_DEADLINE_MS });

  // Observing is for subscribe(): it waits for nothing and nothing waits for it.
  const statuses = [];
  let running = { turns: 0, calls: 0 };
  agent.subscribe(({ event }) => {
    if (event.type === "turn_start") running.turns += 1;
    if (event.type === "tool_use") running.calls += 1;
    view.event(event);
  });
  agent.hook("run:end", ({ status }) => {
    statuses.push(status);
  });

  const runs = [];
  const run = async (prompt, options) => {
    view.heading(`Run ${runs.length + 1}`);
    view.prompt(prompt);
    running = { turns: 0, calls: 0 };
    const start = performance.now();
    const { usage } = await agent.send(prompt, options);
    runs.push({ prompt, status: statuses.at(-1), ...running, usage, durationMs: performance.now() - start });
  };

  try {
    await run("Do what is to do.");
    removeBackUp();
    await run("Make a release of it.");

    // The third is called off while the model speaks: its hooks at the end run all the same.
    const controller = new AbortController();
    const stopListening = agent.subscribe(({ event }) => {
      if (event.type === "text_delta" && event.text.startsWith("title,")) {
        view.note("(the user changes their mind and aborts)");
        controller.abort(new Error("never mind"));
      }
    });
    await run("Translate the notes into Latin.", { signal: controller.signal });
    stopListening();
  } finally {
    await agent.close();
  }

  const auditLines = (await readFile(auditFile, "utf8")).trim().split("\n");
  showSummary(view, {
    runs,
    tools: toolTimes,
    hooks: hooks.byName,
    files: { before: before.files, after: await readProject(workdir) },
    checks: { before: before.check, after: await checkProject(workdir) },
  });
  view.line();
  view.line(`  The audit has ${auditLines.length} lines. The last:`);
  view.line(view.paint("dim", `  ${auditLines.at(-1)}`));
  view.line();
  view.line(`  Look around: ${folder}`);
}

await main();
