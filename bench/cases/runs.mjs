// What runs, turns and calls cost, against the bare loop with the same model and the same tool; what a run costs more for
// features that it does not use; and how long many runs at the same time hold up the event loop.
import { makeAgent, nothing } from "../agents.mjs";
import { plainRun, plainSend } from "../baseline.mjs";
import { longestStall, slowPace } from "../host.mjs";
import { median, scaled, takeTurns } from "../measure.mjs";
import { manyCallsModel, manyTurnsModel, oneTurnModel } from "../models.mjs";

const TURNS = 200;
const CALLS = 200;
/** How many turns at each end of a long run are looked at. */
const EDGE = 40;
const SESSIONS = 100;
const TURNS_OF_SESSION = 20;
const WITHOUT_FEATURES = { agents: false, tasks: false, background: false };

/** @param {import("../measure.mjs").Pace} pace @returns {AsyncGenerator<import("../measure.mjs").Row>} */
export async function* runRows(pace) {
  yield await oneTurnRow(
    "one-turn run, send()",
    {
      lite: (agent) => agent.send("hello"),
      plain: (model) => plainSend({ model, messages: [{ role: "user", content: "hello" }] }),
    },
    pace,
  );
  yield await oneTurnRow(
    "one-turn run, run() and its events",
    {
      async lite(agent) {
        for await (const _ of agent.run("hello"));
      },
      async plain(model) {
        for await (const _ of plainRun({ model, messages: [{ role: "user", content: "hello" }] }));
      },
    },
    pace,
  );
  yield* manyTurnsRows(pace);
  yield await manyCallsRow(`${CALLS} calls in one turn, a call`, false, pace);
  yield await manyCallsRow(`${CALLS} calls in one turn, a call with two hooks`, true, pace);
  yield await featuresRow(pace);
  yield await sessionsRow(pace);
}

async function oneTurnRow(label, { lite, plain }, pace) {
  const runs = scaled(200, pace);
  const measured = await takeTurns(
    {
      lite: {
        prepare: () => makeAgent({ model: oneTurnModel() }),
        async batch(agent) {
          for (let index = 0; index < runs; index += 1) {
            // A session of its own for each run: the conversation that a result holds does not grow.
            agent.clear();
            await lite(agent);
          }
        },
        clean: (agent) => agent.close(),
      },
      plain: {
        prepare: oneTurnModel,
        async batch(model) {
          for (let index = 0; index < runs; index += 1) await plain(model);
        },
      },
    },
    pace,
  );
  return {
    label,
    ours: median(measured.lite) / runs,
    plain: median(measured.plain) / runs,
    target: { kind: "time", limit: 100 },
  };
}

/** The same agent twice: what stands under "plain" has fewer features. */
async function featuresRow(pace) {
  const runs = scaled(200, pace);
  const variant = (config) => ({
    prepare: () => makeAgent({ model: oneTurnModel(), ...config }),
    async batch(agent) {
      for (let index = 0; index < runs; index += 1) {
        agent.clear();
        await agent.send("hello");
      }
    },
    clean: (agent) => agent.close(),
  });
  const measured = await takeTurns({ all: variant({}), without: variant(WITHOUT_FEATURES) }, pace);
  return {
    label: "one-turn run, all features; plain: with none",
    ours: median(measured.all) / runs,
    plain: median(measured.without) / runs,
  };
}

