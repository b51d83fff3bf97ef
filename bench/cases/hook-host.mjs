// Runs in a process of its own, of a given size: commands of a hooks.json, and Node's spawn with the same event on its
// input; one in a run, many in a run, many sessions at the same time. Prints microseconds as JSON.
import { policy } from "../../index.js";
import { makeAgent, makeProject, nothing, watchFailures } from "../agents.mjs";
import { atOnce, plainCommand } from "../baseline-commands.mjs";
import { growTo, longestStall, slowPace } from "../host.mjs";
import { median, scaled, takeTurns } from "../measure.mjs";
import { callingModel, oneTurnModel } from "../models.mjs";

const { megabytes, pace } = JSON.parse(process.argv[2]);
const COMMAND = "true";
const SESSIONS = 20;
const EACH = 10;
/** Calls of a turn that run at the same time, as by default. */
const PARALLEL = 10;

const input = `${JSON.stringify({
  event: "tool:end",
  runId: "9b2f0e0c-6b0a-4c55-9d52-1d5b7a7f0a11",
  sessionId: "9b2f0e0c-6b0a-4c55-9d52-1d5b7a7f0a12",
  source: "user",
  call: { id: "call_0", name: "nothing", input: {} },
  status: "completed",
  result: { id: "call_0", name: "nothing", content: "ok" },
  durationMs: 0.1,
})}\n`;

function lite(event, model, batch) {
  const workdir = makeProject({ [event]: [{ command: COMMAND }] });
  return {
    prepare() {
      const agent = makeAgent({ model, workdir, tools: [nothing], permission: policy() });
      return { agent, check: watchFailures(agent) };
    },
    batch: ({ agent }) => batch(agent),
    async clean({ agent, check }) {
      await agent.close();
      check();
    },
  };
}

const plain = (count, parallel) => ({
  batch: () => timed(() => atOnce(count, parallel, () => plainCommand(COMMAND, input))),
});

/** How long it took and how long the event loop was held up, in microseconds. */
async function timed(action) {
  const start = performance.now();
  const { stall } = await longestStall(action);
  return { time: (performance.now() - start) * 1000, stall };
}

const calling = (count) => callingModel(Array.from({ length: count }, () => ({ name: "nothing", input: {} })));

async function compare(count, variants) {
  const measured = await takeTurns(variants, slowPace(pace));
  const of = (name, figure) => median(measured[name].map((round) => round[figure]));
  return {
    each: { lite: of("lite", "time") / count, plain: of("plain", "time") / count },
    stall: { lite: of("lite", "stall"), plain: of("plain", "stall") },
  };
}

growTo(megabytes);
const few = scaled(20, pace);
const single = await compare(few, {
  lite: lite("run:end", oneTurnModel(), (agent) =>
    timed(async () => {
      for (let index = 0; index < few; index += 1) {
        agent.clear();
        await agent.send("go");
      }
    }),
  ),
  plain: plain(few, 1),
});

const many = scaled(200, pace);
const inOneRun = await compare(many, {
  lite: lite("tool:end", calling(many), (agent) => timed(() => agent.send("go"))),
  plain: plain(many, PARALLEL),
});

const sessions = scaled(SESSIONS, pace);
const ids = Array.from({ length: sessions }, (_, index) => `session-${index}`);
const together = await compare(sessions * EACH, {
  lite: lite("tool:end", calling(EACH), (agent) =>
    timed(() => Promise.all(ids.map((sessionId) => agent.send("go", { sessionId })))),
  ),
  plain: plain(sessions * EACH, sessions * EACH),
});

process.stdout.write(
  JSON.stringify({
    counts: { inOneRun: many, sessions, each: EACH },
    single: single.each,
    inOneRun: inOneRun.each,
    sessions: together.each,
    stall: together.stall,
  }),
);
