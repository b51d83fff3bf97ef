// Shows runs as they happen: streamed text, tools with their times, hooks and what failed; of children, which are at work
// at the same time, a line for each thing that they did. Coloured on a terminal, plain otherwise. Knows events, and nothing
// of how the demo is set up.

const LABEL_WIDTH = 9;
const TARGET_WIDTH = 24;
/** Of lines about children, who have their name before what they did. */
const CHILD_WIDTH = 15;
const CHILD_TARGET_WIDTH = 18;
const COLOURS = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, blue: 34, magenta: 35, cyan: 36 };

const CHANGE_STYLES = {
  added: { colour: "green", sign: "+" },
  removed: { colour: "red", sign: "-" },
  same: { colour: "dim", sign: " " },
};

export class View {
  #output;
  #coloured;
  #width;
  /** Where in the line of streamed text the cursor is; 0: at a line's start. */
  #column = 0;
  /** Calls under way, by id, with the hooks that ran for them. */
  #calls = new Map();
  /** What children are at work on, by agentId. */
  #children = new Map();
  /** Lines that wait for the end of streamed text: they would tear it. */
  #waiting = [];

  /** @param {NodeJS.WriteStream} output */
  constructor(output) {
    this.#output = output;
    this.#coloured = output.isTTY === true && !process.env.NO_COLOR && process.env.TERM !== "dumb";
    this.#width = Math.max(60, Math.min(output.columns ?? 100, 100));
  }

  paint(colour, text) {
    return this.#coloured ? `\u001b[${COLOURS[colour]}m${text}\u001b[0m` : text;
  }

  line(text = "") {
    if (this.#column > 0) this.#output.write("\n");
    this.#column = 0;
    this.#output.write(`${text}\n`);
  }

  heading(text) {
    const rule = "─".repeat(Math.max(3, this.#width - text.length - 4));
    this.line();
    this.line(`${this.paint("dim", "──")} ${this.paint("bold", text)} ${this.paint("dim", rule)}`);
  }

  #labelled(label, colour, text) {
    this.line(`  ${this.paint(colour, label.padEnd(LABEL_WIDTH - 2))}${text}`);
  }

  prompt(text) {
    this.#labelled("user", "blue", this.paint("bold", text));
  }

  note(text) {
    this.#labelled("", "dim", this.paint("dim", text));
  }

  /** One word of the model's text, wrapped at the width. */
  #word(text) {
    const word = text.trim();
    if (this.#column === 0) {
      this.#output.write(`  ${this.paint("cyan", "model".padEnd(LABEL_WIDTH - 2))}${word}`);
      this.#column = LABEL_WIDTH + word.length;
    } else if (this.#column + 1 + word.length > this.#width) {
      this.#output.write(`\n${" ".repeat(LABEL_WIDTH)}${word}`);
      this.#column = LABEL_WIDTH + word.length;
    } else {
      this.#output.write(` ${word}`);
      this.#column += 1 + word.length;
    }
  }

  /** Whatever is no text of the model that is being streamed. */
  #whenQuiet(show) {
    if (this.#column > 0) this.#waiting.push(show);
    else show();
  }

  /** The model's message is whole. */
  #quiet() {
    if (this.#column > 0) this.#output.write("\n");
    this.#column = 0;
    for (const show of this.#waiting.splice(0)) show();
  }

  /** @param {import("lite-agent").AgentEvent} event */
  event(event) {
    if (event.agentId !== undefined) return this.#whenQuiet(() => this.#childEvent(event));
    switch (event.type) {
      case "text_delta":
        return this.#word(event.text);
      case "message": {
        this.#quiet();
        const calls = event.message.content.filter(({ type }) => type === "tool_call");
        if (calls.length > 1) this.note(`${calls.length} calls at once:`);
        return undefined;
      }
      case "tool_call_start":
        this.#call(event.call.id).call = event.call;
        return undefined;
      case "tool_call_end":
        return this.#toolEnded(event);
      case "approval_request":
        return this.#labelled("asked", "magenta", `${event.call.name} ${targetOf(event.call)}: ${event.reason}`);
      case "approval_resolved":
        return this.#labelled("", "magenta", `  ${event.decision}, by ${event.by}`);
      case "permission_decision":
        // Those about hook commands are in the summary, and where they deny, in a diagnostic.
        if (event.decision !== "deny" || event.call.name === "hook") return undefined;
        return this.#labelled(
          "denied",
          "yellow",
          this.paint("yellow", `${event.call.name} ${targetOf(event.call)}, by the rule "${event.ruleId}"`),
        );
      case "tool_result":
        if (event.result.isError)
          this.#labelled("", "red", this.paint("red", `  ${this.#wrapped(event.result.content)}`));
        else this.#background(event.result);
        return undefined;
      case "background_completed":
        return this.#completed(event.completion);
      case "diagnostic":
        return this.#labelled(
          event.code === "hook_failed" ? "hook" : event.level,
          "yellow",
          this.paint("yellow", this.#wrapped(`✗ ${event.code}: ${event.message}`)),
        );
      case "error":
        return this.#labelled("error", "red", this.paint("red", event.error.message));
      default:
        return undefined;
    }
  }

  /** One line for what a child said, and one for each tool that it used. */
  #childEvent(event) {
    const child = this.#children.get(event.agentId);
    switch (event.type) {
      case "message": {
        const [text] = event.message.content.filter(({ type }) => type === "text");
        const calls = event.message.content.some(({ type }) => type === "tool_call");
        if (calls || text === undefined) return undefined;
        return this.#labelled("child", "cyan", this.#wrapped(text.text));
      }
      case "tool_call_start":
        this.#call(event.call.id).call = event.call;
        return undefined;
      case "tool_call_end":
        return this.#toolEnded(event, child);
      case "diagnostic":
        return this.#labelled(event.level, "yellow", this.paint("yellow", this.#wrapped(`${child}: ${event.message}`)));
      case "error":
        return this.#labelled("error", "red", this.paint("red", `${child}: ${event.error.message}`));
      default:
        return undefined;
    }
  }

