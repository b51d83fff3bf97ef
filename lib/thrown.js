// Reads what host code threw. It may be any value, and reading it may throw as well.

/** More than is shown anywhere: what is cut here could part a secret. */
const LONGEST_MESSAGE = 24 * 1024;

/**
 * @param {unknown} value
 * @param {number} [longest] of a message that is not cut; a longer one ends in `…`
 * @returns {{ name: string, message: string }}
 */
export function describeThrown(value, longest = LONGEST_MESSAGE) {
  try {
    if (typeof value === "object" && value !== null) {
      const { name, message } = value;
      if (typeof message === "string") {
        return {
          name: typeof name === "string" && name !== "" ? name.slice(0, 200) : "Error",
          message: cut(message, longest),
        };
      }
    }
    return { name: "Error", message: cut(String(value), longest) };
  } catch {
    return { name: "Error", message: "a value that cannot be read" };
  }
}

function cut(text, longest) {
  return text.length <= longest ? text : `${text.slice(0, longest)}…`;
}
