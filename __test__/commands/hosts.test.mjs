// Hosts in odd situations: commands neither keep them alive nor hold them up, and say what is wrong. Knows the public
// face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { ConfigError, policy, query } from "../../index.js";
import { runChild } from "../support/child.mjs";
import { agentFor, scriptedModel, temporaryFolder, until, within } from "../support/model.mjs";
import { bash, bashAgent, bashCall, written } from "./bashing.mjs";
import { descriptors, gone, marker, sleeping } from "./processes.mjs";

/** A script whose agent runs this command and prints its result as JSON; `before` and `after` are lines around it. */
const hostOf = (command, { config = "{}", before = "", after = "await agent.close();" } = {}) => `
  const agent = makeAgent({ sessions: false, permission: lite.policy(), ...${config},
    model: support.scriptedModel([{ calls: [{ id: "1", name: "bash", input: { command: ${JSON.stringify(command)} } }] }, { text: "ok" }]) });
  agent.hook("tool:end", ({ result }) => console.log(JSON.stringify(result.content)));
  ${before}
  await agent.send("go");
  ${after}`;

test("an idle agent whose commands are over does not keep Node alive, not closed either", async () => {
  const { code, stdout, stderr, overdue } = await runChild(hostOf("echo x; sleep 50 & exit 0", { after: "" }), {
    limitMs: 20_000,
  });
  assert.deepEqual([code, stderr, overdue], [0, "", false]);
  assert.match(JSON.parse(stdout), /^x\n/);
});

test("an awaited run keeps Node alive while nothing but a command runs", async () => {
  const { code, stdout } = await runChild(hostOf("sleep 0.5; echo x", { after: "" }));
  assert.equal(code, 0);
  assert.match(JSON.parse(stdout), /^x\n/);
});

test("a relative workdir is that of when the agent was made, wherever the host goes", async () => {
  const { stdout } = await runChild(
    `process.chdir(work);\n${hostOf("pwd", { config: '{ workdir: ".", home: "home" }', before: 'process.chdir("/"); console.log(JSON.stringify(work));' })}`,
  );
  const [work, content] = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  assert.equal(written(content), `${work}\n`);
});

test("a host without free descriptors gets a failed result that says so, and commands work again later", async () => {
  const script = hostOf("echo x", {
    before: `const { openSync, closeSync } = await import("node:fs");
      const open = [];
      try { for (;;) open.push(openSync("/dev/null")); } catch {}`,
    after:
      "for (const one of open) closeSync(one); await agent.send('again', { sessionId: 'b' }); console.log('over'); await agent.close();",
  });
  const { code, stdout } = await runChild(
    script.replace(/support\.scriptedModel\(\[(.*)\]\)/, "support.scriptedModel([$1, $1])"),
  );
  assert.equal(code, 0);
  const [first, second, over] = stdout.trim().split("\n");
  assert.match(JSON.parse(first), /^Error: .*(descriptor|open files)/);
  assert.match(JSON.parse(second), /^x\n/);
  assert.equal(over, "over");
});

test("a host with 2,000 open files passes none on", async () => {
  const { stdout } = await runChild(
    hostOf("ls /proc/$$/fd | tr '\\n' ' '", {
      before: `const { openSync } = await import("node:fs");
        for (let number = 0; number < 2_000; number += 1) openSync("/dev/null");`,
    }),
  );
  assert.match(JSON.parse(stdout), /^0 1 2 /);
});

test("a host with strict unhandled rejections and a command of each outcome ends quietly", async () => {
  const script = `
    const inputs = [{ command: "true" }, { command: "exit 1" }, { command: "sleep 9", timeoutMs: 10 }, { command: "kill -9 $$" }, { command: "" }];
    const calls = inputs.map((input, number) => ({ id: String(number), name: "bash", input }));
    const agent = makeAgent({ sessions: false, permission: lite.policy(), model: support.scriptedModel([{ calls }, { text: "ok" }]) });
    console.log((await agent.send("go")).text);
    await agent.close();`;
  const { code, stdout, stderr } = await runChild(script);
  assert.deepEqual([code, stdout, stderr], [0, "ok\n", ""]);
});

