// One session's log as the agent sees it: what is written goes to the checkpointer in order, one append at a time, and
// what comes up meanwhile goes along with the next. Knows nothing of runs; what is written, and when, is the core's.
import { clearTimeout, setTimeout } from "node:timers";

import { AgentError, CheckpointConflictError } from "../errors.js";
import { isOverdue, yieldToEventLoop } from "../fairness.js";
import { freezeDeep } from "../frozen.js";
import { shortened } from "./archive.js";
import { Fold, eventProblem } from "./fold.js";
import { OWN, PLACED } from "./own.js";
import { Places, rememberPlace, visitResults } from "./places.js";
import { readingOf, throwIfGivenUp } from "./reading.js";
import { SnapshotBudget } from "./snapshot-budget.js";

/** How many events go by between two looks at the clock. */
const EVENTS_PER_LOOK = 64;
/** How long a reading waits for an append that was given up. */
const ABANDONED_WAIT_MS = 1_000;
/** The result of a call that a process took with it. */
const LOST = "Error: interrupted: the process ended before this call had a result";

export class SessionLog {
  #checkpointer;
  #sessionId;
  #head = 0;
  /** Tells the log from another one with that head, where the checkpointer is a built-in one. */
  #mark = undefined;
  /** What writes; a new one after each reading, so that an append that never ends holds up nothing but its own. */
  #writer = new Writer();
  /** Ends the hold on a session of a built-in checkpointer. */
  #release = null;
  #snapshots;
  #readsArchive;
  #notices;

  /**
   * @param {object} checkpointer
   * @param {string} sessionId
   * @param {{ readsArchive: boolean, maxSnapshotBytes?: number, notices: { code: string, message: string }[] }} options
   *   `readsArchive`: there is a tool that reads results which are left out of the conversation in part;
   *   `maxSnapshotBytes`: of all that the session keeps of files, default no limit; `notices`: what a run is to tell, whichever
   */
  constructor(checkpointer, sessionId, { readsArchive, maxSnapshotBytes, notices }) {
    this.#readsArchive = readsArchive;
    this.#notices = notices;
    this.#snapshots = new SnapshotBudget(maxSnapshotBytes);
    /** For whoever reads archived results. */
    this.checkpointer = checkpointer;
    this.#checkpointer = checkpointer;
    this.#sessionId = sessionId;
  }

