/**
 * Packs the npm packages: the two libraries, and one package per given binary.
 *
 *   node scripts/dist.mjs --out DIR [--binary [PLATFORM=]PATH]...
 *
 * PLATFORM is Node.js's name of a platform, such as linux-x64 or linux-arm64. Default: this machine's. Nothing is
 * published.
 */

import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const PACKAGES = fileURLToPath(new URL("..", import.meta.url));
const LICENSE = fileURLToPath(new URL("../../LICENSE", import.meta.url));
const HERE = `${process.platform}-${process.arch}`;

/** @param {string} path @returns {Record<string, unknown>} */
const readJson = (path) => JSON.parse(readFileSync(path, "utf8"));
/** @param {string} path @param {object} value */
const writeJson = (path, value) => writeFileSync(path, `${JSON.stringify(value, null, 2)}\n`);
/** @param {string} command @param {readonly string[]} args @param {string} cwd */
const run = (command, args, cwd) =>
  execFileSync(command, args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });

/** Packs a folder and returns the name of the archive. @param {string} folder @param {string} out */
function pack(folder, out) {
  const [{ filename }] = JSON.parse(
    run("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", out], folder),
  );
  return filename;
}

/**
 * Packs a library of the workspace, with the licence.
 *
 * @param {string} name @param {string} scratch @param {string} out @param {object} more Additional manifest fields.
 */
function packLibrary(name, scratch, out, more) {
  const archive = join(scratch, pack(join(PACKAGES, name), scratch));
  const folder = join(scratch, name);
  mkdirSync(folder);
  run("tar", ["xzf", archive, "-C", folder, "--strip-components=1"], scratch);
  copyFileSync(LICENSE, join(folder, "LICENSE"));
  const manifest = join(folder, "package.json");
  writeJson(manifest, { ...readJson(manifest), ...more });
  return pack(folder, out);
}

/**
 * Packs the binary for one platform.
 *
 * @param {string} platform @param {string} binary @param {string} version @param {string} scratch @param {string} out
 */
function packBinary(platform, binary, version, scratch, out) {
  const name = `sandbox-agent-cli-${platform}`;
  const [os, cpu] = platform.split("-");
  if (platform === HERE) checkVersion(binary, version);
  const folder = join(scratch, `cli-${platform}`);
  mkdirSync(join(folder, "bin"), { recursive: true });
  copyFileSync(binary, join(folder, "bin/sandbox-agent"));
  chmodSync(join(folder, "bin/sandbox-agent"), 0o755);
  copyFileSync(LICENSE, join(folder, "LICENSE"));
  writeFileSync(
    join(folder, "README.md"),
    `# ${name}\n\nThe Sandbox Agent server for ${platform}. Install the package \`sandbox-agent\`, which starts it.\n`,
  );
  writeJson(join(folder, "package.json"), {
    name,
    version,
    description: `The program of Sandbox Agent for ${platform}`,
    license: "Apache-2.0",
    os: [os],
    cpu: [cpu],
    files: ["bin"],
    preferUnplugged: true,
  });
  return { name, file: pack(folder, out) };
}

/** @param {string} binary @param {string} version */
function checkVersion(binary, version) {
  const reported = run(binary, ["--version"], PACKAGES).trim();
  if (reported !== `sandbox-agent ${version}`)
    throw new Error(`${binary} reports "${reported}", the packages are ${version}`);
}

const { values } = parseArgs({ options: { out: { type: "string" }, binary: { type: "string", multiple: true } } });
if (values.out === undefined) {
  console.error("usage: node scripts/dist.mjs --out DIR [--binary [PLATFORM=]PATH]...");
  process.exit(2);
}
const out = resolve(values.out);
mkdirSync(out, { recursive: true });
run("npm", ["run", "--silent", "build"], PACKAGES);
const { version } = readJson(join(PACKAGES, "sandbox-agent/package.json"));
const scratch = mkdtempSync(join(tmpdir(), "sandbox-agent-dist-"));
try {
  const carriers = (values.binary ?? []).map((given) => {
    const [, platform = HERE, path = ""] = /^(?:([a-z0-9]+-[a-z0-9]+)=)?(.+)$/.exec(given) ?? [];
    return packBinary(platform, resolve(path), version, scratch, out);
  });
  // Added here and not in the workspace's manifest: these packages do not exist yet when the workspace is installed.
  const optionalDependencies = Object.fromEntries(carriers.map(({ name }) => [name, version]));
  const files = [
    packLibrary("acp-http-client", scratch, out, {}),
    packLibrary("sandbox-agent", scratch, out, carriers.length > 0 ? { optionalDependencies } : {}),
    ...carriers.map(({ file }) => file),
  ];
  for (const file of files) console.log(join(out, file));
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
