// kill -9 of a host at any moment: what it was told is there, the next open works, and files are as the log says. LITE_AGENT_SEED
// repeats a round; LITE_AGENT_LONG=1 makes it ten times as long. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { createLiteAgent, foldEvents, policy } from "../../index.js";
import { pause, scriptedModel, temporaryFolder, within } from "../support/model.mjs";
import { assertConversation } from "../runs/reading.mjs";
import { GIVEN, NAMES, SESSIONS, SYSTEM, namesIn, openStore, sha256, statesOf } from "./killed-host.mjs";
import { randomFrom } from "./random.mjs";

const KILLS = process.env.LITE_AGENT_LONG === "1" ? 100 : 10;
const SEED = Number(process.env.LITE_AGENT_SEED ?? 1 + Math.floor(Math.random() * 1_000_000));
const HOST = fileURLToPath(new URL("./killed-host.mjs", import.meta.url));
const MOST_LINES = 120;

/** Runs a host, kills it after so many lines and a moment more, and gives what it said. */
async function killedHost(kind, root, seed, { lines, moreMs }) {
  const { NODE_TEST_CONTEXT: _, NODE_OPTIONS: __, ...env } = process.env;
  const argv = ["--unhandled-rejections=strict", HOST, kind, root, String(seed)];
  const host = spawn(process.execPath, argv, { env, stdio: ["ignore", "pipe", "pipe"] });
  let problems = "";
  host.stderr.setEncoding("utf8").on("data", (text) => (problems += text));
  const said = [];
  createInterface({ input: host.stdout }).on("line", (line) => {
    said.push(line);
    if (said.length === lines + 1) void pause(moreMs).then(() => host.kill("SIGKILL"));
  });
  const [code, signal] = await within(once(host, "close"), "the host's end", 60_000);
  assert.deepEqual([code, signal, problems], [null, "SIGKILL", ""]);
  // The last line may have been cut by the kill.
  return said.flatMap((line) => (line.endsWith("}") ? [JSON.parse(line)] : []));
}

/** What is known of one session: by what hosts said, and by what its log held at the last look. */
class Known {
  constructor(name) {
    this.name = name;
    /** Of what was told since the last restoration, the trace that it must have left in the log. */
    this.told = [];
    this.compactions = 0;
    /** The files as they were when the log ended there. */
    this.states = new Map();
    /** Where a restoration that was not told to be over goes to. */
    this.restoring = null;
    this.log = [];
    /** No event up to here was taken back since the last look. */
    this.kept = Infinity;
  }

  hear(fact) {
    switch (fact.is) {
      case "asked":
        this.told.push(["user", fact.prompt]);
        break;
      case "message":
        this.told.push(["assistant", fact.text]);
        break;
      case "ran":
        this.told.push(["tool_started", JSON.stringify(fact.id)]);
        break;
      case "result":
        this.told.push(["tool_result", JSON.stringify(fact.id)]);
        break;
      case "compacted":
        this.compactions += 1;
        break;
      case "files":
        this.states.set(fact.seq, fact.states);
        break;
      case "restoring":
        this.restoring = fact.seq;
        break;
      case "restored":
        this.restored(fact);
        break;
      default:
        break;
    }
  }

  restored({ seq, skipped, states }) {
    this.kept = Math.min(this.kept, seq);
    this.told = [];
    this.compactions = 0;
    this.restoring = null;
    for (const other of this.states.keys()) if (other > seq) this.states.delete(other);
    // Of a tool of the host's that was killed nobody knows what it wrote.
    const custom = `${this.name}/custom`;
    assert.deepEqual(
      skipped.filter(({ path }) => path !== custom),
      [],
    );
    const then = this.states.get(seq);
    if (then === undefined) return;
    for (const name of NAMES) {
      if (name !== "custom" || skipped.length === 0) assert.equal(states[name], then[name], `${name} is as it was`);
    }
  }

  /** The log after a kill. */
  check(log, states) {
    log.forEach(({ seq, parentSeq }, index) => assert.deepEqual([seq, parentSeq], [index + 1, index || null]));
    const same = Math.min(this.log.length, this.kept, this.restoring ?? Infinity);
    assert.deepEqual(log.slice(0, same), this.log.slice(0, same), "what was there before");
    const events = log.map(({ event }) => event);
    if (this.restoring === null || log.length !== this.restoring) {
      for (const [type, trace] of this.told) {
        const found = events.some((event) => event.type === type && JSON.stringify(event).includes(trace));
        assert.ok(found, `${type} ${trace} was told and is not in the log`);
      }
      const summaries = events.filter(({ type }) => type === "summary").length;
      assert.ok(summaries >= this.compactions, `${summaries} summaries of ${this.compactions}`);
    }
    for (const name of NAMES.filter((other) => other !== "custom")) this.checkFile(name, events, states[name]);
    assert.ok(Array.isArray(foldEvents(events)));
  }

