// The demo's model: no network and no key, but no recording either. It reads what the tools returned and decides by a
// few rules what to say and to call next, as a language model would. It is an ordinary ModelProvider, and all that it
// knows is in the request.
import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";

/**
 * @param {{ paceMs: number }} options how long a word takes
 * @returns {import("lite-agent").ModelProvider}
 */
export function scriptedModel({ paceMs }) {
  return {
    id: "scripted",
    async *stream(request, signal) {
      const conversation = conversationSoFar(request.messages);
      // A child knows nothing but its definition, which is its system prompt, and its task.
      const isReviewer = request.system.startsWith("You are a reviewer");
      const { say, calls = [] } = isReviewer ? review(conversation) : nextStep(conversation);
      for (const word of say.match(/\S+\s*/g)) {
        // A model that honours its signal stops in the middle of a word when the run is cancelled.
        await pause(paceMs, undefined, { signal });
        yield { type: "text_delta", text: word };
      }
      const blocks = calls.map(([name, input]) => ({ type: "tool_call", id: `call_${randomUUID()}`, name, input }));
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

/** All prompts, and every call with its result: `{ name, input, content, failed }`. */
function conversationSoFar(messages) {
  const prompts = [];
  const answered = [];
  const called = new Map();
  for (const { role, content } of messages) {
    const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content;
    for (const block of blocks) {
      if (role === "user" && block.type === "text") prompts.push(block.text);
      else if (block.type === "tool_call") called.set(block.id, block);
      else if (block.type === "tool_result") {
        const { name, input } = called.get(block.id);
        answered.push({ name, input, content: block.content, failed: block.isError === true });
      }
    }
  }
  return { prompts, answered };
}

function nextStep(conversation) {
  const prompt = conversation.prompts.at(-1);
  if (prompt.startsWith("<background-task-completed")) return takeUp(conversation, prompt);
  if (/review/i.test(prompt)) return delegate(conversation);
  if (/to do/i.test(prompt)) return workOff(conversation);
  if (/changed/i.test(prompt)) return tell(conversation);
  return {
    say:
      "Gladly. Every note deserves care, so let me begin at the very beginning, with the title, and go on " +
      "from there line by line, weighing each word before I put it down",
  };
}

const SECRET = "secrets/chart-server.key";
const OLD_TABLES = "notes/old-tables.md";
const CHECK = ["bash", { command: "node check.mjs" }];

/** What the list asks for. */
function itemsOf(todo) {
  return [...todo.matchAll(/^- \[ \] (\S+): `(.+?)` -> `(.+?)` \((.+)\)$/gm)].map(
    ([, path, old, replacement, why]) => ({ path, old, replacement, why }),
  );
}

const callOf = (answered, name, path) =>
  answered.findLast((one) => one.name === name && (path === undefined || one.input.path === path));

/** Looks, reads, changes what the list says, repairs what failed, checks, and writes down what it did. */
function workOff({ answered }) {
  const listing = callOf(answered, "glob");
  if (listing === undefined) {
    return { say: "Let me see what is there, and what its check says.", calls: [["glob", { pattern: "**/*" }], CHECK] };
  }

  const todo = callOf(answered, "read_file", "notes/todo.md");
  if (todo === undefined) {
    const files = listing.content.split("\n");
    const sources = files.filter((path) => path.startsWith("src/"));
    return {
      say: `${files.length} files, and the check fails. I read the list and the sources, all at once.`,
      calls: ["notes/todo.md", ...sources].map((path) => ["read_file", { path }]),
    };
  }

  const items = itemsOf(todo.content);
  const edits = answered.filter(({ name }) => name === "edit_file");
  if (edits.length === 0) {
    return {
      say: "Three changes, each in a file of its own: I make them side by side, and look at the key meanwhile.",
      calls: [
        ...items.map(({ path, old, replacement }) => ["edit_file", { path, old_text: old, new_text: replacement }]),
        ["read_file", { path: SECRET }],
      ],
    };
  }

  const done = new Set(edits.filter(({ failed }) => !failed).map(({ input }) => input.path));
  const failed = edits.findLast(({ failed, input }) => failed && !done.has(input.path));
  if (failed) {
    const { path, old_text, new_text } = failed.input;
    const meant = textMeant(callOf(answered, "read_file", path).content, old_text);
    if (meant === undefined) return { say: `I cannot find \`${old_text}\` in ${path}, and leave it for you.` };
    return {
      say: `The list quotes ${path} without its blanks; as I read it, it is \`${meant}\`. Once more.`,
      calls: [["edit_file", { path, old_text: meant, new_text }]],
    };
  }

  if (callOf(answered, "delete_file") === undefined) {
    return {
      say: "The key is none of my business. The old tables can go.",
      calls: [["delete_file", { path: OLD_TABLES }]],
    };
  }

  if (callOf(answered, "write_file", "CHANGELOG.md") === undefined) {
    const ticked = todo.content.replace(/- \[ \](?! secrets)/g, "- [x]");
    const changes = items.map(({ path, why }) => `- ${path}: ${why}\n`).join("");
    return {
      say: "I tick off what is done, write it down, and check.",
      calls: [
        ["write_file", { path: "notes/todo.md", content: ticked }],
        ["write_file", { path: "CHANGELOG.md", content: `# Changes\n\n## Unreleased\n${changes}` }],
        CHECK,
      ],
    };
  }
  const holds = !callOf(answered, "bash").failed;
  return { say: `Four of five items are done, and the check ${holds ? "holds" : "still fails"}. One is left for you.` };
}

/** Starts a command that goes on, and an agent for each source; then the run is over, and they are not. */
function delegate({ answered }) {
  if (callOf(answered, "Agent") !== undefined) {
    return { say: "They are at work. I go on when all of them are over." };
  }
  const sources = callOf(answered, "glob")
    .content.split("\n")
    .filter((path) => path.startsWith("src/"));
  const task = (path) => ({
    display_name: path,
    subagent_type: "reviewer",
    prompt: `${path}: what does it export, and where is that used?`,
  });
  return {
    say: "I start a watch that keeps checking, and a reviewer for each source.",
    calls: [
      ["bash", { command: "sh scripts/watch.sh", run_in_background: true }],
      ["Agent", { tasks: sources.map(task) }],
    ],
  };
}

/** A child: reads its file, looks for what that exports, and reports. */
function review({ prompts, answered }) {
  const [path] = prompts.at(-1).split(":");
  const source = callOf(answered, "read_file", path);
  if (source === undefined) return { say: `I read ${path}.`, calls: [["read_file", { path }]] };
  const [, name] = /export function (\w+)/.exec(source.content);
  const found = callOf(answered, "grep");
  if (found === undefined) return { say: `Who uses ${name}?`, calls: [["grep", { pattern: name, glob: "*.mjs" }]] };
  const places = found.content.match(/^[^:\n]+:\d+/gm);
  return { say: `${path} exports ${name}, used at ${places.join(" and ")}.` };
}

/** What the reviewers came to, as the run that takes it up gets it: it is read, kept, and the watch ended. */
function takeUp({ answered }, completion) {
  const [id] = /bg_\w+/.exec(answered.findLast(({ input }) => input.run_in_background).content);
  const watched = callOf(answered, "BashOutput")?.content;
  if (watched === undefined || watched === "[running]") {
    return { say: "The reviews are there. What does the watch say?", calls: [["BashOutput", { id }]] };
  }
  if (callOf(answered, "KillBackground") === undefined) {
    const reviews = completion.match(/^src\/.+ exports .+$/gm);
    const { content } = callOf(answered, "write_file", "CHANGELOG.md").input;
    const last = content.trimEnd().split("\n").at(-1);
    const added = ["", "## Reviewed", ...reviews.map((one) => `- ${one}`)].join("\n");
    return {
      say: "I keep what they report, and end the watch.",
      calls: [
        ["edit_file", { path: "CHANGELOG.md", old_text: last, new_text: `${last}\n${added}` }],
        ["KillBackground", { id }],
      ],
    };
  }
  return { say: "Three reviews are in CHANGELOG.md, and nothing runs any more." };
}

/** What a text holds where `wanted` was meant, blanks aside. */
function textMeant(content, wanted) {
  const characters = wanted.replace(/\s/g, "").split("");
  const [found] = new RegExp(characters.map((one) => one.replace(/\W/, "\\$&")).join("\\s*")).exec(content) ?? [];
  return found;
}

/** Answers from the conversation alone: nothing is read again. */
function tell({ prompts, answered }) {
  const succeeded = (name) => answered.filter((one) => one.name === name && !one.failed).map(({ input }) => input.path);
  const todo = callOf(answered, "read_file", "notes/todo.md");
  if (todo === undefined) return { say: "I know of no earlier conversation." };
  const why = new Map(itemsOf(todo.content).map((item) => [item.path, item.why]));
  const changed = succeeded("edit_file")
    .filter((path) => why.has(path))
    .map((path) => `${path} (${why.get(path)})`);
  const denied = answered.filter(({ content }) => content.startsWith("Error: blocked by policy"));
  return {
    say:
      `You asked me "${prompts[0]}" I changed ${changed.join(", ")}, and deleted ${succeeded("delete_file").join(", ")}. ` +
      `${denied.map(({ input }) => input.path).join(", ")} was closed to me: that is left for you. ` +
      `Reviewers looked at all three. ` +
      `And "${prompts.at(-2)}" you called off.`,
  };
}
