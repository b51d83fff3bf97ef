// `models`: three tiers, of which a task or a definition may pick one by name. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { ConfigError, query } from "../../index.js";
import { collect, within } from "../support/model.mjs";
import {
  answerOf,
  childRunsOf,
  completionsOf,
  definition,
  familyFolder,
  familyFor,
  familyModel,
  settled,
  spawning,
  task,
} from "./family.mjs";

const TIERS = ["simple", "medium", "complex"];

/** A provider a tier, each with a name of its own, and what each was asked for: `<tier> <model> <role>`. */
function tiers(roles) {
  const providers = Object.fromEntries(TIERS.map((tier) => [tier, familyModel(roles, { id: `${tier}-provider` })]));
  const models = Object.fromEntries(TIERS.map((tier) => [tier, { provider: providers[tier], modelName: `${tier}-1` }]));
  const asked = () =>
    TIERS.flatMap((tier) => providers[tier].calls.map(({ role, request }) => `${tier} ${request.model} ${role}`));
  return { models, providers, asked };
}

const helper = (model) => ({
  "helper.md": definition({ name: "helper", description: "helps", ...(model && { model }) }),
});

/** Which tier a child with this task ran on. */
async function tierOf(t, more, { definitions, ...config } = {}) {
  const roles = { go: [spawning(task("one", more)), { text: "started" }, { text: "over" }], one: [{ text: "1" }] };
  const { models, asked } = tiers(roles);
  const family = familyFor(t, { models, definitions, ...config });
  await family.send();
  await family.idle();
  const [child, ...others] = asked().filter((line) => line.endsWith(" one"));
  assert.deepEqual(others, []);
  const [tier, name] = child.split(" ");
  assert.equal(name, `${tier}-1`, "asked for by the profile's own name");
  return tier;
}

test("the root runs on medium where defaultModel is not given, by its profile's name", async (t) => {
  const { models, asked } = tiers({ go: [{ text: "ok" }] });
  await familyFor(t, { models }).send();
  assert.deepEqual(asked(), ["medium medium-1 go"]);
});

for (const tier of TIERS) {
  test(`the root runs on ${tier} with defaultModel "${tier}", and so does a child that picks none`, async (t) => {
    const roles = { go: [spawning("one"), { text: "started" }, { text: "over" }], one: [{ text: "1" }] };
    const { models, asked } = tiers(roles);
    const family = familyFor(t, { models, defaultModel: tier });
    await family.send();
    await family.idle();
    assert.deepEqual([...new Set(asked())], [`${tier} ${tier}-1 go`, `${tier} ${tier}-1 one`]);
  });

  test(`a task picks ${tier} by name`, async (t) => {
    assert.equal(await tierOf(t, { model: tier }), tier);
  });

  test(`a definition picks ${tier} by name`, async (t) => {
    assert.equal(await tierOf(t, { subagent_type: "helper" }, { definitions: helper(tier) }), tier);
  });
}

test("a task's pick wins over its definition's", async (t) => {
  const definitions = helper("complex");
  assert.equal(await tierOf(t, { subagent_type: "helper", model: "simple" }, { definitions }), "simple");
});

test('"inherit" is the parent\'s model, in a definition and in a task', async (t) => {
  const config = { defaultModel: "simple" };
  assert.equal(await tierOf(t, { subagent_type: "helper" }, { ...config, definitions: helper("inherit") }), "simple");
  const definitions = helper("complex");
  assert.equal(await tierOf(t, { subagent_type: "helper", model: "inherit" }, { ...config, definitions }), "simple");
});

test("the children of one group may run on different tiers, each through its own provider", async (t) => {
  const tasks = TIERS.map((tier) => task(`for ${tier}`, { model: tier }));
  const roles = {
    go: [spawning(...tasks), { text: "started" }, { text: "over" }],
    ...Object.fromEntries(TIERS.map((tier) => [`for ${tier}`, [{ text: `by ${tier}` }]])),
  };
  const { models, asked } = tiers(roles);
  const family = familyFor(t, { models });
  await family.send();
  await family.idle();
  for (const tier of TIERS) assert.ok(asked().includes(`${tier} ${tier}-1 for ${tier}`), asked().join(", "));
  assert.equal(completionsOf(family)[0].status, "completed");
});

