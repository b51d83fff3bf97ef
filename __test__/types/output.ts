// Answers, background work, skills and tasks: the options, what outputSchema makes of a result, and the event that tells of
// a command's end.

import { createLiteAgent, query } from "lite-agent";
import type {
  AgentEvent,
  BackgroundCompletion,
  BackgroundStatus,
  CreateLiteAgentConfig,
  HookRunResult,
  LiteAgent,
  LiteAgentResult,
  ModelProvider,
  QueryOptions,
  StandardSchema,
} from "lite-agent";
import { holds } from "./expect.js";
import type { Same } from "./expect.js";

declare const model: ModelProvider;
const workdir = ".";
type City = { city: string; degrees: number };

/** The output of an agent. */
type OutputOf<A> = A extends LiteAgent<infer O> ? O : never;

// The output is what validate gives, not what went in.
declare const city: StandardSchema<City>;
declare const transforming: {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: "test";
    readonly validate: (value: unknown) => { value: { when: Date } };
    readonly types?: { readonly input: { when: string }; readonly output: { when: Date } };
  };
};
const ofCity = createLiteAgent({ model, workdir, outputSchema: city });
holds<Same<OutputOf<typeof ofCity>, City>>();
const transformed = createLiteAgent({ model, workdir, outputSchema: transforming });
holds<Same<OutputOf<typeof transformed>, { when: Date }>>();

export async function outputs(): Promise<void> {
  const sent = await ofCity.send("weather");
  holds<Same<typeof sent, LiteAgentResult<City>>>();
  holds<Same<typeof sent.output, City | undefined>>();
  // @ts-expect-error a run may end without an answer
  sent.output.city;
  // @ts-expect-error a field that the schema does not have
  sent.output?.mood;

  const step = await ofCity.run("weather").next();
  if (step.done === true) holds<Same<typeof step.value.output, City | undefined>>();

  const asked = query({ model, prompt: "weather", outputSchema: transforming });
  const last = await asked.next();
  if (last.done === true) holds<Same<typeof last.value.output, { when: Date } | undefined>>();

  // A plain JSON Schema says nothing that a compiler knows, unless the host says it.
  const plain = createLiteAgent({ model, workdir, outputSchema: { type: "object" } });
  holds<Same<OutputOf<typeof plain>, unknown>>();
  const annotated = createLiteAgent<City>({ model, workdir, outputSchema: { type: "object" } });
  holds<Same<OutputOf<typeof annotated>, City>>();
}

// @ts-expect-error a schema is an object
createLiteAgent({ model, workdir, outputSchema: "object" });
export const config: CreateLiteAgentConfig<City> = { model, workdir, outputSchema: city };
export const own: QueryOptions<City> = { model, prompt: "weather", outputSchema: city };

// Events and hooks know an output, not whose.
export function answerOf(event: AgentEvent): unknown {
  if (event.type === "done") {
    holds<Same<typeof event.result.output, unknown>>();
    return event.result.output;
  }
  return undefined;
}
ofCity.hook("run:end", ({ result }) => {
  holds<Same<typeof result, HookRunResult | undefined>>();
  // @ts-expect-error a frozen copy
  if (result) result.output = { city: "Bern" };
});

// Background work.
createLiteAgent({
  model,
  workdir,
  background: true,
  backgroundLimits: { maxTotal: 10, maxDetached: 5, bufferBytes: 65_536, maxTaskMs: 60_000 },
  bash: { backgroundTimeoutMs: 60_000 },
});
createLiteAgent({
  model,
  workdir,
  backgroundLimits: { maxTotal: undefined },
  bash: { backgroundTimeoutMs: undefined },
});
// @ts-expect-error a limit that there is not
createLiteAgent({ model, workdir, backgroundLimits: { maxTotl: 10 } });
// @ts-expect-error a limit is a number
createLiteAgent({ model, workdir, backgroundLimits: { maxTaskMs: "60s" } });

export function completed(event: AgentEvent): string {
  if (event.type !== "background_completed") return "";
  const { completion } = event;
  holds<Same<typeof completion, BackgroundCompletion>>();
  holds<Same<typeof completion.status, BackgroundStatus>>();
  holds<Same<typeof completion.awaitIdle, false | undefined>>();
  return completion.isError ? completion.content : completion.label;
}

// Skills and tasks.
createLiteAgent({ model, workdir, skillsDir: "skills", tasks: true, taskListId: "list" });
query({ model, prompt: "go", skillsDir: "skills", tasks: false });
// @ts-expect-error a folder is a path
createLiteAgent({ model, workdir, skillsDir: ["skills"] });
// @ts-expect-error a list has a name
createLiteAgent({ model, workdir, taskListId: 5 });
