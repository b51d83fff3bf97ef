// Runs in a process of its own: makes, uses and closes 400 agents and prints, as JSON, what the 20th and the 400th and
// an unrelated await cost, in microseconds.
import { makeAgent } from "../agents.mjs";
import { median } from "../measure.mjs";
import { oneTurnModel } from "../models.mjs";

const AGENTS = 400;
/** Agents on either side that are looked at with the one that is meant. */
const AROUND = 5;

async function microsecondsOfAwait() {
  const times = [];
  for (let round = 0; round < 9; round += 1) {
    const start = performance.now();
    for (let index = 0; index < 20_000; index += 1) await null;
    times.push(((performance.now() - start) * 1000) / 20_000);
  }
  return median(times);
}

async function measure() {
  const awaitBefore = await microsecondsOfAwait();
  let awaitAfterTwenty = 0;
  const times = [];
  const model = oneTurnModel();
  for (let made = 1; made <= AGENTS; made += 1) {
    const start = performance.now();
    const agent = makeAgent({ model });
    agent.hook("run:end", async () => {});
    await agent.send("hello");
    await agent.close();
    times.push((performance.now() - start) * 1000);
    if (made === 20 + AROUND) awaitAfterTwenty = await microsecondsOfAwait();
  }
  const awaitAfterFourHundred = await microsecondsOfAwait();
  return {
    twentieth: median(times.slice(20 - AROUND - 1, 20 + AROUND)),
    fourHundredth: median(times.slice(AGENTS - 2 * AROUND - 1)),
    awaitBefore,
    awaitAfterTwenty,
    awaitAfterFourHundred,
  };
}

process.stdout.write(`${JSON.stringify(await measure())}\n`);
