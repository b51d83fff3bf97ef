// What a streamed delta costs the JS thread, its provider and its consumer included.
import { makeAgent } from "../agents.mjs";
import { plainRun } from "../baseline.mjs";
import { median, scaled, takeTurns } from "../measure.mjs";
import { streamingModel } from "../models.mjs";

const DELTAS = 20_000;

/** @param {import("../measure.mjs").Pace} pace @returns {AsyncGenerator<import("../measure.mjs").Row>} */
export async function* streamingRows(pace) {
  const count = scaled(DELTAS, pace);
  const shown = count.toLocaleString("en");
  const lite = (consume, prepareMore = () => {}) => ({
    prepare() {
      const agent = makeAgent({ model: streamingModel(count) });
      prepareMore(agent);
      return agent;
    },
    batch: consume,
    clean: (agent) => agent.close(),
  });
  let characters = 0;
  const measured = await takeTurns(
    {
      pulled: lite(async (agent) => {
        for await (const event of agent.run("go")) if (event.type === "text_delta") characters += event.text.length;
      }),
      subscribed: lite(
        async (agent) => {
          await agent.send("go");
        },
        (agent) =>
          agent.subscribe(({ event }) => {
            if (event.type === "text_delta") characters += event.text.length;
          }),
      ),
      unwatched: lite(async (agent) => {
        await agent.send("go");
      }),
      bare: {
        prepare: () => streamingModel(count),
        async batch(model) {
          for await (const chunk of model.stream()) if (chunk.type === "text_delta") characters += chunk.text.length;
        },
      },
      loop: {
        prepare: () => streamingModel(count),
        async batch(model) {
          for await (const event of plainRun({ model, messages: [] }))
            if (event.type === "text_delta") characters += event.text.length;
        },
      },
    },
    pace,
  );
  const each = Object.fromEntries(Object.entries(measured).map(([name, times]) => [name, median(times) / count]));
  const target = { kind: "time", limit: 2 };
  yield { label: `a delta of ${shown}, run()`, ours: each.pulled, plain: each.loop, target };
  yield { label: `a delta of ${shown}, send() and subscribe()`, ours: each.subscribed, plain: each.loop, target };
  yield { label: `a delta of ${shown}, send(), nobody looks`, ours: each.unwatched, plain: each.loop, target };
  yield { label: "the provider's own generator, consumed directly", plain: each.bare };
}
