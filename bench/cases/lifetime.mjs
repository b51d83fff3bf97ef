// What agents cost that come and go: making and closing one, and whether the 400th of a process, or an unrelated
// `await` of that process, pays for those before it.
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { makeAgent } from "../agents.mjs";
import { median, scaled, takeTurns } from "../measure.mjs";
import { oneTurnModel } from "../models.mjs";

const WITHOUT_FEATURES = { agents: false, tasks: false, background: false };
const child = fileURLToPath(new URL("./many-agents.mjs", import.meta.url));

/** @param {import("../measure.mjs").Pace} pace @returns {AsyncGenerator<import("../measure.mjs").Row>} */
export async function* lifetimeRows(pace) {
  const agents = scaled(100, pace);
  const model = oneTurnModel();
  const variant = (config) => ({
    async batch() {
      for (let index = 0; index < agents; index += 1) await makeAgent({ model, ...config }).close();
    },
  });
  const measured = await takeTurns({ all: variant({}), without: variant(WITHOUT_FEATURES) }, pace);
  const made = median(measured.all) / agents;
  yield {
    label: "create and close an agent",
    ours: made,
    target: { kind: "time", limit: 300 },
  };
  yield {
    label: "create and close, all features; plain: with none",
    ours: made,
    plain: median(measured.without) / agents,
  };

  // A fresh process each time: this one has made thousands of agents by now.
  const observed = [];
  for (let round = 0; round < Math.min(pace.rounds, 5); round += 1) {
    const { stdout } = await promisify(execFile)(process.execPath, [child]);
    observed.push(JSON.parse(stdout));
  }
  const middle = (name) => median(observed.map((one) => one[name]));
  const early = middle("twentieth");
  yield { label: "create, hook, send, close: the 20th agent", ours: early };
  yield {
    label: "create, hook, send, close: the 400th",
    ours: middle("fourHundredth"),
    target: { kind: "time", limit: early },
  };
  yield { label: "an unrelated await, before the first agent", plain: middle("awaitBefore") };
  const awaitEarly = middle("awaitAfterTwenty");
  yield { label: "an unrelated await, after 20 agents", ours: awaitEarly };
  yield {
    label: "an unrelated await, after 400",
    ours: middle("awaitAfterFourHundred"),
    target: { kind: "time", limit: awaitEarly * 1.25 },
  };
}
