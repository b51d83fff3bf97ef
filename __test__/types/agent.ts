// Options, tools, output, events and errors: what is inferred, and what does not compile.

import {
  AbortError,
  AgentError,
  CheckpointConflictError,
  ConfigError,
  createLiteAgent,
  DEFAULT_RESOURCE_LIMITS,
  defineTool,
  fakeProvider,
  isTextBlock,
  isToolCallBlock,
  ProviderError,
  query,
  retry,
  SteerController,
  textBlock,
  tool,
  toolResultBlock,
} from "lite-agent";
import type {
  AgentEvent,
  ContentBlock,
  CreateLiteAgentConfig,
  LiteAgent,
  LiteAgentEvent,
  LiteAgentResult,
  Message,
  Middleware,
  ModelChunk,
  ModelProvider,
  ModelRequest,
  StandardSchema,
  TextBlock,
  Tool,
  ToolCallBlock,
  ToolContext,
  ToolResultBlock,
} from "lite-agent";
import { holds } from "./expect.js";
import type { Same } from "./expect.js";

declare const model: ModelProvider;
const workdir = ".";
type Answer = { city: string; degrees: number };
declare const answerSchema: StandardSchema<Answer>;

// outputSchema infers the output of send, run and query.
export async function outputs(): Promise<void> {
  const agent = createLiteAgent({ model, workdir, outputSchema: answerSchema });
  holds<Same<typeof agent, LiteAgent<Answer>>>();
  const sent = await agent.send("weather");
  holds<Same<typeof sent, LiteAgentResult<Answer>>>();
  holds<Same<typeof sent.output, Answer | undefined>>();
  // @ts-expect-error the output may be absent
  sent.output.city;
  const step = await agent.run("weather").next();
  if (step.done === true) holds<Same<typeof step.value.output, Answer | undefined>>();
  else holds<Same<typeof step.value, AgentEvent>>();

  const asked = await query({ model, prompt: "weather", outputSchema: answerSchema }).next();
  if (asked.done === true) holds<Same<typeof asked.value.output, Answer | undefined>>();

  const untyped = createLiteAgent({ model, workdir, outputSchema: { type: "object" } });
  holds<Same<Awaited<ReturnType<typeof untyped.send>>["output"], unknown>>();
  const plain = createLiteAgent({ model, workdir });
  holds<Same<typeof plain, LiteAgent<unknown>>>();
  const widened: LiteAgent = agent;
  await widened.close();
}

// Options.
// @ts-expect-error workdir is required
createLiteAgent({ model });
// @ts-expect-error query takes cwd
query({ model, prompt: "hello", workdir });
// @ts-expect-error query takes systemPrompt
query({ model, prompt: "hello", system: "be brief" });
// @ts-expect-error an unknown option
createLiteAgent({ model, workdir, maxTurn: 3 });
// @ts-expect-error an option of the wrong type
createLiteAgent({ model, workdir, maxTurns: "3" });
// @ts-expect-error a reasoning effort that there is not
createLiteAgent({ model, workdir, reasoningEffort: "huge" });
createLiteAgent({ model, workdir, toolChoice: { tool: "read" }, reasoningEffort: "low" });
createLiteAgent({ model: "anthropic:some-model", workdir });

// A schema infers the input of a tool, and so does an annotation beside a plain JSON Schema.
const typed = tool("weather", "tells it", answerSchema, (input, context) => {
  holds<Same<typeof input, Answer>>();
  holds<Same<typeof context, ToolContext>>();
  return input.city;
});
holds<Same<typeof typed, Tool<Answer>>>();
const annotated = tool("read", "reads", { type: "object" }, async (input: { path: string }) => ({
  content: [textBlock(input.path)],
  isError: false,
}));
holds<Same<typeof annotated, Tool<{ path: string }>>>();
const open = tool("open", "opens", { type: "object" }, (input) => String(input), { timeoutMs: 1_000 });
holds<Same<typeof open, Tool<unknown>>>();
const defined = defineTool({
  name: "weather",
  description: "tells it",
  schema: answerSchema,
  execute: (input) => {
    holds<Same<typeof input, Answer>>();
    return input.city;
  },
});
createLiteAgent({ model, workdir, tools: [typed, annotated, open, defined] });
// @ts-expect-error a tool answers with text, images, or an object of both and isError
tool("number", "counts", { type: "object" }, () => 3);
// @ts-expect-error execute must fit the schema
tool<Answer>("weather", "tells it", answerSchema, (input: { city: number }) => String(input.city));

