// Drives an agent call by call: each run makes the calls that a test names, then says "done". Knows the public face only.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLiteAgent, policy } from "../../index.js";
import { ending, written } from "../commands/bashing.mjs";
import { contentText, resultFor, textOf } from "../runs/reading.mjs";
import { pause, scriptedModel, until, within } from "../support/model.mjs";

/** How often a command's output is asked for while it goes on. */
const ASKED_EVERY_MS = 20;

/**
 * An agent in a folder of its own, with all allowed where `permission` is not given. `root`, `workdir` and `home` are
 * its folders; a config may name others. `child` answers the requests of children, whose prompts begin with "child".
 * @param {import('node:test').TestContext} t
 * @param {Record<string, unknown>} [config]
 */
export function drivenAgent(t, { child, ...config } = {}) {
  const root = mkdtempSync(join(tmpdir(), "lite-agent-test-"));
  let agent;
  // The folder goes last: close() may have something to remove from it.
  t.after(async () => {
    if (agent) await within(agent.close(), "close() after the test", 20_000);
    rmSync(root, { recursive: true, force: true });
  });
  const workdir = join(root, "work");
  const home = join(root, "home");
  mkdirSync(workdir);
  mkdirSync(home);

  const waiting = [];
  const model = scriptedModel([
    (request, signal) => {
      if (child && textOf(request.messages[0]).startsWith("child")) return child(request, signal);
      return waiting.length > 0 ? { calls: waiting.splice(0) } : { text: "done" };
    },
  ]);
  agent = createLiteAgent({ workdir, home, sessions: false, permission: policy(), model, ...config });
  const completions = [];
  agent.subscribe(({ event, sessionId }) => {
    if (event.type === "background_completed") completions.push({ sessionId, ...event.completion });
  });
  return new Driven({ agent, model, waiting, completions, root, workdir, home, ...folders(config) });
}

const folders = ({ workdir, home }) => ({ ...(workdir && { workdir }), ...(home && { home }) });

let made = 0;

class Driven {
  constructor(parts) {
    Object.assign(this, parts);
  }

  /** One run whose model makes these calls, `[name, input]` each, in one turn: their results in the order of the calls. */
  async calls(list, options) {
    const calls = list.map(([name, input]) => ({ id: `call-${(made += 1)}`, name, input }));
    this.waiting.push(...calls);
    const { messages } = await within(this.agent.send("go", options), `a run of ${list[0]?.[0]}`, 60_000);
    return calls.map(({ id }) => {
      const block = resultFor(messages, id);
      return { content: contentText(block), isError: block.isError ?? false };
    });
  }

  /** One run of one call: `{ content, isError }`. */
  async call(name, input, options) {
    const [result] = await this.calls([[name, input]], options);
    return result;
  }

  /** Asks for a background command, whatever comes of it. */
  ask(command, input = {}, options) {
    return this.call("bash", { command, run_in_background: true, ...input }, options);
  }

  /** Starts a background command: its id. */
  async start(command, input, options) {
    const { content, isError } = await this.ask(command, input, options);
    assert.equal(isError, false, content);
    return idIn(content);
  }

  /** What is new of a command: `text`, and `ending`, the line that says how it stands. */
  async read(id, { filter, ...options } = {}) {
    const input = filter === undefined ? { id } : { id, filter };
    const { content, isError } = await this.call("BashOutput", input, options);
    return { content, isError, text: written(content), ending: ending(content) };
  }

  /** Reads until `enough(text so far, ending)`: all that came until then. */
  readUntil(id, enough, what, options) {
    let text = "";
    const parts = [];
    const ask = async () => {
      const part = await this.read(id, options);
      assert.ok(!part.content.startsWith("Error: "), part.content);
      text += part.text;
      parts.push(part.text);
      if (enough(text, part.ending)) return { text, parts, ending: part.ending };
      await pause(ASKED_EVERY_MS);
      return undefined;
    };
    return until(ask, what, 30_000);
  }

  /** Reads until the command is over. */
  readToEnd(id, options) {
    return this.readUntil(id, (_, ending) => ending !== RUNNING, `the end of ${id}`, options);
  }

  /** Waits for the completion of a command. */
  completionOf(id, limitMs) {
    return until(() => this.completions.find((completion) => completion.id === id), `the completion of ${id}`, limitMs);
  }

  kill(id, options) {
    return this.call("KillBackground", { id }, options);
  }

  close(when = "") {
    return within(this.agent.close(), `close() ${when}`, 20_000);
  }

  deleteSession(sessionId) {
    return within(this.agent.deleteSession(sessionId), `deleteSession(${sessionId})`, 20_000);
  }
}

/** The line of a command that goes on. */
export const RUNNING = "[running]";

/** The id of a background command in the text that announces it. */
export function idIn(content) {
  const ids = content.match(/\bbg_[0-9a-f]{16}\b/g) ?? [];
  assert.equal(new Set(ids).size, 1, `one id in: ${content}`);
  return ids[0];
}

/** A command's part that goes on only when there is the file `name` in the workdir. */
export const waitFor = (name) => `until [ -e ${name} ]; do sleep 0.02; done`;

/** A tree of a shell that ignores TERM, a child of it, one in its own session, and one that forked twice. */
export const stubbornTree = (mark) =>
  `trap '' TERM HUP INT; setsid sleep ${mark} & (setsid sh -c 'trap "" TERM HUP; sleep ${mark} & wait; sleep ${mark}' >/dev/null 2>&1 &) ; sleep ${mark}; sleep ${mark}`;
