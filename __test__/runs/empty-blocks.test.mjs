// Blocks of a model's message that hold nothing: stored as they came, and left out of the requests that follow. Knows the
// public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { assertWellFormed } from "../../index.js";
import { agentFor, scriptedModel } from "../support/model.mjs";

const EMPTY = {
  text: { type: "text", text: "" },
  reasoning: { type: "reasoning", text: "" },
  "reasoning with an empty signature": { type: "reasoning", text: "", signature: "" },
  "image without data": { type: "image", mediaType: "image/png", data: "" },
  "image without a media type": { type: "image", mediaType: "", data: "QUJD" },
  compaction: { type: "compaction", content: "" },
};
const said = { type: "text", text: "said" };

for (const [name, block] of Object.entries(EMPTY)) {
  test(`an empty ${name} block beside others is left out of the next request`, async (t) => {
    const model = scriptedModel([{ content: [block, said] }, { text: "ok" }]);
    const agent = agentFor(t, { model });
    const first = await agent.send("one");
    assert.equal(first.messages[1].content.length, 2, "it is stored as it came");
    assert.equal((await agent.send("two")).text, "ok");
    assertWellFormed(model.requests[1]);
    assert.deepEqual(model.requests[1].messages[1].content, [said]);
  });

  test(`a message of nothing but an empty ${name} block is left out of the next request`, async (t) => {
    const model = scriptedModel([{ content: [block] }, { text: "ok" }]);
    const agent = agentFor(t, { model });
    await agent.send("one");
    assert.equal((await agent.send("two")).text, "ok");
    assertWellFormed(model.requests[1]);
    assert.deepEqual(
      model.requests[1].messages.map(({ role }) => role),
      ["user"],
    );
  });
}

test("reasoning of which there is the signature alone is sent, and an empty signature is not", async (t) => {
  const hidden = { type: "reasoning", text: "", signature: "sig" };
  const content = [hidden, { type: "reasoning", text: "thought", signature: "" }, said];
  const model = scriptedModel([{ content }, { text: "ok" }]);
  const agent = agentFor(t, { model });
  await agent.send("one");
  await agent.send("two");
  assertWellFormed(model.requests[1]);
  assert.deepEqual(model.requests[1].messages[1].content, [hidden, { type: "reasoning", text: "thought" }, said]);
});
