// restore(): what is refused, what fails in the middle, cancelling, and who else is at work. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { ClosedError, ConfigError, ReentrancyError, memoryCheckpointer } from "../../index.js";
import { agentFor, deferred, plainTool, within } from "../support/model.mjs";
import { textOf } from "../runs/reading.mjs";
import { sessionId, workingAgent } from "./restoring.mjs";

/** A memory store of which each operation first awaits `before(operation)`. */
function slowStore() {
  const inner = memoryCheckpointer();
  const store = { before: () => {} };
  for (const name of ["append", "head", "list", "delete", "truncate"]) {
    store[name] = async (...given) => {
      await store.before(name, ...given);
      return await inner[name](...given);
    };
  }
  store.read = (...given) => inner.read(...given);
  return store;
}

const NAMES = Array.from({ length: 20 }, (_, index) => `f${String(index).padStart(2, "0")}`);
const asAgent = NAMES.map((name) => [name, "agent"]);

async function changedByAgent(t, config) {
  const w = await workingAgent(t, [asAgent], { maxParallelTools: 1, ...config });
  for (const name of NAMES.slice(0, 10)) w.write(name, "before");
  await w.prompt();
  return w;
}

function assertUnchanged(w, but = []) {
  for (const name of NAMES) if (!but.includes(name)) assert.equal(w.read(name), "agent", name);
  assert.deepEqual(readdirSync(w.workdir).sort(), NAMES);
}

/** Calls back once so many files are done. */
function whenCompleted(w, count, callback) {
  w.agent.subscribe(({ event }) => {
    if (event.type === "checkpoint_restore" && event.phase === "progress" && event.completed === count) callback();
  });
}

test("what cannot be is refused by name, and nothing changes", async (t) => {
  const w = await changedByAgent(t);
  const head = await w.checkpointer.head(sessionId);
  const { agent } = w;
  for (const toSeq of [-1, 1.5, "1", null, undefined, NaN, 2 ** 60]) {
    await assert.rejects(
      agent.restore(sessionId, toSeq),
      (error) => error instanceof TypeError && /toSeq/.test(error.message),
    );
  }
  for (const options of [null, 5, [], "x"]) await assert.rejects(agent.restore(sessionId, 0, options), TypeError);
  await assert.rejects(agent.restore(5, 0), TypeError);
  for (const [attempt, message] of [
    [() => agent.restore("a/b", 0), /sessionId/],
    [
      () => agent.restore(sessionId, head + 1),
      new RegExp(`toSeq is ${head + 1}, but the log of session s ends at ${head}`),
    ],
    [() => agent.restore("unknown", 1), /ends at 0/],
    [() => agent.restore(sessionId, 0, { file: false }), /file is not an option here; did you mean files/],
    [() => agent.restore(sessionId, 0, { files: 1 }), /^files must be true or false/],
    [() => agent.restore(sessionId, 0, { signal: {} }), /^signal must be an AbortSignal/],
    [() => agent.restore(sessionId, 0, { files: false, conversation: false }), /nothing to restore/],
  ]) {
    await assert.rejects(attempt(), (error) => error instanceof ConfigError && message.test(error.message));
  }
  assertUnchanged(w);
  assert.equal(await w.checkpointer.head(sessionId), head);
  assert.deepEqual(w.events, []);
});

test("without stored sessions there is nothing to go back to", async (t) => {
  const agent = agentFor(t, { sessions: false });
  await assert.rejects(
    agent.restore("s", 0),
    (error) => error instanceof ConfigError && /stored sessions/.test(error.message),
  );
});

test("after close() it is refused; close() during it waits until it is over", async (t) => {
  const checkpointer = slowStore();
  const w = await changedByAgent(t, { checkpointer });
  const entered = deferred();
  const go = deferred();
  checkpointer.before = async (name) => {
    if (name !== "truncate") return;
    entered.resolve();
    await go.promise;
  };
  const restored = w.agent.restore(sessionId, 0);
  await entered.promise;
  let closed = false;
  const closing = w.agent.close().then(() => (closed = true));
  await new Promise(setImmediate);
  assert.equal(closed, false);
  go.resolve();
  assert.equal((await restored).restoredFiles.length, 20);
  await within(closing, "close()");
  await assert.rejects(w.agent.restore(sessionId, 0), ClosedError);
});

test("to the head itself nothing is done; an unknown session has a head of 0", async (t) => {
  const w = await changedByAgent(t);
  const head = await w.checkpointer.head(sessionId);
  const nothing = { restoredFiles: [], skippedFiles: [] };
  assert.deepEqual(await w.agent.restore(sessionId, head), nothing);
  assert.deepEqual(await w.agent.restore("unknown", 0), nothing);
  assertUnchanged(w);
});

for (const [what, change] of [
  ["a folder comes in the way", (path) => (rmSync(path), mkdirSync(path))],
  ["a file is deleted", (path) => rmSync(path)],
]) {
  test(`${what} in the middle: what was put back is undone, and the error says which file`, async (t) => {
    const w = await changedByAgent(t);
    const head = await w.checkpointer.head(sessionId);
    whenCompleted(w, 12, () => change(w.path("f15")));
    await assert.rejects(w.agent.restore(sessionId, 0), (error) => {
      assert.equal(error.code, "restore_failed");
      assert.match(error.message, /no file was changed, for 'f15'/);
      return true;
    });
    for (const name of NAMES) if (name !== "f15") assert.equal(w.read(name), "agent", name);
    assert.deepEqual(
      readdirSync(w.workdir).filter((name) => name.startsWith(".")),
      [],
    );
    assert.equal(await w.checkpointer.head(sessionId), head);
    assert.deepEqual(
      [w.events.at(-1).phase, w.events.at(-1).completed, /f15/.test(w.events.at(-1).message)],
      ["error", 15, true],
    );
  });
}

