// Asks the host about permission: its policy where it is no native one, and its approval handler. What an answer means,
// and in which order approvals are asked, is the core's.
import { LazySignal, approvalFrame, callbackFrame } from "./context.js";
import { callHost } from "./host-call.js";
import { readVerdict } from "./policy.js";
import { kindOf } from "./schema.js";

/** Asks the host's policy about a call. */
export function performPolicy(family, run, { id, call, enforced }) {
  const policy = enforced ? family.parts.permission : policyOf(family, run);
  askPolicy(family, run, id, policy, run.values.get(call), (verdict) => JSON.stringify(wellFormed(verdict)));
}

/** Asks the host's policy whether a search may show a path: it may not if reading the file is denied. */
export function performVisible(family, run, { id, call, path }) {
  const question = Object.freeze({ id: run.values.get(call).id, name: "read_file", input: Object.freeze({ path }) });
  askPolicy(family, run, id, policyOf(family, run), question, ({ decision }) => String(decision !== "deny"));
}

/** Calls of children have a policy of their own, which is no looser. */
function policyOf({ parts }, run) {
  return run.agentId === undefined ? parts.permission : parts.childPermission;
}

function askPolicy(family, run, id, policy, call, answer) {
  callHost(family, run, id, {
    frame: callbackFrame(family, run, id),
    lazy: null,
    callback: () => policy.check(call, Object.freeze({ sessionId: run.sessionId })),
    conclude(answered) {
      const verdict = readVerdict(answered);
      return answer(typeof verdict === "string" ? { decision: verdict } : verdict);
    },
  });
}

/** Asks the approval handler, which sees the call as it is. */
export function performApproval(family, run, { id, call }) {
  const lazy = new LazySignal();
  callHost(family, run, id, {
    frame: approvalFrame(family, run, id),
    lazy,
    callback: () => family.parts.onApproval.request(run.values.get(call), lazy.signal),
    conclude(answer) {
      if (answer === "allow" || answer === "deny") return answer;
      const got = typeof answer === "string" ? JSON.stringify(answer.slice(0, 60)) : kindOf(answer);
      throw new TypeError(`request() must resolve to "allow" or "deny", got ${got}`);
    },
  });
}

/** The core reads whole characters only. */
function wellFormed({ decision, ruleId, reason }) {
  return { decision, ruleId: ruleId?.toWellFormed(), reason: reason?.toWellFormed() };
}
