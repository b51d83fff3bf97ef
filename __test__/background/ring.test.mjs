// What is kept of output that nobody has read: the newest bufferBytes, with a word on what is gone. Knows the public face
// only.
import { test } from "node:test";
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { drivenAgent, waitFor } from "./driving.mjs";

const DROPPED = /\[… (\d+) bytes dropped …\]/;
const keeping = (bufferBytes) => ({ backgroundLimits: { bufferBytes } });
/** `count` bytes, the last of them a line break. */
const bytes = (count) => `head -c ${count - 1} /dev/zero | tr '\\0' x; echo`;

/** The parts around the marker, and its number; 0 where there is none. */
function parted(text) {
  const found = text.match(DROPPED);
  if (!found) return { before: "", dropped: 0, after: text };
  return {
    before: text.slice(0, found.index),
    dropped: Number(found[1]),
    after: text.slice(found.index + found[0].length).replace(/^\n/, ""),
  };
}

async function readOf(driven, command) {
  const id = await driven.start(command);
  await driven.completionOf(id);
  return { id, ...(await driven.read(id)) };
}

test("exactly bufferBytes are kept whole", async (t) => {
  const { text } = await readOf(drivenAgent(t, keeping(1_000)), bytes(1_000));
  assert.equal(text, `${"x".repeat(999)}\n`);
});

test("one byte more drops the oldest, and the marker is where it was", async (t) => {
  const { text, ending } = await readOf(drivenAgent(t, keeping(1_000)), bytes(1_001));
  const { before, dropped, after } = parted(text);
  assert.equal(before, "");
  assert.ok(dropped >= 1, text.slice(0, 100));
  assert.equal(dropped + after.length, 1_001);
  assert.equal(ending, "[exit code: 0]");
});

test("of much more the newest is kept, and the marker's number is what is missing", async (t) => {
  const { text } = await readOf(drivenAgent(t, keeping(1_000)), "seq -w 0 19999");
  const { dropped, after } = parted(text);
  assert.ok(after.length <= 1_000 && after.length > 500, `${after.length} bytes are kept`);
  assert.equal(dropped + after.length, 20_000 * 6);
  assert.ok(after.endsWith("19998\n19999\n"));
});

test("output over the buffer does not end the command, and neither does bash.maxOutputBytes", async (t) => {
  const driven = drivenAgent(t, { ...keeping(1_000), bash: { maxOutputBytes: 2_000 } });
  const { text, ending } = await readOf(driven, `${bytes(50_000)}; echo last; exit 7`);
  assert.ok(text.endsWith("x\nlast\n"));
  assert.equal(ending, "[exit code: 7]");
});

test("what was read is not counted as dropped", async (t) => {
  const driven = drivenAgent(t, keeping(1_000));
  const id = await driven.start(`echo begun; ${waitFor("go")}; ${bytes(5_000)}`);
  assert.equal((await driven.readUntil(id, (text) => text !== "", "the first line")).text, "begun\n");
  writeFileSync(join(driven.workdir, "go"), "");
  await driven.completionOf(id);
  const { dropped, after } = parted((await driven.read(id)).text);
  assert.equal(dropped + after.length, 5_000);
});

test("a second flood after a read has a marker of its own, and nothing is counted twice", async (t) => {
  const driven = drivenAgent(t, keeping(1_000));
  const xs = (count) => `head -c ${count} /dev/zero | tr '\\0' x`;
  const id = await driven.start(`${xs(3_000)}; ${waitFor("go")}; ${xs(4_000)}`);
  // A read may come in the middle of a flood, and where no line ended one is: letters alone are counted.
  const total = (text) =>
    [...text.matchAll(new RegExp(DROPPED, "g"))].reduce((sum, [, count]) => sum + Number(count), 0) +
    text.match(/x/g).length;
  const first = await driven.readUntil(id, (text) => DROPPED.test(text), "the first flood");
  writeFileSync(join(driven.workdir, "go"), "");
  await driven.completionOf(id);
  const last = (await driven.read(id)).text;
  assert.match(last, DROPPED);
  assert.equal(total(first.text) + total(last), 7_000);
});

test("a filter sees what is kept, and the read consumes all of it", async (t) => {
  const driven = drivenAgent(t, keeping(1_000));
  const id = await driven.start("seq -w 0 19999");
  await driven.completionOf(id);
  const { text } = await driven.read(id, { filter: "^19999$" });
  assert.ok(text.endsWith("19999\n"));
  assert.ok(!text.includes("19998"));
  assert.equal((await driven.read(id)).text, "");
});

test("no character is torn where output is dropped", async (t) => {
  const { text } = await readOf(drivenAgent(t, keeping(100)), "for i in $(seq 100); do printf '—'; done; echo");
  const { dropped, after } = parted(text);
  assert.doesNotMatch(after, /\uFFFD/);
  assert.match(after, /^—+\n$/);
  assert.equal(dropped + Buffer.byteLength(after), 301);
});

test("by default a megabyte is kept", async (t) => {
  const { text } = await readOf(drivenAgent(t), `${bytes(2 ** 20)}; echo`);
  const { dropped } = parted(text);
  assert.ok(dropped >= 1 && dropped < 2 ** 20, `${dropped} bytes dropped`);
});

for (const bufferBytes of [0, -1, 1.5, "1", NaN, Infinity, null]) {
  test(`bufferBytes ${bufferBytes} is refused by name`, (t) => {
    assert.throws(
      () => drivenAgent(t, keeping(bufferBytes)),
      (error) => /Config|Type/.test(error.name) && error.message.includes("backgroundLimits.bufferBytes"),
    );
  });
}
