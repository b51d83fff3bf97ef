// A host that works until it is killed: two sessions with runs, files, compactions and restorations, and every thing that it
// was told is on its standard output before it goes on. For kill.test.mjs. Knows the public face only.
import { readFileSync, readdirSync, writeFileSync, writeSync } from "node:fs";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { createLiteAgent, fileCheckpointer, policy, sqliteCheckpointer } from "../../index.js";
import { plainTool, scriptedModel } from "../support/model.mjs";
import { randomFrom } from "./random.mjs";

export const SESSIONS = ["one", "two"];
export const SYSTEM = "the agent that is killed";
export const NAMES = ["a", "b", "deep/c", "given", "custom"];
/** What is there before the first run. */
export const GIVEN = "as it was given\n";

export const openStore = (kind, root) =>
  kind === "file"
    ? fileCheckpointer({ dir: join(root, "sessions") })
    : sqliteCheckpointer({ file: join(root, "sessions.db") });

export const sha256 = (text) => createHash("sha256").update(text).digest("hex");

/** What a session's files hold, as digests; null where there is none. */
export function statesOf(root, session) {
  return Object.fromEntries(
    NAMES.map((name) => {
      try {
        return [name, sha256(readFileSync(join(root, "work", session, name)))];
      } catch (error) {
        if (error.code === "ENOENT") return [name, null];
        throw error;
      }
    }),
  );
}

/** Every name in the working folder. */
export const namesIn = (root) => readdirSync(join(root, "work"), { recursive: true });

const say = (fact) => writeSync(1, `${JSON.stringify(fact)}\n`);

async function work(kind, root, seed) {
  const store = openStore(kind, root);
  let made = 0;
  const fresh = () => `${seed}-${(made += 1)}`;
  const random = randomFrom(seed);

  const callFor = (session) => {
    const id = fresh();
    const name = random.of(["write_file", "write_file", "edit_file", "delete_file", "save", "long"]);
    const path = `${session}/${random.of(NAMES.slice(0, 4))}`;
    if (name === "save") return { id, name, input: { path: `${session}/custom`, text: `saved ${id}` } };
    if (name === "long") return { id, name, input: {} };
    if (name === "delete_file") return { id, name, input: { path } };
    const content = `${id}\n${"text ".repeat(random.upTo(200))}`;
    if (name === "write_file") return { id, name, input: { path, content } };
    let old = "there is no such text";
    try {
      old = readFileSync(join(root, "work", path), "utf8");
    } catch {
      // Then the call fails, as calls do.
    }
    return { id, name, input: { path, old_text: old.split("\n")[0], new_text: id } };
  };

  const turn = ({ system, messages }) => {
    if (system !== SYSTEM) return { text: `summary ${fresh()}` };
    const session = SESSIONS.find((name) => JSON.stringify(messages).includes(`of session ${name}`));
    const prompts = [...JSON.stringify(messages).matchAll(/prompt \d+-\d+/g)];
    say({ is: "asked", session, prompt: prompts.at(-1)[0] });
    if (random.chance(0.3)) return { text: `answer ${fresh()} of session ${session}` };
    return { calls: Array.from({ length: 1 + random.upTo(2) }, () => callFor(session)) };
  };

  const save = plainTool("save", async ({ path, text }, { recordSnapshot, call, sessionId }) => {
    say({ is: "ran", session: sessionId, id: call.id });
    let before = null;
    try {
      before = readFileSync(join(root, "work", path), "utf8");
    } catch {
      // There is none yet.
    }
    await recordSnapshot(path, before);
    writeFileSync(join(root, "work", path), text);
    return "saved";
  });
  const long = plainTool("long", (_, { call, sessionId }) => {
    say({ is: "ran", session: sessionId, id: call.id });
    return "a long result ".repeat(1_300);
  });

  const agent = createLiteAgent({
    workdir: join(root, "work"),
    home: join(root, "home"),
    checkpointer: store,
    system: SYSTEM,
    permission: policy(),
    model: scriptedModel([turn]),
    tools: [save, long],
    allowedTools: ["write_file", "edit_file", "delete_file", "context", "save", "long"],
    context: { windowTokens: 3_000 },
    maxTurns: 6,
  });
  agent.subscribe(({ sessionId: session, event }) => {
    if (event.type === "message") say({ is: "message", session, text: JSON.stringify(event.message) });
    if (event.type === "tool_result") say({ is: "result", session, id: event.result.id });
    if (event.type === "compaction" && event.phase === "done" && event.after < event.before) {
      say({ is: "compacted", session });
    }
  });

  const checkpoint = async (session) => {
    say({ is: "files", session, seq: await store.head(session), states: statesOf(root, session) });
  };
  const goOn = async (session) => {
    for (;;) {
      await checkpoint(session);
      if (random.chance(0.15)) {
        const [target] = (await agent.listCheckpoints(session)).slice(-1 - random.upTo(3));
        if (target !== undefined) {
          say({ is: "restoring", session, seq: target.seq });
          const { skippedFiles } = await agent.restore(session, target.seq);
          say({ is: "restored", session, seq: target.seq, skipped: skippedFiles, states: statesOf(root, session) });
        }
      } else {
        const prompt = `prompt ${fresh()}`;
        await agent.send(`${prompt} of session ${session}`, { sessionId: session });
        say({ is: "sent", session, prompt });
      }
    }
  };
  say({ is: "ready" });
  await Promise.all(SESSIONS.map(goOn));
}

if (process.argv[1] === import.meta.filename) {
  const [kind, root, seed] = process.argv.slice(2);
  await work(kind, root, Number(seed));
}
