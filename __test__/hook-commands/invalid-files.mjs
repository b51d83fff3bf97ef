// Every kind of invalid hooks.json, with where the fault is. Knows nothing of the package.

/** A file whose second entry of this event is this one. */
export const inEvent = (event, entry) =>
  `{\n  "version": 1,\n  "hooks": {\n    "${event}": [\n      { "command": "touch good" },\n      ${entry}\n    ]\n  }\n}\n`;

/** name: [text, path (null: none), [line, column], words of the message] */
export const INVALID = {
  // Not JSON.
  "a trailing comma": ['{\n  "version": 1,\n  "hooks": {},\n}\n', null, [3, 14], /trailing comma/],
  "a trailing comma in an array": [
    '{ "version": 1, "hooks": { "run:end": [{ "command": "true" },] } }',
    null,
    [1, 61],
    /trailing comma/,
  ],
  "a comment": ['{\n  // mine\n  "version": 1, "hooks": {} }', null, [2, 3]],
  "a block comment": ['{ "version": 1, /* x */ "hooks": {} }', null, [1, 17]],
  "single quotes": ["{ 'version': 1, \"hooks\": {} }", null, [1, 3]],
  "a truncated file": ['{ "version": 1,\n "hooks": { "run:end": [', null, [2, 25]],
  "text after the end": ['{ "version": 1, "hooks": {} }\n{}', null, [2, 1]],
  "a line break in a string": ['{ "version": 1, "hooks": { "run:end": [{ "command": "a\nb" }] } }', null, [1, 55]],
  "half a surrogate pair": ['{ "version": 1, "hooks": { "run:end": [{ "command": "a\\ud800b" }] } }', null, null],
  NaN: ['{ "version": NaN, "hooks": {} }', null, [1, 14]],
  "a byte-order mark twice": ['\uFEFF\uFEFF{ "version": 1, "hooks": {} }', null, [1, 1]],
  // Duplicate keys.
  "hooks twice": ['{\n  "version": 1,\n  "hooks": {},\n  "hooks": {}\n}', "$.hooks", [4, 3], /duplicate|twice/],
  "version twice": ['{ "version": 1, "version": 1, "hooks": {} }', "$.version", [1, 17], /duplicate|twice/],
  "an event twice": [
    '{ "version": 1, "hooks": {\n "run:end": [],\n "run:end": [] } }',
    '$.hooks["run:end"]',
    [3, 2],
    /duplicate|twice/,
  ],
  "a key that is escaped otherwise twice": [
    '{ "version": 1, "hooks": {\n "run:end": [],\n "run:\\u0065nd": [] } }',
    '$.hooks["run:end"]',
    [3, 2],
    /duplicate|twice/,
  ],
  "command twice": [
    inEvent("run:end", '{ "command": "a", "command": "b" }'),
    '$.hooks["run:end"][1].command',
    [6, 25],
    /duplicate|twice/,
  ],
  // The top.
  "an array at the top": ["[]", "$", [1, 1], /object/],
  "null at the top": ["null", "$", [1, 1], /object/],
  "no version": ['{ "hooks": {} }', "$", [1, 1], /version/],
  "no hooks": ['{ "version": 1 }', "$", [1, 1], /hooks/],
  "version 2": ['{\n "version": 2, "hooks": {} }', "$.version", [2, 13], /\b1\b/],
  "version 1 as a string": ['{ "version": "1", "hooks": {} }', "$.version", [1, 14], /\b1\b/],
  "version 1.5": ['{ "version": 1.5, "hooks": {} }', "$.version", [1, 14], /\b1\b/],
  "version null": ['{ "version": null, "hooks": {} }', "$.version", [1, 14], /\b1\b/],
  "an unknown key at the top": ['{ "version": 1, "hook": {}, "hooks": {} }', "$.hook", [1, 17], /"hooks"/],
  "a $schema that is no string": ['{ "$schema": 1, "version": 1, "hooks": {} }', "$.$schema", [1, 14], /string/],
  "__proto__ at the top": ['{ "__proto__": {}, "version": 1, "hooks": {} }', "$.__proto__", [1, 3], /__proto__/],
  "hooks as an array": ['{ "version": 1, "hooks": [] }', "$.hooks", [1, 26], /object/],
  "hooks as null": ['{ "version": 1, "hooks": null }', "$.hooks", [1, 26], /object/],
  // Events.
  "Tool:Start": [
    inEvent("Tool:Start", '{ "command": "true" }'),
    '$.hooks["Tool:Start"]',
    [4, 5],
    /did you mean "tool:start"/,
  ],
  tool_end: [inEvent("tool_end", '{ "command": "true" }'), "$.hooks.tool_end", [4, 5], /did you mean "tool:end"/],
  "run:ends": [inEvent("run:ends", '{ "command": "true" }'), '$.hooks["run:ends"]', [4, 5], /did you mean "run:end"/],
  "an event that is like none": [
    inEvent("SessionStarted", '{ "command": "true" }'),
    "$.hooks.SessionStarted",
    [4, 5],
    /run:start/,
  ],
  "$schema among the events": ['{ "version": 1, "hooks": { "$schema": "x" } }', "$.hooks.$schema", [1, 28], /schema/],
  "an event that is an object": [
    '{ "version": 1, "hooks": { "run:end": { "command": "true" } } }',
    '$.hooks["run:end"]',
    [1, 39],
    /array/,
  ],
  "an event that is a string": [
    '{ "version": 1, "hooks": { "run:end": "true" } }',
    '$.hooks["run:end"]',
    [1, 39],
    /array/,
  ],
  "an event that is null": ['{ "version": 1, "hooks": { "run:end": null } }', '$.hooks["run:end"]', [1, 39], /array/],
  // Entries.
  "a string as an entry": [inEvent("run:end", '"touch x"'), '$.hooks["run:end"][1]', [6, 7], /object/],
  "null as an entry": [inEvent("run:end", "null"), '$.hooks["run:end"][1]', [6, 7], /object/],
  "no command": [inEvent("run:end", "{}"), '$.hooks["run:end"][1]', [6, 7], /command/],
  comand: [
    inEvent("run:end", '{ "comand": "true" }'),
    '$.hooks["run:end"][1].comand',
    [6, 9],
    /did you mean "command"/,
  ],
  "a command that is an array": [
    inEvent("run:end", '{ "command": ["true"] }'),
    '$.hooks["run:end"][1].command',
    [6, 20],
    /string/,
  ],
  "an empty command": [
    inEvent("run:end", '{ "command": "" }'),
    '$.hooks["run:end"][1].command',
    [6, 20],
    /empty|blank/,
  ],
  "a blank command": [
    inEvent("run:end", '{ "command": " \\t\\n" }'),
    '$.hooks["run:end"][1].command',
    [6, 20],
    /empty|blank/,
  ],
  "a command with a zero byte": [
    inEvent("run:end", '{ "command": "a\\u0000b" }'),
    '$.hooks["run:end"][1].command',
    [6, 20],
    /U\+0000|zero/,
  ],
  timeoutMS: [
    inEvent("run:end", '{ "command": "true", "timeoutMS": 5 }'),
    '$.hooks["run:end"][1].timeoutMS',
    [6, 28],
    /did you mean "timeoutMs"/,
  ],
  timeout: [
    inEvent("run:end", '{ "command": "true", "timeout": 5 }'),
    '$.hooks["run:end"][1].timeout',
    [6, 28],
    /timeoutMs/,
  ],
  "an unknown key of an entry": [
    inEvent("run:end", '{ "command": "true", "env": {} }'),
    '$.hooks["run:end"][1].env',
    [6, 28],
    /env/,
  ],
  "match on run:end": [
    inEvent("run:end", '{ "match": "*", "command": "true" }'),
    '$.hooks["run:end"][1].match',
    [6, 9],
    /tool/,
  ],
  "match on compact:start": [
    inEvent("compact:start", '{ "match": "*", "command": "true" }'),
    '$.hooks["compact:start"][1].match',
    [6, 9],
    /tool/,
  ],
  "match as an array": [
    inEvent("tool:end", '{ "match": ["a"], "command": "true" }'),
    '$.hooks["tool:end"][1].match',
    [6, 18],
    /string/,
  ],
  "match as null": [
    inEvent("tool:end", '{ "match": null, "command": "true" }'),
    '$.hooks["tool:end"][1].match',
    [6, 18],
    /string/,
  ],
  "an empty match": [
    inEvent("tool:end", '{ "match": "", "command": "true" }'),
    '$.hooks["tool:end"][1].match',
    [6, 18],
  ],
  "a glob that does not compile: [": [
    inEvent("tool:end", '{ "match": "a[b", "command": "true" }'),
    '$.hooks["tool:end"][1].match',
    [6, 18],
    /glob/,
  ],
  "a glob that does not compile: {": [
    inEvent("tool:end", '{ "match": "{a,b", "command": "true" }'),
    '$.hooks["tool:end"][1].match',
    [6, 18],
    /glob/,
  ],
};
for (const value of ["0", "-1", "1.5", "120001", "1e9", '"500"', "null", "true", "2147483648", "1e400"]) {
  const path = '$.hooks["run:end"][1].timeoutMs';
  INVALID[`timeoutMs ${value}`] = [
    inEvent("run:end", `{ "command": "true", "timeoutMs": ${value} }`),
    path,
    [6, 41],
    /1.*120.?000/,
  ];
}
