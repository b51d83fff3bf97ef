// A redactor of the host's that fails, by throwing or by what it answers: what it was to mask nobody else knows, so nothing
// of it is shown. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { policy } from "../../index.js";
import { hookFailures } from "../support/model.mjs";
import { runHooked } from "./hooked.mjs";

/** A secret of the host's own, which no default redactor knows. */
const SECRET = "ACME-INTERNAL";
const WITHHELD = "[withheld: redact() failed]";
const ANSWERS = {
  "a promise": async (value) => value,
  "a promise that is rejected": async () => {
    throw new Error("the masks are out");
  },
  nothing: () => undefined,
  null: () => null,
  "a number": () => 5,
  "an object": () => ({ toString: () => "masked" }),
  "a thenable": () => ({ then: (resolve) => resolve("masked") }),
};

for (const [name, redact] of Object.entries(ANSWERS)) {
  test(`a redactor that answers ${name} for a text is one that fails: nothing is shown`, async (t) => {
    const { failures, heard } = await runHooked(t, {
      project: { "run:end": [{ command: `echo ${SECRET}; exit 3` }] },
      redact,
    });
    assert.equal(failures.length, 1);
    const [{ message, hook }] = failures;
    assert.equal(hook.output, WITHHELD);
    assert.match(message, /^run:end hook #0 \(project, .*\) failed: exit, \[withheld: redact\(\) failed\]/);
    assert.ok(!JSON.stringify(heard).includes(SECRET));
    assert.deepEqual(hookFailures(heard), failures);
  });
}

test("the words of a policy, and the call, are withheld where the redactor answers a promise", async (t) => {
  const { failures, heard } = await runHooked(t, {
    project: { "run:end": [{ command: `echo ${SECRET}` }] },
    permission: policy({
      rules: [{ id: "no-secrets", tool: "hook", effect: "deny", description: `no ${SECRET} here` }],
    }),
    redact: async (value) => value,
  });
  const decision = heard.find(({ type }) => type === "permission_decision");
  assert.deepEqual([decision.ruleId, decision.reason, decision.call.input], [WITHHELD, WITHHELD, WITHHELD]);
  assert.ok(failures[0].message.includes(WITHHELD), failures[0].message);
  assert.ok(!JSON.stringify(heard).includes(SECRET));
});

test("a value that is no text may be masked by anything", async (t) => {
  const { heard } = await runHooked(t, {
    project: { "run:end": [{ command: "true" }] },
    redact: (value) => (typeof value === "string" ? value : 7),
  });
  assert.equal(heard.find(({ type }) => type === "permission_decision").call.input, 7);
});
