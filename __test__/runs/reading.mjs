// Reads what runs leave behind: events, requests, conversations. Knows only the public shapes, never the code.
import assert from "node:assert/strict";
import { assertWellFormed } from "../../index.js";

/** A tool call as a model makes it. */
export function call(id, name, input = {}) {
  return { id, name, input };
}

/** The types of `events`, in order. */
export function typesOf(events) {
  return events.map((event) => event.type);
}

/** The events of one type. */
export function eventsOf(events, type) {
  return events.filter((event) => event.type === type);
}

/** The text of a message, whether it was written as a string or as blocks. */
export function textOf(message) {
  if (typeof message.content === "string") return message.content;
  return message.content
    .filter((block) => block.type === "text")
    .map((block) => block.text)
    .join("");
}

/** The blocks of a type in all messages, in order. */
export function blocksOf(messages, type) {
  return messages
    .flatMap((message) => (Array.isArray(message.content) ? message.content : []))
    .filter((block) => block.type === type);
}

/** The one tool result with this id. */
export function resultFor(messages, id) {
  const found = blocksOf(messages, "tool_result").filter((block) => block.id === id);
  assert.equal(found.length, 1, `one result for ${id}`);
  return found[0];
}

/** The text of a tool result's content. */
export function contentText(result) {
  return typeof result.content === "string" ? result.content : textOf({ content: result.content });
}

/** What a promise rejects with, even if that is undefined. */
export async function rejectionOf(promise) {
  let value;
  try {
    value = await promise;
  } catch (error) {
    return { error };
  }
  assert.fail(`resolved, though it should have rejected: ${JSON.stringify(value)?.slice(0, 300)}`);
}

/**
 * Checks that a conversation is well formed. A run that ended without an answer leaves its user message, and the next
 * one's follows it: in a request they are one message, so they are joined here.
 */
export function assertConversation(messages) {
  const blocks = ({ content }) => (typeof content === "string" ? [{ type: "text", text: content }] : content);
  const joined = [];
  for (const message of messages) {
    const last = joined.at(-1);
    if (last?.role === message.role) last.content = [...last.content, ...blocks(message)];
    else joined.push({ role: message.role, content: [...blocks(message)] });
  }
  assertWellFormed({ model: "any", messages: joined });
}

/** Checks that `types` come in this order among `events`, other things between them allowed. */
export function assertOrder(events, types) {
  let position = -1;
  for (const type of types) {
    const next = events.findIndex((event, index) => index > position && event.type === type);
    assert.notEqual(next, -1, `${type} after ${types[types.indexOf(type) - 1]} in ${typesOf(events).join(" ")}`);
    position = next;
  }
}
