// npm run demo: a scripted model works on a small real folder with the built-in tools, under a policy, with hooks as
// functions and as commands; hands work to three children, beside a command in the background; and a second agent takes up
// the stored conversation.
//
//   npm run demo                  in a new temporary folder, which is removed at the end
//   npm run demo -- ./somewhere   in a folder of yours, which must be empty and stays
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { createLiteAgent } from "lite-agent";
import { HookCount, keepAudit, timeTools } from "./hooks.mjs";
import { scriptedModel } from "./model.mjs";
import { onApproval, permission, subagentPermission } from "./permissions.mjs";
import { checkProject, createProject, readProject } from "./project.mjs";
import { showSummary } from "./summary.mjs";
import { Tally } from "./tally.mjs";
import { View } from "./view.mjs";

const HOOK_NAMES = ["run:start", "run:end", "tool:start", "tool:end"];

async function main() {
  const given = process.argv[2];
  const folder = given ? resolve(given) : await mkdtemp(join(tmpdir(), "lite-agent-demo-"));
  const view = new View(process.stdout);
  try {
    await demonstrate(view, folder);
  } finally {
    if (!given) await rm(folder, { recursive: true, force: true });
  }
  view.line();
  view.line(given ? `  Look around: ${folder}` : "  The folder is gone again. To keep it: npm run demo -- ./somewhere");
}

async function demonstrate(view, folder) {
  const workdir = join(folder, "project");
  const home = join(folder, "home");
  const auditFile = join(folder, "audit.jsonl");
  await createProject(folder, { workdir, home });
  const before = { files: await readProject(workdir), check: await checkProject(workdir) };

  view.line(view.paint("bold", "lite-agent demo"));
  view.line("A scripted model works on a real folder with the built-in tools. No key, no network.");
  view.line();
  view.line(`  project    ${workdir}`);
  view.line("  policy     secrets/ is denied, deleting is asked for, the shell may run `node check.mjs`");
  view.line("             and `sh scripts/watch.sh`; children may read and search");
  view.line("  functions  audit  writes a line at the start and the end of every run and tool");
  view.line("             timer  adds up how long each tool takes");
  view.line("  commands   of home/hooks.json and project/.lite-agent/hooks.json: one fails, one is too slow,");
  view.line("             and one is not on the policy's list");

  // The project's scripts run with the Node that runs this, wherever it lies. Commands get PATH from here.
  process.env.PATH = `${dirname(process.execPath)}${delimiter}${process.env.PATH ?? ""}`;

  const hooks = new HookCount((ran) => view.hookRan(ran));
  const tally = new Tally();
  const toolTimes = new Map();

  /** An agent: a model, a folder, a policy. Sessions are stored under its home without another word. */
  function makeAgent() {
    const agent = createLiteAgent({
      model: scriptedModel({ paceMs: process.stdout.isTTY ? 25 : 4 }),
      workdir,
      home,
      system: "You look after a small project.",
      permission,
      subagentPermission,
      onApproval,
    });
    // `count` only lets the summary know: agent.hook("tool:end", timeTools(toolTimes)) would do.
    for (const name of HOOK_NAMES) agent.hook(name, hooks.count("audit", keepAudit(auditFile)));
    agent.hook("tool:end", hooks.count("timer", timeTools(toolTimes)));
    agent.hook("run:start", (event) => tally.runBegan(event));
    agent.hook("run:end", (event) => tally.runEnded(event));
    // Observing is for subscribe(): it waits for nothing and nothing waits for it.
    agent.subscribe(({ event }) => {
      tally.event(event);
      view.event(event);
    });
    return agent;
  }

  async function run(agent, prompt, options) {
    view.prompt(prompt);
    await agent.send(prompt, options);
  }

  const first = makeAgent();
  let sessionId;
  try {
    sessionId = first.sessionId;
    view.heading("Run 1");
    await run(first, "Do what is to do.");

    // Three children look at the sources at the same time, and a command goes on beside them. The run is over long before;
    // what they come to is taken up by a run of its own, which awaitIdle() waits for.
    view.heading("Run 2: three children, and a command in the background");
    await run(first, "Review the sources, each by an agent of its own, and keep checking meanwhile.");
    await first.awaitIdle();

    // The third is called off while the model speaks: its hooks at the end run all the same.
    view.heading("Run 3");
    const controller = new AbortController();
    const stopListening = first.subscribe(({ event }) => {
      if (event.type === "text_delta" && event.text.startsWith("title,")) {
        view.note("(the user changes their mind and aborts)");
        controller.abort(new Error("never mind"));
      }
    });
    await run(first, "Translate the notes into Latin.", { signal: controller.signal });
    stopListening();
  } finally {
    await first.close();
  }

  // The first agent and its model are gone. What they said is in the home's folder.
  view.heading("Run 4: another agent resumes the session");
  const second = makeAgent();
  let prompts;
  try {
    const [stored] = await second.listSessions();
    if (stored?.id !== sessionId) throw new Error("the session of the first agent was not stored");
    second.resume(stored.id);
    await run(second, "What have you changed, and what is left?");
    prompts = (await second.listCheckpoints(stored.id)).map(({ prompt }) => prompt);
  } finally {
    await second.close();
  }

  showSummary(view, {
    runs: tally.runs,
    tools: toolTimes,
    hooks: hooks.byName,
    commands: tally.commands,
    files: { before: before.files, after: await readProject(workdir) },
    checks: { before: before.check, after: await checkProject(workdir) },
  });
  const linesOf = async (file) => (await readFile(join(folder, file), "utf8")).trim().split("\n");
  const audited = (await linesOf("audit.jsonl")).map((line) => JSON.parse(line));
  const children = audited.filter(({ agentId }) => agentId !== undefined);
  view.line();
  view.line(`  audit.jsonl, written by the function, has ${audited.length} lines, ${children.length} of them of`);
  view.line(`  ${new Set(children.map(({ agentId }) => agentId)).size} children, told apart by their agentId;`);
  view.line(`  runs.jsonl, written by the user's hooks.json, has ${(await linesOf("runs.jsonl")).length}.`);
  view.line("  The stored session has these prompts:");
  for (const prompt of prompts) view.line(`    ${prompt.split("\n")[0]}`);
}

await main();
