// The demo's function hooks. Each is awaited before the run goes on, and none can change what the run does.
import { appendFile } from "node:fs/promises";

/**
 * Counts and times what handlers do, so that the demo can show it. A handler does not need this: it is registered as it
 * is, with agent.hook(name, handler).
 */
export class HookCount {
  /** @type {Map<string, { events: Set<string>, calls: number, failed: number, durationMs: number }>} */
  byName = new Map();
  #onRan;

  /** @param {(ran: { name: string, event: object, durationMs: number, failed: boolean }) => void} onRan */
  constructor(onRan) {
    this.#onRan = onRan;
  }

  /** The same handler, counted under a name. */
  count(name, handler) {
    const counted = this.byName.get(name) ?? { events: new Set(), calls: 0, failed: 0, durationMs: 0 };
    this.byName.set(name, counted);
    return async (event, context) => {
      const start = performance.now();
      counted.events.add(event.event);
      counted.calls += 1;
      let failed = true;
      try {
        await handler(event, context);
        failed = false;
      } finally {
        const durationMs = performance.now() - start;
        counted.durationMs += durationMs;
        if (failed) counted.failed += 1;
        this.#onRan({ name, event, durationMs, failed });
      }
    };
  }
}

/** Appends one line for each event to a file: who, what, how it ended. Children have an agentId. */
export function keepAudit(file) {
  return async ({ event, runId, agentId, source, ...rest }) => {
    const { status, call, durationMs, error, input } = rest;
    const prompt = typeof input === "string" ? input : undefined;
    const entry = {
      at: new Date().toISOString(),
      event,
      runId,
      agentId,
      source,
      status,
      tool: call?.name,
      callId: call?.id,
      durationMs,
      error,
      prompt,
    };
    await appendFile(file, `${JSON.stringify(entry)}\n`);
  };
}

/** Adds up how long each tool took. @param {Map<string, { times: number[], failed: number }>} byTool */
export function timeTools(byTool) {
  return ({ call, status, durationMs }) => {
    const timed = byTool.get(call.name) ?? { times: [], failed: 0 };
    timed.times.push(durationMs);
    if (status !== "completed") timed.failed += 1;
    byTool.set(call.name, timed);
  };
}
