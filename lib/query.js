// One query as its iterator sees it: the user's run, the children that it started, and the runs that took up what they came
// to. One stream, one `done`, one result: that of the last run.

import { onAbort } from "./signals.js";

export class Query {
  #sink;
  #runs = new Set();
  #results = [];
  #failure = null;
  #close;
  #stopListening = null;

  /**
   * @param {{ push(event: object): void, length: number }} sink
   * @param {{ signal?: AbortSignal, close: () => Promise<void> }} options `close` ends all that goes on
   */
  constructor(sink, { signal, close }) {
    this.#sink = sink;
    this.#close = close;
    if (signal !== undefined && !signal.aborted) this.#stopListening = onAbort(signal, () => this.#end());
  }

  /** Resolves to the result when nothing is left to wait for. @type {Promise<object>} */
  settled;

  /**
   * @param run the user's run, which was begun
   * @param {() => Promise<void>} idle resolves when its session is idle
   */
  begin(run, idle) {
    this.settled = this.#settle(run, idle);
    // The iterator may never ask.
    this.settled.catch(() => {});
  }

  async #settle(run, idle) {
    try {
      await run.settled;
      await idle();
    } finally {
      this.#stopListening?.();
    }
    if (this.#failure !== null) throw this.#failure.error;
    const result = combined(this.#results);
    this.#sink?.push({ type: "done", reason: result.stopReason, result });
    return result;
  }

  /** A run whose events are the query's, and of the session's own runs whose result may be the last. */
  follow(run) {
    run.sink = this.#sink === null ? null : this;
    this.#runs.add(run);
    const isOwn = run.agentId === undefined;
    run.settled.then(
      (result) => {
        this.#runs.delete(run);
        if (isOwn) this.#results.push(result);
      },
      (error) => {
        this.#runs.delete(run);
        if (isOwn) this.#failure ??= { error };
      },
    );
  }

  // --- where runs put their events ---

  get length() {
    return this.#sink === null ? 0 : this.#sink.length;
  }

  push(event) {
    // There is one, at the end of all.
    if (event.type !== "done") this.#sink?.push(event);
  }

  // --- what the iterator asks of a run ---

  caughtUp() {
    for (const run of this.#runs) run.caughtUp();
  }

  stopStreaming() {
    this.#sink = null;
    for (const run of this.#runs) run.stopStreaming();
  }

  cancel() {
    this.#end();
  }

  /** Ends runs, groups and commands, whatever there is. */
  #end() {
    this.#close().catch(() => {});
  }
}

/** The last result, with what all of them used. */
function combined(results) {
  const last = results.at(-1);
  if (results.length === 1) return last;
  const usage = {};
  for (const { usage: used } of results) {
    for (const [name, tokens] of Object.entries(used)) usage[name] = (usage[name] ?? 0) + tokens;
  }
  return { ...last, usage };
}
