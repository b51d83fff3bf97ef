// A host that compiles to CommonJS: `import … = require()`, named imports, types, and classes to extend.

import lite = require("lite-agent");
import { AgentError, createLiteAgent, SteerController } from "lite-agent";
import type { HookEventMap, LiteAgent, ModelProvider } from "lite-agent";

declare const model: ModelProvider;
const agent: LiteAgent = createLiteAgent({ model, workdir: __dirname });
const second: lite.LiteAgent = lite.createLiteAgent({ model, workdir: __dirname });

agent.hook("run:end", async ({ status, result }) => {
  const text: string | undefined = result?.text;
  console.log(status, text);
});
second.hook("tool:end", (event: HookEventMap["tool:end"]) => event.durationMs);
// @ts-expect-error a name that there is not
agent.hook("run:ended", () => {});
// @ts-expect-error a function that there is not
lite.createAgent;

class HostError extends AgentError {}
const failure: lite.AgentError = new HostError("of the host");
const steer: SteerController = new lite.SteerController();
export const options: lite.RunOptions = { steer };
export const code: string = failure instanceof lite.ConfigError ? "config" : failure.code;
