// npm run pack: makes the two tarballs that would be published, the package and its native part. Publishes nothing.

import { execFile } from "node:child_process";
import { copyFileSync, cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { addonFile, ensureAddon } from "./addon.mjs";
import { installDependencies } from "./dependencies.mjs";
import { isMain, root, runMain } from "./process.mjs";
import { SUPERVISOR, supervisorFile } from "./supervisor.mjs";
import { checkToolchain } from "./toolchain.mjs";

/**
 * Packs what is there; the addon must have been built.
 * @param {string} destination the folder for the tarballs
 * @returns {Promise<{ main: Tarball, platform: Tarball }>}
 * @typedef {{ path: string, files: string[] }} Tarball
 */
export async function pack(destination) {
  // Packed from a copy: the folder in npm/ is kept as napi made it, and holds no addon.
  const staged = mkdtempSync(join(tmpdir(), "lite-agent-pack-"));
  try {
    cpSync(join(root, "npm", "linux-x64-gnu"), staged, { recursive: true });
    copyFileSync(join(root, "LICENSE"), join(staged, "LICENSE"));
    copyFileSync(addonFile, join(staged, "lite-agent.linux-x64-gnu.node"));
    copyFileSync(supervisorFile, join(staged, SUPERVISOR));
    return { main: await packFolder(root, destination), platform: await packFolder(staged, destination) };
  } finally {
    rmSync(staged, { recursive: true });
  }
}

async function packFolder(folder, destination) {
  const words = ["pack", "--json", "--ignore-scripts", "--offline", "--pack-destination", destination];
  const { stdout } = await promisify(execFile)("npm", words, { cwd: folder });
  const reports = JSON.parse(stdout);
  // Newer versions of npm name the reports by package, older ones list them.
  const [{ filename, files }] = Array.isArray(reports) ? reports : Object.values(reports);
  return { path: join(destination, filename), files: files.map(({ path }) => path).sort() };
}

if (isMain(import.meta.url)) {
  await runMain(async () => {
    checkToolchain();
    await installDependencies();
    await ensureAddon(["release"]);
    for (const { path } of Object.values(await pack(root))) process.stdout.write(`${path}\n`);
  });
}
