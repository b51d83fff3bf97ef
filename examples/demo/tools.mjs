// The four tools that the demo's model may call. They reach files of one folder and nothing outside it. What they throw
// becomes a failed result that the model reads: so their messages say what would help.
import { mkdir, readdir, readFile, realpath, writeFile } from "node:fs/promises";
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { tool } from "lite-agent";

const text = (description) => ({ type: "string", description });
const inputOf = (properties) => ({
  type: "object",
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
});

/** @param {string} root an existing folder */
export function fileTools(root) {
  const inside = (path) => confined(root, path);
  return [
    tool("list", "Lists every file of the project.", inputOf({}), async () => {
      const entries = await readdir(root, { recursive: true, withFileTypes: true });
      return entries
        .filter((entry) => entry.isFile())
        .map((entry) =>
          relative(root, join(entry.parentPath ?? entry.path, entry.name))
            .split(sep)
            .join("/"),
        )
        .sort()
        .join("\n");
    }),

    tool("read", "Reads one file.", inputOf({ path: text("relative to the project") }), async ({ path }) =>
      readFile(await inside(path), "utf8"),
    ),

    tool(
      "replace",
      "Replaces the one place where a file holds `old`.",
      inputOf({
        path: text("relative to the project"),
        old: text("exactly as in the file"),
        new: text("what to put in its place"),
      }),
      async (input) => {
        const file = await inside(input.path);
        const content = await readFile(file, "utf8");
        const parts = content.split(input.old);
        if (parts.length === 1) {
          const { number, line } = mostAlike(content, input.old);
          throw new Error(`${input.path} does not hold \`${input.old}\`; most alike is line ${number}: \`${line}\``);
        }
        if (parts.length > 2)
          throw new Error(`${input.path} holds \`${input.old}\` ${parts.length - 1} times: give more of it`);
        await writeFile(file, parts.join(input.new));
        return `replaced in ${input.path}`;
      },
    ),

    tool(
      "write",
      "Writes a whole file.",
      inputOf({
        path: text("relative to the project"),
        content: text("all of it"),
      }),
      async ({ path, content }) => {
        const file = await inside(path);
        await mkdir(dirname(file), { recursive: true });
        await writeFile(file, content);
        return `wrote ${path}, ${content.split("\n").length - 1} lines`;
      },
    ),
  ];
}

/** The path's place under `root`, links of its nearest existing ancestor resolved. */
async function confined(root, path) {
  const base = await realpath(root);
  const wanted = resolve(base, path);
  let existing = wanted;
  for (;;) {
    const real = await realpath(existing).catch(() => undefined);
    if (real === undefined) {
      existing = dirname(existing);
      continue;
    }
    const place = relative(base, join(real, relative(existing, wanted)));
    if (place === ".." || place.startsWith(`..${sep}`) || isAbsolute(place))
      throw new Error(`${path} is outside of the project`);
    return join(base, place);
  }
}

/** The line of `content` that shares the most runs of three characters with `wanted`, blanks aside. */
function mostAlike(content, wanted) {
  const runsOf = (line) => {
    const dense = line.replace(/\s/g, "");
    return new Set(Array.from({ length: Math.max(0, dense.length - 2) }, (_, start) => dense.slice(start, start + 3)));
  };
  const sought = runsOf(wanted);
  let best = { number: 1, line: "", shared: -1 };
  for (const [index, line] of content.split("\n").entries()) {
    const shared = [...runsOf(line)].filter((run) => sought.has(run)).length;
    if (shared > best.shared) best = { number: index + 1, line: line.trim(), shared };
  }
  return best;
}
