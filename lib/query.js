// One query as its iterator sees it: the user's run, the children that it started, and the runs that took up what they came
// to. One stream, one `done`, one result: that of the last run.

import { onAbort } from "./signals.js";

export class Query {
  #sink;
  #runs = new Set();
  #results = [];
  #failure = null;
  #stop;
  #wasAborted = false;
  #stopListening = null;

  /**
   * @param {{ push(event: object): void, length: number }} sink
   * @param {{ signal?: AbortSignal, stop: () => void }} options `stop` cancels the session's runs and children
   */
  constructor(sink, { signal, stop }) {
    this.#sink = sink;
    this.#stop = stop;
    if (signal === undefined || signal.aborted) return;
    this.#stopListening = onAbort(signal, () => {
      this.#wasAborted = true;
      stop();
    });
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
    // Also where only children were left to stop.
    if (this.#wasAborted) result.stopReason = "aborted";
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
    this.#stop();
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
