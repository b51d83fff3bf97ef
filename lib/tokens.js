// How many tokens messages come to, roughly, and how many a model takes. An estimate for where a provider does not count:
// about a token for four Latin letters, and for most other characters nearly one each. Knows nothing of compaction.
import { isPlainObject } from "./schema.js";

const LETTERS_PER_TOKEN = 4;
const TOKENS_PER_WIDE_CHARACTER = 0.8;
/** What a message costs beside what it says, and a block beside its text. */
const TOKENS_PER_MESSAGE = 4;
const TOKENS_PER_BLOCK = 3;
/** A picture of the usual size. Its base64 says nothing of what it costs. */
const TOKENS_PER_IMAGE = 1_600;
/** Text is looked at in parts; of each so much, and the rest of it is taken to be alike. */
const PART = 1_024;
const LOOKED_AT_OF_PART = 64;
/** The last character that is counted like a Latin letter. */
const LAST_LATIN = 0x24f;

/** Longest prefixes first. Windows in tokens, as the vendors give them. */
const WINDOWS = [
  ["claude-", 200_000],
  ["gpt-5", 400_000],
  ["gpt-4.1", 1_047_576],
  ["gpt-4o", 128_000],
  ["gpt-4-turbo", 128_000],
  ["gpt-4", 8_192],
  ["gpt-3.5-turbo", 16_385],
  ["o1", 200_000],
  ["o3", 200_000],
  ["o4-mini", 200_000],
  ["gemini-1.5-pro", 2_097_152],
  ["gemini-", 1_048_576],
  ["llama-3.1", 131_072],
  ["llama3.1", 131_072],
  ["llama-3.3", 131_072],
  ["llama3.3", 131_072],
  ["mistral-large", 131_072],
  ["deepseek-", 131_072],
  ["qwen3", 131_072],
  ["qwen2.5", 32_768],
];

/**
 * @param {string} modelName also with a vendor before a slash
 * @returns {number | undefined} tokens; undefined for a model that is not known
 */
export function knownWindow(modelName) {
  const name = modelName.slice(modelName.lastIndexOf("/") + 1).toLowerCase();
  return WINDOWS.find(([prefix]) => name.startsWith(prefix))?.[1];
}

/**
 * An estimate, never below 0, that grows with what it is given.
 * @param {readonly object[]} messages
 * @returns {number} tokens
 * @throws {TypeError} when it is no array of messages
 */
export function estimateTokens(messages) {
  if (!Array.isArray(messages)) throw new TypeError("estimateTokens: messages must be an array of messages");
  let tokens = 0;
  messages.forEach((message, index) => {
    if (!isPlainObject(message)) throw new TypeError(`estimateTokens: messages[${index}] must be a message`);
    tokens += messageTokens(message);
  });
  return tokens;
}

/** @returns {number} tokens of one message */
export function messageTokens({ content }) {
  if (typeof content === "string") return TOKENS_PER_MESSAGE + textTokens(content);
  if (!Array.isArray(content)) return TOKENS_PER_MESSAGE;
  let tokens = TOKENS_PER_MESSAGE;
  for (const block of content) tokens += blockTokens(block);
  return tokens;
}

/** @returns {number} tokens of one block */
export function blockTokens(block) {
  switch (block?.type) {
    case "text":
    case "reasoning":
      return TOKENS_PER_BLOCK + textTokens(block.text);
    case "image":
      return TOKENS_PER_IMAGE;
    case "tool_call":
      return TOKENS_PER_BLOCK + textTokens(block.name) + valueTokens(block.input);
    case "tool_result":
      return TOKENS_PER_BLOCK + contentTokens(block.content);
    case "compaction":
      return TOKENS_PER_BLOCK + textTokens(block.content);
    default:
      return TOKENS_PER_BLOCK + valueTokens(block?.data);
  }
}

function contentTokens(content) {
  if (typeof content === "string") return textTokens(content);
  if (!Array.isArray(content)) return 0;
  let tokens = 0;
  for (const block of content) tokens += blockTokens(block);
  return tokens;
}

/** What a value of JSON says, as text. */
export function valueTokens(value) {
  if (value === undefined || value === null) return 1;
  return textTokens(typeof value === "string" ? value : (JSON.stringify(value) ?? ""));
}

/** @returns {number} tokens of a text; 0 for what is none */
export function textTokens(text) {
  if (typeof text !== "string" || text === "") return 0;
  const { length } = text;
  let wide = 0;
  for (let start = 0; start < length; start += PART) {
    const part = Math.min(PART, length - start);
    const looked = Math.min(part, LOOKED_AT_OF_PART);
    wide += (countWide(text, start, start + looked) * part) / looked;
  }
  return Math.ceil((length - wide) / LETTERS_PER_TOKEN + wide * TOKENS_PER_WIDE_CHARACTER);
}

function countWide(text, start, end) {
  let wide = 0;
  for (let index = start; index < end; index += 1) if (text.charCodeAt(index) > LAST_LATIN) wide += 1;
  return wide;
}
