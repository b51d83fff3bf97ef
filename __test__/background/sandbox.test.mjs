// The host's sandbox around background commands: asked once for each, never gone around, let go when they are gone. Knows
// the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { gone, marker, sleeping } from "../commands/processes.mjs";
import { deferred } from "../support/model.mjs";
import { drivenAgent, idIn, stubbornTree } from "./driving.mjs";

/** A sandbox that tells what it was asked, and wraps by an echo. */
function recording(parts = {}) {
  const asked = [];
  return {
    id: "recording",
    asked,
    wrap(command, options) {
      asked.push([command, options]);
      return `echo wrapped; ${command}`;
    },
    ...parts,
  };
}

test("a background command is wrapped, and asked about once", async (t) => {
  const sandbox = recording();
  const driven = drivenAgent(t, { sandbox });
  const id = await driven.start("echo in");
  assert.equal((await driven.readToEnd(id)).text, "wrapped\nin\n");
  await driven.close();
  assert.deepEqual(sandbox.asked, [["echo in", { cwd: driven.workdir }]]);
});

test("reading and ending a command do not ask the sandbox", async (t) => {
  const sandbox = recording();
  const driven = drivenAgent(t, { sandbox });
  const id = await driven.start("sleep 60");
  await driven.read(id);
  await driven.kill(id);
  assert.equal(sandbox.asked.length, 1);
});

const FAILING = {
  "a wrap that throws": {
    wrap() {
      throw new Error("no boundary here");
    },
  },
  "a wrap that rejects": { wrap: async () => Promise.reject(new Error("no boundary here")) },
  "an initialize that rejects": { initialize: () => Promise.reject(new Error("no boundary here")) },
};
for (const [name, parts] of Object.entries(FAILING)) {
  test(`${name}: the command is not run, and the reason is told, at the start or at the end`, async (t) => {
    const driven = drivenAgent(t, { sandbox: recording(parts) });
    const { content, isError } = await driven.ask("touch ran");
    const told = isError ? content : await driven.readToEnd(idIn(content)).then(({ text, ending }) => text + ending);
    assert.match(told, /no boundary here/);
    await driven.close();
    assert.equal(existsSync(join(driven.workdir, "ran")), false);
  });
}

test("a command that the sandbox failed takes no place", async (t) => {
  let failing = true;
  const wrap = (command) => {
    if (failing) throw new Error("no boundary here");
    return command;
  };
  const driven = drivenAgent(t, { sandbox: recording({ wrap }), backgroundLimits: { maxDetached: 1 } });
  const { content, isError } = await driven.ask("true");
  if (!isError) await driven.readToEnd(idIn(content));
  failing = false;
  assert.equal((await driven.ask("true")).isError, false);
});

test("close() while wrap is pending starts nothing, not even when it answers later", async (t) => {
  const asked = deferred();
  const answer = deferred();
  const wrap = async (command) => {
    asked.resolve();
    await answer.promise;
    return command;
  };
  const driven = drivenAgent(t, { sandbox: recording({ wrap }) });
  const asking = driven.ask("touch ran");
  await asked.promise;
  await driven.close();
  answer.resolve();
  await Promise.allSettled([asking]);
  assert.equal(existsSync(join(driven.workdir, "ran")), false);
});

test("dispose is called only when the last background command's tree is gone", async (t) => {
  const mark = marker();
  const alive = [];
  const sandbox = recording({
    async dispose() {
      alive.push(await gone(mark, 0).then(() => "gone", String));
    },
  });
  const driven = drivenAgent(t, { sandbox });
  await driven.start(stubbornTree(mark));
  await sleeping(mark, 3);
  await driven.close();
  assert.deepEqual(alive, ["gone"]);
});