test("the end of one agent leaves the commands of another alone", async (t) => {
  const [mark, other] = [marker(), marker()];
  const one = await bashAgent(t, [`sleep ${mark}`]);
  const two = await bashAgent(t, [`touch begun; sleep 0.4; touch over; : ${other}`]);
  const running = [one.agent.send("go"), two.agent.send("go")];
  await sleeping(mark);
  await until(() => existsSync(join(two.workdir, "begun")));
  await one.agent.close();
  await Promise.all(running);
  assert.ok(existsSync(join(two.workdir, "over")));
  await gone(mark);
});

test("a break out of query() in the middle of a command takes its tree along before it resolves", async (t) => {
  const mark = marker();
  const { workdir, home } = await temporaryFolder(t);
  const model = scriptedModel([{ calls: [bashCall(`trap '' TERM; sleep ${mark}; sleep ${mark}`)] }, { text: "ok" }]);
  for await (const event of query({ prompt: "go", cwd: workdir, home, model, sessions: false, permission: policy() })) {
    if (event.type !== "tool_call_start") continue;
    await sleeping(mark);
    break;
  }
  await gone(mark, 0);
});

test("50 agents, each with a command, leave no thread and no descriptor", async (t) => {
  const threads = () => readdirSync("/proc/self/task").length;
  const once = async () => {
    const { agent } = await bashAgent(t, ["true"]);
    await agent.send("go");
    await agent.close();
  };
  for (let number = 0; number < 5; number += 1) await once();
  const before = [threads(), descriptors().length];
  for (let number = 0; number < 50; number += 1) await once();
  await until(
    () => threads() <= before[0] + 2 && descriptors().length <= before[1],
    `${before} threads and descriptors, not ${threads()} and ${descriptors()}`,
  );
});

test("folders with spaces, quotes, line breaks and other letters are folders as any", async (t) => {
  const { root } = await temporaryFolder(t);
  const workdir = join(root, `a b'"\n$(touch x)\u00e9`);
  await mkdir(workdir);
  const { content } = await bash(t, "pwd; touch here", { workdir });
  assert.equal(written(content), `${workdir}\n`);
  assert.deepEqual(readdirSync(workdir), ["here"]);
});

for (const [name, env] of [
  ["a value", { A: "\ud800" }],
  ["a name", { "\ud800": "1" }],
]) {
  test(`bash.env with half a surrogate pair in ${name} is refused by name, or passed as U+FFFD`, (t) => {
    try {
      agentFor(t, { model: scriptedModel([{ text: "ok" }]), bash: { env } });
    } catch (error) {
      assert.ok(error instanceof ConfigError && error.message.includes("bash.env"), `${error.name}: ${error.message}`);
    }
  });
}

test("the greatest deadline that is allowed works, and one more is refused", async (t) => {
  const most = 2 ** 31 - 1;
  assert.match((await bash(t, { command: "echo x", timeoutMs: most }, { bash: { timeoutMs: most } })).content, /^x\n/);
  assert.match((await bash(t, { command: "echo x", timeoutMs: most + 1 })).content, /timeoutMs/);
});

test("a tool of the host named bash is in the place of the built-in one", async (t) => {
  const { tool } = await import("../../index.js");
  const { content } = await bash(t, "touch ran", { tools: [tool("bash", "mine", { type: "object" }, () => "mine")] });
  assert.equal(content, "mine");
});

test("middleware that asks twice runs the command twice, with one tool:end", async (t) => {
  const twice = { name: "twice", wrapToolCall: async (_, next) => (await next(), next()) };
  const { ends, content } = await bash(t, "echo x >> counted; wc -l < counted", { use: [twice] });
  assert.equal(ends.length, 1);
  assert.equal(written(content).trim(), "2");
});

test("close() right after a run began, or in its first events, leaves nothing", async (t) => {
  const mark = marker();
  for (const type of [undefined, "turn_start", "tool_use", "tool_call_start"]) {
    const { agent } = await bashAgent(t, [`sleep ${mark}`]);
    const closing = new Promise((resolve) => {
      if (type === undefined) setImmediate(() => resolve(agent.close()));
      else agent.subscribe(({ event }) => event.type === type && resolve(agent.close()));
    });
    assert.equal((await within(agent.send("go"), "the run")).stopReason, "aborted");
    await within(closing, "close()");
    await gone(mark, 0);
  }
});
