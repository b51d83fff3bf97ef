// Every compaction of random conversations, whatever brought it about: no call is parted from its result, the newest user
// message stays, and what is left keeps to the budget. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import {
  call,
  collect,
  compactingAgent,
  compactingModel,
  eventsOf,
  json,
  plainTool,
  requestTokens,
} from "./compacting.mjs";
import { assertConversation, textOf } from "../runs/reading.mjs";
import { randomFrom } from "../sessions/random.mjs";
import { testStore } from "../sessions/storing.mjs";

const SEEDS = process.env.LITE_AGENT_LONG === "1" ? 100 : 20;
const RUNS = 8;
/** How exactly an estimate is kept to: a summary may be a little longer than it was to be. */
const TOLERANCE = 1.03;
const FILLERS = ["abc ", "🦊", "漢字", "é", "line\n"];

/** One conversation; `check(compaction)` is given each compaction that changed it. */
async function converse(t, seed, way, check) {
  const random = randomFrom(seed);
  const window = random.of([2_500, 4_000, 8_000]);
  const text = (tokens, name) => `<${name}>${random.of(FILLERS).repeat(random.upTo(tokens / 2))}</${name}>`;
  // What a provider counts may have little to do with an estimate.
  const factor = random.of([null, 1, 0.6, 2.5]);
  const counted = (request) => requestTokens(request) * (factor ?? 1);
  const limit = way === "overflow" ? window : Infinity;
  const refusal = () => Object.assign(new Error("too long"), { code: "context_length_exceeded" });
  const share = window / (factor ?? 1);
  let calls = 0;
  let newest = "";
  const turn = (request) => {
    if (counted(request) > limit) return { error: refusal() };
    if (random.chance(0.2)) return { text: text(share / 15, "said") };
    const made = Array.from({ length: 1 + random.upTo(2) }, () => call(`c${(calls += 1)}`, "work"));
    return { text: random.chance(0.3) ? text(50, "calls") : undefined, calls: made };
  };
  const model = compactingModel(Array(500).fill(turn), {
    summary: () =>
      random.chance(0.2) ? { error: new Error("no summary") } : { text: random.of(FILLERS).repeat(9_000) },
    context: factor === null ? undefined : { countTokens: async (request) => counted(request) },
  });
  const store = testStore();
  const { agent } = compactingAgent(t, {
    model,
    tools: [plainTool("work", () => text(random.chance(0.1) ? share * 0.6 : share / 10, "result"))],
    checkpointer: store.checkpointer,
    context: { windowTokens: way === "overflow" ? 1_000_000 : window },
    maxTurns: 10,
  });
  const sessionId = "s";
  agent.resume(sessionId);
  const events = [];
  agent.subscribe(({ event }) => {
    if (event.type === "diagnostic" && event.code === "context_full") events.push("full");
    if (event.type === "compaction" && event.phase === "done") events.push({ ...event, newest });
  });
  for (let run = 0; run < RUNS; run += 1) {
    newest = `[message ${run} of ${seed}]`;
    // Now and then one that does not fit by itself.
    const long = text(random.chance(0.1) ? share * 0.8 : share / 20, "user");
    await collect(agent.run(newest + long, { sessionId })).catch(({ code, message }) => {
      assert.equal(code, "context_length_exceeded", message);
    });
    if (way === "manual" && random.chance(0.5)) {
      await collect(agent.compact()).catch(({ message }) => assert.equal(message, "no summary"));
    }
  }
  const { system, tools } = model.turns[0];
  const summaries = eventsOf(store.events(sessionId), "summary");
  // A compaction that found nothing to do is told, and stores nothing.
  const changed = events.filter((event) => event !== "full" && event.after !== event.before);
  assert.equal(changed.length, summaries.length, "each change is stored once");
  changed.forEach((event, index) => {
    const { messages } = summaries[index];
    const at = events.indexOf(event);
    const [previous, following] = [events[at - 1], events[at + 1]];
    // One stage may follow another, when that was not enough.
    const isStage = (one, other) => one?.kind === "micro" && other?.kind === "auto" && other.before === one.after;
    check({
      ...event,
      before: isStage(previous, event) ? previous.before : event.before,
      goesOn: isStage(event, following),
      isFull: following === "full",
      messages,
      tokens: counted({ messages, system, tools }),
      window,
    });
  });
}

const seen = new Map();

for (const way of ["due", "overflow", "manual"]) {
  test(`every compaction keeps what must stay and goes no further than the budget: ${way}`, async (t) => {
    for (let seed = 1; seed <= SEEDS; seed += 1) {
      await converse(t, seed, way, (compaction) => {
        const { kind, messages, newest, tokens, window, before, isFull, goesOn } = compaction;
        const where = `seed ${seed}, ${kind}: ${Math.round(before)} to ${Math.round(tokens)} of ${window}`;
        seen.set(`${way} ${kind}`, (seen.get(`${way} ${kind}`) ?? 0) + 1);
        assertConversation(messages);
        assert.ok(messages.map(textOf).join().includes(newest), `${where}: the newest user message`);
        if (isFull || goesOn) return;
        const budget = way === "overflow" ? before * 0.5 : kind === "manual" ? Infinity : window * 0.8;
        const user = messages.find((message) => textOf(message).includes(newest));
        const mustStay = requestTokens({ messages: [user] }) * (tokens / requestTokens({ messages }));
        assert.ok(tokens <= Math.max(budget, mustStay + budget * 0.4) * TOLERANCE, where);
      });
    }
  });
}

test("all kinds of compactions were among them", () => {
  for (const kind of ["due micro", "due auto", "overflow micro", "overflow auto", "manual manual"]) {
    assert.ok(seen.get(kind) >= SEEDS / 10, `${kind}: ${seen.get(kind)}`);
  }
});
