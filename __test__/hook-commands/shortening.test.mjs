// Events over 256 KiB, which commands get shortened. Knows the public face only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { plainTool, scriptedModel } from "../support/model.mjs";
import { call, hookAgent, runHooked } from "./hooked.mjs";

const CAP = 256 * 1024;
const warnings = (events) =>
  events.filter(({ type, code }) => type === "diagnostic" && code === "hook_input_truncated");

const shortened = async (t, content, given = {}) => {
  const made = await runHooked(t, {
    project: { "tool:end": [{ command: "cat > seen" }] },
    calls: [call("call-1", "work", given.input ?? {})],
    tools: [plainTool("work", () => content)],
    ...given.config,
  });
  const text = made.read("seen");
  return { ...made, text, event: text && JSON.parse(text), bytes: text && Buffer.byteLength(text) };
};

test("a tool result of 300 KB reaches the command shortened, with truncated and a warning", async (t) => {
  const { event, bytes, stream, heard, failures, model } = await shortened(t, "x".repeat(300_000));
  assert.ok(bytes <= CAP && bytes > CAP - 2_000, `${bytes}`);
  assert.deepEqual(event.truncated, ["result.content"]);
  assert.match(event.result.content, /^x{200000,}/);
  assert.equal(event.status, "completed");
  assert.deepEqual(failures, []);
  const [warning, ...others] = warnings(stream);
  assert.deepEqual(others, []);
  assert.equal(warning.level, "warning");
  assert.match(warning.message, /result\.content/);
  assert.equal(warnings(heard).length, 1);
  assert.equal(model.requests[1].messages.at(-1).content[0].content.length, 300_000, "the model gets it whole");
});

test("handlers get the event whole, and without truncated", async (t) => {
  const made = await hookAgent(t, {
    project: { "tool:end": [{ command: "cat > seen" }] },
    calls: [call()],
    tools: [plainTool("work", () => "x".repeat(300_000))],
  });
  let handled;
  made.agent.hook("tool:end", (event) => void (handled = event));
  await made.agent.send("go");
  assert.equal(handled.result.content.length, 300_000);
  assert.ok(!("truncated" in handled));
});

test("one event that several commands get is shortened once: one warning, the same text for each", async (t) => {
  const made = await runHooked(t, {
    project: {
      "tool:end": [{ command: "cat > one" }, { match: "other", command: "cat > none" }, { command: "cat > two" }],
    },
    calls: [call()],
    tools: [plainTool("work", () => "x".repeat(300_000))],
  });
  assert.equal(warnings(made.stream).length, 1);
  assert.equal(made.read("one"), made.read("two"));
});

test("no command is for the event: no warning", async (t) => {
  const { stream } = await shortened(t, "x".repeat(300_000), {
    config: { project: { "tool:end": [{ match: "other", command: "cat" }] } },
  });
  assert.deepEqual(warnings(stream), []);
});

for (const [name, character] of [
  ["two bytes", "é"],
  ["three bytes", "—"],
  ["four bytes", "😀"],
  ["an escape of two", "\n"],
  ["an escape of six", "\u0001"],
]) {
  for (const before of ["", "x", "xx", "xxx"]) {
    test(`characters of ${name} after ${before.length} others are never cut`, async (t) => {
      const { event, bytes } = await shortened(t, before + character.repeat(300_000));
      assert.ok(bytes <= CAP && bytes > CAP - 4_000, `${bytes}`);
      const start = event.result.content.slice(0, 20_000);
      assert.equal(start, (before + character.repeat(20_000)).slice(0, 20_000));
      assert.doesNotMatch(event.result.content, /\uFFFD/);
      assert.ok(event.result.content.isWellFormed?.() ?? true);
    });
  }
}

test("the longest strings are cut first, and as few as will do; array elements are dotted", async (t) => {
  const input = { items: ["a".repeat(180_000), "b".repeat(100_000)], note: "c".repeat(20_000) };
  const { event } = await shortened(t, "x".repeat(300_000), { input });
  assert.deepEqual([...event.truncated].sort(), ["call.input.items.0", "result.content"]);
  assert.equal(event.call.input.items[1].length, 100_000);
  assert.equal(event.call.input.note.length, 20_000);
});

test("the long input of a run:start is shortened as well, given as text and as messages", async (t) => {
  const made = await hookAgent(t, { project: { "run:start": [{ command: "cat > seen" }] } });
  await made.agent.send("é".repeat(200_000));
  assert.deepEqual(made.events("seen")[0].truncated, ["input"]);
  await made.agent.send(
    [
      {
        role: "user",
        content: [
          { type: "text", text: "x" },
          { type: "text", text: "é".repeat(200_000) },
        ],
      },
    ],
    { sessionId: "second" },
  );
  assert.deepEqual(made.events("seen")[0].truncated, ["input.0.content.1.text"]);
});