  /** What the tools for work in the background answered. */
  #background({ name, content }) {
    // Of the call's answer the children's names and ids; what stands before is meant for a model.
    const shown = name === "Agent" ? content.slice(content.indexOf("\n") + 1) : content;
    if (BACKGROUND_TOOLS.has(name)) this.note(`  ${this.#wrapped(shown)}`);
  }

  /** A group of children, or a background command, is over. */
  #completed({ label, status }) {
    const painted = this.paint(statusColour(status), status);
    this.#whenQuiet(() => this.#labelled("over", "magenta", `${this.#wrapped(label)}  ${painted}`));
  }

  #call(id) {
    if (!this.#calls.has(id)) this.#calls.set(id, { call: undefined, hooks: [] });
    return this.#calls.get(id);
  }

  #toolEnded({ id, name, durationMs, isError }, child) {
    const { call, hooks } = this.#call(id);
    this.#calls.delete(id);
    const mark = isError ? this.paint("red", "✗") : this.paint("green", "✓");
    const who = child === undefined ? "" : child.padEnd(CHILD_WIDTH);
    const target = targetOf(call).padEnd(child === undefined ? TARGET_WIDTH : CHILD_TARGET_WIDTH);
    const ran = hooks.map(({ name: hook, failed }) =>
      failed ? this.paint("yellow", `${hook} ✗`) : this.paint("dim", hook),
    );
    const during = `${this.paint("dim", "hooks:")} ${ran.join(this.paint("dim", ", "))}`;
    this.#labelled(
      child === undefined ? "tool" : "child",
      child === undefined ? "green" : "cyan",
      `${who}${mark} ${this.paint("bold", name.padEnd(11))} ${target} ${milliseconds(durationMs).padStart(9)}   ${during}`,
    );
  }

  /** A hook ran. Those of a tool are shown with it, those of a run at once. */
  hookRan({ name, event, durationMs, failed }) {
    if ("call" in event) {
      this.#call(event.call.id).hooks.push({ name, failed });
      return;
    }
    if (event.event === "run:start" && event.agentId !== undefined) {
      this.#children.set(event.agentId, event.input.split(":")[0]);
    }
    if (failed) return;
    const isChild = event.agentId !== undefined;
    const who = isChild ? this.#children.get(event.agentId).padEnd(CHILD_WIDTH) : "";
    const what = event.event.padEnd(isChild ? CHILD_TARGET_WIDTH : TARGET_WIDTH);
    const status = event.status === undefined ? "" : `  ${this.paint(statusColour(event.status), event.status)}`;
    const line = `${who}✓ ${name.padEnd(11)} ${what} ${milliseconds(durationMs).padStart(9)}${status}`;
    this.#whenQuiet(() => this.#labelled("hook", "magenta", line));
  }

  /** Text over several lines, the second and later ones set in a little. */
  #wrapped(text) {
    const indent = " ".repeat(LABEL_WIDTH + 2);
    const lines = [];
    for (const paragraph of String(text).split("\n")) {
      lines.push("");
      for (const word of paragraph.split(" ")) {
        const longer = lines.at(-1) === "" ? word : `${lines.at(-1)} ${word}`;
        if (indent.length + longer.length > this.#width && lines.at(-1) !== "") lines.push(word);
        else lines[lines.length - 1] = longer;
      }
    }
    return lines.join(`\n${indent}`);
  }

  /**
   * @param {string[]} columns a leading ">" aligns to the right
   * @param {(string | { text: string, colour: string })[][]} rows
   */
  table(columns, rows) {
    const textOf = (cell) => (typeof cell === "object" ? cell.text : cell);
    const right = columns.map((column) => column.startsWith(">"));
    const titles = columns.map((column) => column.replace(/^>/, ""));
    const widths = titles.map((title, index) =>
      Math.max(title.length, ...rows.map((row) => textOf(row[index]).length)),
    );
    const format = (row, colour) =>
      `  ${row
        .map((cell, index) => {
          const padded = right[index] ? textOf(cell).padStart(widths[index]) : textOf(cell).padEnd(widths[index]);
          const own = typeof cell === "object" ? cell.colour : colour;
          return own ? this.paint(own, padded) : padded;
        })
        .join("   ")
        .trimEnd()}`;
    this.line(format(titles, "dim"));
    for (const row of rows) this.line(format(row));
  }

  /** @param {ReturnType<typeof import("./difference.mjs").changedFiles>} files */
  changes(files) {
    for (const { path, kind, added, removed, lines } of files) {
      const counts = [
        added > 0 ? this.paint("green", `+${added}`) : "",
        removed > 0 ? this.paint("red", `-${removed}`) : "",
      ];
      this.line(`  ${this.paint("bold", path)}  ${kind}  ${counts.filter(Boolean).join(" ")}`);
      for (const step of lines) {
        const { colour, sign } = step === null ? CHANGE_STYLES.same : CHANGE_STYLES[step.kind];
        const text = `    ${sign} ${step === null ? "…" : step.line}`.trimEnd();
        this.line(this.paint(colour, text.length > this.#width ? `${text.slice(0, this.#width - 1)}…` : text));
      }
    }
  }
}

/** Their results are shown, not only that they came. */
const BACKGROUND_TOOLS = new Set(["Agent", "BashOutput", "KillBackground"]);

/** What a call is about. */
function targetOf(call) {
  const { path, command, pattern, id, tasks } = call?.input ?? {};
  return path ?? command ?? pattern ?? id ?? (tasks === undefined ? "" : `${tasks.length} tasks`);
}

export function statusColour(status) {
  return { completed: "green", failed: "red" }[status] ?? "yellow";
}

export function milliseconds(value) {
  return value >= 1000 ? `${(value / 1000).toFixed(2)} s` : `${value.toFixed(1)} ms`;
}
