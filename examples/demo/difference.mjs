// Which lines two texts differ in. Knows nothing of agents.

/**
 * The shortest way from one text to the other.
 * @param {string} before
 * @param {string} after
 * @returns {{ kind: "same" | "removed" | "added", line: string }[]}
 */
export function differenceOf(before, after) {
  const left = linesOf(before);
  const right = linesOf(after);
  // common[i][j]: how many lines left.slice(i) and right.slice(j) have in common, in order.
  const common = Array.from({ length: left.length + 1 }, () => new Array(right.length + 1).fill(0));
  for (let i = left.length - 1; i >= 0; i -= 1) {
    for (let j = right.length - 1; j >= 0; j -= 1) {
      common[i][j] = left[i] === right[j] ? common[i + 1][j + 1] + 1 : Math.max(common[i + 1][j], common[i][j + 1]);
    }
  }
  const steps = [];
  let i = 0;
  let j = 0;
  while (i < left.length || j < right.length) {
    if (i < left.length && j < right.length && left[i] === right[j]) {
      steps.push({ kind: "same", line: left[i] });
      i += 1;
      j += 1;
    } else if (i < left.length && (j === right.length || common[i + 1][j] >= common[i][j + 1])) {
      steps.push({ kind: "removed", line: left[i] });
      i += 1;
    } else {
      steps.push({ kind: "added", line: right[j] });
      j += 1;
    }
  }
  return steps;
}

function linesOf(text) {
  if (text === "") return [];
  return text.replace(/\n$/, "").split("\n");
}

/**
 * The files that differ, with their changed lines and one line of context on either side; `null` marks a gap.
 * @param {Map<string, string>} before
 * @param {Map<string, string>} after
 */
export function changedFiles(before, after) {
  const paths = [...new Set([...before.keys(), ...after.keys()])].sort();
  return paths
    .filter((path) => before.get(path) !== after.get(path))
    .map((path) => {
      const steps = differenceOf(before.get(path) ?? "", after.get(path) ?? "");
      const shown = [];
      steps.forEach((step, index) => {
        const near = steps.slice(Math.max(0, index - 1), index + 2).some(({ kind }) => kind !== "same");
        if (near) shown.push(step);
        else if (shown.length > 0 && shown.at(-1) !== null) shown.push(null);
      });
      if (shown.at(-1) === null) shown.pop();
      const kind = !before.has(path) ? "new" : !after.has(path) ? "deleted" : "changed";
      const count = (wanted) => steps.filter((step) => step.kind === wanted).length;
      return { path, kind, added: count("added"), removed: count("removed"), lines: shown };
    });
}
