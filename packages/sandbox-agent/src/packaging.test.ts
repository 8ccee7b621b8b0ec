/** Tests the packages as users get them: packed, then installed into an empty project without a network. */

import { execFile, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../../testing/until.ts";
import { findBinary, platformPackage } from "./client/binary.ts";
import { makeFolder, temporaryFolder } from "./testing/folder.ts";
import { BINARY } from "./testing/server.ts";

const PACKAGES = fileURLToPath(new URL("../..", import.meta.url));
const CARRIER = platformPackage(process.platform, process.arch);
const run = promisify(execFile);

/** An environment in which the binary can be found only in its package. */
function bare(folder: string): Record<string, string> {
  const { SANDBOX_AGENT_BIN: _, ...rest } = process.env as Record<string, string>;
  return { ...rest, SANDBOX_AGENT_DATA_DIR: join(folder, ".data"), npm_config_offline: "true" };
}

let project: string;
let remove = async (): Promise<void> => {};

beforeAll(async () => {
  const folder = await makeFolder();
  remove = folder.remove;
  project = join(folder.path, "project");
  const files = join(folder.path, "files");
  mkdirSync(project);
  // Without its debug symbols, the binary is packed much faster.
  const binary = join(folder.path, "sandbox-agent");
  copyFileSync(BINARY, binary);
  execFileSync("strip", [binary]);
  await run(process.execPath, [join(PACKAGES, "scripts/dist.mjs"), "--out", files, "--binary", binary]);
  // The third-party dependencies are copied from the workspace.
  for (const name of ["@agentclientprotocol/sdk", "zod"]) {
    await run("npm", ["pack", "--ignore-scripts", "--pack-destination", files], {
      cwd: join(PACKAGES, "node_modules", name),
    });
  }
  writeFileSync(join(project, "package.json"), JSON.stringify({ name: "empty", private: true, type: "module" }));
  const tarballs = readdirSync(files).map((name) => join(files, name));
  expect(tarballs).toHaveLength(5);
  await run("npm", ["install", "--no-audit", "--no-fund", ...tarballs], { cwd: project, env: bare(project) });
}, 240_000);

afterAll(() => remove());

describe("installed packages", () => {
  it("contain a licence, types for every entry, and the binary as an optional dependency", () => {
    const read = (path: string) => JSON.parse(readFileSync(join(project, "node_modules", path), "utf8"));
    const manifest = read("sandbox-agent/package.json");
    expect(manifest.dependencies).toEqual({ "acp-http-client": manifest.version });
    expect(manifest.peerDependenciesMeta).toEqual({ pg: { optional: true } });
    expect(manifest.optionalDependencies).toEqual({ [CARRIER]: manifest.version });
    expect(read(`${CARRIER}/package.json`)).toMatchObject({ os: [process.platform], cpu: [process.arch] });
    for (const name of ["sandbox-agent", "acp-http-client", CARRIER]) {
      const folder = join(project, "node_modules", name);
      expect(readFileSync(join(folder, "LICENSE"), "utf8")).toContain("Apache License");
      const entries: { types: string; default: string }[] = Object.values(read(`${name}/package.json`).exports ?? {});
      for (const entry of entries) for (const path of Object.values(entry)) readFileSync(join(folder, path));
    }
  });

  it("run the binary as a command, with its exit code", async () => {
    const env = bare(project);
    const { version } = JSON.parse(readFileSync(join(project, "node_modules/sandbox-agent/package.json"), "utf8"));
    const { stdout } = await run("npx", ["--no", "--", "sandbox-agent", "--version"], { cwd: project, env });
    expect(stdout.trim()).toBe(`sandbox-agent ${version}`);
    const wrong = run("npx", ["--no", "--", "sandbox-agent", "--no-such-flag"], { cwd: project, env });
    await expect(wrong).rejects.toMatchObject({ code: 2, stderr: expect.stringContaining("--no-such-flag") });
  });

  it("forward signals to the binary", async () => {
    const command = join(project, "node_modules/.bin/sandbox-agent");
    const child = spawn(command, ["server", "--port", "0"], { cwd: project, env: bare(project) });
    let out = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      out += text;
    });
    const exited = once(child, "exit");
    await until("the server to listen", () => out.includes("listening on"));
    child.kill("SIGTERM");
    expect(await exited).toEqual([0, null]);
  });

  it("start a server of their own without configuration", async () => {
    const script = `
      import { SandboxAgentClient } from "sandbox-agent";
      import { sqliteStore } from "sandbox-agent/sqlite";
      await using client = await SandboxAgentClient.start({ agent: "mock", store: sqliteStore({ path: ":memory:" }) });
      const session = await client.newSession();
      console.log((await client.prompt(session.id, "echo out of the box")).text);`;
    const env = { ...bare(project), PATH: "/nowhere" };
    const { stdout } = await run(process.execPath, ["--input-type=module", "-e", script], { cwd: project, env });
    expect(stdout.trim()).toBe("out of the box");
  });
});

describe("the search for the binary", () => {
  it("uses the given path, then the variable, then the PATH, where launchers are skipped", async () => {
    const folder = await temporaryFolder();
    const [launchers, programs] = [join(folder, "launchers"), join(folder, "programs")];
    for (const directory of [launchers, programs]) mkdirSync(directory);
    writeFileSync(join(folder, "launcher.js"), "", { mode: 0o755 });
    execFileSync("ln", ["-s", join(folder, "launcher.js"), join(launchers, "sandbox-agent")]);
    writeFileSync(join(programs, "sandbox-agent"), "", { mode: 0o755 });
    const { SANDBOX_AGENT_BIN: variable, PATH: path } = process.env;
    try {
      process.env.SANDBOX_AGENT_BIN = "/named";
      process.env.PATH = `${launchers}:${programs}`;
      expect(await findBinary("/given")).toBe("/given");
      expect(await findBinary()).toBe("/named");
      process.env.SANDBOX_AGENT_BIN = "";
      expect(await findBinary()).toBe(join(programs, "sandbox-agent"));
      process.env.PATH = launchers;
      await expect(findBinary()).rejects.toMatchObject({ code: "server_missing", message: /set SANDBOX_AGENT_BIN/ });
    } finally {
      process.env.PATH = path;
      delete process.env.SANDBOX_AGENT_BIN;
      if (variable !== undefined) process.env.SANDBOX_AGENT_BIN = variable;
    }
  });
});