  /** A file holds what a change of the last turn that had one was to make of it, or, if none was made, what it held before. */
  checkFile(name, events, state) {
    const isChange = ({ type, path }) => type === "file_snapshot" && path === `${this.name}/${name}`;
    const before = ({ before: text }) => (text === null ? null : sha256(text));
    const last = events.findLastIndex(isChange);
    const turn = events.slice(0, last + 1).findLastIndex(({ type }) => type === "assistant");
    const changes = events.slice(turn, last + 1).filter(isChange);
    const allowed = last < 0 ? [initial(name)] : [before(changes[0]), ...changes.map(({ after }) => after)];
    if (this.restoring !== null) {
      const since = events.slice(this.restoring).find(isChange);
      if (since !== undefined) allowed.push(before(since));
    }
    assert.ok(allowed.includes(state), `${this.name}/${name} holds ${state}, not one of ${allowed.join()}`);
  }
}

const initial = (name) => (name === "given" ? sha256(GIVEN) : null);

async function readAll(store, session) {
  const log = [];
  for await (const stored of store.read(session)) log.push(stored);
  return log;
}

/** Opens what a kill left, looks at all of it, ends what it interrupted, and goes on in each session. */
async function lookAfter(kind, root, known) {
  const store = openStore(kind, root);
  const requests = scriptedModel([{ text: "checked" }]);
  const agent = createLiteAgent({
    workdir: join(root, "work"),
    home: join(root, "home"),
    checkpointer: store,
    system: SYSTEM,
    permission: policy(),
    model: requests,
    context: false,
  });
  const repaired = [];
  agent.subscribe(({ event }) => event.type === "diagnostic" && repaired.push(event.code));
  for (const session of known) {
    const { name } = session;
    session.check(await readAll(store, name), statesOf(root, name));
    if (session.restoring !== null) {
      const seq = session.restoring;
      const { skippedFiles } = await agent.restore(name, seq);
      session.restored({ seq, skipped: skippedFiles, states: statesOf(root, name) });
    }
    const { messages, stopReason } = await agent.send(`look at session ${name}`, { sessionId: name });
    assert.equal(stopReason, "stop");
    assertConversation(messages);
    session.log = await readAll(store, name);
    session.kept = Infinity;
    assertConversation(foldEvents(session.log.map(({ event }) => event)));
  }
  for (const code of repaired) assert.equal(code, "session_repaired");
  assert.equal(requests.requests.length, SESSIONS.length);
  await agent.close();
  await store.close();
  const beside = readdirSync(root).flatMap((name) => (name === "work" ? [] : readdirSync(root, { recursive: true })));
  assert.deepEqual(
    beside.filter((name) => name.endsWith(".lock")),
    [],
    "no lock is left",
  );
}

for (const kind of ["file", "sqlite"]) {
  test(`${KILLS} kills of a host on a ${kind} store lose nothing that it was told`, async (t) => {
    const { root, workdir } = await temporaryFolder(t);
    for (const session of SESSIONS) {
      mkdirSync(join(workdir, session));
      writeFileSync(join(workdir, session, "given"), GIVEN);
    }
    const known = SESSIONS.map((name) => new Known(name));
    const random = randomFrom(SEED);
    let facts = 0;
    for (let round = 1; round <= KILLS; round += 1) {
      try {
        const moment = { lines: random.upTo(MOST_LINES), moreMs: random.of([0, 0, 1, 2, 5]) };
        const said = await killedHost(kind, root, SEED * 1_000 + round, moment);
        for (const fact of said) known.find(({ name }) => name === fact.session)?.hear(fact);
        facts += said.length;
        await lookAfter(kind, root, known);
      } catch (error) {
        throw new Error(`LITE_AGENT_SEED=${SEED}, round ${round}: ${error.message}`, { cause: error });
      }
    }
    assert.ok(facts > KILLS * 10, `${facts} facts`);
    await goBackToTheStart(t, kind, root);
  });
}

/** All that the agent made goes; what nobody hinders stays away. */
async function goBackToTheStart(t, kind, root) {
  const store = openStore(kind, root);
  const folders = { workdir: join(root, "work"), home: join(root, "home") };
  const agent = createLiteAgent({ ...folders, checkpointer: store, model: scriptedModel([{ text: "ok" }]) });
  for (const session of SESSIONS) {
    const { skippedFiles } = await agent.restore(session, 0);
    assert.deepEqual(
      skippedFiles.filter(({ path }) => path !== `${session}/custom`),
      [],
    );
    const states = statesOf(root, session);
    for (const name of NAMES) if (name !== "custom") assert.equal(states[name], initial(name), `${session}/${name}`);
    assert.equal(await store.head(session), 0);
    await agent.deleteSession(session);
  }
  assert.deepEqual(await agent.listSessions(), []);
  const left = namesIn(root).filter((name) => !/(^|\/)(one|two|given|custom|deep)$/.test(name));
  t.diagnostic(`${left.length} temporary files were left of ${KILLS} kills`);
  assert.deepEqual(
    left.filter((name) => !/(^|\/)\.lite-agent-[0-9a-f]{16}\.tmp$/.test(name)),
    [],
  );
  await agent.close();
  await store.close();
}
