// What stored sessions cost: an append, a turn, a resume, a list, a restoration, and whether a turn pays for those before it.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileCheckpointer, policy } from "../../index.js";
import { makeAgent, makeFolder, nothing } from "../agents.mjs";
import { plainRun } from "../baseline.mjs";
import { appendEvent, editPlainly, editSafely, listLogs, readEvents } from "../baseline-files.mjs";
import { longestStall, slowPace } from "../host.mjs";
import { median, scaled, takeTurns } from "../measure.mjs";
import { callingModel, manyTurnsModel, oneTurnModel } from "../models.mjs";

const EARLY = 5;
const LATE = 500;
/** Turns on either side that are looked at with the one that is meant. */
const AROUND = 3;

/** @param {import("../measure.mjs").Pace} pace @returns {AsyncGenerator<import("../measure.mjs").Row>} */
export async function* sessionRows(pace) {
  yield await appendRow(pace);
  yield await turnRow(pace);
  yield* resumeRows(2_000, pace);
  yield* resumeRows(20_000, pace);
  yield* growthRows(pace);
  yield await listRow(pace);
  yield await restoreRow(pace);
}

/** A conversation of so many events: a prompt, then turns of one call. */
function conversation(count) {
  const events = [{ type: "user", message: { role: "user", content: "Look at every file, please." } }];
  for (let turn = 1; events.length < count; turn += 1) {
    const id = `call_${turn}`;
    const text = `File ${turn}: what does it hold, and who uses it?`;
    const call = { type: "tool_call", id, name: "read_file", input: { path: `src/file-${turn}.js` } };
    const content = "const total = lines.reduce((sum, line) => sum + line.length, 0);\n".repeat(4);
    events.push(
      { type: "assistant", message: { role: "assistant", content: [{ type: "text", text }, call] } },
      { type: "tool_started", id, name: "read_file", turn },
      { type: "tool_result", result: { type: "tool_result", id, content }, turn },
    );
  }
  return events;
}

async function appendRow(pace) {
  const count = scaled(50, pace);
  const events = conversation(count).slice(0, count);
  const plain = (durable) => ({
    prepare: () => join(makeFolder(), "log.jsonl"),
    async batch(file) {
      for (const event of events) await appendEvent(file, event, durable);
    },
  });
  const measured = await takeTurns(
    {
      lite: {
        prepare: () => fileCheckpointer({ dir: makeFolder() }),
        async batch(store) {
          let head = 0;
          for (const event of events) head = await store.append("bench", [event], head);
        },
        clean: (store) => store.close(),
      },
      plain: plain(true),
      tuned: plain(false),
    },
    pace,
  );
  const each = (name) => median(measured[name]) / count;
  return { label: "append an event", ours: each("lite"), plain: each("plain"), tuned: each("tuned") };
}

async function turnRow(pace) {
  const turns = scaled(50, pace);
  const tools = [nothing];
  const plain = (durable) => ({
    prepare: () => ({ model: manyTurnsModel(turns), file: join(makeFolder(), "log.jsonl") }),
    batch: ({ model, file }) => plainStoredSend({ model, turns, file, durable }),
  });
  const measured = await takeTurns(
    {
      lite: {
        prepare() {
          const store = fileCheckpointer({ dir: makeFolder() });
          const agent = makeAgent({ model: manyTurnsModel(turns), tools, maxTurns: turns + 1, checkpointer: store });
          return { agent, store };
        },
        async batch({ agent }) {
          await agent.send("go");
        },
        async clean({ agent, store }) {
          await agent.close();
          await store.close();
        },
      },
      plain: plain(true),
      tuned: plain(false),
    },
    slowPace(pace),
  );
  const each = (name) => median(measured[name]) / turns;
  return { label: "a turn of one call, stored", ours: each("lite"), plain: each("plain"), tuned: each("tuned") };
}

/** The bare loop, which appends the same events at the same points. */
async function plainStoredSend({ model, turns, file, durable }) {
  const store = (event) => appendEvent(file, event, durable);
  const stored = {
    ...nothing,
    async execute(input, context) {
      await store({ type: "tool_started", id: "call", name: nothing.name });
      const content = await nothing.execute(input, context);
      await store({ type: "tool_result", result: { type: "tool_result", id: "call", content } });
      return content;
    },
  };
  const message = { role: "user", content: "go" };
  await store({ type: "user", message });
  for await (const event of plainRun({ model, tools: [stored], messages: [message], maxTurns: turns + 1 })) {
    if (event.type === "message") await store({ type: "assistant", message: event.message });
  }
}

