// Hundreds of sessions on one agent: what is idle is let go and comes back from the store. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { agentFor, deferred, scriptedModel, until, within } from "../support/model.mjs";
import { runChild } from "../support/child.mjs";
import { textOf } from "../runs/reading.mjs";
import { testStore } from "./storing.mjs";

test("hundreds of sessions at once keep their logs apart, and go on where they were", async (t) => {
  const store = testStore();
  const model = scriptedModel([({ messages }) => ({ text: `answer to ${textOf(messages.at(-1))}` })]);
  const agent = agentFor(t, { checkpointer: store.checkpointer, model });
  const ids = Array.from({ length: 300 }, (_, index) => `s${index}`);
  for (const round of ["one", "two", "three"]) {
    await within(
      Promise.all(ids.map((sessionId) => agent.send(`${round} ${sessionId}`, { sessionId }))),
      round,
      60_000,
    );
  }
  for (const id of ids) {
    assert.deepEqual(
      store.events(id).map(({ message }) => textOf(message)),
      ["one", "two", "three"].flatMap((round) => [`${round} ${id}`, `answer to ${round} ${id}`]),
    );
  }
});

test("sessions that have been idle come back from the store, whatever other sessions did meanwhile", async (t) => {
  const store = testStore();
  const model = scriptedModel([{ text: "ok" }]);
  const agent = agentFor(t, { checkpointer: store.checkpointer, model });
  await agent.send("first", { sessionId: "old" });
  for (let index = 0; index < 500; index += 1) await agent.send("x", { sessionId: `other-${index}` });
  const { messages } = await agent.send("second", { sessionId: "old" });
  assert.deepEqual(messages.map(textOf), ["first", "ok", "second", "ok"]);
  assert.deepEqual(
    store.stored("old").map(({ seq }) => seq),
    [1, 2, 3, 4],
  );
});

test("a session that runs is not let go, however many others come and go", async (t) => {
  const store = testStore();
  const gate = deferred();
  const model = scriptedModel([
    (request) => (textOf(request.messages.at(-1)) === "stay" ? { text: "stayed", wait: gate.promise } : { text: "ok" }),
  ]);
  const agent = agentFor(t, { checkpointer: store.checkpointer, model });
  const stays = agent.send("stay", { sessionId: "stays" });
  await until(() => model.requests.length === 1, "its model call");
  const queued = agent.send("then", { sessionId: "stays" });
  for (let index = 0; index < 300; index += 1) await agent.send("x", { sessionId: `other-${index}` });
  gate.resolve();
  await stays;
  assert.deepEqual((await queued).messages.map(textOf), ["stay", "stayed", "then", "ok"]);
});

test("memory of idle sessions is let go", async () => {
  const outcome = await runChild(
    `
    import { appendFileSync, existsSync, readFileSync } from "node:fs";
    const heads = new Map();
    const file = (id) => join(work, id + ".jsonl");
    const checkpointer = {
      async append(id, events) {
        let head = heads.get(id) ?? 0;
        for (const event of events) {
          head += 1;
          appendFileSync(file(id), JSON.stringify({ seq: head, sessionId: id, parentSeq: head - 1 || null, ts: new Date().toISOString(), event }) + "\\n");
        }
        heads.set(id, head);
        return head;
      },
      async *read(id) {
        if (!existsSync(file(id))) return;
        for (const line of readFileSync(file(id), "utf8").trimEnd().split("\\n")) yield JSON.parse(line);
      },
      async head(id) { return heads.get(id) ?? 0; },
      async list() { return []; },
      async delete() {},
    };
    let sent = [];
    const usage = { inputTokens: 1, outputTokens: 1 };
    const model = { id: "m", async *stream({ messages }) {
      sent = messages.length;
      yield { type: "message_done", usage, message: { role: "assistant", content: [{ type: "text", text: "a" + "y".repeat(200_000) }] } };
    } };
    const agent = makeAgent({ checkpointer, model });
    const rest = async () => { for (let round = 0; round < 5; round += 1) { await new Promise(setImmediate); gc(); } return process.memoryUsage().heapUsed / 1e6; };
    await agent.send("warm " + "x".repeat(200_000), { sessionId: "warm" });
    const before = await rest();
    const count = 600;
    for (let index = 0; index < count; index += 1) await agent.send(index + "x".repeat(200_000), { sessionId: "s" + index });
    const after = await rest();
    await agent.send("again", { sessionId: "s0" });
    if (sent !== 3) throw new Error("s0 came back with " + sent + " messages");
    console.log(JSON.stringify({ grownMB: after - before, writtenMB: (count * 400_000) / 1e6 }));
    await agent.close();
  `,
    { flags: ["--expose-gc", "--unhandled-rejections=strict"], limitMs: 120_000 },
  );
  assert.equal(outcome.code, 0, outcome.stderr);
  const { grownMB, writtenMB } = JSON.parse(outcome.stdout);
  assert.ok(grownMB < writtenMB / 2, `${grownMB} MB are kept of ${writtenMB} MB in idle sessions`);
});

test("nothing is kept of sessions that were deleted, or taken back to their beginning", async () => {
  const outcome = await runChild(
    `
    const heap = async () => {
      for (let round = 0; round < 5; round += 1) { await new Promise(setImmediate); globalThis.gc(); }
      return process.memoryUsage().heapUsed;
    };
    // One that keeps no requests.
    const message = { role: "assistant", content: [{ type: "text", text: "ok" }] };
    const usage = { inputTokens: 1, outputTokens: 1 };
    const model = { id: "m", async *stream() { yield { type: "message_done", message, usage }; } };
    for (const way of ["deleted", "taken back"]) {
      const checkpointer = lite.memoryCheckpointer();
      const agent = makeAgent({ model, checkpointer });
      const rounds = async (count) => {
        for (let index = 0; index < count; index += 1) {
          const id = agent.clear();
          await agent.send("hi");
          if (way === "deleted") await agent.deleteSession(id);
          else await agent.restore(id, 0);
        }
      };
      await rounds(500);
      const before = await heap();
      await rounds(1_500);
      const each = (await heap() - before) / 1_500;
      if (each > 500) throw new Error(Math.round(each) + " bytes are kept of each session that was " + way);
      await agent.close();
    }
    console.log("end");
  `,
    { flags: ["--unhandled-rejections=strict", "--expose-gc"], limitMs: 120_000 },
  );
  assert.equal(outcome.code, 0, outcome.stderr || outcome.stdout);
  assert.match(outcome.stdout, /end/);
});
