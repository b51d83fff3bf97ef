// An agent whose prompts are lists of calls, for tests that take its session back. Knows the public face only.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { memoryCheckpointer } from "../../index.js";
import { agentFor, scriptedModel, temporaryFolder } from "../support/model.mjs";

export const allowAll = { check: () => "allow" };
export const sessionId = "s";

/**
 * `prompts`: for each prompt, the calls of its one turn: `{ name, input }`, or `[path, content]` for write_file with that
 * content, delete_file where it is null.
 */
export async function workingAgent(t, prompts, config = {}) {
  const { workdir, home } = await temporaryFolder(t);
  const turns = prompts.flatMap((calls, turn) => [
    { calls: calls.map((call, index) => ({ id: `${turn}-${index}`, ...asCall(call) })) },
    { text: "done" },
  ]);
  const model = scriptedModel([...turns, { text: "ok" }]);
  const checkpointer = config.checkpointer ?? memoryCheckpointer();
  const agent = agentFor(t, { permission: allowAll, checkpointer, ...config, workdir, home, model });
  const events = [];
  agent.subscribe(({ event, source, sessionId: session }) => {
    if (event.type === "checkpoint_restore") events.push({ ...event, source, session });
  });
  return {
    agent,
    model,
    checkpointer,
    workdir,
    events,
    path: (name) => join(workdir, name),
    write(name, content) {
      mkdirSync(dirname(join(workdir, name)), { recursive: true });
      writeFileSync(join(workdir, name), content);
    },
    read(name) {
      try {
        return readFileSync(join(workdir, name), "utf8");
      } catch (error) {
        if (error.code === "ENOENT" || error.code === "ENOTDIR") return null;
        throw error;
      }
    },
    async prompt(text = "go") {
      return await agent.send(text, { sessionId });
    },
    async stored() {
      const all = [];
      for await (const { event } of checkpointer.read(sessionId)) all.push(event);
      return all;
    },
    async snapshots() {
      return (await this.stored()).filter(({ type }) => type === "file_snapshot");
    },
  };
}

function asCall(call) {
  if (!Array.isArray(call)) return call;
  const [path, content] = call;
  return content === null ? { name: "delete_file", input: { path } } : { name: "write_file", input: { path, content } };
}
