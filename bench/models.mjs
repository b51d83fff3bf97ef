// Models that answer at once, so that what is measured is the agent. The same ones answer lite-agent and the baseline.
// Knows the shape of a ModelProvider and nothing else.

const usage = { inputTokens: 10, outputTokens: 5 };

/** A last chunk that calls `calls`, or says "done" when there are none. */
function answer(calls) {
  const content =
    calls.length > 0
      ? calls.map(({ id, name, input }) => ({ type: "tool_call", id, name, input }))
      : [{ type: "text", text: "done" }];
  return {
    type: "message_done",
    message: { role: "assistant", content },
    usage,
    stopReason: calls.length > 0 ? "tool_use" : "stop",
  };
}

/** Says "done". */
export function oneTurnModel() {
  const chunk = answer([]);
  return {
    id: "one-turn",
    async *stream() {
      yield chunk;
    },
  };
}

/** One turn of `count` calls, then "done"; again and again. Every call has `input`. */
export function manyCallsModel(count, input) {
  return callingModel(Array.from({ length: count }, () => ({ name: "nothing", input })));
}

/** One turn of these calls, then "done"; again and again, in however many sessions. */
export function callingModel(calls) {
  const calling = answer(calls.map((call, index) => ({ id: `call_${index}`, ...call })));
  const done = answer([]);
  return {
    id: "calling",
    async *stream({ messages }) {
      // A turn's results are one message; what came before a prompt is another run's.
      yield hasResults(messages.at(-1)) ? done : calling;
    },
  };
}

const hasResults = ({ content }) => Array.isArray(content) && content[0]?.type === "tool_result";

/** `count` turns of one call, then "done". `marks` holds when each turn's request came, in milliseconds. */
export function manyTurnsModel(count) {
  const answers = Array.from({ length: count }, (_, index) =>
    answer([{ id: `call_${index}`, name: "nothing", input: { index, path: "src/index.js", lines: [1, 80] } }]),
  );
  answers.push(answer([]));
  const marks = [];
  return {
    id: "many-turns",
    marks,
    async *stream() {
      const turn = marks.length;
      marks.push(performance.now());
      yield answers[turn];
    },
  };
}

/** Streams `count` deltas, one at a time, then the message. */
export function streamingModel(count) {
  const last = {
    ...answer([]),
    message: { role: "assistant", content: [{ type: "text", text: "word ".repeat(count) }] },
  };
  return {
    id: "streaming",
    async *stream() {
      for (let index = 0; index < count; index += 1) yield { type: "text_delta", text: "word " };
      yield last;
    },
  };
}

/** A tool input of about `bytes` of JSON: texts of a line each, among small objects, as edits have them. */
export function inputOfSize(bytes) {
  const edits = [];
  const input = { path: "src/index.js", encoding: "utf8", options: { dryRun: false, tags: ["fix", "style"] }, edits };
  const text = 'const total = lines.reduce((sum, line) => sum + line.length, 0); // "all" of it';
  for (let line = 1, size = JSON.stringify(input).length; size < bytes - 100; line += 1) {
    const edit = { line, before: text, after: text.slice(0, 40), flags: [true, false] };
    edits.push(edit);
    size += JSON.stringify(edit).length + 1;
  }
  input.note = "x".repeat(Math.max(0, bytes - JSON.stringify(input).length - 10));
  return input;
}