test("the long text of a run:end is shortened as well", async (t) => {
  const { events, failures } = await runHooked(t, {
    project: { "run:end": [{ command: "cat > seen" }] },
    model: scriptedModel([{ text: "y".repeat(400_000) }]),
  });
  assert.deepEqual(failures, []);
  assert.deepEqual(events("seen")[0].truncated, ["result.text"]);
});

test("what says which event it is is never cut: call.id and call.name stay", async (t) => {
  const id = `id-${"i".repeat(30_000)}`;
  const made = await runHooked(t, {
    project: { "tool:end": [{ command: "cat > seen" }] },
    calls: [call(id, "work")],
    tools: [plainTool("work", () => "x".repeat(300_000))],
  });
  const [event] = made.events("seen");
  assert.equal(event.call.id, id);
  assert.deepEqual(event.truncated, ["result.content"]);
});

test("exactly 256 KiB is not shortened, and one byte more is", async (t) => {
  // On run:start, for a durationMs has as many digits as it likes.
  const made = await hookAgent(t, { project: { "run:start": [{ command: "cat > seen" }] } });
  await made.agent.send("x", { sessionId: "a" });
  const rest = Buffer.byteLength(made.read("seen")) - 1;
  const sizes = [];
  for (const extra of [-2, -1, 0, 1, 2]) {
    await made.agent.send("x".repeat(CAP - rest + extra), { sessionId: "a" });
    const text = made.read("seen");
    sizes.push([Buffer.byteLength(text), "truncated" in JSON.parse(text)]);
    assert.ok(Buffer.byteLength(text) <= CAP, `${Buffer.byteLength(text)} bytes`);
  }
  assert.equal(sizes[0][1], false);
  assert.equal(sizes.at(-1)[1], true);
  const whole = sizes.filter(([, cut]) => !cut).map(([bytes]) => bytes);
  assert.ok(Math.max(...whole) >= CAP - 1, JSON.stringify(sizes));
});

test("an event that cannot be made to fit: no command is started, with input_limit, and the run goes on", async (t) => {
  const input = { numbers: Array.from({ length: 60_000 }, (_, number) => number) };
  const made = await shortened(t, "worked", { input });
  assert.equal(made.text, undefined);
  assert.deepEqual(made.reasons, ["input_limit"]);
  assert.equal(made.failures[0].hook.durationMs, 0);
  assert.deepEqual(warnings(made.stream), []);
  assert.equal(made.result.text, "done");
});

test("many small strings are shortened together where that helps", async (t) => {
  const input = { parts: Array.from({ length: 600 }, (_, number) => `${number}-${"p".repeat(800)}`) };
  const { event, failures, bytes } = await shortened(t, "worked", { input });
  assert.deepEqual(failures, []);
  assert.ok(bytes <= CAP);
  assert.ok(event.truncated.length > 0 && event.truncated.every((path) => /^call\.input\.parts\.\d+$/.test(path)));
});

test("keys with dots, and keys named as in the prototype, do no harm", async (t) => {
  const input = JSON.parse(`{ "a.b": "${"x".repeat(300_000)}", "__proto__": { "length": 1 }, "constructor": "c" }`);
  const { event, failures } = await shortened(t, "worked", { input });
  assert.deepEqual(failures, []);
  assert.equal(event.truncated.length, 1);
  assert.equal(Object.hasOwn(event.call.input, "__proto__"), true);
});

test("an image is shortened as any string, and its path has the block's place", async (t) => {
  const content = [
    { type: "text", text: "see" },
    { type: "image", mediaType: "image/png", data: "A".repeat(400_000) },
  ];
  const { event, failures } = await shortened(t, content);
  assert.deepEqual(failures, []);
  assert.deepEqual(event.truncated, ["result.content.1.data"]);
  assert.equal(event.result.content[0].text, "see");
});

test("an input nested thousands deep: both commands get their event, with a word in the input's place", async (t) => {
  let input = {};
  for (let depth = 0; depth < 5_000; depth += 1) input = { a: input };
  const { events, failures, result } = await runHooked(t, {
    project: { "tool:start": [{ command: "cat >> seen" }], "tool:end": [{ command: "cat >> seen" }] },
    calls: [call("call-1", "work", input)],
  });
  assert.deepEqual(failures, []);
  assert.deepEqual(
    events("seen").map(({ event, call }) => [event, call.input]),
    [
      ["tool:start", "[nested too deeply]"],
      ["tool:end", "[nested too deeply]"],
    ],
  );
  assert.equal(result.text, "done");
});

test("a key that is too long cannot be cut: input_limit, and the message does not repeat it", async (t) => {
  const { reasons, failures } = await shortened(t, "worked", { input: { ["k".repeat(300_000)]: 1 } });
  assert.deepEqual(reasons, ["input_limit"]);
  assert.ok(failures[0].message.length < 1_000);
});
