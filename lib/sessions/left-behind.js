// How custom tools left the files that they had recorded: kept from the end of a call until its result is stored, for it
// goes into the log with that. Knows nothing of how files are put back.

/** Of each run, by id of the call, what is being looked at. */
const looksOfRuns = new WeakMap();

/**
 * Looks at files now: once the result is told, somebody else may change them.
 * @param {object} run
 * @param {string} callId
 * @param {Iterable<string>} paths canonical
 * @param {import("../working-folder.js").WorkingFolder} folder
 */
export function lookAtLeftBehind(run, callId, paths, folder) {
  const looks = looksOfRuns.get(run) ?? new Map();
  looksOfRuns.set(run, looks);
  const looking = looks.get(callId) ?? [];
  // Middleware may have had the tool executed twice.
  looks.set(callId, looking);
  for (const path of paths) looking.push(folder.digest(path).then((after) => ({ path, after })));
}

/**
 * @returns {Promise<{ path: string, after: string | null }[]> | undefined} once: SHA-256 of what each file holds, null where
 *   there is none; undefined where the call recorded no file
 */
export function takeLeftBehind(run, callId) {
  const looks = looksOfRuns.get(run);
  const looking = looks?.get(callId);
  if (looking === undefined) return undefined;
  looks.delete(callId);
  return Promise.all(looking).then((files) => files.filter(({ after }) => after !== undefined));
}
