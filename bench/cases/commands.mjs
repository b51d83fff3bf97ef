// What the bash tool costs beside Node's spawn, in a small and in a large host, and how long it holds up the event loop.
import { eachHost } from "./hosts.mjs";

/** @param {import("../measure.mjs").Pace} pace @returns {AsyncGenerator<import("../measure.mjs").Row>} */
export async function* commandRows(pace) {
  for await (const [host, measured] of eachHost("./command-host.mjs", pace)) {
    const { single, stall, count } = measured;
    yield { label: `bash, \`true\`, host of ${host}`, ours: single.lite, plain: single.plain };
    yield {
      label: `longest stall while ${count} run, host of ${host}`,
      ours: stall.lite,
      plain: stall.plain,
      ...(host === "1 GB" ? { target: { kind: "ratio", limit: 0.35 } } : {}),
    };
  }
}
