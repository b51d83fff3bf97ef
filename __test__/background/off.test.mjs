// background: false, where nothing runs in the background. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
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

for (const value of ["yes", 1, null, {}]) {
  test(`background: ${JSON.stringify(value)} is refused by name`, (t) => {
    assert.throws(
      () => drivenAgent(t, { background: value }),
      (error) => /Config|Type/.test(error.name) && error.message.includes("background"),
    );
  });
}
