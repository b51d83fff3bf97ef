// A host that ends while its agent has a background command takes the command's whole tree along, however it ends. Knows
// the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { Worker } from "node:worker_threads";
import { once } from "node:events";
import { gone, marker, processesOf, sleeping } from "../commands/processes.mjs";
import { pause, until, within } from "../support/model.mjs";
import { stubbornTree } from "./driving.mjs";
import { folderFor, hostScript, startHost } from "./hosting.mjs";

const deaths = {
  "process.exit()": "process.exit(0)",
  "process.exit() right after close() was called": "agent.close(); process.exit(0)",
  "an uncaught error": "throw new Error('on purpose')",
  "process.abort()": "process.abort()",
  "a SIGTERM": "process.kill(process.pid, 'SIGTERM')",
  "its last handle closed": "process.stdin.destroy()",
};
for (const [name, then] of Object.entries(deaths)) {
  test(`${name} while a background command goes on: the whole tree is gone`, async (t) => {
    const mark = marker();
    const host = startHost(t, stubbornTree(mark), { then });
    await sleeping(mark, 3);
    const exited = once(host, "exit");
    host.stdin.write("now\n");
    await within(exited, "the host's end");
    await gone(mark);
  });
}

test("SIGKILL of the host while a background command goes on: the whole tree is gone", async (t) => {
  const mark = marker();
  const host = startHost(t, stubbornTree(mark));
  await sleeping(mark, 3);
  const exited = once(host, "exit");
  host.kill("SIGKILL");
  await within(exited, "the host's end");
  await gone(mark);
});

test("SIGKILL of a host at any moment while a background command starts leaves nothing", async (t) => {
  for (let round = 0; round < 4; round += 1) {
    const mark = marker();
    const host = startHost(t, stubbornTree(mark));
    const exited = once(host, "exit");
    await until(() => processesOf(mark).length >= 2, "the first process of the command", 20_000);
    if (round > 0) await pause(2 * round);
    host.kill("SIGKILL");
    await within(exited, "the host's end");
    await gone(mark);
  }
});

test("a worker thread that is terminated takes its background command along, and the process lives", async (t) => {
  const mark = marker();
  const worker = new Worker(hostScript(folderFor(t), stubbornTree(mark)) + "setInterval(() => {}, 1_000);", {
    eval: true,
  });
  const failures = [];
  worker.on("error", (error) => failures.push(error));
  await sleeping(mark, 3);
  await within(worker.terminate(), "terminate()");
  assert.deepEqual(failures, []);
  await gone(mark);
});

test("so does one that is terminated while a child is at work that left the command running", async (t) => {
  const mark = marker();
  const folder = folderFor(t);
  const address = (path) => JSON.stringify(new URL(path, import.meta.url).href);
  const task = { display_name: "one", subagent_type: "general-purpose", prompt: "child" };
  const script = `(async () => {
    const lite = await import(${address("../../index.js")});
    const calls = (name, input) => ({ role: "assistant", content: [{ type: "tool_call", id: name, name, input }] });
    const model = { id: "family", async *stream({ messages }) {
      const isChild = messages[0].content === "child";
      if (isChild && messages.length > 1) await new Promise(() => {});
      const message = isChild
        ? calls("bash", ${JSON.stringify({ command: `sleep ${mark}`, run_in_background: true })})
        : messages.length > 1
          ? { role: "assistant", content: [{ type: "text", text: "ok" }] }
          : calls("Agent", ${JSON.stringify({ tasks: [task] })});
      yield { type: "message_done", message, usage: { inputTokens: 1, outputTokens: 1 } };
    } };
    const folder = ${JSON.stringify(folder)};
    const agent = lite.createLiteAgent({ workdir: folder, home: folder + "/home", sessions: false, model, permission: lite.policy() });
    await agent.send("root");
    setInterval(() => {}, 1_000);
  })();`;
  const worker = new Worker(script, { eval: true });
  await sleeping(mark);
  await within(worker.terminate(), "terminate()");
  await gone(mark);
});
