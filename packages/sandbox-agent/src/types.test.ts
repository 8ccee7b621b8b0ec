/** Type-checks the packages' declarations in a strict project that also checks the declarations of its libraries. */

import { execFile } from "node:child_process";
import { cpSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { temporaryFolder } from "./testing/folder.ts";

const PACKAGES = fileURLToPath(new URL("../..", import.meta.url));
const run = promisify(execFile);

const PROGRAM = `
import { connectAcp, watchAcp } from "acp-http-client";
import { client } from "acp-http-client/sdk";
import { memoryStore, type RunningTurn, SandboxAgentClient, type StopReason } from "sandbox-agent";
import { indexedDbStore } from "sandbox-agent/indexeddb";
import { postgresStore } from "sandbox-agent/postgres";
import { sqliteStore } from "sandbox-agent/sqlite";

export async function run(): Promise<StopReason> {
  await using sandbox = new SandboxAgentClient({ baseUrl: "http://localhost", agent: "mock", store: memoryStore() });
  const session = await sandbox.newSession();
  const turn: RunningTurn = session.prompt("hello");
  for await (const event of turn) if (event.type === "item.delta") event.itemId satisfies string;
  await sandbox.files.write("a.txt", "text", { signal: AbortSignal.timeout(1) });
  return (await turn).stopReason;
}
export const stores = [indexedDbStore, postgresStore, sqliteStore];
export const protocol = [connectAcp, watchAcp, client];
`;

/** Makes a project with nothing but the built packages, their dependencies, and the given packages of types. */
async function project(types: readonly string[]): Promise<string> {
  const folder = await temporaryFolder();
  const place = (name: string): string => {
    const path = join(folder, "node_modules", name);
    mkdirSync(dirname(path), { recursive: true });
    return path;
  };
  // Copied and not linked: the compiler follows links, and would find the types that are installed in this workspace.
  for (const name of ["acp-http-client", "sandbox-agent"]) {
    for (const part of ["dist", "package.json"]) {
      cpSync(join(PACKAGES, name, part), join(place(name), part), { recursive: true });
    }
  }
  for (const name of ["@agentclientprotocol/sdk", "zod", ...types.map((type) => `@types/${type}`)]) {
    symlinkSync(join(PACKAGES, "node_modules", name), place(name));
  }
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
  writeFileSync(join(folder, "program.ts"), PROGRAM);
  return folder;
}

it.each([
  ["in Node.js, without the DOM library", "nodenext", ["es2022", "esnext.disposable"], ["node"]],
  ["in a browser, without Node.js", "nodenext", ["es2022", "dom", "esnext.disposable"], []],
  ["for a bundler, without the DOM library", "bundler", ["es2022", "esnext.disposable"], ["node"]],
  ["for a bundler and a browser", "bundler", ["es2022", "dom", "esnext.disposable"], []],
] as const)("the packages' declarations compile %s", async (_, moduleResolution, lib, types) => {
  const folder = await project(types);
  const compilerOptions = {
    noEmit: true,
    target: "es2022",
    lib,
    types,
    moduleResolution,
    module: moduleResolution === "bundler" ? "esnext" : moduleResolution,
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    skipLibCheck: false,
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["program.ts"] }));
  const checked = await run(join(PACKAGES, "node_modules/.bin/tsc"), ["-p", folder, "--pretty", "false"]).catch(
    (failure: { stdout: string }) => failure,
  );
  expect(checked.stdout).toBe("");
});
