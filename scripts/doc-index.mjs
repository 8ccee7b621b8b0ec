// Writes the front page of the crates' documentation, which `cargo doc` does not make. Reads `cargo metadata` from
// standard input and prints where the page is.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const { packages, target_directory: target } = JSON.parse(readFileSync(0, "utf8"));
const escaped = (text) => text.replace(/[&<>"]/g, (sign) => `&#${sign.codePointAt(0)};`);
const libraries = packages.flatMap(({ description, targets, manifest_path: manifest }) =>
  targets
    .filter(({ kind, doc }) => kind.includes("lib") && doc && manifest.includes("/crates/"))
    .map(({ name }) => ({ name, description: description ?? "" })),
);
if (libraries.length === 0) throw new Error("cargo metadata lists no library");
const rows = libraries
  .sort((one, other) => one.name.localeCompare(other.name))
  .map(({ name, description }) => `<dt><a href="${name}/index.html">${name}</a></dt><dd>${escaped(description)}</dd>`);
const page = join(target, "doc", "index.html");
writeFileSync(
  page,
  `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Sandbox Agent: crates</title>
<style>body { font: 16px/1.5 sans-serif; max-width: 50rem; margin: 3rem auto; padding: 0 1rem } dt { font-family: monospace }</style>
<h1>Sandbox Agent: crates</h1>
<p>ARCHITECTURE.md is the map of the code; docs/ is the documentation for users.</p>
<dl>
${rows.join("\n")}
</dl>
`,
);
console.log(page);
