// A host without @types/node: the library's types need no more than lib dom and esnext.disposable.

import { createLiteAgent } from "lite-agent";
import type { ModelProvider } from "lite-agent";

declare const model: ModelProvider;

export async function start(): Promise<string> {
  await using agent = createLiteAgent({ model, workdir: "." });
  agent.hook("run:end", ({ status }, { signal }) => console.log(status, signal.aborted));
  return (await agent.send("hello", { signal: AbortSignal.timeout(1_000) })).text;
}
