// A session's conversation: every message as it was stored, and the line-up that requests send, in which user and
// assistant alternate. Append-only, of frozen messages; how a message joins the line-up is the core's decision.

export class Conversation {
  /** As stored, oldest first. */
  messages = [];
  /** What a request sends. */
  view = [];

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
}

function forRequest(message, leaveOut) {
  if (leaveOut === undefined) return message;
  const content = message.content.filter((_block, index) => !leaveOut.includes(index));
  return Object.freeze({ role: message.role, content: Object.freeze(content) });
}

function blocks({ content }) {
  return typeof content === "string" ? [Object.freeze({ type: "text", text: content })] : content;
}
