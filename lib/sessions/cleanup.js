// Cleans up old sessions when an agent is made. What fails of it is noted, for a run to tell, and tried again by the next
// agent. Which sessions may go is the core's business.
import { describeThrown } from "../thrown.js";
import { OWN } from "./own.js";

const MS_PER_DAY = 86_400_000;
/** So many sessions are named. */
const MOST_NAMED = 3;

/**
 * Off this thread; nobody waits for it, and it never throws.
 * @param {object} checkpointer a built-in one
 * @param {{ maxAgeDays?: number, maxBytes?: number }} limits
 * @param {{ code: string, message: string }[]} notices gets what is to be told
 */
export function startCleanup(checkpointer, { maxAgeDays, maxBytes }, notices) {
  const modifiedBeforeMs =
    maxAgeDays === undefined ? undefined : Math.max(0, Math.floor(Date.now() - maxAgeDays * MS_PER_DAY));
  const note = (message) => notices.push({ code: "cleanup_failed", message });
  checkpointer[OWN].cleanup({ modifiedBeforeMs, maxBytes }).then(
    ({ failed }) => {
      if (failed.length > 0) note(failures(failed));
    },
    (error) => note(`old sessions could not be looked for, and stay: ${describeThrown(error).message}`),
  );
}

function failures(failed) {
  const more = failed.length > MOST_NAMED ? `; and ${failed.length - MOST_NAMED} more` : "";
  const named = failed.slice(0, MOST_NAMED).join("; ");
  return `${failed.length} old sessions could not be deleted, and stay: ${named}${more}`;
}
