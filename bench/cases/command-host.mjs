// Runs in a process of its own, of a given size: the bash tool and Node's spawn, one command after another and many at
// the same time. Prints microseconds as JSON.
import { policy } from "../../index.js";
import { makeAgent, watchFailures } from "../agents.mjs";
import { atOnce, plainCommand } from "../baseline-commands.mjs";
import { growTo, longestStall, slowPace } from "../host.mjs";
import { median, scaled, takeTurns } from "../measure.mjs";
import { callingModel } from "../models.mjs";

const { megabytes, pace } = JSON.parse(process.argv[2]);
const COMMAND = "true";

function lite(count, parallel, measure) {
  return {
    prepare() {
      const calls = Array.from({ length: count }, () => ({ name: "bash", input: { command: COMMAND } }));
      const agent = makeAgent({ model: callingModel(calls), permission: policy(), maxParallelTools: parallel });
      return { agent, check: watchFailures(agent) };
    },
    batch: ({ agent }) => measure(() => agent.send("go")),
    async clean({ agent, check }) {
      await agent.close();
      check();
    },
  };
}

const plain = (count, parallel, measure) => ({
  batch: () => measure(() => atOnce(count, parallel, () => plainCommand(COMMAND))),
});

async function timed(action) {
  await action();
}

growTo(megabytes);
const few = scaled(30, pace);
const many = scaled(200, pace);
const one = await takeTurns({ lite: lite(few, 1, timed), plain: plain(few, 1, timed) }, slowPace(pace));
const all = await takeTurns(
  { lite: lite(many, many, longestStall), plain: plain(many, many, longestStall) },
  slowPace(pace),
);
const stallOf = (rounds) => median(rounds.map(({ stall }) => stall));
process.stdout.write(
  JSON.stringify({
    count: many,
    single: { lite: median(one.lite) / few, plain: median(one.plain) / few },
    stall: { lite: stallOf(all.lite), plain: stallOf(all.plain) },
  }),
);