/** A new agent takes up a long session and runs one turn in it. */
async function* resumeRows(size, pace) {
  const count = scaled(size, pace);
  const events = conversation(count);
  const dir = makeFolder();
  const writer = fileCheckpointer({ dir });
  let head = 0;
  for (let from = 0; from < events.length; from += 500) {
    head = await writer.append("bench", events.slice(from, from + 500), head);
  }
  await writer.close();
  const file = join(makeFolder(), "log.jsonl");
  writeFileSync(file, events.map((event) => `${JSON.stringify(event)}\n`).join(""));

  const resume = async (agent) => {
    agent.resume("bench");
    const { messages } = await agent.send("go");
    if (messages.length < events.length / 2) throw new Error("the session was not resumed");
  };
  const lite = (batch) => ({
    prepare() {
      const store = fileCheckpointer({ dir });
      return { agent: makeAgent({ model: oneTurnModel(), checkpointer: store }), store };
    },
    batch,
    async clean({ agent, store }) {
      await agent.close();
      await store.close();
    },
  });
  const measured = await takeTurns(
    {
      lite: lite(({ agent }) => resume(agent)),
      stall: lite(({ agent }) => longestStall(() => resume(agent))),
      plain: {
        async batch() {
          await readEvents(file);
        },
      },
    },
    slowPace(pace),
  );
  const shown = count.toLocaleString("en");
  yield {
    label: `resume ${shown} events and run a turn`,
    ours: median(measured.lite),
    plain: median(measured.plain),
    // Of a short log, what the turn itself writes to the disk is most of it, and the baseline writes nothing.
    ...(size >= 20_000 && { target: { kind: "ratio", limit: 3 } }),
  };
  yield {
    label: `resume ${shown} events, longest stall`,
    ours: median(measured.stall.map(({ stall }) => stall)),
    target: { kind: "time", limit: 20_000 },
  };
}

/** One long stored run: an early turn, and a late one. */
async function* growthRows(pace) {
  const late = scaled(LATE, pace);
  const turns = late + AROUND;
  const measured = await takeTurns(
    {
      lite: {
        prepare() {
          const model = manyTurnsModel(turns);
          const store = fileCheckpointer({ dir: makeFolder() });
          return {
            model,
            store,
            agent: makeAgent({ model, tools: [nothing], maxTurns: turns + 1, checkpointer: store }),
          };
        },
        async batch({ agent, model }) {
          await agent.send("go");
          return { early: around(model.marks, EARLY), late: around(model.marks, late) };
        },
        async clean({ agent, store }) {
          await agent.close();
          await store.close();
        },
      },
    },
    slowPace(pace),
  );
  const early = median(measured.lite.map((round) => round.early));
  yield { label: `turn ${EARLY} of a stored session`, ours: early };
  yield {
    label: `turn ${late} of it`,
    ours: median(measured.lite.map((round) => round.late)),
    target: { kind: "time", limit: early * 1.2 },
  };
}

/** Microseconds of a turn, the median of those around it. `marks` has when the request of each turn came. */
function around(marks, turn) {
  const times = [];
  for (let near = turn - AROUND; near <= turn + AROUND; near += 1) times.push((marks[near] - marks[near - 1]) * 1000);
  return median(times);
}

async function listRow(pace) {
  const count = scaled(1_000, pace);
  const dir = makeFolder();
  const store = fileCheckpointer({ dir });
  const [event] = conversation(1);
  for (let index = 0; index < count; index += 1) await store.append(`session-${index}`, [event], 0);
  const measured = await takeTurns(
    {
      lite: {
        async batch() {
          const { length } = await store.list();
          if (length !== count) throw new Error(`${length} of ${count} sessions were listed`);
        },
      },
      plain: {
        async batch() {
          await listLogs(dir);
        },
      },
    },
    pace,
  );
  await store.close();
  return {
    label: `list ${count.toLocaleString("en")} sessions`,
    ours: median(measured.lite),
    plain: median(measured.plain),
  };
}

/** Files that the agent changed go back, and the log is cut. */
async function restoreRow(pace) {
  const count = scaled(100, pace);
  const names = Array.from({ length: count }, (_, index) => `file-${index}.js`);
  const line = "const total = lines.reduce((sum, line) => sum + line.length, 0);\n".repeat(50);
  const folderOf = (word) => {
    const folder = makeFolder();
    for (const name of names) writeFileSync(join(folder, name), `${line}// ${word}\n`);
    return folder;
  };
  const plain = (edit) => ({
    prepare: () => folderOf("after"),
    async batch(folder) {
      for (const name of names) await edit(join(folder, name), "// after", "// before");
    },
  });
  const calls = names.map((path) => ({ name: "write_file", input: { path, content: `${line}// after\n` } }));
  const measured = await takeTurns(
    {
      lite: {
        async prepare() {
          const workdir = folderOf("before");
          const store = fileCheckpointer({ dir: makeFolder() });
          const agent = makeAgent({ model: callingModel(calls), workdir, permission: policy(), checkpointer: store });
          await agent.send("go", { sessionId: "bench" });
          return { agent, store, workdir };
        },
        async batch({ agent }) {
          const { restoredFiles } = await agent.restore("bench", 0);
          if (restoredFiles.length !== count) throw new Error(`${restoredFiles.length} of ${count} files came back`);
        },
        async clean({ agent, store, workdir }) {
          await agent.close();
          await store.close();
          if (!readFileSync(join(workdir, names[0]), "utf8").endsWith("// before\n"))
            throw new Error("nothing came back");
        },
      },
      plain: plain(editSafely),
      tuned: plain(editPlainly),
    },
    slowPace(pace),
  );
  return {
    label: `restore ${count} files`,
    ours: median(measured.lite),
    plain: median(measured.plain),
    tuned: median(measured.tuned),
  };
}
