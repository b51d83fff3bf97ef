// A session's conversation: every message as it was stored, and the line-up that requests send, in which user and
// assistant alternate. Append-only, of frozen messages; how a message joins the line-up is the core's decision, but for
// a conversation that is read from a log.

import { isOverdue, yieldToEventLoop } from "./fairness.js";
import { messageTokens } from "./tokens.js";

/** How many messages go by between two looks at the clock. */
const MESSAGES_PER_LOOK = 64;

export class Conversation {
  /** As stored, oldest first. */
  messages = [];
  /** What a request sends. */
  view = [];

  /** @param {import("./sessions/log.js").SessionLog | null} log where it is stored, if it is */
  constructor(log) {
    this.log = log;
  }

  /** What the model last said that a request came to, and how many messages there were then. */
  used = null;
  /** The model's usage of its last answer. */
  usage = { inputTokens: 0, outputTokens: 0 };
  #estimate = { tokens: 0, messages: 0 };

  /** An estimate of the messages' tokens; what was counted once is not counted again. */
  tokens() {
    const estimate = this.#estimate;
    for (; estimate.messages < this.messages.length; estimate.messages += 1) {
      estimate.tokens += messageTokens(this.messages[estimate.messages]);
    }
    return estimate.tokens;
  }

  /** The model answered, and used so much for what there was. */
  noteUsage({ inputTokens = 0, outputTokens = 0, cacheReadTokens = 0, cacheCreationTokens = 0 }) {
    this.usage = { inputTokens, outputTokens };
    const tokens = inputTokens + outputTokens + cacheReadTokens + cacheCreationTokens;
    // A provider that does not count says nothing.
    this.used = inputTokens > 0 ? { tokens, messages: this.messages.length } : null;
  }

  append(message, place, leaveOut) {
    this.messages.push(message);
    if (place === "skip") return;
    const sent = forRequest(message, leaveOut);
    if (place === "push") {
      this.view.push(sent);
      return;
    }
    const last = this.view.at(-1);
    const content = Object.freeze([...blocks(last), ...blocks(sent)]);
    // Results in a message of the role `tool` join the user's side.
    const role = last.role === "assistant" ? "assistant" : "user";
    this.view[this.view.length - 1] = Object.freeze({ role, content });
  }

  /**
   * Takes these messages in place of what there was.
   * @param {readonly object[]} messages frozen
   * @returns {boolean | null} whether the last message of the line-up is the assistant's; null where it is empty
   */
  restore(messages) {
    this.#empty();
    let lastIsAssistant = null;
    for (const message of messages) lastIsAssistant = this.#restoreOne(message, lastIsAssistant);
    return lastIsAssistant;
  }

  /**
   * Takes what `restoredSlowly` resolved to, in place of what there was.
   * @param {Conversation} restored no longer used by anybody else
   */
  adopt(restored) {
    this.messages = restored.messages;
    this.view = restored.view;
    this.used = null;
    this.#estimate = restored.#estimate;
  }

  /**
   * Restores messages into a conversation that nobody else has yet; the event loop gets its turn meanwhile.
   * @param {readonly object[]} messages frozen
   * @returns {Promise<{ restored: Conversation, lastIsAssistant: boolean | null }>} as of restore()
   */
  static async restoredSlowly(messages) {
    const restored = new Conversation(null);
    let lastIsAssistant = null;
    for (const message of messages) {
      lastIsAssistant = restored.#restoreOne(message, lastIsAssistant);
      if (restored.messages.length % MESSAGES_PER_LOOK !== 0) continue;
      // The estimate will be asked for: what is counted here is not counted then, in one go.
      restored.tokens();
      if (isOverdue()) await yieldToEventLoop();
    }
    return { restored, lastIsAssistant };
  }

  #empty() {
    this.messages = [];
    this.view = [];
    this.used = null;
    this.#estimate = { tokens: 0, messages: 0 };
  }

  #restoreOne(message, lastIsAssistant) {
    const empty = emptyBlocks(message);
    if (empty.length === (typeof message.content === "string" ? 1 : message.content.length)) {
      this.append(message, "skip");
      return lastIsAssistant;
    }
    const isAssistant = message.role === "assistant";
    this.append(message, isAssistant === lastIsAssistant ? "join" : "push", empty.length > 0 ? empty : undefined);
    return isAssistant;
  }
}

/** Positions of blocks that hold nothing: no API takes them. The core has the same rule for messages as they come. */
function emptyBlocks({ content }) {
  if (typeof content === "string") return content === "" ? [0] : [];
  const empty = [];
  content.forEach((block, index) => {
    if (isEmpty(block)) empty.push(index);
  });
  return empty;
}

function isEmpty({ type, text, signature, mediaType, data, content }) {
  switch (type) {
    case "text":
      return text === "";
    case "reasoning":
      return text === "" && (signature === undefined || signature === "");
    case "image":
      return mediaType === "" || data === "";
    case "compaction":
      return content === "";
    default:
      return false;
  }
}

function forRequest(message, leaveOut) {
  if (leaveOut === undefined) return message;
  const content = message.content.filter((_block, index) => !leaveOut.includes(index));
  return Object.freeze({ role: message.role, content: Object.freeze(content) });
}

function blocks({ content }) {
  return typeof content === "string" ? [Object.freeze({ type: "text", text: content })] : content;
}
