// Agents that keep a list of tasks, the files of it, and the reminders that requests hold. Knows the public face only.
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { resolveProjectPaths } from "../../index.js";
import { drivenAgent } from "../background/driving.mjs";

const OPENING = "<task-list>";

/** A driven agent with the tools of tasks as methods; `of(id)` and `files()` look at what is on the disk. */
export function taskAgent(t, config = {}) {
  const driven = drivenAgent(t, config);
  const { tasksDir } = resolveProjectPaths({ workdir: driven.workdir, home: driven.home });
  const listId = () => config.taskListId ?? driven.agent.sessionId;
  return Object.assign(driven, {
    tasksDir,
    /** Creates a task, whose subject must hold no number: its id. */
    async create(subject, description = `how to ${subject}`, options) {
      const { content, isError } = await driven.call("TaskCreate", { subject, description }, options);
      assert.equal(isError, false, content);
      const [id] = content.match(/\b\d+\b/) ?? [];
      assert.ok(id, `an id in: ${content}`);
      return id;
    },
    update: (taskId, changes, options) => driven.call("TaskUpdate", { taskId, ...changes }, options),
    get: (taskId, options) => driven.call("TaskGet", { taskId }, options),
    list: (options) => driven.call("TaskList", {}, options),
    files: (id = listId()) => taskFiles(tasksDir, id),
    /** The task in its file, undefined where there is none. */
    of: (taskId, id = listId()) => taskFiles(tasksDir, id).get(taskId),
  });
}

/** The tasks of a list as its files have them, by id. Every one of them must be whole. */
export function taskFiles(tasksDir, listId) {
  const folder = join(tasksDir, listId);
  const names = existsSync(folder) ? readdirSync(folder).filter((name) => /^\d+\.json$/.test(name)) : [];
  return new Map(names.map((name) => [name.slice(0, -5), JSON.parse(readFileSync(join(folder, name), "utf8"))]));
}

/** The reminder of a request: the last block of its last message. Checks that it is nowhere else. */
export function reminderIn(request) {
  const count = JSON.stringify(request.messages).split(OPENING).length - 1;
  if (count === 0) return undefined;
  assert.equal(count, 1, "one reminder in a request");
  const last = request.messages.at(-1);
  assert.equal(last.role, "user");
  assert.ok(Array.isArray(last.content), "the last message has blocks");
  const block = last.content.at(-1);
  assert.equal(block.type, "text");
  assert.match(block.text, /^<task-list>[^]*<\/task-list>$/);
  return block.text;
}
