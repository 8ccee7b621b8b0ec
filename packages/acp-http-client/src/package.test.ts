import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "vite";
import { expect, test } from "vitest";

const source = import.meta.dirname;

test("the bundle is under 6.5 kB gzipped without the SDK", async () => {
  const result = await build({
    configFile: false,
    logLevel: "silent",
    build: {
      write: false,
      minify: true,
      target: "es2022",
      rolldownOptions: {
        input: join(source, "index.ts"),
        external: [/^@agentclientprotocol\/sdk/],
        preserveEntrySignatures: "strict",
      },
    },
  });
  const [bundle] = Array.isArray(result) ? result : [result];
  if (!bundle || !("output" in bundle)) throw new Error("nothing was built");
  const code = bundle.output.map((chunk) => ("code" in chunk ? chunk.code : "")).join("");
  expect(code).toContain("agentclientprotocol");
  expect(gzipSync(code).length).toBeLessThan(6_500);
});

test("the SDK is the only dependency", async () => {
  const manifest = JSON.parse(await readFile(join(source, "../package.json"), "utf8")) as Record<string, object>;
  expect(Object.keys(manifest.dependencies ?? {})).toEqual(["@agentclientprotocol/sdk"]);
  expect(manifest).not.toHaveProperty("peerDependencies");
});

test("the source imports nothing but itself and the SDK, and uses no platform-specific API", async () => {
  const files = (await readdir(source)).filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"));
  expect(files.length).toBeGreaterThan(10);
  for (const file of files) {
    const text = await readFile(join(source, file), "utf8");
    const imports = [...text.matchAll(/from "([^"]+)"/g)].map(([, name]) => name ?? "");
    expect(imports.filter((name) => !name.startsWith("./") && name !== "@agentclientprotocol/sdk")).toEqual([]);
    expect(text).not.toMatch(/\bprocess\.\w|\bBuffer\b|\brequire\(/);
  }
});

test("every export is documented", async () => {
  for (const file of (await readdir(source)).filter((name) => /^[a-z]+\.ts$/.test(name) && name !== "index.ts")) {
    const lines = (await readFile(join(source, file), "utf8")).split("\n");
    lines.forEach((line, index) => {
      if (!/^export (async )?(function|class|interface|type|const)/.test(line)) return;
      // The comment above the first overload of a function counts for the others.
      const above = lines[index - 1] ?? "";
      expect(`${file}: ${above}`).toMatch(/\*\/$|^.*: export function connectAcp|\);$|: \): .*;$/);
    });
  }
});
