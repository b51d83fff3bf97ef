// defaultRedactor: what it masks, what it keeps, and that nothing makes it throw.

import assert from "node:assert/strict";
import { test } from "node:test";

import { defaultRedactor } from "../index.js";

const MASK = "[redacted]";

test("masks secrets in text and keeps what is around them", () => {
  for (const [text, expected] of [
    ["use sk-abcdef0123456789 now", `use ${MASK} now`],
    ["Authorization: Bearer abc123DEF", `Authorization: Bearer ${MASK}`],
    ["API_KEY=abc node x.js", `API_KEY=${MASK} node x.js`],
    ['{"apiKey":"abc","n":1}', `{"apiKey":"${MASK}","n":1}`],
    ["https://user:hunter2@host.test/a", `https://${MASK}@host.test/a`],
    ["x?token=abc&page=2", `x?token=${MASK}&page=2`],
    ["tool --password hunter2 -v", `tool --password ${MASK} -v`],
    ["write to jane@example.com.", `write to ${MASK}.`],
    ["ghp_16C7e42F292c6912E7710c838347Ae178B4a", MASK],
    ["日本 AKIAIOSFODNN7EXAMPLE 😀", `日本 ${MASK} 😀`],
  ]) {
    assert.equal(defaultRedactor(text), expected);
  }
});

test("keeps ordinary values as they are", () => {
  for (const value of [
    "the token count was 5",
    "key: value",
    "tokens: 12",
    "password reset page",
    "",
    0,
    -1.5,
    true,
    null,
    undefined,
  ]) {
    assert.equal(defaultRedactor(value), value);
  }
  const value = { path: "src/a.ts", lines: [1, 2], nested: { ok: true, none: null } };
  assert.deepEqual(defaultRedactor(value), value);
  assert.notEqual(defaultRedactor(value), value);
});

test("a key named like a secret masks its value, whatever it is", () => {
  const names = [
    "apiKey",
    "api_key",
    "API_KEY",
    "X-Api-Key",
    "password",
    "dbPassword",
    "PASSWD",
    "passphrase",
    "authorization",
    "Authorization",
    "secret",
    "client_secret",
    "token",
    "accessToken",
    "refresh-token",
    "GITHUB_TOKEN",
    "private_key",
    "privateKey",
    "cookie",
    "Set-Cookie",
    "secretAccessKey",
    "credentials",
    "apikey",
    "secrets",
  ];
  for (const name of names) {
    for (const value of ["a", 5, { a: "b" }, ["x"], true]) {
      assert.deepEqual(defaultRedactor({ [name]: value, other: 1 }), { [name]: MASK, other: 1 }, name);
    }
    assert.deepEqual(defaultRedactor(new Map([[name, "a"]])), new Map([[name, MASK]]), name);
    assert.deepEqual(defaultRedactor({ [name]: null }), { [name]: null });
  }
});

test("a key that only sounds like one keeps its value", () => {
  const value = {
    tokens: 1,
    inputTokens: 2,
    outputTokens: 3,
    maxTokens: 4,
    tokenCount: 5,
    max_tokens: 6,
    tokenizer: "bpe",
    key: "ArrowDown",
    keys: ["a"],
    keyboard: "qwerty",
    monkey: "george",
    publicKey: "abc",
    primary_key: "id",
    secretName: "db",
    passwordPolicy: "long",
    cookieConsent: true,
    author: "jane",
    passed: 3,
    pass: true,
    authority: "x",
    cacheReadTokens: 7,
  };
  assert.deepEqual(defaultRedactor(value), value);
  assert.deepEqual(defaultRedactor({ key: "9f86d081884c7d659a2feaa0" }), { key: MASK });
});

test("the value of an option in a list of arguments is masked", () => {
  assert.deepEqual(defaultRedactor(["run", "--password", "hunter2", "--verbose"]), [
    "run",
    "--password",
    MASK,
    "--verbose",
  ]);
  assert.deepEqual(defaultRedactor(["--token", "--verbose"]), ["--token", "--verbose"]);
});

test("keys that hold secrets are masked and none is lost", () => {
  assert.deepEqual(defaultRedactor({ "a@example.com": 1, "b@example.com": 2 }), { [MASK]: 1, [`${MASK} (2)`]: 2 });
});

test("cycles become a mark and what is shared stays", () => {
  const cycle = { name: "a", list: [] };
  cycle.self = cycle;
  cycle.list.push(cycle);
  assert.deepEqual(defaultRedactor(cycle), { name: "a", self: "[circular]", list: ["[circular]"] });
  const shared = { a: 1 };
  assert.deepEqual(defaultRedactor([shared, shared]), [{ a: 1 }, { a: 1 }]);
  const set = new Set();
  set.add(set);
  assert.deepEqual(defaultRedactor(set), new Set(["[circular]"]));
});

