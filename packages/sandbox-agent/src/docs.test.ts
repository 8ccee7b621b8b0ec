/**
 * Checks the TypeScript in the documentation: every block is type-checked, and the first block of each package is run.
 * A block that continues an earlier one may use the names in {@link KNOWN}; its own declarations take precedence.
 */

import { execFile } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { temporaryFolder } from "./testing/folder.ts";
import { BINARY, startTestServer } from "./testing/server.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const PACKAGES = join(ROOT, "packages");
const run = promisify(execFile);

const KNOWN = `
import type { SandboxAgentClient as Client, Session } from "sandbox-agent";
declare global {
  const client: Client;
  const session: Session;
  const url: string;
  const { SandboxAgentClient }: typeof import("sandbox-agent");
  const { connectAcp, watchAcp, watchAcpServers, acpHttpStream }: typeof import("acp-http-client");
}
`;

interface Block {
  readonly page: string;
  readonly line: number;
  readonly code: string;
}

function pages(): string[] {
  const docs = readdirSync(join(ROOT, "docs")).filter((name) => name.endsWith(".md"));
  const readmes = ["README.md", "packages/acp-http-client/README.md", "packages/sandbox-agent/README.md"];
  return [...readmes, ...docs.map((name) => join("docs", name))];
}

function blocksOf(page: string): Block[] {
  const text = readFileSync(join(ROOT, page), "utf8");
  return [...text.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map((found) => ({
    page,
    line: text.slice(0, found.index).split("\n").length + 1,
    code: found[1] ?? "",
  }));
}

it("every block of TypeScript in the documentation compiles", async () => {
  const blocks = pages().flatMap(blocksOf);
  expect(blocks.length).toBeGreaterThan(8);
  const folder = await temporaryFolder();
  const source = (path: string): string[] => [join(PACKAGES, path)];
  const config = {
    extends: join(PACKAGES, "tsconfig.base.json"),
    compilerOptions: {
      noEmit: true,
      noUnusedLocals: false,
      types: ["node"],
      typeRoots: [join(PACKAGES, "node_modules/@types")],
      paths: {
        "sandbox-agent": source("sandbox-agent/src/index.ts"),
        "sandbox-agent/convert": source("sandbox-agent/src/convert/index.ts"),
        "sandbox-agent/sqlite": source("sandbox-agent/src/store/sqlite.ts"),
        "sandbox-agent/postgres": source("sandbox-agent/src/store/postgres.ts"),
        "sandbox-agent/indexeddb": source("sandbox-agent/src/store/indexeddb.ts"),
        "acp-http-client": source("acp-http-client/src/index.ts"),
        "acp-http-client/internal": source("acp-http-client/src/internal.ts"),
        "acp-http-client/sdk": source("acp-http-client/src/sdk.ts"),
      },
    },
    include: ["."],
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
  writeFileSync(join(folder, "known.d.ts"), KNOWN);
  for (const { page, line, code } of blocks) {
    const name = `${relative(".", page).replaceAll("/", "-").replace(".md", "")}-line-${line}.ts`;
    writeFileSync(join(folder, name), `${code}\nexport {};\n`);
  }
  const checked = await run(join(PACKAGES, "node_modules/.bin/tsc"), ["-p", folder, "--pretty", "false"]).catch(
    (failure: { stdout: string }) => failure,
  );
  expect(checked.stdout).toBe("");
});

/** Runs a program in a project with the packages installed. */
async function runBlock(code: string): Promise<string> {
  const folder = await temporaryFolder();
  mkdirSync(join(folder, "node_modules"));
  for (const name of ["acp-http-client", "sandbox-agent"]) {
    symlinkSync(join(PACKAGES, name), join(folder, "node_modules", basename(name)));
  }
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
  writeFileSync(join(folder, "start.ts"), code);
  const env = { ...process.env, SANDBOX_AGENT_BIN: BINARY, SANDBOX_AGENT_DATA_DIR: join(folder, "data") };
  return (await run(process.execPath, ["start.ts"], { cwd: folder, env, timeout: 20_000 })).stdout;
}

it.each(["packages/sandbox-agent/README.md", "docs/sdk.md"])("the first block of %s runs", async (page) => {
  const [start] = blocksOf(page);
  expect(start?.code.trim().split("\n").filter(Boolean)).toHaveLength(4);
  expect(await runBlock(start?.code ?? "")).toContain("You said");
});

it("the first block of acp-http-client runs", async () => {
  const [start] = blocksOf("packages/acp-http-client/README.md");
  const server = await startTestServer({ isOpen: true });
  const code = start?.code.replace("http://127.0.0.1:2468", server.baseUrl) ?? "";
  expect(code).toContain(server.baseUrl);
  expect(await runBlock(code)).toContain("end_turn");
});
