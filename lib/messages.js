// Messages and their blocks as hosts write them: builds blocks, and checks and copies what run() and send() accept.
// What leaves here is frozen and well formed. Knows nothing of runs, sessions or what a model answers.

import { copyFrozen, NotJsonError, TooDeepError } from "./frozen.js";

const BLOCK_TYPES = ["text", "reasoning", "image", "tool_call", "tool_result", "native", "compaction"];
const BLOCKS_OF_ROLE = {
  user: ["text", "image", "tool_result", "native", "compaction"],
  assistant: ["text", "reasoning", "image", "tool_call", "native", "compaction"],
  tool: ["tool_result"],
};
/** A steered message answers no call. */
const STEERED_BLOCKS = ["text", "image", "native"];

/** @param {string} text */
export function textBlock(text) {
  return { type: "text", text: expectString(text, "text") };
}

/**
 * @param {string} id of the call
 * @param {string | object[]} content
 * @param {boolean} [isError] left out when not given
 */
export function toolResultBlock(id, content, isError) {
  /** @type {Record<string, unknown>} */
  const block = { type: "tool_result", id: expectFilled(id, "id"), content };
  if (typeof content !== "string" && !Array.isArray(content)) {
    throw new TypeError(`content must be a string or an array of text and image blocks, got ${kindOf(content)}`);
  }
  if (isError !== undefined) block.isError = expectBoolean(isError, "isError");
  return block;
}

export function isTextBlock(block) {
  return block?.type === "text";
}

export function isToolCallBlock(block) {
  return block?.type === "tool_call";
}

/**
 * What run() and send() were given, as messages.
 * @param {string | object[]} input a text, or a conversation that the model can answer
 * @param {string} [name] what error messages call it
 * @returns {readonly object[]} a frozen copy; properties that a message or block does not have are left out of it
 * @throws {TypeError} that names the place and what was expected there
 */
export function normaliseInput(input, name = "input") {
  if (typeof input === "string") {
    return Object.freeze([Object.freeze({ role: "user", content: expectFilled(input, name) })]);
  }
  if (!Array.isArray(input)) {
    throw new TypeError(`${name} must be a string or an array of messages, got ${kindOf(input)}`);
  }
  if (input.length === 0) throw new TypeError(`${name} must hold at least one message`);
  const messages = [];
  for (let index = 0; index < input.length; index += 1) {
    messages.push(copyMessage(input[index], `${name}[${index}]`));
  }
  checkConversation(messages, name);
  return Object.freeze(messages);
}

/**
 * A text or a message of the role `user`, as a frozen message.
 * @param {string | object} content
 * @param {string} name what error messages call it
 * @throws {TypeError} when it is anything else, or empty
 */
export function copyUserMessage(content, name) {
  if (typeof content === "string") {
    return Object.freeze({ role: "user", content: expectFilled(content, name) });
  }
  const message = expectObject(content, name, "a string or a message");
  if (message.role !== "user") throw new TypeError(`${name}.role must be "user", got ${quote(message.role)}`);
  return Object.freeze({ role: "user", content: copyContent(message.content, `${name}.content`, STEERED_BLOCKS) });
}

function copyMessage(value, place) {
  const { role, content } = expectObject(value, place, "a message");
  if (role === "system") {
    throw new TypeError(`${place}.role must not be "system": system text belongs in the option system`);
  }
  const allowed = Object.hasOwn(BLOCKS_OF_ROLE, role) ? BLOCKS_OF_ROLE[role] : undefined;
  if (allowed === undefined) {
    throw new TypeError(`${place}.role must be "user", "assistant" or "tool", got ${quote(role)}`);
  }
  if (role === "tool" && !Array.isArray(content)) {
    throw new TypeError(`${place}.content must be an array of tool_result blocks, got ${kindOf(content)}`);
  }
  return Object.freeze({ role, content: copyContent(content, `${place}.content`, allowed) });
}

function copyContent(content, place, allowed) {
  if (typeof content === "string") return expectFilled(content, place);
  if (!Array.isArray(content)) {
    throw new TypeError(`${place} must be a string or an array of blocks, got ${kindOf(content)}`);
  }
  if (content.length === 0) throw new TypeError(`${place} must not be empty`);
  return copyBlocks(content, place, allowed);
}

/** @returns {readonly object[]} */
function copyBlocks(blocks, place, allowed) {
  const copies = [];
  for (let index = 0; index < blocks.length; index += 1) {
    copies.push(copyBlock(blocks[index], `${place}[${index}]`, allowed));
  }
  return Object.freeze(copies);
}

function copyBlock(value, place, allowed) {
  const block = expectObject(value, place, "a block");
  const { type } = block;
  if (!allowed.includes(type)) {
    const reason = BLOCK_TYPES.includes(type) ? " in a message of this kind" : "";
    throw new TypeError(`${place}.type must be one of ${allowed.join(", ")}${reason}, got ${quote(type)}`);
  }
  return Object.freeze(COPY_BLOCK[type](block, place));
}

