// Where in a session's log each result stands, and how a reference names that: `r12` is the result of event 12, `r12.0` the
// first block of the message of event 12, which a host gave as part of a conversation. Knows nothing of what results hold.

/** Places, told by the result: the number of its event, or that and its position in the event's message. */
const places = new WeakMap();

/**
 * Remembers where in the log a result stands.
 * @param {object} result
 * @param {number | string} place
 */
export function rememberPlace(result, place) {
  places.set(result, place);
}

/** @returns {number | string | undefined} where in the log a result stands, if that is known */
export function placeOf(result) {
  return places.get(result);
}

export function refOf(place) {
  return `r${place}`;
}

/** @returns {number | undefined} the number of the event that a reference is about; undefined for what is no reference */
export function seqOf(ref) {
  const [, seq] = /^r([1-9]\d{0,14})(?:\.\d{1,9})?$/.exec(ref) ?? [];
  return seq === undefined ? undefined : Number(seq);
}

/** @returns {readonly object[]} the blocks of the event's message, if it has one */
export function blocksOf({ message }) {
  return Array.isArray(message?.content) ? message.content : [];
}

/**
 * Visits the results that an event brings. Those of a summary were there before.
 * @param {object} event
 * @param {number} seq its number
 * @param {(result: object, place: number | string) => void} visit
 */
export function visitResults(event, seq, visit) {
  if (event.type === "tool_result") {
    visit(event.result, seq);
    return;
  }
  const blocks = blocksOf(event);
  for (let index = 0; index < blocks.length; index += 1) {
    if (blocks[index].type === "tool_result") visit(blocks[index], `${seq}.${index}`);
  }
}

/** @returns {{ place: number | string, result: object }[]} the results that an event brings */
export function resultsIn(event, seq) {
  const found = [];
  visitResults(event, seq, (result, place) => found.push({ place, result }));
  return found;
}

/** Remembers the places of results that a host gave in a message, which the log has as event `seq`. */
export function rememberGiven(event, seq) {
  visitResults(event, seq, rememberPlace);
}

const REF_IN_TEXT = /context with ref "(r[\d.]+)"/g;

/** Finds the places of results by what they hold: of copies, and of what a summary took over. */
export class Places {
  /** By id of the call, the oldest first: ids may come again. */
  #known = new Map();
  /** Not in there yet: most conversations have no summary, and nobody asks. */
  #results = [];
  #places = [];

  add(result, place) {
    this.#results.push(result);
    this.#places.push(place);
  }

  #index() {
    this.#results.forEach((result, index) => {
      const entry = { result, place: this.#places[index] };
      const known = this.#known.get(result.id);
      if (known === undefined) this.#known.set(result.id, [entry]);
      else known.push(entry);
    });
    this.#results = [];
    this.#places = [];
  }

  /** Remembers the places of the results in these messages, where they are known. */
  rememberIn(messages) {
    this.#index();
    for (const { content } of messages) {
      if (typeof content === "string") continue;
      for (const block of content) {
        const place = block.type === "tool_result" ? this.#find(block) : undefined;
        if (place !== undefined) rememberPlace(block, place);
      }
    }
  }

  #find(block) {
    const known = this.#known.get(block.id) ?? [];
    if (known.length <= 1) return known[0]?.place;
    // Where several calls had that id: by the reference that stands in it, else by all of its content.
    const text = JSON.stringify(block.content);
    const refs = new Set([...text.replaceAll('\\"', '"').matchAll(REF_IN_TEXT)].map(([, ref]) => ref));
    const named = known.findLast(({ place }) => refs.has(refOf(place)));
    return (named ?? known.findLast(({ result }) => JSON.stringify(result.content) === text))?.place;
  }
}
