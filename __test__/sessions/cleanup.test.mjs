// Old sessions go when an agent is made; where one cannot, a run says so. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { existsSync, mkdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createLiteAgent, fileCheckpointer, resolveProjectPaths } from "../../index.js";
import { collect, scriptedModel, temporaryFolder, until } from "../support/model.mjs";
import { said, user } from "./storing.mjs";

const DAY_MS = 86_400_000;

/** A project with these sessions, written 40 days ago. */
async function projectWith(t, ids) {
  const { workdir, home } = await temporaryFolder(t);
  const { sessionsDir } = resolveProjectPaths({ workdir, home });
  const store = fileCheckpointer({ dir: sessionsDir });
  const then = new Date(Date.now() - 40 * DAY_MS);
  for (const id of ids) {
    await store.append(id, [user("hi"), said("ok")], 0);
    utimesSync(join(sessionsDir, `${id}.jsonl`), then, then);
  }
  await store.close();
  const log = (id) => join(sessionsDir, `${id}.jsonl`);
  const agentWith = (config) => {
    const agent = createLiteAgent({ workdir, home, model: scriptedModel([{ text: "ok" }]), ...config });
    t.after(() => agent.close());
    const heard = [];
    agent.subscribe(({ event }) => event.type === "diagnostic" && heard.push(event));
    return { agent, heard };
  };
  /** Its lock cannot be taken, so it cannot be deleted. */
  const block = (id) => mkdirSync(join(sessionsDir, `${id}.lock`));
  return { agentWith, block, log, sessionsDir };
}

test("sessions older than 30 days go, and nobody is warned", async (t) => {
  const { agentWith, log } = await projectWith(t, ["old", "older"]);
  const { agent, heard } = agentWith();
  await agent.send("hi", { sessionId: "new" });
  await until(() => !existsSync(log("old")) && !existsSync(log("older")), "the clean-up");
  await agent.send("hi", { sessionId: "new" });
  assert.deepEqual(heard, []);
  assert.ok(existsSync(log("new")));
});

test("what could not be deleted is a warning in the stream of one run and for subscribers, once; the others went", async (t) => {
  const blocked = ["a", "b", "c", "d", "e"];
  const { agentWith, block, log } = await projectWith(t, [...blocked, "gone"]);
  blocked.forEach(block);
  const { agent, heard } = agentWith();
  await until(() => !existsSync(log("gone")), "the clean-up of the other");
  const streamed = [];
  await until(async () => {
    const { events, result } = await collect(agent.run("hi", { sessionId: "new" }));
    assert.equal(result.text, "ok");
    streamed.push(...events.filter(({ type }) => type === "diagnostic"));
    return streamed.length > 0;
  }, "the warning");
  await agent.send("hi", { sessionId: "other" });
  assert.deepEqual(
    heard.map(({ level, code }) => [level, code]),
    [["warning", "cleanup_failed"]],
  );
  assert.deepEqual(streamed, heard);
  assert.match(heard[0].message, /^5 old sessions could not be deleted, and stay: [a-e]: .*\.lock.*; and 2 more$/);
  for (const id of blocked) assert.ok(existsSync(log(id)), id);
});

test("a clean-up that fails before anybody runs, and one that is too late for any run, throw nowhere", async (t) => {
  const { agentWith, block } = await projectWith(t, ["a"]);
  block("a");
  const { agent } = agentWith();
  await agent.close();
  const { agent: other } = agentWith();
  await Promise.all([other.send("hi"), other.close()]);
});

test("the warning is redacted like any", async (t) => {
  const { agentWith, block } = await projectWith(t, ["secret-name"]);
  block("secret-name");
  const redact = (value) => (typeof value === "string" ? value.replaceAll("secret-name", "***") : value);
  const { agent, heard } = agentWith({ redact });
  await until(async () => (await agent.send("hi"), heard.length > 0), "the warning");
  assert.ok(heard[0].message.includes("***") && !heard[0].message.includes("secret-name"), heard[0].message);
});

test("a folder of sessions that is none is told by what fails of it, not by a rejection that nobody handles", async (t) => {
  const { workdir, home } = await temporaryFolder(t);
  const { sessionsDir } = resolveProjectPaths({ workdir, home });
  mkdirSync(join(sessionsDir, ".."), { recursive: true });
  writeFileSync(sessionsDir, "a file");
  const agent = createLiteAgent({ workdir, home, model: scriptedModel([{ text: "ok" }]) });
  t.after(() => agent.close());
  await assert.rejects(agent.send("hi"), /sessions/);
  await assert.rejects(agent.listSessions(), /sessions/);
});