async function* manyTurnsRows(pace) {
  const tools = [nothing];
  const measured = await takeTurns(
    {
      lite: {
        prepare() {
          const model = manyTurnsModel(TURNS);
          return { model, agent: makeAgent({ model, tools, maxTurns: TURNS + 1 }) };
        },
        async batch({ agent, model }) {
          await agent.send("go");
          return edges(model.marks);
        },
        clean: ({ agent }) => agent.close(),
      },
      plain: {
        prepare: () => manyTurnsModel(TURNS),
        async batch(model) {
          await plainSend({ model, tools, messages: [{ role: "user", content: "go" }], maxTurns: TURNS + 1 });
          return edges(model.marks);
        },
      },
    },
    pace,
  );
  for (const [edge, label] of [
    ["first", `first ${EDGE} of ${TURNS} turns, a turn`],
    ["last", `last ${EDGE} of ${TURNS} turns, a turn`],
  ]) {
    yield {
      label,
      ours: median(measured.lite.map((times) => times[edge])),
      plain: median(measured.plain.map((times) => times[edge])),
      target: { kind: "time", limit: 60 },
    };
  }
}

/** Microseconds of a turn at either end. Turn 1 is left out: the run's own beginning is in it. */
function edges(marks) {
  const { length } = marks;
  return {
    first: ((marks[EDGE + 1] - marks[1]) * 1000) / EDGE,
    last: ((marks[length - 1] - marks[length - 1 - EDGE]) * 1000) / EDGE,
  };
}

async function manyCallsRow(label, hooked, pace) {
  const runs = scaled(10, pace);
  const input = { path: "src/index.js", lines: [1, 80] };
  const tools = [nothing];
  const measured = await takeTurns(
    {
      lite: {
        prepare() {
          const agent = makeAgent({ model: manyCallsModel(CALLS, input), tools });
          if (hooked) {
            agent.hook("tool:start", async () => {});
            agent.hook("tool:end", async () => {});
          }
          return agent;
        },
        async batch(agent) {
          for (let index = 0; index < runs; index += 1) {
            agent.clear();
            await agent.send("go");
          }
        },
        clean: (agent) => agent.close(),
      },
      plain: {
        prepare: () => manyCallsModel(CALLS, input),
        async batch(model) {
          for (let index = 0; index < runs; index += 1) {
            await plainSend({ model, tools, messages: [{ role: "user", content: "go" }] });
          }
        },
      },
    },
    pace,
  );
  // The bare loop has no hooks: it is what a call costs without any.
  return { label, ours: median(measured.lite) / runs / CALLS, plain: median(measured.plain) / runs / CALLS };
}

/** Says as many turns of one call as it is told, in however many conversations at the same time. */
function conversingModel(turns) {
  const usage = { inputTokens: 10, outputTokens: 5 };
  return {
    id: "conversing",
    async *stream({ messages }) {
      const turn = messages.filter(({ role }) => role === "assistant").length;
      const calls = turn < turns;
      const content = calls
        ? [{ type: "tool_call", id: `call_${turn}`, name: "nothing", input: { turn, path: "src/index.js" } }]
        : [{ type: "text", text: "done" }];
      yield {
        type: "message_done",
        message: { role: "assistant", content },
        usage,
        stopReason: calls ? "tool_use" : "stop",
      };
    },
  };
}

/** Everything is ready at once, so that nothing but the agent lets the event loop have its turn. */
async function sessionsRow(pace) {
  const sessions = scaled(SESSIONS, pace);
  const tools = [nothing];
  const model = conversingModel(TURNS_OF_SESSION);
  const atOnce = (run) => longestStall(() => Promise.all(Array.from({ length: sessions }, (_, index) => run(index))));
  const measured = await takeTurns(
    {
      lite: {
        prepare: () => makeAgent({ model, tools }),
        batch: (agent) => atOnce((index) => agent.send("go", { sessionId: `session-${index}` })),
        clean: (agent) => agent.close(),
      },
      plain: {
        batch: () => atOnce(() => plainSend({ model, tools, messages: [{ role: "user", content: "go" }] })),
      },
    },
    slowPace(pace),
  );
  const stallOf = (rounds) => median(rounds.map(({ stall }) => stall));
  return {
    label: `longest stall, ${sessions} sessions of ${TURNS_OF_SESSION} turns`,
    ours: stallOf(measured.lite),
    plain: stallOf(measured.plain),
    target: { kind: "time", limit: 50_000 },
  };
}
