// Makes agents that live in folders of their own and go away with their test, and gathers what their runs yield.
// Knows the public face only.
import { mkdtemp, rm, mkdir } from "node:fs/promises";
import { mkdtempSync, mkdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLiteAgent, tool } from "../../index.js";
import { scriptedModel } from "./model.mjs";
import { within } from "./waiting.mjs";

/**
 * A fresh folder with `workdir` and `home` in it, removed after the test.
 * @param {import('node:test').TestContext} t
 */
export async function temporaryFolder(t) {
  const root = await mkdtemp(join(tmpdir(), "lite-agent-test-"));
  t.after(() => rm(root, { recursive: true, force: true }));
  const workdir = join(root, "work");
  const home = join(root, "home");
  await mkdir(workdir);
  await mkdir(home);
  return { root, workdir, home };
}

/**
 * An agent in a fresh workdir and home, closed after the test. `config.model` may be a list of turns for
 * `scriptedModel`, or be left out for a model that says "ok".
 * @param {import('node:test').TestContext} t
 * @param {Record<string, unknown>} [config]
 */
export function agentFor(t, config = {}) {
  const root = mkdtempSync(join(tmpdir(), "lite-agent-test-"));
  let agent;
  // Before the agent is made: a test may be about a configuration that is refused.
  t.after(async () => {
    if (agent) await within(agent.close(), "close() after the test", 20_000);
    rmSync(root, { recursive: true, force: true });
  });
  const workdir = join(root, "work");
  const home = join(root, "home");
  mkdirSync(workdir);
  mkdirSync(home);
  const { model = [{ text: "ok" }], ...rest } = config;
  agent = createLiteAgent({
    workdir,
    home,
    ...rest,
    model: Array.isArray(model) ? scriptedModel(model) : model,
  });
  return agent;
}

/**
 * Pulls a run to its end. Rejects with what the run throws.
 * @param {AsyncGenerator} generator
 * @returns {Promise<{ events: object[], result: object }>}
 */
export async function collect(generator) {
  const { events, result, ...thrown } = await collectUntilError(generator);
  if ("error" in thrown) throw thrown.error;
  return { events, result };
}

/**
 * Pulls a run to its end, whatever that is: `error` is there when the run threw, and the events before it are kept.
 * @param {AsyncGenerator} generator
 * @returns {Promise<{ events: object[], result?: object, error?: unknown }>}
 */
export async function collectUntilError(generator) {
  const events = [];
  try {
    for (;;) {
      const { done, value } = await generator.next();
      if (done) return { events, result: value };
      events.push(value);
    }
  } catch (error) {
    return { events, error };
  }
}

/** A tool without a schema to speak of. */
export function plainTool(name, execute, options) {
  return tool(name, `the tool ${name}`, { type: "object" }, execute, options);
}

/** Every hook event of `agent`, in the order in which they fired. */
export function recordHooks(
  agent,
  names = ["run:start", "run:end", "tool:start", "tool:end", "compact:start", "compact:end"],
) {
  const fired = [];
  for (const name of names) agent.hook(name, (event) => void fired.push(event));
  return fired;
}

/** The diagnostics of failed hooks among `events` (of a stream, or what `subscribe` heard). */
export function hookFailures(events) {
  return events
    .map((entry) => ("source" in entry && "event" in entry ? entry.event : entry))
    .filter((event) => event.type === "diagnostic" && event.code === "hook_failed");
}
