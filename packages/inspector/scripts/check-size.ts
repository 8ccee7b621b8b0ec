/** Fails if the files that the page loads first, without lazy chunks, are larger than their limit. */

import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const LIMIT = 300 * 1000;
const dist = new URL("../dist/", import.meta.url);
const page = readFileSync(new URL("index.html", dist), "utf8");
const files = [...page.matchAll(/(?:src|href)="\.\/([^"]+)"/g)].map(([, path]) => path ?? "");
const size = files.reduce(
  (sum, path) => sum + gzipSync(readFileSync(new URL(path, dist))).length,
  gzipSync(page).length,
);
console.log(
  `first load: ${(size / 1000).toFixed(1)} kB gzipped in ${files.length + 1} files (limit ${LIMIT / 1000} kB)`,
);
if (files.length < 2 || size > LIMIT) process.exit(1);
