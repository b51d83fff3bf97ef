// Definitions of agents: where they are found, which one wins, what a file may look like. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { mkdirSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { ConfigError, query } from "../../index.js";
import { collect, within } from "../support/model.mjs";
import {
  answerOf,
  definition,
  familyFolder,
  familyFor,
  familyModel,
  familyTools,
  starts,
  task,
  toolNames,
} from "./family.mjs";

const helper = (body, head = {}) => definition({ name: "helper", description: "helps", ...head }, body);
const roles = () => ({ go: starts(task("one", { subagent_type: "helper" })), one: [{ text: "1" }] });

/** The system prompt of a child of type `helper`, or what its call was refused with. */
async function bodyOf(t, given) {
  const family = familyFor(t, { roles: roles(), ...given });
  const result = await family.send();
  await family.idle();
  const [asked] = family.model.callsOf("one");
  return asked ? asked.request.system.trim() : answerOf(result).text;
}

const PLACES = { home: "home/agents", project: "work/.lite-agent/agents", agentsDir: "more" };
/** A folder with a file `helper.md` in each of these places, whose body is the place's name. */
function placed(t, places) {
  const files = Object.fromEntries(places.map((place) => [`${PLACES[place]}/helper.md`, helper(place)]));
  const folder = familyFolder(t, { files });
  return { folder, ...(places.includes("agentsDir") && { agentsDir: join(folder.root, "more") }) };
}

for (const [places, winner] of [
  [["home"], "home"],
  [["project"], "project"],
  [["agentsDir"], "agentsDir"],
  [["home", "project"], "project"],
  [["home", "agentsDir"], "agentsDir"],
  [["project", "agentsDir"], "agentsDir"],
  [["home", "project", "agentsDir"], "agentsDir"],
]) {
  test(`of a definition in ${places.join(", ")} the one in ${winner} is used`, async (t) => {
    assert.equal(await bodyOf(t, placed(t, places)), winner);
  });
}

test("which definition wins is a matter of `name`, not of the file's", async (t) => {
  const body = await bodyOf(t, {
    homeDefinitions: { "helper.md": helper("home") },
    definitions: { "zzz.md": helper("project") },
  });
  assert.equal(body, "project");
});

test("definitions of all places are there at once", async (t) => {
  const folder = familyFolder(t, {
    files: Object.fromEntries(
      Object.entries(PLACES).map(([place, path]) => [
        `${path}/${place}.md`,
        definition({ name: place, description: `of ${place}` }),
      ]),
    ),
  });
  const family = familyFor(t, { roles: { go: [{ text: "ok" }] }, folder, agentsDir: join(folder.root, "more") });
  await family.send();
  const { description } = family.model.calls[0].request.tools.find(({ name }) => name === "Agent");
  for (const place of Object.keys(PLACES)) assert.ok(description.includes(`${place}: of ${place}`), description);
});

test("general-purpose is there without any file, and a file of that name replaces it", async (t) => {
  for (const [definitions, expected] of [
    [{}, null],
    [
      { "mine.md": definition({ name: "general-purpose", description: "my own", tools: "work" }, "My own words.") },
      "My own words.",
    ],
  ]) {
    const family = familyFor(t, { roles: { go: starts("one"), one: [{ text: "1" }] }, definitions });
    await family.send();
    await family.idle();
    const [{ request }] = family.model.callsOf("one");
    assert.ok(request.system.trim().length > 0);
    if (expected === null) assert.ok(toolNames(request).length > 1);
    else assert.deepEqual([request.system.trim(), toolNames(request)], [expected, ["work"]]);
  }
});

test("the built-in general-purpose goes on beside other definitions", async (t) => {
  const family = familyFor(t, {
    roles: { go: starts("one"), one: [{ text: "1" }] },
    definitions: { "helper.md": helper("x") },
  });
  await family.send();
  await family.idle();
  assert.equal(family.model.callsOf("one").length, 1);
});

for (const [name, text] of Object.entries({
  "keys that nobody knows": helper("the body", { color: "blue", permissionMode: "plan", hooks: { a: [1] } }),
  "Windows line ends": helper("the body").replaceAll("\n", "\r\n"),
  "a byte-order mark": `\uFEFF${helper("the body")}`,
  "blank lines around the body": helper("\n\n  \nthe body\n\n\n"),
  "no line break at its end": helper("the body").trimEnd(),
  "quoted values": '---\nname: "helper"\ndescription: \'helps: with "things"\'\n---\nthe body',
  "a folded description": "---\nname: helper\ndescription: >\n  helps\n  much\n---\nthe body",
  "a comment": "---\n# who this is\nname: helper # the name\ndescription: helps\n---\nthe body",
  "tools that are nobody's": helper("the body", { tools: "work, NobodyHasThis" }),
})) {
  test(`a file with ${name} is used`, async (t) => {
    assert.equal(await bodyOf(t, { definitions: { "helper.md": text } }), "the body");
  });
}

test("a name may be one of all that is allowed, and 64 long", async (t) => {
  for (const name of ["A-z_09", "x".repeat(64), "0", "__proto__", "constructor"]) {
    const family = familyFor(t, {
      roles: { go: starts(task("one", { subagent_type: name })), one: [{ text: "1" }] },
      definitions: { "one.md": definition({ name: `"${name}"`, description: "d" }, "mine") },
    });
    await family.send();
    await family.idle();
    assert.equal(family.model.callsOf("one")[0]?.request.system.trim(), "mine", name);
  }
});

