// Agents with skills of their own. Knows the public face only.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLiteAgent } from "../../index.js";
import { contentText, resultFor } from "../runs/reading.mjs";
import { scriptedModel, within } from "../support/model.mjs";

/** The text of a SKILL.md; `front` is its front matter as an object of YAML texts. */
export const skillText = (front, body = "Do it well.\n") =>
  `---\n${Object.entries(front)
    .map(([key, value]) => `${key}: ${value}\n`)
    .join("")}---\n${body}`;

/** Folders for skills: `home` and `project` are where an agent looks, `given` is for `skillsDir`. */
export function skillFolders(t) {
  const root = mkdtempSync(join(tmpdir(), "lite-agent-test-"));
  const closing = [];
  // The folder goes last.
  t.after(async () => {
    for (const close of closing) await close();
    rmSync(root, { recursive: true, force: true });
  });
  const [workdir, home, given] = ["work", "home", "given"].map((name) => join(root, name));
  for (const folder of [workdir, home, given]) mkdirSync(folder);
  const places = { home: join(home, "skills"), project: join(workdir, ".lite-agent", "skills"), given };
  return {
    root,
    workdir,
    home,
    given,
    places,
    /** Writes a skill, from its front matter or as the very text or bytes: the path of its folder. */
    write(place, name, content, body) {
      const folder = join(places[place], name);
      mkdirSync(folder, { recursive: true });
      const text = typeof content === "string" || Buffer.isBuffer(content) ? content : skillText(content, body);
      writeFileSync(join(folder, "SKILL.md"), text);
      return folder;
    },
    /** An agent that has them, whose model loads the skill `load` where that is given, then says "done". */
    agent({ load, ...config } = {}) {
      const calls = [{ id: "load", name: "load_skill", input: typeof load === "string" ? { name: load } : load }];
      const model = scriptedModel(load === undefined ? [{ text: "done" }] : [{ calls }, { text: "done" }]);
      const agent = createLiteAgent({ workdir, home, sessions: false, model, ...config });
      closing.push(() => within(agent.close(), "close() after the test", 20_000));
      return { agent, model };
    },
    /** One run of such an agent: the first request, and what became of the call. */
    async run(config) {
      const { agent, model } = this.agent(config);
      const result = await within(agent.send("go"), "the run");
      const block = config?.load === undefined ? undefined : resultFor(result.messages, "load");
      const [request] = model.requests;
      return {
        agent,
        model,
        result,
        request,
        system: request.system ?? "",
        tool: request.tools?.find(({ name }) => name === "load_skill"),
        content: block && contentText(block),
        isError: block?.isError ?? false,
      };
    },
  };
}
