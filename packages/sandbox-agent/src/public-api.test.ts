/** The public API: every name is documented, and none is a term of the protocol. */

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import * as surface from "./index.ts";

const read = (path: string): string => readFileSync(fileURLToPath(new URL(path, import.meta.url)), "utf8");
/** The protocol's terms, including `_meta` and its name for forms. */
const TERMS = /\bacp|json-?rpc|session\/[a-z]|_meta|elicitation/i;
const PROTOCOL_WORDS = /\bacp|json-?rpc|session\/[a-z]/i;

/** The source files that the package's entry point exports from. */
function sources(): [string, string][] {
  const files = [...read("./index.ts").matchAll(/from "(\.\/[^"]+)"/g)].map(([, path]) => path ?? "");
  return files.map((path) => [path, read(path)]);
}

function exportedNames(): string[] {
  return [...read("./index.ts").matchAll(/\b[A-Za-z]+\b(?=[,\s}])/g)].map(([name]) => name);
}

it("no exported name is a term of the protocol", () => {
  const names = exportedNames();
  expect(names).toContain("SandboxAgentClient");
  expect(names.filter((name) => /acp|rpc|envelope/i.test(name))).toEqual([]);
  expect(Object.keys(surface).filter((name) => /acp|rpc|envelope/i.test(name))).toEqual([]);
});

it("no method of the client, and no comment on one, uses terms of the protocol", () => {
  const client = read("./client.ts");
  const comments = [...client.matchAll(/\/\*\*[\s\S]*?\*\//g)].map(([comment]) => comment);
  expect(comments.filter((comment) => PROTOCOL_WORDS.test(comment))).toEqual([]);
  expect(
    Object.getOwnPropertyNames(surface.SandboxAgentClient.prototype).filter((name) => /acp|rpc/i.test(name)),
  ).toEqual([]);
});

it("no exported type, and no comment on one or its fields, uses terms of the protocol", () => {
  const names = exportedNames();
  const found: string[] = [];
  for (const [path, text] of sources()) {
    const declarations = text.matchAll(
      /^(\/\*\*(?:(?!\*\/)[\s\S])*\*\/)\nexport (?:interface|type|class) (\w+)([\s\S]*?^\}|[^;]*;)/gm,
    );
    for (const [, comment = "", name = "", body = ""] of declarations) {
      if (!names.includes(name) && !["./events.ts", "./errors.ts"].includes(path)) continue;
      const comments = [comment, ...[...body.matchAll(/\/\*\*[\s\S]*?\*\//g)].map(([inner]) => inner)];
      found.push(...comments.filter((words) => TERMS.test(words)).map((words) => `${path} ${name}: ${words}`));
    }
  }
  expect(found).toEqual([]);
});

it("the conversions, which do use terms of the protocol, are marked as internal and are in no guide", () => {
  const [header] = /\/\*\*[\s\S]*?\*\//.exec(read("./convert/index.ts")) ?? [];
  expect(header).toContain("@internal");
  expect(header).toContain("Not covered by semantic versioning");
  for (const path of ["../README.md", "../../../docs/sdk.md", "../../../docs/migrating.md", "../../../README.md"]) {
    expect(read(path), path).not.toContain("sandbox-agent/convert");
  }
});

it("the README and the guide do not use terms of the protocol", () => {
  for (const path of ["../README.md", "../../../docs/sdk.md"]) expect(read(path), path).not.toMatch(/\bACP\b|JSON-RPC/);
});

it("every exported name is documented", () => {
  const bare: string[] = [];
  for (const [path, text] of sources()) {
    const lines = text.split("\n");
    lines.forEach((line, index) => {
      const isExport = /^export (class|function|async function|interface|type [A-Z]|const)/.test(line);
      const before = lines[index - 1] ?? "";
      if (isExport && !before.trimEnd().endsWith("*/")) bare.push(`${path}: ${line}`);
    });
  }
  expect(bare).toEqual([]);
});

it("every field of an exported interface is documented", () => {
  const bare: string[] = [];
  const names = exportedNames();
  for (const [path, text] of sources()) {
    for (const [, name = "", body] of text.matchAll(/^export interface (\w+)[^{]*\{\n([\s\S]*?)^\}/gm)) {
      if (!names.includes(name) && path !== "./events.ts") continue;
      const lines = (body ?? "").split("\n");
      lines.forEach((line, index) => {
        const isField = /^ {2}(readonly )?[\w[]+[?]?[(:\]]/.test(line);
        if (isField && !(lines[index - 1] ?? "").trimEnd().endsWith("*/")) bare.push(`${path} ${name}: ${line.trim()}`);
      });
    }
  }
  expect(bare).toEqual([]);
});

it("the modules for browsers do not import Node.js modules", () => {
  const seen = new Set<string>();
  const outside = new Set<string>();
  const visit = (url: URL): void => {
    if (seen.has(url.href)) return;
    seen.add(url.href);
    const text = readFileSync(fileURLToPath(url), "utf8").replace(/^import type .*$|^export type .*$/gm, "");
    for (const [, target = ""] of text.matchAll(/^(?:import|export)\b[^;]*?from "([^"]+)"/gm)) {
      if (target.startsWith(".")) visit(new URL(target, url));
      else outside.add(target);
    }
    for (const [, target = ""] of text.matchAll(/\bimport\("([^"]+)"\)/g)) outside.add(target);
  };
  visit(new URL("./index.ts", import.meta.url));
  visit(new URL("./store/indexeddb.ts", import.meta.url));
  visit(new URL("./convert/index.ts", import.meta.url));
  expect(seen.size).toBeGreaterThan(20);
  expect([...outside].sort()).toEqual(["acp-http-client", "acp-http-client/internal", "acp-http-client/sdk"]);
});
