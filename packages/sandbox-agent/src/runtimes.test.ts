/** Runs a program on both built packages in every supported runtime. It must print the same report everywhere. */

import { execFile, execFileSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { beforeAll, expect, it } from "vitest";
import { temporaryFolder } from "./testing/folder.ts";
import { BINARY, startTestServer } from "./testing/server.ts";

const PACKAGES = fileURLToPath(new URL("../..", import.meta.url));
const RUNTIMES = fileURLToPath(new URL("../../../tests/runtimes", import.meta.url));
const installed = (name: string): string => join(RUNTIMES, "node_modules/.bin", name);
const run = promisify(execFile);

/** The machine's own Node.js, usually older than the one that runs the tests. */
function machinesNode(): string {
  const folders = (process.env.PATH ?? "").split(delimiter).filter((folder) => !folder.includes("node_modules"));
  const found = folders.map((folder) => join(folder, "node")).find((path) => existsSync(path));
  return found ?? process.execPath;
}

beforeAll(() => {
  if (existsSync(installed("deno")) && existsSync(installed("bun"))) return;
  execFileSync("npm", ["install", "--no-audit", "--no-fund"], { cwd: RUNTIMES, stdio: "ignore" });
}, 180_000);

it.each([
  ["the newest Node.js", process.execPath, [], true],
  ["the machine's Node.js", machinesNode(), [], expect.anything()],
  ["Deno", installed("deno"), ["run", "--allow-all", "--node-modules-dir=manual"], true],
  ["Bun", installed("bun"), [], true],
])("works in %s", async (_, runtime, args, sqlite) => {
  const folder = await temporaryFolder();
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
  copyFileSync(join(RUNTIMES, "smoke.mjs"), join(folder, "smoke.mjs"));
  mkdirSync(join(folder, "node_modules"));
  for (const name of ["acp-http-client", "sandbox-agent"]) {
    symlinkSync(join(PACKAGES, name), join(folder, "node_modules", name));
  }
  const server = await startTestServer();
  const env = { ...process.env, SANDBOX_AGENT_DATA_DIR: join(folder, ".data"), DENO_NO_UPDATE_CHECK: "1" };
  const given = [...args, "smoke.mjs", server.baseUrl, server.token, BINARY];
  const { stdout } = await run(runtime, given, { cwd: folder, env, timeout: 25_000 });
  const report = JSON.parse(stdout.trim().split("\n").at(-1) ?? "") as Record<string, unknown>;
  expect(report).toMatchObject({
    stopReason: "end_turn",
    permission: "Permission granted with allow-once.",
    cuts: 5,
    ended: "closed",
    text: "from the SDK",
    question: "Question answered: option-a.",
    file: "hello",
    failure: "AgentExitedError 3",
    openedBy: "replayed",
    embedded: "from a server of its own",
    stopped: "gone",
    sqlite,
  });
  // Every chunk arrives once, across all cuts.
  expect(report.chunks).toBeGreaterThanOrEqual(10);
  expect(report.distinct).toBe(report.chunks);
  expect(report.types).toEqual(
    expect.arrayContaining(["item.delta", "question.resolved", "session.ended", "turn.ended"]),
  );
});
