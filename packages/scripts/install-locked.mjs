// Installs the npm packages and fails unless each one is exactly what package-lock.json names.
//
//   node scripts/install-locked.mjs           in the folder of the lock file
//   node scripts/install-locked.mjs --check   looks at what is installed, without installing
//
// `npm install` installs what the lock file names, but if the file lacks a package, npm quietly picks a version and adds
// it to the file. This script allows that in one case: an optional package, for a platform that the lock file lacks,
// whose exact version another package names.

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

const read = (path) => JSON.parse(readFileSync(path, "utf8")).packages;
// Read before the install, which may change the file.
const locked = read("package-lock.json");
if (!process.argv.includes("--check"))
  execFileSync("npm", ["install", "--no-audit", "--no-fund"], { stdio: "inherit" });

const exact = new Set(
  Object.values(locked).flatMap(({ optionalDependencies = {} }) =>
    Object.entries(optionalDependencies).map(([name, version]) => `${name}@${version}`),
  ),
);
const wrong = Object.entries(read("node_modules/.package-lock.json")).flatMap(
  ([path, { version, integrity, link, optional }]) => {
    const name = path.split("node_modules/").at(-1);
    const known = locked[path];
    if (link || known?.link) return [];
    if (!known)
      return optional && exact.has(`${name}@${version}`) ? [] : [`${name}@${version} is not in the lock file`];
    if (known.version !== version) return [`${name}@${version} is installed, and the lock file has ${known.version}`];
    return known.integrity === integrity ? [] : [`${name}@${version} has another checksum than in the lock file`];
  },
);
if (wrong.length > 0) {
  console.error(wrong.join("\n"));
  process.exit(1);
}
