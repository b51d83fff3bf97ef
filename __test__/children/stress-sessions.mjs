// A process with one agent and many sessions of many turns at the same time. Prints as JSON what did not end as it should,
// and how long the event loop had to wait at most. Knows the public face only.
//
//   node --unhandled-rejections=strict stress-sessions.mjs <sessions> <turns> <"files" | "none">
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { createLiteAgent } from "../../index.js";
import { assertConversation } from "../runs/reading.mjs";
import { plainTool } from "../support/agent.mjs";

const [sessions, turns] = process.argv.slice(2, 4).map(Number);
const store = process.argv[4];
const folder = mkdtempSync(join(tmpdir(), "lite-agent-sessions-stress-"));
mkdirSync(join(folder, "home"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));

const violations = [];
const callsOf = (session, turn) => 1 + ((session + turn) % 3);

/** Answers at once, whatever it is asked: nothing but the agent holds anything up. */
const model = {
  id: "at-once",
  async *stream({ messages }) {
    const session = Number(/^session (\d+)$/.exec(messages[0].content)[1]);
    const turn = messages.filter(({ role }) => role === "assistant").length;
    const calls = turn === turns ? 0 : callsOf(session, turn);
    const content = Array.from({ length: calls }, (_, index) => ({
      type: "tool_call",
      id: `${session}-${turn}-${index}`,
      name: "answer",
      input: { turn, index },
    }));
    const text = `turn ${turn} of ${session}`;
    yield { type: "text_delta", text };
    yield {
      type: "message_done",
      message: { role: "assistant", content: [{ type: "text", text }, ...content] },
      usage: { inputTokens: 3, outputTokens: 2 },
      stopReason: calls > 0 ? "tool_use" : "stop",
    };
  },
};

const agent = createLiteAgent({
  model,
  tools: [plainTool("answer", async ({ turn, index }) => `${turn} ${index}`)],
  workdir: folder,
  home: join(folder, "home"),
  sessions: store === "files",
  maxTurns: turns + 1,
});
const counts = new Map();
for (const event of ["run:start", "run:end", "tool:start", "tool:end"]) {
  agent.hook(event, async ({ sessionId, call }) => {
    const key = `${event} ${sessionId} ${call?.id ?? ""}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  });
}

async function runSession(session) {
  const sessionId = `session-${session}`;
  const result = await agent.send(`session ${session}`, { sessionId });
  await agent.awaitIdle(sessionId);
  return result;
}

function judge({ text, stopReason, messages }, session) {
  if (text !== `turn ${turns} of ${session}` || stopReason !== "stop")
    violations.push(`session ${session}: ${text}, ${stopReason}`);
  assertConversation(messages);
  const results = messages.flatMap(({ role, content }) => (role === "user" && Array.isArray(content) ? content : []));
  for (const { id, content } of results) {
    const [of, turn, index] = id.split("-");
    if (Number(of) !== session || content !== `${turn} ${index}`)
      violations.push(`session ${session}: ${id} came to ${content}`);
  }
}

function longestGap() {
  let longest = 0;
  let last = performance.now();
  let going = true;
  const look = () => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
    if (going) setImmediate(look);
  };
  setImmediate(look);
  return () => {
    going = false;
    return longest;
  };
}

const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();
const endGaps = longestGap();
const began = performance.now();
const results = await Promise.all(Array.from({ length: sessions }, (_, session) => runSession(session)));
const took = performance.now() - began;
const stalls = { immediateMs: endGaps(), delayMs: delay.max / 1e6 };
delay.disable();

// Only now: what is looked at would be a stall of its own.
results.forEach(judge);
let calls = 0;
for (let session = 0; session < sessions; session += 1)
  for (let turn = 0; turn < turns; turn += 1) calls += callsOf(session, turn);
if (counts.size !== 2 * (sessions + calls))
  violations.push(`${counts.size} hook events of ${sessions} runs and ${calls} calls`);
for (const [key, count] of counts) if (count !== 1) violations.push(`${count} times ${key}`);
await agent.close();
process.stdout.write(JSON.stringify({ violations, stalls, tookMs: took, calls }));