test("a log that cannot be cut undoes the files, and its error is passed on as itself", async (t) => {
  const checkpointer = slowStore();
  const w = await changedByAgent(t, { checkpointer });
  const failure = new Error("no disk");
  checkpointer.before = (name) => {
    if (name === "truncate") throw failure;
  };
  await assert.rejects(w.agent.restore(sessionId, 0), (error) => error === failure);
  assertUnchanged(w);
  assert.equal(w.events.at(-1).phase, "error");
  checkpointer.before = () => {};
  assert.equal((await w.agent.restore(sessionId, 0)).restoredFiles.length, 20);
});

test("another writer between reading and cutting is a conflict, and nothing is lost", async (t) => {
  const w = await changedByAgent(t);
  whenCompleted(w, 3, () => {
    void w.checkpointer.append(sessionId, [{ type: "user", message: { role: "user", content: "theirs" } }]);
  });
  await assert.rejects(w.agent.restore(sessionId, 0), { code: "checkpoint_conflict" });
  assertUnchanged(w);
  assert.equal((await w.stored()).at(-1).message.content, "theirs");
});

test("a signal cancels between files: what was put back is undone, and its reason is thrown", async (t) => {
  const w = await changedByAgent(t);
  const head = await w.checkpointer.head(sessionId);
  const controller = new AbortController();
  const reason = new Error("enough");
  whenCompleted(w, 7, () => controller.abort(reason));
  await assert.rejects(w.agent.restore(sessionId, 0, { signal: controller.signal }), (error) => error === reason);
  assertUnchanged(w);
  assert.equal(await w.checkpointer.head(sessionId), head);
  assert.deepEqual([w.events.at(-1).phase, w.events.at(-1).completed], ["error", 7]);
  // Undone files are as the agent left them: a second try is no worse.
  assert.equal((await w.agent.restore(sessionId, 0)).restoredFiles.length, 20);
});

test("a signal that was aborted before does nothing, and one that aborts while it waits for a run ends the wait", async (t) => {
  const go = deferred();
  const entered = deferred();
  const hang = plainTool("hang", async () => (entered.resolve(), await go.promise, "ok"));
  const w = await workingAgent(t, [[["a", "agent"]], [{ name: "hang", input: {} }]], { tools: [hang] });
  await w.prompt();
  await assert.rejects(w.agent.restore(sessionId, 0, { signal: AbortSignal.abort("no") }), (error) => error === "no");
  const sent = w.prompt();
  await entered.promise;
  const controller = new AbortController();
  const restored = w.agent.restore(sessionId, 0, { signal: controller.signal });
  controller.abort("waited enough");
  await assert.rejects(within(restored, "restore()"), (error) => error === "waited enough");
  go.resolve();
  await sent;
  assert.equal(w.read("a"), "agent");
  assert.equal((await w.prompt()).messages.length, 10);
});

test("it waits for the run before it, and a run that waits meanwhile sees the session as it is then", async (t) => {
  const go = deferred();
  const entered = deferred();
  const hang = plainTool("hang", async () => (entered.resolve(), await go.promise, "ok"));
  const w = await workingAgent(t, [[["a", "agent"]], [{ name: "hang", input: {} }]], { tools: [hang] });
  await w.prompt("first");
  const running = w.prompt("second");
  await entered.promise;
  const { seq } = (await w.agent.listCheckpoints(sessionId))[1];
  const restored = w.agent.restore(sessionId, seq);
  const waiting = w.prompt("third");
  const last = w.prompt("fourth");
  go.resolve();
  await within(Promise.all([running, restored]), "the run and restore()");
  const { messages } = await within(waiting, "the run that waited");
  assert.deepEqual(messages.map(textOf).filter(Boolean), ["first", "done", "third", "ok"]);
  const texts = ["first", "done", "third", "ok", "fourth", "ok"];
  assert.deepEqual((await last).messages.map(textOf).filter(Boolean), texts);
  assert.deepEqual((await w.prompt("fifth")).messages.map(textOf).filter(Boolean), [...texts, "fifth", "ok"]);
  assert.equal(w.read("a"), "agent");
});

test("inside a hook it is refused, of every session, and in a callback of the same session", async (t) => {
  let w;
  const seen = [];
  const ask = plainTool("ask", async () => {
    seen.push(await w.agent.restore(sessionId, 0).catch((error) => error));
    seen.push(await w.agent.restore("other", 0).catch((error) => error));
    return "asked";
  });
  w = await workingAgent(t, [[{ name: "ask", input: {} }]], { tools: [ask] });
  w.agent.hook("run:start", async () => {
    for (const [id, toSeq] of [
      [sessionId, 0],
      ["other", 0],
      [7, "x"],
    ]) {
      seen.push(await w.agent.restore(id, toSeq).catch((error) => error));
    }
  });
  await within(w.prompt(), "the run");
  assert.equal(seen.length, 5);
  for (const error of seen.slice(0, 4)) {
    assert.ok(error instanceof ReentrancyError, String(error));
    assert.match(error.message, /same agent family/);
  }
  assert.deepEqual(seen[4], { restoredFiles: [], skippedFiles: [] });
});

test("a store that uses the session while it is asked is refused, and does not hang", async (t) => {
  const checkpointer = slowStore();
  const w = await changedByAgent(t, { checkpointer });
  let refused;
  checkpointer.before = async (name) => {
    if (name === "truncate") refused = await w.agent.send("hi", { sessionId }).catch((error) => error);
  };
  await within(w.agent.restore(sessionId, 0), "restore()");
  assert.ok(refused instanceof ReentrancyError, String(refused));
});