test("what is shared doubles no work", () => {
  let value = { a: "x" };
  for (let level = 0; level < 60; level += 1) value = { left: value, right: value };
  assert.equal(typeof defaultRedactor(value), "object");
});

test("100,000 levels of nesting become a mark", () => {
  let object = "end";
  let array = "end";
  for (let level = 0; level < 100_000; level += 1) {
    object = { a: object };
    array = [array];
  }
  assert.match(JSON.stringify(defaultRedactor(object)), /\[nested too deeply\]/);
  assert.match(JSON.stringify(defaultRedactor(array)), /\[nested too deeply\]/);
});

test("nothing makes it throw", () => {
  const hostile = {
    get bad() {
      throw new Error("no");
    },
    good: 1,
  };
  assert.deepEqual(defaultRedactor(hostile), { bad: "[unreadable]", good: 1 });
  const refusal = () => {
    throw null;
  };
  const refuses = new Proxy({}, { ownKeys: refusal, get: refusal, getPrototypeOf: refusal });
  assert.deepEqual(defaultRedactor({ refuses, good: 1 }), { refuses: "[unreadable]", good: 1 });
  const { proxy, revoke } = Proxy.revocable([], {});
  revoke();
  assert.deepEqual(defaultRedactor([proxy]), ["[unreadable]"]);
  assert.equal(defaultRedactor("\ud800 lone").length, 6);
  assert.doesNotThrow(() =>
    defaultRedactor([Symbol("s"), () => 1, 10n, new WeakMap(), Promise.resolve(), new Proxy({}, {}), new Date(NaN)]),
  );
  assert.doesNotThrow(() => defaultRedactor(Object.create(null)));
  assert.deepEqual(defaultRedactor(new Array(4_000_000_000)).at(-1), "[too many values]");
});

test("values of every kind are shown", () => {
  assert.equal(defaultRedactor(10n), "10n");
  assert.equal(defaultRedactor(new Uint8Array(12)), "[Uint8Array of 12 bytes]");
  assert.equal(defaultRedactor(new ArrayBuffer(3)), "[binary of 3 bytes]");
  assert.deepEqual(defaultRedactor(new Date(0)), new Date(0));
  assert.equal(defaultRedactor(new URL("https://u:p@host.test/")), `https://${MASK}@host.test/`);
  assert.deepEqual(
    defaultRedactor(new Map([["a", new Set(["API_KEY=x"])]])),
    new Map([["a", new Set([`API_KEY=${MASK}`])]]),
  );
  assert.deepEqual(
    defaultRedactor(JSON.parse('{"__proto__": {"token": "a"}}')),
    JSON.parse(`{"__proto__": {"token": "${MASK}"}}`),
  );
});

test("errors keep name, message, cause and their own members", () => {
  const error = Object.assign(new TypeError("failed with token=abc", { cause: new Error("jane@example.com") }), {
    code: "E1",
    apiKey: "a",
  });
  assert.deepEqual(defaultRedactor(error), {
    name: "TypeError",
    message: `failed with token=${MASK}`,
    cause: { name: "Error", message: MASK },
    code: "E1",
    apiKey: MASK,
  });
});

test("never changes its input", () => {
  const deepFreeze = (value) => {
    if (typeof value === "object" && value !== null) Object.values(Object.freeze(value)).forEach(deepFreeze);
    return value;
  };
  const value = deepFreeze({ token: "a", list: ["sk-abcdef0123456789"], "a@example.com": 1 });
  const before = JSON.stringify(value);
  defaultRedactor(value);
  assert.equal(JSON.stringify(value), before);
});

test("texts over 16 KiB are cut, and say so", () => {
  for (const unit of ["x", "é", "word "]) {
    const cut = defaultRedactor(unit.repeat(1_000_000));
    assert.match(cut, /\[cut at 16 KiB\]$/);
    assert.ok(Buffer.byteLength(cut) <= 16 * 1024 + 16);
  }
  assert.equal(defaultRedactor("x".repeat(16 * 1024)), "x".repeat(16 * 1024));
});

test("a secret across the cut shows nothing of itself", () => {
  for (let back = 1; back < 30; back += 1) {
    const text = `${"word ".repeat(4000).slice(0, 16 * 1024 - back)} sk-abcdef0123456789abcdef0123456789 end`;
    assert.doesNotMatch(defaultRedactor(text), /sk-a/);
  }
});
