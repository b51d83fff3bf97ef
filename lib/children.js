// Groups of children and background commands as JS holds them: the context in which they were started, the runs that the
// core asks for, and what they said. When which of them runs, and what became of it, is the core's.
import { randomUUID } from "node:crypto";

import { completionInput, completionOf, quotable } from "./completion.js";
import { notifyAll } from "./listeners.js";
import { Run } from "./run.js";

/** Where a group or a command came from. */
class Origin {
  constructor({ scope, ownerId }) {
    this.scope = scope;
    this.sessionId = ownerId;
  }
}

class GroupOrigin extends Origin {
  constructor(run) {
    super(run);
    /** Its stream hears of the children as long as it lasts. */
    this.run = run;
    /** What the children said last, by agentId. */
    this.texts = new Map();
  }
}

export function performGroupBegan(family, run, { group }) {
  family.groups.set(group, new GroupOrigin(run));
}

/** Makes the run of a child. */
export function performMakeRun(family, _run, { id, group, agent, definition, model, prompt }) {
  const origin = family.groups.get(group);
  origin.scope.runInAsyncScope(() => {
    const role = family.parts.childRole(definition, model);
    const run = new Run(family, {
      runId: randomUUID(),
      sessionId: agent,
      ownerId: origin.sessionId,
      agentId: agent,
      role,
      source: origin.run.source,
      conversation: family.parts.conversationOf(agent, role),
      input: prompt,
      messages: userMessages(prompt),
      steer: undefined,
      onText: (text) => origin.texts.set(agent, quotable(text)),
      parent: origin.run,
    });
    run.attach();
    adopt(family, id, run);
  });
}

/** A group is over: tells of it, and makes the run that takes it up. */
export function performGroupOver(family, _run, { id, group, completion: told, told: tells, starts }) {
  const origin = family.groups.get(group);
  family.groups.delete(group);
  const completion = completionOf(told, (agent) => origin.texts.get(agent) ?? "");
  if (tells) tell(family, origin, { type: "background_completed", completion });
  if (!starts) {
    family.rest();
    family.answer(id, 0, "");
    return;
  }
  origin.scope.runInAsyncScope(() => {
    const input = completionInput(completion);
    const { sessionId } = origin;
    const role = family.parts.rootRole;
    const run = new Run(family, {
      runId: randomUUID(),
      sessionId,
      role,
      source: "background",
      conversation: family.parts.conversationOf(sessionId, role),
      input,
      messages: userMessages(input),
      steer: undefined,
    });
    family.parts.query?.follow(run);
    adopt(family, id, run);
  });
}

function adopt(family, id, run) {
  family.adopt(run);
  family.answer(id, 0, JSON.stringify({ run: run.key, model: run.role.request.model, stream: run.sink !== null }));
}

function userMessages(content) {
  return Object.freeze([Object.freeze({ role: "user", content })]);
}

export function performCommandBegan(family, run, { command }) {
  family.commands.set(command, new Origin(run));
}

export function performCommandOver(family, _run, { command, completion: told }) {
  const origin = family.commands.get(command);
  family.commands.delete(command);
  if (told !== null) {
    const { label, content, status } = told;
    const isError = status !== "completed";
    const completion = Object.freeze({ id: command, label, content, status, isError, awaitIdle: false });
    tell(family, origin, { type: "background_completed", completion });
  }
  family.rest();
}

/** An event of a session: its run that is being read has it in its stream, whichever that is. */
function tell(family, { scope, sessionId }, event) {
  const { listeners } = family;
  if (listeners.length > 0) Object.freeze(event);
  if (family.parts.query !== undefined) family.parts.query.push(event);
  else readRun(family, sessionId)?.push(event);
  if (listeners.length === 0) return;
  scope.runInAsyncScope(notifyAll, undefined, listeners, Object.freeze({ sessionId, source: "background", event }));
}

/** The session's run that goes on and is being read, if there is one. */
function readRun({ runs }, sessionId) {
  for (const run of runs.values()) {
    if (run.sessionId === sessionId && run.sink !== null && run.hasBegun) return run;
  }
  return undefined;
}
