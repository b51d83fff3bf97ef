// A host that changes how JSON is written everywhere: a clear refusal, never a hang. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { ConfigError } from "../../index.js";
import { agentFor } from "../support/model.mjs";

/** Some old libraries have it so. */
function withToJson(prototype, action) {
  Object.defineProperty(prototype, "toJSON", { value: () => "ours", configurable: true });
  try {
    return action();
  } finally {
    delete prototype.toJSON;
  }
}

for (const { name, prototype } of [Object, Array, String, Number, Boolean].map(({ name, prototype }) => ({
  name,
  prototype,
}))) {
  test(`${name}.prototype.toJSON is refused by name, when an agent is made and when a run begins`, async (t) => {
    const refusal = (error) => error instanceof ConfigError && error.message.startsWith(`${name}.prototype has`);
    withToJson(prototype, () => assert.throws(() => agentFor(t), refusal));
    const agent = agentFor(t);
    await assert.rejects(
      withToJson(prototype, () => agent.send("go")),
      refusal,
    );
    assert.equal((await agent.send("go")).text, "ok");
  });
}
