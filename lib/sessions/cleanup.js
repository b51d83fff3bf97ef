// What a clean-up of old sessions could not do, in words. Knows nothing of when it is done, and of who is told.
import { describeThrown } from "../thrown.js";

/** So many sessions are named. */
const MOST_NAMED = 3;

/**
 * @param {Promise<{ failed: string[] }>} cleanup
 * @returns {Promise<string | null>} null where it did all that it was to; never rejects
 */
export async function cleanupFailure(cleanup) {
  try {
    const { failed } = await cleanup;
    if (failed.length === 0) return null;
    const more = failed.length > MOST_NAMED ? `; and ${failed.length - MOST_NAMED} more` : "";
    const named = failed.slice(0, MOST_NAMED).join("; ");
    return `${failed.length} old sessions could not be deleted, and stay: ${named}${more}`;
  } catch (error) {
    return `old sessions could not be looked for, and stay: ${describeThrown(error).message}`;
  }
}
