// What commands are measured against: Node's own spawn. Nothing is killed, limited or cleaned up. Imports nothing of
// lite-agent.
import { spawn } from "node:child_process";

/** Runs a command to its end and takes what it writes. */
export function plainCommand(command, input = "") {
  return new Promise((resolve, reject) => {
    const child = spawn("/bin/sh", ["-c", command], { stdio: "pipe" });
    let output = "";
    const take = (text) => {
      output += text;
    };
    child.stdout.setEncoding("utf8").on("data", take);
    child.stderr.setEncoding("utf8").on("data", take);
    // A command that does not read its input closes it: no failure.
    child.stdin.on("error", () => {});
    child.stdin.end(input);
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, output }));
  });
}

/** Does something `count` times, at most `limit` at the same time. */
export async function atOnce(count, limit, action) {
  let begun = 0;
  const worker = async () => {
    while (begun < count) {
      begun += 1;
      await action();
    }
  };
  await Promise.all(Array.from({ length: Math.min(count, limit) }, worker));
}
