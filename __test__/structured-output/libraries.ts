// What the schema libraries that people use make of a result's type. Apart from the other type tests, since the libraries'
// own types take a compiler long.

import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import { createLiteAgent, query } from "lite-agent";
import type { CreateLiteAgentConfig, LiteAgent, ModelProvider } from "lite-agent";
import * as v from "valibot";
import { z } from "zod";
import { holds } from "../types/expect.js";
import type { Same } from "../types/expect.js";

declare const model: ModelProvider;
const workdir = ".";
type City = { city: string; degrees: number };

/** The output of an agent. */
type OutputOf<A> = A extends LiteAgent<infer O> ? O : never;

// The libraries' own types are what the result has.
const ofZod = createLiteAgent({ model, workdir, outputSchema: z.object({ city: z.string(), degrees: z.number() }) });
holds<Same<OutputOf<typeof ofZod>, City>>();
const ofArkType = createLiteAgent({ model, workdir, outputSchema: type({ city: "string", degrees: "number" }) });
holds<Same<OutputOf<typeof ofArkType>, City>>();
const ofValibot = createLiteAgent({
  model,
  workdir,
  outputSchema: toStandardJsonSchema(v.object({ city: v.string(), degrees: v.number() })),
});
holds<Same<OutputOf<typeof ofValibot>, City>>();

// What a transform makes, and what a default fills in, is in the output; what went in is not.
const transformed = createLiteAgent({
  model,
  workdir,
  outputSchema: z.object({ when: z.string().transform((text) => new Date(text)), count: z.number().default(1) }),
});
holds<Same<OutputOf<typeof transformed>, { when: Date; count: number }>>();

export async function outputs(): Promise<void> {
  const { output } = await ofZod.send("weather");
  holds<Same<typeof output, City | undefined>>();
  // @ts-expect-error a field that the schema does not have
  output?.mood;
  const step = await query({ model, prompt: "weather", outputSchema: z.object({ city: z.string() }) }).next();
  if (step.done === true) holds<Same<typeof step.value.output, { city: string } | undefined>>();
}

// @ts-expect-error a schema of another output
export const wrong: CreateLiteAgentConfig<City> = { model, workdir, outputSchema: z.object({ city: z.number() }) };