// Events narrow by their type.
export function describe(event: AgentEvent): string {
  holds<Same<typeof event.agentId, string | undefined>>();
  switch (event.type) {
    case "text_delta":
      return event.text;
    case "tool_result":
      return event.result.name;
    case "diagnostic":
      return event.hook?.reason ?? event.code;
    case "done":
      return event.result.text + event.reason;
    // @ts-expect-error an event that there is not
    case "text":
      return "";
    default:
      return event.type;
  }
}
const forget: () => void = createLiteAgent({ model, workdir }).subscribe((entry: LiteAgentEvent) => entry.event.type);
forget();

// Blocks.
export function blocks(block: ContentBlock): void {
  if (isTextBlock(block)) holds<Same<typeof block, TextBlock>>();
  if (isToolCallBlock(block)) holds<Same<typeof block, ToolCallBlock>>();
}
const result: ToolResultBlock = toolResultBlock("call_1", [textBlock("text")], true);
export const conversation: Message[] = [{ role: "user", content: [result, textBlock("go on")] }];
// @ts-expect-error a role that there is not
export const wrongRole: Message = { role: "developer", content: "" };

// Steering, middleware, providers and the scripted model.
const steer = new SteerController();
steer.steer("left");
steer.followUp({ role: "user", content: "and then?" });
// @ts-expect-error
steer.steer(3);
export const options: Parameters<LiteAgent["send"]>[1] = { steer, signal: new AbortController().signal, maxTurns: 3 };

const audit: Middleware = {
  name: "audit",
  beforeModel: (context) => void context.messages.push({ role: "user", content: "note" }),
  async wrapToolCall(context, next) {
    context.state.set(context.call.id, context.turn);
    return await next();
  },
  async *wrapModelCall(_context, next) {
    for await (const chunk of next()) {
      holds<Same<typeof chunk, ModelChunk>>();
      yield chunk;
    }
  },
};
class Counting implements Middleware {
  readonly name = "counting";
  calls = 0;
  beforeModel(): void {
    this.calls += 1;
  }
}
createLiteAgent({ model, workdir, use: [audit, new Counting(), retry({ attempts: 2 })] });

export const own: ModelProvider = {
  id: "own",
  async *stream(request: ModelRequest, signal) {
    signal?.throwIfAborted();
    yield { type: "text_delta", text: request.model };
    yield {
      type: "message_done",
      message: { role: "assistant", content: [textBlock(request.model)] },
      usage: { inputTokens: 1, outputTokens: 1 },
    };
  },
};
export const scripted: ModelProvider = fakeProvider([
  { text: "hi", message: { role: "assistant", content: [textBlock("hi")] } },
]);
// @ts-expect-error a turn needs a message
fakeProvider([{ text: "hi" }]);

// Errors.
const failure: AgentError = new ProviderError("too many requests", { status: 429, cause: new Error("429") });
holds<Same<typeof failure.code, string>>();
export function inspect(error: unknown): string | number | undefined {
  if (error instanceof ProviderError) return error.status;
  if (error instanceof ConfigError) return error.file ?? error.path;
  if (error instanceof CheckpointConflictError) return error.expected - error.actual;
  return error instanceof AbortError ? error.name : undefined;
}
class HostError extends AgentError {
  constructor() {
    super("of the host", { code: "host" });
  }
}
export const thrown: Error = new HostError();
// @ts-expect-error limits are frozen
DEFAULT_RESOURCE_LIMITS.cpuSeconds = 1;

export const config: CreateLiteAgentConfig<Answer> = { model, workdir, outputSchema: answerSchema };