const COPY_BLOCK = {
  text: (block, place) => ({ type: "text", text: expectFilled(block.text, `${place}.text`) }),
  reasoning(block, place) {
    // The text may be empty: some providers hand out the signature alone.
    /** @type {Record<string, string>} */
    const copy = { type: "reasoning", text: expectString(block.text, `${place}.text`) };
    const { signature } = block;
    if (signature !== undefined) copy.signature = expectString(signature, `${place}.signature`);
    return copy;
  },
  image: (block, place) => ({
    type: "image",
    mediaType: expectFilled(block.mediaType, `${place}.mediaType`),
    data: expectFilled(block.data, `${place}.data`),
  }),
  tool_call: (block, place) => ({
    type: "tool_call",
    id: expectFilled(block.id, `${place}.id`),
    name: expectFilled(block.name, `${place}.name`),
    input: copyJson(block.input, `${place}.input`),
  }),
  tool_result(block, place) {
    /** @type {Record<string, unknown>} */
    const copy = {
      type: "tool_result",
      id: expectFilled(block.id, `${place}.id`),
      content: copyToolContent(block.content, `${place}.content`),
    };
    const { isError } = block;
    if (isError !== undefined) copy.isError = expectBoolean(isError, `${place}.isError`);
    return copy;
  },
  native: (block, place) => ({
    type: "native",
    provider: expectFilled(block.provider, `${place}.provider`),
    data: copyJson(block.data, `${place}.data`),
  }),
  compaction(block, place) {
    const { content } = block;
    return { type: "compaction", content: content === null ? null : expectString(content, `${place}.content`) };
  },
};

/** Unlike a message, a result may say nothing: a tool need not have anything to tell. */
function copyToolContent(content, place) {
  if (typeof content === "string") return content;
  if (Array.isArray(content)) return copyBlocks(content, place, ["text", "image"]);
  throw new TypeError(`${place} must be a string or an array of text and image blocks, got ${kindOf(content)}`);
}

function copyJson(value, place) {
  let copy;
  try {
    copy = copyFrozen(value);
  } catch (error) {
    // What a getter of the host threw is passed on as itself.
    if (error instanceof TooDeepError || error instanceof NotJsonError) {
      throw new TypeError(`${place} is ${error.message}`, { cause: error });
    }
    throw error;
  }
  if (copy === undefined) throw new TypeError(`${place} must be JSON, got ${kindOf(value)}`);
  return copy;
}

/** Every call has one result before the model speaks again, every result its call, and the model is to speak next. */
function checkConversation(messages, name) {
  /** Calls without a result yet: id → place. */
  const open = new Map();
  for (const [index, { role, content }] of messages.entries()) {
    const place = `${name}[${index}]`;
    if (role === "assistant") expectAnswered(open, `${place} comes before`);
    if (typeof content === "string") continue;
    for (const [position, { type, id }] of content.entries()) {
      const where = `${place}.content[${position}]`;
      if (type === "tool_call") {
        if (open.has(id)) {
          throw new TypeError(`${where}.id ${quote(id)} is the id of an earlier call of the same message`);
        }
        open.set(id, where);
      } else if (type === "tool_result" && !open.delete(id)) {
        throw new TypeError(`${where}.id ${quote(id)} answers no call that waits for its result`);
      }
    }
  }
  if (messages[0].role !== "user") {
    throw new TypeError(`${name}[0] must be a user message: a conversation begins with the user`);
  }
  if (messages.at(-1).role === "assistant") {
    const place = `${name}[${messages.length - 1}]`;
    throw new TypeError(`${place} must not be an assistant message: the last one is what the model answers`);
  }
  expectAnswered(open, `${name} ends before`);
}

function expectAnswered(open, when) {
  for (const [id, place] of open) {
    throw new TypeError(`${when} the call ${quote(id)} (${place}) has its tool_result`);
  }
}

function expectObject(value, place, expected) {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  throw new TypeError(`${place} must be ${expected}, got ${kindOf(value)}`);
}

function expectString(value, place) {
  if (typeof value === "string") return value;
  throw new TypeError(`${place} must be a string, got ${kindOf(value)}`);
}

function expectFilled(value, place) {
  if (expectString(value, place) === "") throw new TypeError(`${place} must not be empty`);
  return value;
}

function expectBoolean(value, place) {
  if (typeof value === "boolean") return value;
  throw new TypeError(`${place} must be true or false, got ${kindOf(value)}`);
}

/** The start of a foreign text, quoted; the kind of anything else. */
function quote(value) {
  return typeof value === "string" ? JSON.stringify(value.slice(0, 60)) : kindOf(value);
}

function kindOf(value) {
  if (value === null) return "null";
  return Array.isArray(value) ? "an array" : typeof value;
}
