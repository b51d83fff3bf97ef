// Checks that Node and Rust are there and new enough, before anything else fails in a way that nobody understands. It
// installs neither.

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root, StepError } from "./process.mjs";

/** @throws {StepError} that says what to install */
export function checkToolchain() {
  checkNode();
  checkCargo();
}

function checkNode() {
  const [major, minor] = process.versions.node.split(".").map(Number);
  const enough = major === 20 ? minor >= 19 : major === 22 ? minor >= 12 : major > 22;
  if (enough) return;
  const { engines } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  throw new StepError(`Node ${engines.node} is needed, this is ${process.version}: install it from https://nodejs.org`);
}

function checkCargo() {
  const needed = /^rust-version = "(\d+)\.(\d+)/m.exec(readFileSync(join(root, "Cargo.toml"), "utf8"));
  const wanted = `Rust ${needed[1]}.${needed[2]} or later is needed to build the native part`;
  let found;
  try {
    found = execFileSync("cargo", ["--version"], { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  } catch (error) {
    const why = error.code === "ENOENT" ? "there is no cargo on the PATH" : `cargo --version failed: ${error.stderr}`;
    throw new StepError(`${wanted}, but ${why.trim()}. Install it from https://rustup.rs`);
  }
  const [, major, minor] = /(\d+)\.(\d+)/.exec(found).map(Number);
  if (major * 1000 + minor < Number(needed[1]) * 1000 + Number(needed[2])) {
    throw new StepError(`${wanted}, this is ${found.trim()}. Run \`rustup update\``);
  }
}