test("names that every object has are unknown types where no file has them", async (t) => {
  for (const name of ["__proto__", "constructor", "toString"]) {
    const family = familyFor(t, { roles: { go: starts(task("one", { subagent_type: name })), one: [{ text: "1" }] } });
    const answer = answerOf(await family.send());
    assert.equal(answer.isError, true, name);
    await family.idle();
    assert.equal(family.model.callsOf("one").length, 0);
  }
});

test("files of other names and files in folders below are not read", async (t) => {
  const family = familyFor(t, {
    roles: roles(),
    definitions: {
      "helper.txt": helper("text"),
      "helper.md.bak": helper("backup"),
      "below/helper.md": helper("below"),
      "README.txt": "no definition",
    },
  });
  assert.equal(answerOf(await family.send()).isError, true);
  assert.equal(family.model.callsOf("one").length, 0);
});

test("folders that are not there, or are empty, are no mistake", async (t) => {
  const folder = familyFolder(t);
  mkdirSync(join(folder.home, "agents"));
  const family = familyFor(t, { roles: { go: [{ text: "ok" }] }, folder, agentsDir: folder.home });
  assert.equal((await family.send()).text, "ok");
});

test("a link to a definition is read", async (t) => {
  const folder = familyFolder(t, { files: { "elsewhere/real.md": helper("linked") } });
  mkdirSync(join(folder.home, "agents"));
  symlinkSync(join(folder.root, "elsewhere", "real.md"), join(folder.home, "agents", "helper.md"));
  assert.equal(await bodyOf(t, { folder }), "linked");
});

test("definitions are read once, when the agent is made: later changes are for the next agent", async (t) => {
  const folder = familyFolder(t, { definitions: { "helper.md": helper("first") } });
  const family = familyFor(t, {
    roles: {
      "go helper": starts(task("one", { subagent_type: "helper" })),
      "go late": starts(task("one", { subagent_type: "late" })),
      one: [{ text: "1" }],
    },
    folder,
  });
  folder.write("work/.lite-agent/agents/helper.md", helper("second"));
  folder.write("work/.lite-agent/agents/late.md", definition({ name: "late", description: "late" }));
  folder.write("work/.lite-agent/agents/bad.md", "no definition at all");
  await family.send("go helper", { sessionId: "a" });
  await family.idle("a");
  assert.equal(family.model.callsOf("one")[0].request.system.trim(), "first");
  assert.equal(answerOf(await family.send("go late", { sessionId: "b" })).isError, true);
  rmSync(join(folder.workdir, ".lite-agent", "agents", "bad.md"));
  assert.equal(await bodyOf(t, { folder }), "second");
});

test("agentsDir that is not there, or is no folder, is a ConfigError that names it and the path", (t) => {
  const folder = familyFolder(t, { files: { file: "x" } });
  symlinkSync(join(folder.root, "nowhere"), join(folder.root, "dangling"));
  for (const name of ["absent", "file", "dangling"]) {
    const agentsDir = join(folder.root, name);
    assert.throws(
      () => familyFor(t, { roles: { go: [{ text: "ok" }] }, folder, agentsDir }),
      (error) => {
        assert.ok(error instanceof ConfigError, error.stack);
        assert.ok(error.message.includes("agentsDir") && error.message.includes(agentsDir), error.message);
        return true;
      },
    );
  }
});

test("agentsDir of a wrong type is a config mistake that names it", (t) => {
  for (const agentsDir of [5, null, {}, ["x"], ""]) {
    assert.throws(
      () => familyFor(t, { roles: { go: [{ text: "ok" }] }, agentsDir }),
      (error) => /agentsDir/.test(error.message),
      JSON.stringify(agentsDir),
    );
  }
});

test("agents of a wrong type is a config mistake that names it", (t) => {
  for (const agents of [5, "yes", null, {}]) {
    assert.throws(
      () => familyFor(t, { roles: { go: [{ text: "ok" }] }, agents }),
      (error) => /agents/.test(error.message),
      JSON.stringify(agents),
    );
  }
});

test("with agents: false no file is read", async (t) => {
  const family = familyFor(t, {
    roles: { go: [{ text: "ok" }] },
    agents: false,
    definitions: { "bad.md": "no definition" },
    homeDefinitions: { "bad.md": "---\nname: [" },
  });
  assert.equal((await family.send()).text, "ok");
});

test("the project's definitions are those of its workdir, not of the process's folder", async (t) => {
  const folder = familyFolder(t, { files: { "elsewhere/.lite-agent/agents/helper.md": helper("elsewhere") } });
  const before = process.cwd();
  process.chdir(join(folder.root, "elsewhere"));
  try {
    assert.notEqual(await bodyOf(t, { folder }), "elsewhere");
  } finally {
    process.chdir(before);
  }
});

test("query() finds definitions in its cwd and home, too", async (t) => {
  const folder = familyFolder(t, { definitions: { "helper.md": helper("of the project") } });
  const model = familyModel(roles());
  const options = { prompt: "go", cwd: folder.workdir, home: folder.home, model, tools: familyTools() };
  await within(collect(query(options)), "the query");
  assert.equal(model.callsOf("one")[0].request.system.trim(), "of the project");
});
