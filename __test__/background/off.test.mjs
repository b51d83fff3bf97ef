// background: false, where nothing runs in the background. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { drivenAgent } from "./driving.mjs";

test("without background there is no BashOutput and no KillBackground", async (t) => {
  const driven = drivenAgent(t, { background: false });
  await driven.agent.send("go");
  const names = driven.model.requests[0].tools.map(({ name }) => name);
  assert.ok(names.includes("bash"));
  assert.ok(!names.includes("BashOutput") && !names.includes("KillBackground"), names.join());
});

test("without background, bash's schema has no run_in_background", async (t) => {
  const driven = drivenAgent(t, { background: false });
  await driven.agent.send("go");
  const { parameters } = driven.model.requests[0].tools.find(({ name }) => name === "bash");
  assert.ok(!JSON.stringify(parameters).includes("run_in_background"));
});

test("without background, a call that asks for it is a failed result, and nothing is started", async (t) => {
  const driven = drivenAgent(t, { background: false });
  const { content, isError } = await driven.ask("touch ran");
  assert.equal(isError, true);
  assert.match(content, /run_in_background/);
  assert.equal(existsSync(join(driven.workdir, "ran")), false);
});

for (const name of ["BashOutput", "KillBackground"]) {
  test(`without background, ${name} is an unknown tool`, async (t) => {
    const driven = drivenAgent(t, { background: false });
    const { content, isError } = await driven.call(name, { id: "bg_0123456789abcdef" });
    assert.equal(isError, true);
    assert.ok(content.includes(`unknown tool '${name}'`), content);
  });
}

test("without background, bash itself works as ever", async (t) => {
  const driven = drivenAgent(t, { background: false });
  assert.match((await driven.call("bash", { command: "echo here" })).content, /^here\n/);
});

test("a tool that the host leaves out is not offered", async (t) => {
  const driven = drivenAgent(t, { disallowedTools: ["BashOutput"] });
  await driven.agent.send("go");
  assert.ok(!driven.model.requests[0].tools.some(({ name }) => name === "BashOutput"));
});

const schemaOf = ({ tools }) => JSON.stringify(tools.find(({ name }) => name === "bash").parameters);

for (const config of [
  { allowedTools: ["bash"] },
  { allowedTools: ["bash", "BashOutput"] },
  { disallowedTools: ["KillBackground"] },
]) {
  test(`with ${JSON.stringify(config)} bash leaves nothing running`, async (t) => {
    const driven = drivenAgent(t, config);
    const { content, isError } = await driven.ask("touch ran");
    assert.ok(!schemaOf(driven.model.requests[0]).includes("run_in_background"));
    assert.equal(isError, true);
    assert.match(content, /^Error: .*BashOutput and KillBackground.*without run_in_background$/);
    assert.equal(existsSync(join(driven.workdir, "ran")), false);
    assert.match((await driven.call("bash", { command: "echo here" })).content, /^here\n/);
  });
}

for (const [tools, leaves] of [
  ["bash", false],
  ["bash, BashOutput", false],
  ["bash, BashOutput, KillBackground", true],
]) {
  test(`a child with the tools ${tools} ${leaves ? "leaves commands running" : "does not, though its parent does"}`, async (t) => {
    const home = mkdtempSync(join(tmpdir(), "lite-agent-test-"));
    t.after(() => rmSync(home, { recursive: true, force: true }));
    mkdirSync(join(home, "agents"));
    writeFileSync(join(home, "agents/runner.md"), `---\nname: runner\ndescription: runs\ntools: ${tools}\n---\nRun.\n`);
    const requests = [];
    const child = (request) => {
      requests.push(request);
      const input = { command: "true", run_in_background: true };
      return requests.length > 1 ? { text: "ran" } : { calls: [{ id: "1", name: "bash", input }] };
    };
    const driven = drivenAgent(t, { home, child });
    await driven.call("Agent", { tasks: [{ display_name: "r", subagent_type: "runner", prompt: "child" }] });
    await driven.agent.awaitIdle();
    assert.equal(schemaOf(requests[0]).includes("run_in_background"), leaves);
    assert.ok(schemaOf(driven.model.requests[0]).includes("run_in_background"), "the parent's is as it was");
    const [{ content }] = requests[1].messages.at(-1).content;
    assert.match(content, leaves ? /^Started in the background/ : /^Error: .*without run_in_background$/);
  });
}

for (const value of ["yes", 1, null, {}]) {
  test(`background: ${JSON.stringify(value)} is refused by name`, (t) => {
    assert.throws(
      () => drivenAgent(t, { background: value }),
      (error) => /Config|Type/.test(error.name) && error.message.includes("background"),
    );
  });
}
