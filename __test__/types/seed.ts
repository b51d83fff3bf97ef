// The snippets of the user's description of hooks, word for word. They must compile as they are.

import { createLiteAgent, policy, query } from "lite-agent";
import type { CreateLiteAgentConfig, HookStatus, ModelProvider } from "lite-agent";

declare const model: ModelProvider;
declare const workdir: string;
declare function saveAudit(
  entry: { runId: string; status: HookStatus; text: string | undefined },
  options: { signal: AbortSignal },
): Promise<void>;

const agent = createLiteAgent({ model, workdir });
const removeAudit = agent.hook("run:end", async ({ status, result, runId }, { signal }) => {
  await saveAudit({ runId, status, text: result?.text }, { signal });
});
agent.hook("run:end", async ({ status }) => {
  console.log(status);
});
removeAudit();

export const config: Partial<CreateLiteAgentConfig> = {
permission: policy({
  default: "deny",
  allow: ["read_file", "context"],
  rules: [{
    tool: "hook",
    when: {
      event: { equals: "run:end" },
      source: { equals: "project" },
      command: { equals: "node scripts/record-run.mjs" },
    },
    effect: "allow",
  }],
}),
};

export async function example(): Promise<string> {
  for await (const event of query({ model, prompt: "hello", cwd: workdir })) {
    if (event.type === "text_delta") console.log(event.text);
  }
  await using disposed = createLiteAgent({ model, workdir });
  return (await disposed.send("hello")).text;
}
