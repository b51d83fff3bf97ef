// How many bytes of what files held one session keeps. Knows nothing of where they are stored.

/** Bytes of snapshots that one session keeps. */
export class SnapshotBudget {
  #maxBytes;
  #bytes = 0;
  #exceeded = false;

  /** @param {number | undefined} maxBytes no limit where it is undefined */
  constructor(maxBytes) {
    this.#maxBytes = maxBytes;
  }

  /** The session is read anew. */
  reset() {
    this.#bytes = 0;
  }

  /** An event that the session's log holds already. */
  count(event) {
    if (this.#maxBytes !== undefined && event.type === "file_snapshot") this.#bytes += bytesOf(event);
  }

  /**
   * @param {object} event that is to be stored
   * @returns {object} the event, or without what the file held where that would be too much
   */
  admit(event) {
    if (this.#maxBytes === undefined || event.type !== "file_snapshot" || event.before === null) return event;
    const bytes = bytesOf(event);
    if (this.#bytes + bytes <= this.#maxBytes) {
      this.#bytes += bytes;
      return event;
    }
    this.#exceeded = true;
    const { type, path, after, turn } = event;
    return Object.freeze({ type, path, before: null, truncated: true, ...(after !== undefined && { after }), turn });
  }

  #told = false;

  /** @returns {string | null} what a diagnostic is to say, once */
  takeWarning(sessionId) {
    if (!this.#exceeded || this.#told) return null;
    this.#told = true;
    return (
      `session ${sessionId} keeps no more than ${this.#maxBytes} bytes of what files held (maxSnapshotBytesPerSession): ` +
      "what is changed from now on may not come back by restore()"
    );
  }
}

function bytesOf({ before, encoding }) {
  return typeof before === "string" ? Buffer.byteLength(before, encoding === "base64" ? "base64" : "utf8") : 0;
}
