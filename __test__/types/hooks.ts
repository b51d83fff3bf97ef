// A hook's name infers its event; wrong names, handlers and writes do not compile.

import { createLiteAgent } from "lite-agent";
import type {
  HookError,
  HookEvent,
  HookEventMap,
  HookHandler,
  HookName,
  HookRunResult,
  HookSource,
  HookStatus,
  Message,
  ModelProvider,
  ToolCall,
  ToolResult,
} from "lite-agent";
import { holds } from "./expect.js";
import type { Same } from "./expect.js";

declare const model: ModelProvider;
const agent = createLiteAgent({ model, workdir: "." });

agent.hook("run:start", (event, context) => {
  holds<Same<typeof event, HookEventMap["run:start"]>>();
  holds<Same<typeof event.event, "run:start">>();
  holds<Same<typeof event.input, string | readonly Message[]>>();
  holds<Same<typeof event.source, HookSource>>();
  holds<Same<typeof event.agentId, string | undefined>>();
  holds<Same<typeof context.signal, AbortSignal>>();
  // @ts-expect-error a run that starts has no status
  event.status;
  // @ts-expect-error events are frozen
  event.runId = "other";
  // @ts-expect-error a conversation in an event is frozen
  if (typeof event.input !== "string") event.input.push({ role: "user", content: "more" });
});

agent.hook("run:end", ({ status, result, error }) => {
  holds<Same<typeof status, HookStatus>>();
  holds<Same<typeof result, HookRunResult | undefined>>();
  holds<Same<typeof error, HookError | undefined>>();
});

agent.hook("tool:start", (event) => {
  holds<Same<typeof event.call, Readonly<ToolCall>>>();
  // @ts-expect-error a call that starts has no duration
  event.durationMs;
  // @ts-expect-error a hook cannot change a call
  event.call.input = {};
});

agent.hook("tool:end", ({ call, result, durationMs }) => {
  holds<Same<typeof call, Readonly<ToolCall>>>();
  holds<Same<typeof result, Readonly<ToolResult> | undefined>>();
  holds<Same<typeof durationMs, number>>();
});

agent.hook("compact:start", ({ compactionId, kind, before, instructions }) => {
  holds<Same<typeof compactionId, string>>();
  holds<Same<typeof kind, "micro" | "auto" | "manual">>();
  holds<Same<typeof before, number>>();
  holds<Same<typeof instructions, string | undefined>>();
});

agent.hook("compact:end", ({ after, status }) => {
  holds<Same<typeof after, number>>();
  holds<Same<typeof status, HookStatus>>();
});

// Wrong names.
// @ts-expect-error
agent.hook("run:ended", () => {});
// @ts-expect-error
agent.hook("Run:End", () => {});
// @ts-expect-error
agent.hook("", () => {});
declare const anyName: string;
// @ts-expect-error
agent.hook(anyName, () => {});

// Wrong handlers and options.
// @ts-expect-error
agent.hook("run:end");
// @ts-expect-error
agent.hook("run:end", "console.log");
// @ts-expect-error
agent.hook("run:end", (event: HookEventMap["tool:end"]) => event.durationMs);
// @ts-expect-error
agent.hook("run:end", () => {}, { timeoutMs: "10" });
// @ts-expect-error
agent.hook("run:end", () => {}, { timeout: 10 });

// What is returned is ignored, whatever it is, and options may be undefined.
const remove: () => void = agent.hook("run:end", () => 1, { timeoutMs: undefined });
remove();
agent.hook("run:end", async () => "text", undefined);
agent.hook("run:end", () => {}, {});

// A handler on its own, and one for several names.
const audit: HookHandler<"tool:end"> = ({ call }) => call.name;
agent.hook("tool:end", audit);
// @ts-expect-error
agent.hook("tool:start", audit);
const names: HookName[] = ["run:start", "run:end", "tool:start", "tool:end", "compact:start", "compact:end"];
for (const name of names) {
  agent.hook(name, (event) => {
    holds<Same<typeof event, HookEvent>>();
    if (event.event === "tool:end") holds<Same<typeof event.durationMs, number>>();
  });
}

// A handler that wants to know less than the event tells serves every event.
const logged = ({ runId }: { readonly runId: string }): void => console.log(runId);
agent.hook("run:start", logged);
agent.hook("tool:end", logged);
