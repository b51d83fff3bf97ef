// Builds the native part, which is the addon and the supervisor beside it, if what is there was not built from the
// sources as they are. A stamp keeps the sources' hash. Knows the napi command line; what is done with them is for others.

import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root, run, say, StepError } from "./process.mjs";
import { buildSupervisor, supervisorFile } from "./supervisor.mjs";

export const addonFile = join(root, "lite-agent.linux-x64-gnu.node");
const buildFolder = join(root, ".build");
const stampFile = join(buildFolder, "addon.json");

/** What the native part and its types are made of; folders count with all that is in them. */
const SOURCES = ["Cargo.toml", "Cargo.lock", "build.rs", "src", "supervisor", "scripts/binding-header.d.cts"];

/** The cargo profiles by what they are for; see Cargo.toml. */
const PROFILE_WORDS = { debug: [], ci: ["--profile", "ci"], release: ["--release"] };

/**
 * @param {string[]} accepted the profiles that will do; the first is what is built otherwise
 * @returns {Promise<boolean>} whether it had to be built
 */
export async function ensureAddon(accepted) {
  const why = whyStale(accepted);
  if (why === null) return false;
  say(`building the native part with cargo, profile ${accepted[0]}, because ${why}`);
  const start = performance.now();
  await buildAddon(accepted[0]);
  say(`built in ${((performance.now() - start) / 1000).toFixed(0)} s`);
  return true;
}

/**
 * Builds with one of the profiles and puts the addon and the supervisor in their place.
 * @returns {Promise<string>} the folder with all that was generated: the addon, and binding.d.cts, its types
 */
export async function buildAddon(profile) {
  if (process.platform !== "linux" || process.arch !== "x64") {
    const here = `${process.platform} ${process.arch}`;
    throw new StepError(`lite-agent is built for Linux x64 with glibc only so far, and this is ${here}`);
  }
  // Before the build: what is edited while cargo runs must count as newer than what it built.
  const sources = hashSources();
  const generated = await generate(profile);
  put(await buildSupervisor(lockWords()), supervisorFile);
  put(join(generated, "lite-agent.linux-x64-gnu.node"), addonFile);
  const stamp = { sources, profile, addon: look(addonFile), supervisor: look(supervisorFile) };
  writeFileSync(stampFile, `${JSON.stringify(stamp)}\n`);
  return generated;
}

/** A rename leaves the old file to the processes that have it loaded; writing into it would crash them. */
function put(built, place) {
  const temporary = `${place}.${process.pid}.tmp`;
  copyFileSync(built, temporary);
  renameSync(temporary, place);
}

/** What tells a file from another; null where there is none. */
function look(file) {
  const found = statSync(file, { throwIfNoEntry: false });
  return found === undefined ? null : `${found.size} ${found.mtimeMs}`;
}

async function generate(profile) {
  const folder = join(buildFolder, profile);
  mkdirSync(folder, { recursive: true });
  const napi = join(root, "node_modules", "@napi-rs", "cli", "dist", "cli.js");
  const words = [napi, "build", "--platform", ...PROFILE_WORDS[profile], "--no-js", "--dts", "binding.d.cts"];
  const code = await run(process.execPath, [...words, "--output-dir", folder, "--", ...lockWords()], {
    output: "stderr",
  });
  if (code !== 0) throw new StepError(`the build failed with ${code}: see above`);
  return folder;
}

/** In CI the lockfile is to be right; at home cargo may bring it in line with Cargo.toml. */
function lockWords() {
  return process.env.CI ? ["--locked"] : [];
}

function whyStale(accepted) {
  const addon = look(addonFile);
  const supervisor = look(supervisorFile);
  if (addon === null || supervisor === null) return "it was not built yet";
  let stamp;
  try {
    stamp = JSON.parse(readFileSync(stampFile, "utf8"));
  } catch (error) {
    if (error.code !== "ENOENT" && !(error instanceof SyntaxError)) throw error;
    return "it is not known what it was built from";
  }
  if (addon !== stamp.addon || supervisor !== stamp.supervisor) return "it is not what was built last";
  if (stamp.sources !== hashSources()) return "its sources have changed";
  if (!accepted.includes(stamp.profile)) return `a ${stamp.profile} build will not do for this`;
  return null;
}

function hashSources() {
  const hash = createHash("sha256");
  for (const file of SOURCES.flatMap(filesIn).sort()) {
    const content = readFileSync(join(root, file));
    hash.update(`${file}\0${content.length}\0`).update(content);
  }
  return hash.digest("hex");
}

function filesIn(path) {
  if (!statSync(join(root, path)).isDirectory()) return [path];
  return readdirSync(join(root, path)).flatMap((name) => filesIn(`${path}/${name}`));
}
