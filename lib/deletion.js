// Deletes a session and all that are below it: its children, and the children of runs that a host had in a child's own
// session. Each is ended, waited for and held before its log goes, so that nothing writes it anew. Ids of children tell
// which session they belong to. Knows nothing of how a store deletes.
import { callbackFrame, inFrame } from "./context.js";
import { ClosedError } from "./errors.js";
import { native } from "./native.js";

/** The ids of children, which are those of their sessions. */
const AGENT_ID = /^agent-[0-9a-f]{16}-[0-9a-f]{16}$/;

export function isAgentId(sessionId) {
  return AGENT_ID.test(sessionId);
}

/** Adds to `children`, which has the ids of each session's children by what these begin with. */
function addChildren(children, ids) {
  for (const id of ids) {
    if (!isAgentId(id)) continue;
    const beginning = id.slice(0, id.lastIndexOf("-") + 1);
    const siblings = children.get(beginning);
    if (siblings === undefined) children.set(beginning, new Set([id]));
    else siblings.add(id);
  }
}

function childrenIn(children, sessionId) {
  return children.get(native.agentIdPrefix(sessionId)) ?? [];
}

/** @returns {string[]} the ids among these of all sessions below one, parents before their children */
export function sessionsBelow(ids, sessionId) {
  const children = new Map();
  addChildren(children, ids);
  const below = [...childrenIn(children, sessionId)];
  for (let index = 0; index < below.length; index += 1) below.push(...childrenIn(children, below[index]));
  return below;
}

export class Deletion {
  #family;
  #checkpointer;
  #known;
  #forget;
  #wait;
  #children = null;

  /**
   * @param {import("./family.js").Family} family
   * @param {object} agent `checkpointer`: the store, or null; `known`: the ids of the sessions that are in memory; `forget`:
   *   lets go of what is kept of one; `wait`: gives up where the store does not answer
   */
  constructor(family, { checkpointer, known, forget, wait }) {
    this.#family = family;
    this.#checkpointer = checkpointer;
    this.#known = known;
    this.#forget = forget;
    this.#wait = wait;
  }

  /** Must have the session's place. A store of the host that waits for the session would wait for itself. */
  async deleteHeld(sessionId) {
    const frame = callbackFrame(this.#family, { sessionId, ownerId: sessionId });
    try {
      await inFrame(frame, async () => {
        for (const child of await this.#childrenOf(sessionId)) await this.#deleteChild(child);
        await this.#checkpointer?.delete(sessionId);
      });
    } finally {
      frame.end();
    }
    await this.#forget(sessionId);
  }

  /** Those that are stored, and those that were begun since: the session is held, and starts no more of them. */
  async #childrenOf(sessionId) {
    if (this.#children === null) {
      const stored = (await this.#checkpointer?.list()) ?? [];
      this.#children = new Map();
      addChildren(
        this.#children,
        stored.map(({ id }) => id),
      );
    }
    const beginning = native.agentIdPrefix(sessionId);
    const known = [...this.#known()].filter((id) => id.startsWith(beginning));
    addChildren(this.#children, known);
    return [...childrenIn(this.#children, sessionId)];
  }

  /** Parents are held before their children, one after another: two deletions never wait for one another. */
  async #deleteChild(sessionId) {
    let isHeld = false;
    const work = async () => {
      isHeld = true;
      await this.#wait.unlessGivenUp(() => this.deleteHeld(sessionId));
      return true;
    };
    try {
      await this.#wait.unlessGivenUp(() => this.#family.holdSession(sessionId, { cancel: true, work }));
    } catch (error) {
      if (isHeld || !(error instanceof ClosedError)) throw error;
      // The agent was closed meanwhile: that ends whatever goes on in the session, and nothing new begins.
      await this.#wait.unlessGivenUp(() => this.#family.awaitIdle(sessionId));
      await work();
    }
  }
}
