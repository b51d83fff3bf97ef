// Built-in tools whose work is the host's: what they are about (archived results, the user) is in this half.
import { askForCall } from "./ask-user.js";
import { LazySignal, callbackFrame } from "./context.js";
import { callHost } from "./host-call.js";
import { readArchive } from "./sessions/archive.js";

const WORK = {
  context: ({ conversation, sessionId }, { input }, lazy) =>
    readArchive(conversation.log.checkpointer, sessionId, input, lazy),
  ask_user: async (run, call, lazy) => ({ content: await askForCall(run.family, run, call, lazy), isError: false }),
};

export function performHostTool(family, run, { id, call, name }) {
  const asked = run.values.get(call);
  const lazy = new LazySignal();
  callHost(family, run, id, {
    frame: callbackFrame(family, run),
    lazy,
    callback: () => WORK[name](run, asked, lazy),
    conclude({ content, isError }) {
      run.keepResult(id, call, content, isError);
      return String(isError);
    },
  });
}
