// The demo's model: no network and no key, but no recording either. It reads what the tools returned and decides by a
// few rules what to say and to call next, as a language model would. It is an ordinary ModelProvider.
import { setTimeout as pause } from "node:timers/promises";

/**
 * @param {{ paceMs: number }} options how long a word takes
 * @returns {import("lite-agent").ModelProvider}
 */
export function scriptedModel({ paceMs }) {
  let made = 0;
  return {
    id: "scripted",
    async *stream(request, signal) {
      const { say, calls = [] } = nextStep(conversationSoFar(request.messages));
      for (const word of say.match(/\S+\s*/g)) {
        // A model that honours its signal stops in the middle of a word when the run is cancelled.
        await pause(paceMs, undefined, { signal });
        yield { type: "text_delta", text: word };
      }
      const blocks = calls.map(({ name, input }) => ({ type: "tool_call", id: `call_${(made += 1)}`, name, input }));
      yield {
        type: "message_done",
        message: { role: "assistant", content: [{ type: "text", text: say }, ...blocks] },
        usage: { inputTokens: tokensOf(request.messages), outputTokens: tokensOf([say, blocks]) },
        stopReason: blocks.length > 0 ? "tool_use" : "stop",
      };
    },
  };
}

const tokensOf = (value) => Math.ceil(JSON.stringify(value).length / 4);

/** The newest prompt, and every call since with its result: `{ name, input, content, failed }`. */
function conversationSoFar(messages) {
  let prompt = "";
  let answered = [];
  const called = new Map();
  for (const { role, content } of messages) {
    const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content;
    for (const block of blocks) {
      if (role === "user" && block.type === "text") {
        prompt = block.text;
        answered = [];
      } else if (block.type === "tool_call") {
        called.set(block.id, block);
      } else if (block.type === "tool_result") {
        const { name, input } = called.get(block.id);
        answered.push({ name, input, content: block.content, failed: block.isError === true });
      }
    }
  }
  return { prompt, answered };
}

function nextStep(conversation) {
  const { prompt } = conversation;
  if (/to do/i.test(prompt)) return workOff(conversation);
  if (/release/i.test(prompt)) return release(conversation);
  return {
    say:
      "Gladly. Every note deserves care, so let me begin at the very beginning, with the title, and go on " +
      "from there line by line, weighing each word before I put it down",
  };
}

const resultOf = (answered, name, path) =>
  answered.findLast((one) => one.name === name && !one.failed && (path === undefined || one.input.path === path))
    ?.content;

/** Looks, reads, changes what the list says, repairs what failed, and writes down what it did. */
function workOff({ answered }) {
  const listing = resultOf(answered, "list");
  if (listing === undefined) return { say: "Let me see what is there.", calls: [{ name: "list", input: {} }] };

  const todo = resultOf(answered, "read", "notes/todo.md");
  if (todo === undefined) {
    const files = listing.split("\n");
    const paths = files.filter((path) => path.startsWith("src/") || path === "notes/todo.md");
    return {
      say: `${files.length} files. I read the list and the sources, all at once.`,
      calls: paths.map((path) => ({ name: "read", input: { path } })),
    };
  }

  const items = [...todo.matchAll(/^- \[ \] (\S+): `(.+?)` -> `(.+?)` \((.+)\)$/gm)].map(
    ([, path, old, replacement, why]) => ({ path, old, replacement, why }),
  );
  const replaced = answered.filter(({ name }) => name === "replace");
  if (replaced.length === 0) {
    return {
      say: `${items.length} items are open, each in a file of its own: I make the changes side by side.`,
      calls: items.map(({ path, old, replacement }) => ({ name: "replace", input: { path, old, new: replacement } })),
    };
  }

  const done = new Set(replaced.filter(({ failed }) => !failed).map(({ input }) => input.path));
  const failed = replaced.findLast(({ failed, input }) => failed && !done.has(input.path));
  if (failed) {
    const { input, content } = failed;
    // The tool said which line is most alike; what it holds, blanks aside, is what was meant.
    const [, number, line] = /most alike is line (\d+): `(.*)`/.exec(content) ?? [];
    const meant = new RegExp(
      input.old
        .replace(/\s/g, "")
        .split("")
        .map((one) => one.replace(/\W/, "\\$&"))
        .join("\\s*"),
    );
    const [old] = meant.exec(line ?? "") ?? [];
    if (old === undefined) return { say: `I cannot find \`${input.old}\` in ${input.path}, and leave it for you.` };
    return {
      say: `The list quotes ${input.path} without its blanks. Line ${number} is the one that it means; once more.`,
      calls: [{ name: "replace", input: { ...input, old } }],
    };
  }

  if (resultOf(answered, "write", "CHANGELOG.md") === undefined) {
    const lines = items.map(({ path, why }) => `- ${path}: ${why}`);
    return {
      say: "All changes are in. I tick them off and write them down.",
      calls: [
        { name: "write", input: { path: "notes/todo.md", content: todo.replaceAll("- [ ]", "- [x]") } },
        {
          name: "write",
          input: { path: "CHANGELOG.md", content: `# Changes\n\n## Unreleased\n${lines.join("\n")}\n` },
        },
      ],
    };
  }
  const attempts = replaced.length;
  return { say: `Done: ${items.length} items in ${attempts} attempts. None is open any more.` };
}

/** Raises the version and closes the "Unreleased" section, from what both files hold now. */
function release({ answered }) {
  const manifest = resultOf(answered, "read", "package.json");
  const changes = resultOf(answered, "read", "CHANGELOG.md");
  if (manifest === undefined || changes === undefined) {
    return {
      say: "First the version and the changes.",
      calls: ["package.json", "CHANGELOG.md"].map((path) => ({ name: "read", input: { path } })),
    };
  }
  const { version } = JSON.parse(manifest);
  const [major, minor, patch] = version.split(".").map(Number);
  const next = `${major}.${minor}.${patch + 1}`;
  if (resultOf(answered, "replace", "package.json") === undefined) {
    return {
      say: `${version} becomes ${next}, for there are fixes only.`,
      calls: [
        {
          name: "replace",
          input: { path: "package.json", old: `"version": "${version}"`, new: `"version": "${next}"` },
        },
        { name: "replace", input: { path: "CHANGELOG.md", old: "## Unreleased", new: `## ${next}` } },
      ],
    };
  }
  return { say: "The release is ready." };
}