  /**
   * Reads the whole log.
   * @param {{ recover: boolean, lazy: import("../context.js").LazySignal }} options `recover`: calls that have no result get
   *   a failed one, here and in the log; `lazy`: aborted when nobody waits for it any more, and the log may be read anew
   * @returns {Promise<{ messages: object[], recovered: { id: string, name: string, turn: number }[], repairs: string[] }>}
   *   frozen messages; the calls that got a result; what was cut off a damaged log
   * @throws what the checkpointer throws; {AgentError} for an event that is none, by its number; why it was given up
   */
  async load({ recover, lazy }) {
    await this.#writer.abandon();
    throwIfGivenUp(lazy);
    this.#writer = new Writer();
    const fold = new Fold();
    const repairs = [];
    /** Where results stand: summaries hold them too. */
    const places = new Places();
    let head = 0;
    this.#snapshots.reset();
    const remember = (result, place) => {
      rememberPlace(result, place);
      places.add(result, place);
    };
    const take = (seq, event) => {
      throwIfGivenUp(lazy);
      this.#check(seq, event, head);
      head += 1;
      this.#snapshots.count(event);
      freezeDeep(event.message ?? event.result ?? event.messages);
      visitResults(event, head, remember);
      if (event.type === "summary") places.rememberIn(event.messages);
      if (event.type === "tool_result" && !fold.awaits(event.result.id)) {
        // Of a store that let two write at once: no request could send it.
        repairs.push(this.#leftOut(event.result.id, head));
        return;
      }
      fold.add(shortenedEvent(event, head, this.#readsArchive));
    };
    const own = this.#checkpointer[OWN];
    if (own === undefined) {
      for await (const stored of readingOf(this.#checkpointer, this.#sessionId)) {
        this.#checkOwner(stored, head);
        take(stored?.seq, stored?.event);
        if (head % EVENTS_PER_LOOK === 0 && isOverdue()) await yieldToEventLoop();
      }
    } else {
      await this.#hold(own, lazy);
      for await (const batch of own.batches(this.#sessionId, 0)) {
        const before = head;
        for (const event of batch.events) {
          take(batch.first + head - before, event);
          if (head % EVENTS_PER_LOOK === 0 && isOverdue()) await yieldToEventLoop();
        }
        repairs.push(...batch.repairs);
      }
    }
    throwIfGivenUp(lazy);
    const mark = await this.#markAt(head);
    throwIfGivenUp(lazy);
    this.#head = head;
    this.#mark = mark;
    const recovered = recover ? fold.dangling() : [];
    if (recovered.length > 0) {
      const events = recovered.map(({ id, turn }) =>
        freezeDeep({ type: "tool_result", result: { type: "tool_result", id, content: LOST, isError: true }, turn }),
      );
      await this.append(events);
      for (const event of events) fold.add(event);
    }
    const messages = [];
    for (const message of fold.messages()) {
      messages.push(freezeDeep(message));
      if (messages.length % EVENTS_PER_LOOK === 0 && isOverdue()) await yieldToEventLoop();
    }
    throwIfGivenUp(lazy);
    return { messages, recovered, repairs };
  }

  /** Marks the session as in use, once; not for a reading that was given up meanwhile. */
  async #hold(own, lazy) {
    if (this.#release !== null) return;
    const release = await own.hold(this.#sessionId);
    if (lazy.isAborted || this.#release !== null) await release();
    else this.#release = release;
    throwIfGivenUp(lazy);
  }

  #leftOut(id, seq) {
    return (
      `session ${this.#sessionId}: event ${seq} of its log is a result of the call ${id}, which waits for none; it is left ` +
      "out of the conversation"
    );
  }

  /** What tells the log that was just read from others. One that grew since is found out by the next append. */
  async #markAt(head) {
    const placed = this.#checkpointer[PLACED];
    if (placed === undefined || head === 0) return undefined;
    try {
      return (await placed.append(this.#sessionId, [], { head, mark: undefined })).mark ?? undefined;
    } catch (error) {
      if (error instanceof CheckpointConflictError) return undefined;
      throw error;
    }
  }

  #checkOwner(stored, head) {
    const owner = stored?.sessionId;
    if (owner === undefined || owner === this.#sessionId) return;
    throw new AgentError(
      `session ${this.#sessionId}: event ${head + 1} of its log is of the session ${String(owner)} in the store`,
      { code: "session_damaged" },
    );
  }

  #check(seq, event, head) {
    const problem = seq === head + 1 ? eventProblem(event) : `has the number ${String(seq)} in the store`;
    if (problem === null) return;
    throw new AgentError(`session ${this.#sessionId}: event ${head + 1} of its log ${problem}`, {
      code: "session_damaged",
    });
  }

  /** @returns {{ code: string, message: string }[]} what a run is to warn of, each once */
  takeWarnings() {
    const warnings = this.#notices.splice(0);
    const message = this.#snapshots.takeWarning(this.#sessionId);
    if (message !== null) warnings.push({ code: "snapshot_limit", message });
    return warnings;
  }

  /** Resolves when nothing is written any more: an append that a run gave up may still be going on. */
  async quiet() {
    await this.#writer.abandon();
  }

  /** The session is no longer in use here: it may be cleaned up. Resolves when that is known to others. */
  async release() {
    const release = this.#release;
    this.#release = null;
    await release?.();
  }

  /**
   * @param {readonly object[]} events frozen
   * @returns {Promise<number>} resolves when they are durable, to the number of the first
   */
  append(events) {
    const admitted = events.map((event) => this.#snapshots.admit(event));
    const writer = this.#writer;
    return writer.add(admitted, async (all) => {
      const first = this.#head + 1;
      const expected = this.#head + all.length;
      const placed = this.#checkpointer[PLACED];
      if (placed !== undefined) {
        const place = await placed.append(this.#sessionId, all, { head: this.#head, mark: this.#mark });
        this.#wrote(writer, place.head, place.mark ?? undefined);
        return first;
      }
      // A list of its own: what a store does to it is not seen here.
      const head = await this.#checkpointer.append(this.#sessionId, [...all], this.#head);
      if (head !== expected) {
        throw new AgentError(
          `session ${this.#sessionId}: the checkpointer's append() resolved to ${String(head)}, not to the new head ${expected}`,
          { code: "session_damaged" },
        );
      }
      this.#wrote(writer, head, undefined);
      return first;
    });
  }

  /** One that was given up, and comes to its end after the log was read anew, says nothing of where that ends. */
  #wrote(writer, head, mark) {
    if (writer !== this.#writer) return;
    this.#head = head;
    this.#mark = mark;
  }

  /** Stores what stands in the place of the conversation from now on. */
  async summarise(messages, { before, after }) {
    await this.append([Object.freeze({ type: "summary", messages, throughSeq: this.#head, before, after })]);
  }
}

/** A result that is too long to be sent stays whole in the log alone. */
function shortenedEvent(event, seq, readsArchive) {
  if (event.type !== "tool_result") return event;
  const result = shortened(event.result, seq, readsArchive);
  return result === event.result ? event : { ...event, result };
}

/** Appends one after another; what comes up during one goes along with the next. */
class Writer {
  #waiting = [];
  #writing = null;

  add(events, write) {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ events, resolve, reject });
      this.#writing ??= this.#run(write);
    });
  }

  async #run(write) {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting;
      this.#waiting = [];
      try {
        let seq = await write(batch.length === 1 ? batch[0].events : batch.flatMap(({ events }) => events));
        for (const { events, resolve } of batch) {
          resolve(seq);
          seq += events.length;
        }
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.#writing = null;
  }

  /** Nobody waits for what is being written any more. Resolves when it is over, or after a while. */
  async abandon() {
    if (this.#writing === null) return;
    for (const { reject } of this.#waiting) reject(new AgentError("the append was given up"));
    this.#waiting = [];
    let timer;
    const patience = new Promise((resolve) => {
      timer = setTimeout(resolve, ABANDONED_WAIT_MS);
    });
    await Promise.race([this.#writing, patience]);
    clearTimeout(timer);
  }
}
