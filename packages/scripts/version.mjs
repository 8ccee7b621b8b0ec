#!/usr/bin/env node
/**
 * Copies the version from Cargo.toml, where it is maintained, to every file in which npm and TypeScript need it.
 *
 *     node packages/scripts/version.mjs            write
 *     node packages/scripts/version.mjs --check    fail if a file has another version
 */
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const PROJECT = join(dirname(fileURLToPath(import.meta.url)), "../..");
const PACKAGES = ["acp-http-client", "inspector", "sandbox-agent"];
const CONSTANTS = ["inspector/src/version.ts", "sandbox-agent/src/version.ts"];

/** @param {string} path */
const read = (path) => readFileSync(join(PROJECT, path), "utf8");

const version = /^\[workspace\.package\][^[]*?^version = "([^"]+)"/ms.exec(read("Cargo.toml"))?.[1];
if (!version) throw new Error("Cargo.toml has no version in [workspace.package]");

/** @type {Map<string, string>} What each file should contain, by its path. */
const wanted = new Map();
for (const name of PACKAGES) {
  const path = `packages/${name}/package.json`;
  const pins = PACKAGES.map((other) => `"${other}": `).join("|");
  const own = read(path).replace(/^( {2}"version": )"[^"]+"/m, `$1"${version}"`);
  wanted.set(path, own.replace(new RegExp(`^( {4}(?:${pins}))"\\d[^"]*"`, "gm"), `$1"${version}"`));
}
for (const name of CONSTANTS) {
  const lines = ["/** The version of this package. Written by `packages/scripts/version.mjs`. */"];
  wanted.set(`packages/${name}`, `${lines[0]}\nexport const VERSION = "${version}";\n`);
}

const stale = [...wanted].filter(([path, text]) => currentText(path) !== text);
if (process.argv[2] === "--check") {
  if (stale.length > 0) {
    const names = stale.map(([path]) => path).join(", ");
    console.error(`not at version ${version}: ${names}; run node packages/scripts/version.mjs and npm install`);
    process.exit(1);
  }
} else {
  for (const [path, text] of stale) writeFileSync(join(PROJECT, path), text);
}

/** @param {string} path */
function currentText(path) {
  try {
    return read(path);
  } catch {
    return undefined;
  }
}
