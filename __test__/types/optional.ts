// Every optional property also takes undefined, under exactOptionalPropertyTypes.

import type * as api from "lite-agent";
import { holds } from "./expect.js";

type OptionalKeys<T> = { [K in keyof T]-?: string extends K ? never : {} extends Pick<T, K> ? K : never }[keyof T];
/** The optional properties of each member of T, down through objects and arrays, that do not take undefined. */
type Strict<T, Depth extends 0[] = []> = Depth["length"] extends 4
  ? never
  : T extends (...rest: never[]) => unknown
    ? never
    : T extends readonly (infer E)[]
      ? Strict<E, [...Depth, 0]>
      : T extends AbortSignal | Error | Map<unknown, unknown>
        ? never
        : T extends object
          ? | { [K in OptionalKeys<T>]: undefined extends Present<T>[K] ? never : K }[OptionalKeys<T>]
            | { [K in keyof T]-?: Strict<T[K], [...Depth, 0]> }[keyof T]
          : never;
/** T with its optional marks taken off but `undefined` kept where it was written. */
type Present<T> = { [K in keyof T]-?: T[K] };
type Lenient<T> = [Strict<T>] extends [never] ? true : Strict<T>;

// The instrument itself: it must find what is strict, at the top and below.
holds<[Strict<{ a?: string }>] extends ["a"] ? true : false>();
holds<[Strict<{ b: { a?: string }[] }>] extends ["a"] ? true : false>();
// @ts-expect-error
holds<Lenient<{ a?: string }>>();
// @ts-expect-error
holds<Lenient<{ b: { a?: string }[] }>>();
holds<Lenient<{ a?: string | undefined }>>();

holds<Lenient<api.CreateLiteAgentConfig>>();
holds<Lenient<api.QueryOptions>>();
holds<Lenient<api.RunOptions>>();
holds<Lenient<api.LiteAgentResult>>();
holds<Lenient<api.AgentEvent>>();
holds<Lenient<api.HookEvent>>();
holds<Lenient<api.HookOptions>>();
holds<Lenient<api.HookFailure>>();
holds<Lenient<api.ModelRequest>>();
holds<Lenient<api.ModelChunk>>();
holds<Lenient<api.ModelProvider>>();
holds<Lenient<api.ModelProfile>>();
holds<Lenient<api.AnthropicOptions>>();
holds<Lenient<api.FakeTurn>>();
holds<Lenient<api.ToolCallCodec>>();
holds<Lenient<api.ToolContext>>();
holds<Lenient<api.Tool>>();
holds<Lenient<Exclude<api.ToolOutput, string>>>();
holds<Lenient<api.ContentBlock>>();
holds<Lenient<api.BackgroundCompletion>>();
holds<Lenient<api.PolicyOptions>>();
holds<Lenient<api.PolicyVerdict>>();
holds<Lenient<api.UserQuestion>>();
holds<Lenient<api.UserAnswer>>();
holds<Lenient<api.Sandbox>>();
holds<Lenient<api.SandboxOptions>>();
holds<Lenient<api.SessionEvent>>();
holds<Lenient<api.Checkpointer>>();
holds<Lenient<api.Middleware>>();
holds<Lenient<api.CompactResult>>();
holds<Lenient<api.McpServerConfig>>();
holds<Lenient<api.StandardSchema<unknown>["~standard"]>>();
holds<Lenient<Parameters<typeof api.tool>[4] & {}>>();
holds<Lenient<Parameters<typeof api.retry>[0] & {}>>();
holds<Lenient<Parameters<typeof api.localOpenAI>[0]>>();
holds<Lenient<Parameters<typeof api.sqliteCheckpointer>[0]>>();
holds<Lenient<Parameters<typeof api.resolveProjectPaths>[0]>>();
holds<Lenient<Parameters<api.LiteAgent["restore"]>[2] & {}>>();
