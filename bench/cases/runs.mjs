// What runs, turns and calls cost, against the bare loop with the same model and the same tool.
import { makeAgent, nothing } from "../agents.mjs";
import { plainRun, plainSend } from "../baseline.mjs";
import { median, scaled, takeTurns } from "../measure.mjs";
import { manyCallsModel, manyTurnsModel, oneTurnModel } from "../models.mjs";

const TURNS = 200;
const CALLS = 200;
/** How many turns at each end of a long run are looked at. */
const EDGE = 40;

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
