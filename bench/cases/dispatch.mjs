// What one hook costs: a run whose tool calls have N handlers, less the same run with none, against a plain dispatch of
// the same event to the same handlers.
import { makeAgent, nothing } from "../agents.mjs";
import { PlainHooks } from "../baseline.mjs";
import { median, scaled, takeTurns } from "../measure.mjs";
import { inputOfSize, manyCallsModel } from "../models.mjs";

const SIZES = [
  ["300 B", 300],
  ["3 KB", 3_000],
  ["100 KB", 100_000],
];
const HANDLERS = [1, 10, 100];

/** A batch is long enough to run warm after the collection before it, and short enough to be seldom interrupted. */
function callsFor(handlers, bytes) {
  const wanted = handlers === 1 ? 1_000 : handlers === 10 ? 200 : 40;
  return bytes > 10_000 ? Math.min(wanted, 10) : wanted;
}
/** What the usual number of rounds is multiplied with. */
const ROUNDS = 2;

let seen = 0;
const handlerKinds = {
  ignoring: () => async (event) => {
    seen += event.call.id.length;
  },
  reading:
    () =>
    async (event, { signal }) => {
      if (!signal.aborted) seen += event.call.id.length;
    },
};

/** @param {import("../measure.mjs").Pace} pace @returns {AsyncGenerator<import("../measure.mjs").Row>} */
export async function* dispatchRows(pace) {
  for (const [sizeLabel, bytes] of SIZES) {
    for (const handlers of HANDLERS) {
      yield await dispatchRow(`${handlers} handler${handlers === 1 ? "" : "s"}, ${sizeLabel}`, {
        handlers,
        bytes,
        pace,
      });
    }
  }
  yield await dispatchRow("10 handlers, 3 KB, each reads its signal", {
    handlers: 10,
    bytes: 3_000,
    pace,
    kind: "reading",
  });
}

async function dispatchRow(label, { handlers, bytes, pace, kind = "ignoring" }) {
  const calls = scaled(callsFor(handlers, bytes), pace);
  const input = inputOfSize(bytes);
  const makeHandler = handlerKinds[kind];
  const measured = await takeTurns(
    {
      with: lite({ calls, input, handlers, makeHandler }),
      without: lite({ calls, input, handlers: 0, makeHandler }),
      plain: plain({ calls, input, handlers, makeHandler, tuned: false }),
      tuned: plain({ calls, input, handlers, makeHandler, tuned: true }),
    },
    { warmUps: pace.warmUps * ROUNDS, rounds: pace.rounds * ROUNDS },
  );
  const each = calls * handlers;
  return {
    label,
    ours: median(measured.with.map((time, round) => (time - measured.without[round]) / each)),
    plain: median(measured.plain) / each,
    tuned: median(measured.tuned) / each,
    target: { kind: "ratio", limit: 0.5 },
  };
}

/** One turn of `calls` calls, one after another, each with its `tool:start`. */
function lite({ calls, input, handlers, makeHandler }) {
  return {
    prepare() {
      const agent = makeAgent({ model: manyCallsModel(calls, input), tools: [nothing], maxParallelTools: 1 });
      for (let index = 0; index < handlers; index += 1) agent.hook("tool:start", makeHandler());
      return agent;
    },
    batch: async (agent) => {
      await agent.send("go");
    },
    clean: (agent) => agent.close(),
  };
}

/** `calls` dispatches, one after another, of one run. */
function plain({ calls, input, handlers, makeHandler, tuned }) {
  return {
    prepare() {
      const hooks = new PlainHooks({ tuned });
      for (let index = 0; index < handlers; index += 1) hooks.hook(makeHandler());
      return hooks;
    },
    async batch(hooks) {
      const run = new AbortController();
      const diagnostics = [];
      const report = (diagnostic) => diagnostics.push(diagnostic);
      for (let index = 0; index < calls; index += 1) {
        const event = {
          event: "tool:start",
          runId: "9b2f0e0c-6b0a-4c55-9d52-1d5b7a7f0a11",
          sessionId: "bench",
          source: "user",
          call: { id: `call_${index}`, name: "nothing", input },
        };
        await hooks.dispatch(event, run.signal, report);
      }
    },
  };
}
