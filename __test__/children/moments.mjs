// The moments of a child's life at which something may end it, each as a family that has come to it. Knows the public
// face only.
import { aborted, deferred, plainTool, within } from "../support/model.mjs";
import { call, familyFor, familyTools, spawning } from "./family.mjs";

const never = new Promise(() => {});
const waiting = { hold: "child", text: "never said" };

/**
 * What a moment needs: `children`, the turns of each; `config`; `prepare(family)`, called before the run; `ready(family)`,
 * which resolves when the moment has come. `begun` is how many of the children have begun by then.
 */
export const MOMENTS = {
  "one waits for a place": {
    children: { one: [waiting], two: [waiting] },
    config: () => ({ maxParallelSubagents: 1 }),
    ready: ({ model }) => model.reached("child"),
    begun: 1,
  },
  "it is in its model call": {
    children: { one: [waiting] },
    ready: ({ model }) => model.reached("child"),
  },
  "it is in a model call that ignores its signal": {
    children: { one: [{ ...waiting, deaf: true }] },
    ready: ({ model }) => model.reached("child"),
  },
  "it is in a later turn": {
    children: { one: [{ text: "looking", calls: [call("work")] }, waiting] },
    ready: ({ model }) => model.reached("child"),
  },
  "it is in a tool": {
    children: { one: [{ calls: [call("wait")] }, { text: "never said" }] },
    tool:
      (entered, seen) =>
      async (_, { signal }) => {
        entered.resolve();
        await aborted(signal);
        seen.aborted = true;
        return "left";
      },
  },
  "it is in a tool that ignores its signal": {
    children: { one: [{ calls: [call("wait")] }, { text: "never said" }] },
    tool: (entered) => () => {
      entered.resolve();
      return never;
    },
  },
  "it is in a run:start hook": {
    children: { one: [{ text: "never said" }] },
    hook: ["run:start", ({ agentId }) => agentId !== undefined],
  },
  "it is in a tool:start hook": {
    children: { one: [{ calls: [call("work")] }, { text: "never said" }] },
    hook: ["tool:start", ({ agentId }) => agentId !== undefined],
  },
  "it waits for an approval": {
    children: { one: [{ calls: [call("work")] }, { text: "never said" }] },
    config: (entered) => ({
      permission: { check: ({ name }) => (name === "work" ? "ask" : "allow") },
      onApproval: {
        request() {
          entered.resolve();
          return never;
        },
      },
    }),
  },
};

/**
 * A family that has come to this moment. Its root's run still goes on, at the gate `parent`, unless `parentDone`: then
 * `result` is what it came to. `sent` is the promise of that run.
 */
export async function familyAt(t, name, { parentDone = false, options, ...config } = {}) {
  const moment = MOMENTS[name];
  const entered = deferred();
  const seen = {};
  const tools = [...familyTools(), ...(moment.tool ? [plainTool("wait", moment.tool(entered, seen))] : [])];
  const last = parentDone ? { text: "started" } : { hold: "parent", text: "started" };
  const family = familyFor(t, {
    roles: {
      go: [spawning(...Object.keys(moment.children)), last, { text: "over" }],
      "go on": [{ text: "went on" }],
      ...moment.children,
    },
    tools,
    ...moment.config?.(entered),
    ...config,
  });
  if (moment.hook) {
    const [event, matches] = moment.hook;
    family.agent.hook(event, async (one) => {
      if (!matches(one)) return;
      entered.resolve();
      await never;
    });
  }
  const sent = family.send("go", options);
  sent.catch(() => {});
  if (parentDone) await sent;
  else await family.model.reached("parent");
  await within(moment.ready ? moment.ready(family) : entered.promise, name);
  const begun = moment.begun ?? Object.keys(moment.children).length;
  return { ...family, sent, seen, begun, moment };
}
