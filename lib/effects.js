// Performs what the core asks for: one `case` for each effect of the protocol (src/host/effect.rs; a test checks that
// the two agree). Each is performed in the async scope of its run. Calls into host code go through the modules named
// here, which answer the core by the effect's id.
import {
  performAskCompactor,
  performCompact,
  performIsOverflow,
  performMeasure,
  performOutline,
  performSummarise,
} from "./compaction.js";
import { timeoutReason } from "./context.js";
import {
  performCommandBegan,
  performCommandOver,
  performGroupBegan,
  performGroupOver,
  performMakeRun,
} from "./children.js";
import { performHostTool } from "./host-tools.js";
import { performHook, performHookEvent } from "./hooks.js";
import { performMiddleware, performWrapTool, settleWrapNext } from "./middleware.js";
import { performModel } from "./model.js";
import { performApproval, performPolicy, performVisible } from "./permissions.js";
import { performWrap } from "./sandbox.js";
import { performLoad, performRecord } from "./sessions/records.js";
import { performSteer } from "./steering.js";
import { performCheck, performTool } from "./tool-calls.js";

/**
 * @param family the family that the effect is of
 * @param run its run; undefined where it has none
 * @param effect one of the protocol's effects, as parsed
 */
export function perform(family, run, effect) {
  switch (effect.t) {
    case "model":
      performModel(family, run, effect);
      break;
    case "check":
      performCheck(family, run, effect);
      break;
    case "tool":
      performTool(family, run, effect);
      break;
    case "wrap_tool":
      performWrapTool(family, run, effect);
      break;
    case "wrap_next":
      settleWrapNext(family, run, effect);
      break;
    case "middleware":
      performMiddleware(family, run, effect);
      break;
    case "steer":
      performSteer(family, run, effect);
      break;
    case "hook":
      performHook(family, run, effect);
      break;
    case "abort":
      abort(family, effect);
      break;
    case "release_handler":
      family.handlers.delete(effect.handler);
      break;
    case "calls":
      run.keepCalls(effect.message, effect.first);
      break;
    case "result":
      run.keepResult(effect.key, effect.call, effect.content, effect.isError);
      break;
    case "asked_call":
      run.keepAskedCall(effect.key, effect.call, effect.path);
      break;
    case "redact":
      family.answer(effect.id, 0, JSON.stringify(effect.texts.map((text) => run.redacted(text).toWellFormed())));
      break;
    case "policy":
      performPolicy(family, run, effect);
      break;
    case "visible":
      performVisible(family, run, effect);
      break;
    case "hook_event":
      performHookEvent(family, run, effect);
      break;
    case "wrap_command":
      performWrap(family, run, effect);
      break;
    case "measure":
      performMeasure(family, run, effect);
      break;
    case "outline":
      performOutline(family, run, effect);
      break;
    case "summarise":
      performSummarise(family, run, effect);
      break;
    case "compact":
      performCompact(family, run, effect);
      break;
    case "ask_compactor":
      performAskCompactor(family, run, effect);
      break;
    case "is_overflow":
      performIsOverflow(family, run, effect);
      break;
    case "host_tool":
      performHostTool(family, run, effect);
      break;
    case "load":
      performLoad(family, run, effect);
      break;
    case "record":
      performRecord(family, run, effect);
      break;
    case "forget_session":
      family.parts.forgetSession(effect.session);
      break;
    case "keep_call":
      run.keepCall(effect.key, effect.call);
      break;
    case "approval":
      performApproval(family, run, effect);
      break;
    case "append":
      run.append(effect);
      break;
    case "append_results":
      run.appendResults(effect);
      break;
    case "event":
      run.deliverEvent(effect.event);
      break;
    case "turn_over":
      run.forgetValues();
      break;
    case "done":
      run.finish(effect);
      break;
    case "group_began":
      performGroupBegan(family, run, effect);
      break;
    case "make_run":
      performMakeRun(family, run, effect);
      break;
    case "group_over":
      performGroupOver(family, run, effect);
      break;
    case "command_began":
      performCommandBegan(family, run, effect);
      break;
    case "command_over":
      performCommandOver(family, run, effect);
      break;
    case "operation":
      family.operationOver(effect.operation);
      break;
    default:
      throw new TypeError(`unknown effect ${effect.t}: the addon and lib/ are of different versions, build again`);
  }
}

function abort(family, { id, why }) {
  const call = family.pending.get(id);
  if (call === undefined) return;
  family.settled(id);
  const { run } = call;
  run.scope.runInAsyncScope(call.abort, call, why === "timeout" ? timeoutReason : () => run.abortReason());
}
