// Hands the core what a SteerController holds.
import { pendingCount, takeFollowUps, takeSteered } from "./steer.js";

export function performSteer(family, run, { id, kind }) {
  const { steer } = run;
  if (kind === "waiting") {
    family.answer(id, 0, String(pendingCount(steer) > 0));
    return;
  }
  let messages = takeSteered(steer);
  if (kind === "follow_up" && messages.length === 0) messages = takeFollowUps(steer);
  if (messages.length === 0) {
    family.answer(id, 0, "");
    return;
  }
  run.values.set(id, Object.freeze(messages));
  family.answer(id, 0, JSON.stringify(messages));
}