test("events and completion runs of the root stay on its own tier", async (t) => {
  const roles = {
    go: [spawning(task("one", { model: "complex" })), { text: "started" }, { text: "over" }],
    one: [{ text: "1" }],
  };
  const { models, asked } = tiers(roles);
  const family = familyFor(t, { models, defaultModel: "simple" });
  await family.send();
  await family.idle();
  assert.deepEqual(
    asked().filter((line) => line.endsWith(" go")),
    Array(3).fill("simple simple-1 go"),
  );
  const named = family.heard.filter(({ event }) => event.type === "model_call_start");
  assert.deepEqual(
    [...new Set(named.map(({ event }) => `${event.agentId ? "child" : "root"} ${event.model}`))].sort(),
    ["child complex-1", "root simple-1"],
  );
});

for (const [wrong, near] of [
  ["simpel", "simple"],
  ["Complex", "complex"],
  ["gpt-99", null],
]) {
  test(`with \`models\`, a task with the model "${wrong}" fails the whole call, and nothing starts`, async (t) => {
    const roles = {
      go: [spawning("good", task("one", { model: wrong })), { text: "end" }],
      good: [{ text: "x" }],
      one: [{ text: "1" }],
    };
    const { models, asked } = tiers(roles);
    const family = familyFor(t, { models });
    const answer = answerOf(await family.send());
    await family.idle();
    await settled();
    assert.equal(answer.isError, true);
    assert.ok(answer.text.includes(wrong), answer.text);
    if (near) assert.ok(answer.text.includes(near), answer.text);
    assert.deepEqual(childRunsOf(family), []);
    assert.deepEqual(completionsOf(family), []);
    assert.deepEqual([...new Set(asked())], ["medium medium-1 go"]);
  });
}

// -- configuration --------------------------------------------------------------------------------------------------------

const mistake = (name) => (error) => {
  assert.ok(error instanceof ConfigError || error instanceof TypeError, error.stack);
  assert.ok(error.message.includes(name), `${name} in: ${error.message}`);
  return true;
};
const { models: good } = tiers({ go: [{ text: "ok" }] });

test("model and models together are a ConfigError that names both", (t) => {
  const folder = familyFolder(t);
  const model = familyModel({ go: [{ text: "ok" }] });
  assert.throws(
    () => familyFor(t, { folder, models: good, model }),
    (error) => error instanceof ConfigError && /\bmodel\b/.test(error.message) && /\bmodels\b/.test(error.message),
  );
});

for (const [name, models] of Object.entries({
  "without a tier": { simple: good.simple, medium: good.medium },
  "with a tier that there is not": { ...good, huge: good.simple },
  "with a profile that is none": { ...good, simple: familyModel({}) },
  "with a profile without a provider": { ...good, simple: { modelName: "x" } },
  "with a profile without a name": { ...good, simple: { provider: good.simple.provider } },
  "with a profile whose name is no text": { ...good, simple: { ...good.simple, modelName: 5 } },
  "with a profile whose provider is none": { ...good, simple: { provider: {}, modelName: "x" } },
  "that is a list": [good.simple],
  "that is a name": "simple",
})) {
  test(`a models ${name} is a config mistake that names it`, (t) => {
    assert.throws(() => familyFor(t, { models }), mistake("models"));
  });
}

test("a defaultModel that is no tier is a config mistake that names it, with the near miss", (t) => {
  for (const defaultModel of ["simpel", "huge", 5, null, {}]) {
    assert.throws(() => familyFor(t, { models: good, defaultModel }), mistake("defaultModel"));
  }
  assert.throws(() => familyFor(t, { models: good, defaultModel: "simpel" }), mistake("simple"));
});

test("displayName is accepted", async (t) => {
  const { models } = tiers({ go: [{ text: "ok" }] });
  models.medium.displayName = "The middle one";
  assert.equal((await familyFor(t, { models }).send()).text, "ok");
});

test("query() takes models, too", async (t) => {
  const folder = familyFolder(t);
  const { models, asked } = tiers({ go: [{ text: "ok" }] });
  const options = { prompt: "go", cwd: folder.workdir, home: folder.home, models, defaultModel: "complex" };
  const { result } = await within(collect(query(options)), "the query");
  assert.equal(result.text, "ok");
  assert.deepEqual(asked(), ["complex complex-1 go"]);
});
