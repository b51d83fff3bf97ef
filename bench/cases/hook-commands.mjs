// What command hooks cost beside Node's spawn with the same event on its input, in a small and in a large host, and how
// long they hold up the event loop.
import { eachHost } from "./hosts.mjs";

/** @param {import("../measure.mjs").Pace} pace @returns {AsyncGenerator<import("../measure.mjs").Row>} */
export async function* hookCommandRows(pace) {
  for await (const [host, { single, inOneRun, sessions, stall, counts }] of eachHost("./hook-host.mjs", pace)) {
    const many = `${counts.sessions} sessions of ${counts.each} at once`;
    yield { label: `one run:end command, host of ${host}`, ours: single.lite, plain: single.plain };
    yield { label: `${counts.inOneRun} in one run, a command, ${host}`, ours: inOneRun.lite, plain: inOneRun.plain };
    yield { label: `${many}, a command, ${host}`, ours: sessions.lite, plain: sessions.plain };
    yield {
      label: `${many}, longest stall, ${host}`,
      ours: stall.lite,
      plain: stall.plain,
      ...(host === "1 GB" ? { target: { kind: "time", limit: 15_000 } } : {}),
    };
  }
}
