// What run:end hooks and subscribers see of an answer that is no JSON: everything that JSON can say of it. Knows the public
// face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { recordHooks, within } from "../support/model.mjs";
import { answer, answeringAgent, BERN, CITY } from "./answering.mjs";

/** An answer of which a validator made `value`: what send() has, what run:end has, what `done` has. */
async function shown(t, value) {
  const validate = () => ({ value });
  const outputSchema = { "~standard": { version: 1, vendor: "test", validate, jsonSchema: { input: () => CITY } } };
  const { agent } = answeringAgent(t, [{ calls: [answer(BERN)] }], { outputSchema });
  const fired = recordHooks(agent, ["run:end"]);
  let done;
  agent.subscribe(({ event }) => {
    if (event.type === "done") done = event.result.output;
  });
  const { output } = await within(agent.send("go"), "send()");
  assert.equal(output, value, "send() has the answer itself");
  const [{ result }] = fired;
  assert.equal(done, result.output, "what is told is one copy");
  return result.output;
}

const cyclic = { city: "Oslo", list: [1] };
cyclic.self = cyclic;
cyclic.list.push(cyclic.list);
const shared = { total: 10n };
const own = { city: "Oslo", total: 10n, toJSON: () => own };
let deep = 1n;
for (let level = 0; level < 150; level += 1) deep = [deep];

const CASES = {
  "a BigInt": [
    { total: 10n, city: "Oslo" },
    { total: "10", city: "Oslo" },
  ],
  "a BigInt alone": [-12345678901234567890n, "-12345678901234567890"],
  "a BigInt in a list": [
    [{ city: "Oslo" }, [7n]],
    [{ city: "Oslo" }, ["7"]],
  ],
  "values that refer to themselves": [cyclic, { city: "Oslo", list: [1, "[circular]"], self: "[circular]" }],
  "one value in two places": [
    { a: shared, b: [shared] },
    { a: { total: "10" }, b: [{ total: "10" }] },
  ],
  "a getter that throws": [
    {
      city: "Oslo",
      get bad() {
        throw new Error("mine");
      },
    },
    { city: "Oslo", bad: "[unreadable]" },
  ],
  "a toJSON that throws": [
    {
      city: "Oslo",
      bad: {
        toJSON() {
          throw new Error("mine");
        },
      },
    },
    { city: "Oslo", bad: "[unreadable]" },
  ],
  "a toJSON beside a BigInt": [
    { at: new Date(0), total: 1n },
    { at: "1970-01-01T00:00:00.000Z", total: "1" },
  ],
  "a toJSON that says itself": [own, { city: "Oslo", total: "10" }],
  "what JSON leaves out": [
    { a: undefined, b: [undefined, () => {}], c: NaN, d: new Map([[1, 2]]), e: new Set([1]), f: 1n },
    { b: [null, null], c: null, d: {}, e: {}, f: "1" },
  ],
};
for (const [name, [value, expected]] of Object.entries(CASES)) {
  test(`an answer with ${name} loses nothing that JSON can say`, async (t) => {
    const output = await shown(t, value);
    assert.deepEqual(output, expected);
    assert.ok(Object.isFrozen(output));
    for (const member of Object.values(Object(output))) assert.ok(Object.isFrozen(member));
  });
}

test("an answer that is too deep keeps its first 100 levels, and what stands beside them", async (t) => {
  const output = await shown(t, { city: "Oslo", deep });
  assert.equal(output.city, "Oslo");
  let levels = 1;
  let at = output.deep;
  for (; Array.isArray(at); [at] = at) levels += 1;
  assert.deepEqual([levels, at], [100, "[nested too deeply]"]);
});

test("a name that is the prototype's is a member like any other", async (t) => {
  const withBigInt = JSON.parse('{"__proto__":{"city":"Oslo"},"total":1}');
  withBigInt.total = 1n;
  const copied = await shown(t, withBigInt);
  assert.deepEqual(Object.keys(copied), ["__proto__", "total"]);
  assert.equal(Object.getPrototypeOf(copied), Object.prototype);
});

test("many values that all know one another are copied in time", async (t) => {
  const all = Array.from({ length: 60 }, (_, index) => ({ index, total: 1n }));
  for (const each of all) each.others = [...all];
  const output = await shown(t, { all });
  assert.equal(output.all.length, 60);
  assert.equal(output.all[0].others[0], "[circular]");
});
