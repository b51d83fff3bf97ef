// Reads what host code threw. It may be any value, and reading it may throw as well.

/** More than is shown anywhere: what is cut here could part a secret. */
const LONGEST_MESSAGE = 24 * 1024;

/** @returns {{ name: string, message: string }} */
export function describeThrown(value) {
  try {
    if (typeof value === "object" && value !== null) {
      const { name, message } = value;
      if (typeof message === "string") {
        return { name: typeof name === "string" && name !== "" ? name.slice(0, 200) : "Error", message: cut(message) };
      }
    }
    return { name: "Error", message: cut(String(value)) };
  } catch {
    return { name: "Error", message: "a value that cannot be read" };
  }
}

function cut(text) {
  return text.length <= LONGEST_MESSAGE ? text : `${text.slice(0, LONGEST_MESSAGE)}…`;
}
