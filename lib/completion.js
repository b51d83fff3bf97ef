// What a group of children came to, in words: for events, and for the model that started it. Texts of children are foreign:
// they cannot end their block or pass for another's section.

import { wholeLetters } from "./sessions/archive.js";

/** Of a longer text the middle is left out. */
const MAX_TEXT_LETTERS = 64 * 1024;
const BLOCK = "background-task-completed";
// A reader is no parser: what is written a little otherwise passes as well. The counts are bounded, as a text is hostile.
const OWN_TAG = new RegExp(`<(?=\\s{0,8}/?\\s{0,8}${BLOCK})`, "gi");
/** What only a heading of a section has. */
const MENTION = /\(\s{0,8}agentId\s{0,8}:/gi;
/** Ends of lines for some readers, beside "\n" and "\r". */
const BREAKS = "\\v\\f\\u001c-\\u001e\\u0085\\u2028\\u2029";
/** What makes a heading of a line, or of the lines above it; the first group is there for the former. */
const HEADING = new RegExp(
  `(?:^|[${BREAKS}])[^\\S${BREAKS}]*(?=(#{1,6}(?!#))|(?:=+|-+)[^\\S${BREAKS}]*(?:[${BREAKS}]|$))`,
  "g",
);

/**
 * @param {{ id: string, label: string, status: string, children: { name: string, agent: string, status: string, error?: string }[] }} told
 * @param {(agent: string) => string} textOf what a child said last, as `quotable` made it
 * @returns {object} a BackgroundCompletion, frozen
 */
export function completionOf({ id, label, status, children }, textOf) {
  const content = children.map((child) => section(child, textOf(child.agent))).join("\n\n");
  return Object.freeze({ id, label, content, status, isError: status !== "completed" });
}

function section({ name, agent, status, error }, text) {
  const said = status === "completed" || status === "max_turns" ? text : "";
  const body = error === undefined ? said : quotable(`Error: ${error}`);
  const heading = `## ${harmless(name)} (agentId: ${agent}; status: ${status})`;
  return body === "" ? heading : `${heading}\n\n${body}`;
}

/** What a child said, as it stands in its section. Made when the child ends: all of them at once would take long. */
export function quotable(text) {
  return harmless(cut(text));
}

/** The input of the run that takes a completion up. */
export function completionInput({ id, label, status, content }) {
  return `<${BLOCK} id="${id}" label="${attribute(label)}" status="${status}">\n${content}\n</${BLOCK}>`;
}

function harmless(text) {
  return withoutHeadings(text.replace(OWN_TAG, "&lt;"));
}

/** What would be a heading, and says what those of sections say, has a backslash before its mark. */
function withoutHeadings(text) {
  const mentions = [...text.matchAll(MENTION)].map(({ index }) => index);
  if (mentions.length === 0) return text;
  let next = 0;
  // Whether the lines above, back to a blank one, say it: a line below them would make them a heading.
  let isSaid = false;
  return text.replace(/([^\n\r]*)(\r\n|\n|\r|$)/g, (whole, line, end, start) => {
    if (line.trim() === "") {
      isSaid = false;
      return whole;
    }
    const after = start + line.length;
    let said = isSaid ? 0 : line.length;
    let lastSaid = -1;
    for (; mentions[next] < after; next += 1) {
      lastSaid = mentions[next] - start;
      said = Math.min(said, lastSaid);
    }
    isSaid = said < line.length;
    const escaped = line.replace(HEADING, (mark, hashes, offset) => {
      const isForged = hashes === undefined ? said <= offset : offset < lastSaid;
      return isForged ? `${mark}\\` : mark;
    });
    return escaped + end;
  });
}

function attribute(text) {
  return text.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

function cut(text) {
  if (text.length <= MAX_TEXT_LETTERS) return text;
  const half = MAX_TEXT_LETTERS / 2;
  const head = text.slice(0, wholeLetters(text, half));
  const tail = text.slice(wholeLetters(text, text.length - half));
  return `${head}\n[… ${text.length - head.length - tail.length} characters left out …]\n${tail}`;
}
