import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { until } from "../../testing/until.ts";
import { ConnectionLostError, HttpError, SandboxAgentError } from "./errors.ts";
import { SandboxAgentClient } from "./node.ts";
import { temporaryFolder } from "./testing/folder.ts";
import { BINARY } from "./testing/server.ts";

const isUp = async (baseUrl: string): Promise<boolean> =>
  fetch(`${baseUrl}/healthz`).then(
    ({ ok }) => ok,
    () => false,
  );

async function startOptions() {
  const workspace = await temporaryFolder();
  return { agent: "mock", binary: BINARY, workspace, args: ["--data-dir", `${workspace}/.data`] };
}

/** The server with this workspace. Searches its arguments: only root can read the working directory of a server. */
function serverIn(workspace: string): number {
  const children = readFileSync(`/proc/self/task/${process.pid}/children`, "utf8").trim().split(" ");
  const server = children.find((pid) => readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(workspace));
  if (!server) throw new Error(`no child has ${workspace} in its arguments`);
  return Number(server);
}

/** Runs a program in its own process group. It starts a server, prints its URL, and continues with the given code. */
async function startProgram(then: string) {
  const { workspace, args } = await startOptions();
  const options = JSON.stringify({ agent: "mock", binary: BINARY, workspace, args });
  const entry = fileURLToPath(new URL("./node.ts", import.meta.url));
  const script = `
    import { SandboxAgentClient } from ${JSON.stringify(entry)};
    const client = await SandboxAgentClient.start(${options});
    console.log(client.server.baseUrl);
    ${then};`;
  const program = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", "pipe", "ignore"],
    detached: true,
  });
  onTestFinished(() => void program.kill("SIGKILL"));
  let out = "";
  program.stdout.setEncoding("utf8").on("data", (text: string) => {
    out += text;
  });
  const exited = once(program, "exit").then(([code, signal]: unknown[]) => ({ code, signal }));
  return { pid: program.pid ?? 0, exited, output: () => out.trim() };
}

describe("embedded mode", () => {
  it("starts a server, works, and shuts it down at the end of the block", async () => {
    let baseUrl = "";
    {
      await using client = await SandboxAgentClient.start(await startOptions());
      baseUrl = client.server?.baseUrl ?? "";
      expect(client.status).toBe("connected");
      const session = await client.newSession();
      expect((await client.prompt(session.id, "echo embedded")).text).toBe("embedded");
      expect(await isUp(baseUrl)).toBe(true);
    }
    expect(await isUp(baseUrl)).toBe(false);
  });

  it("protects the server with a random token", async () => {
    await using client = await SandboxAgentClient.start(await startOptions());
    await using other = await SandboxAgentClient.start(await startOptions());
    expect(client.server?.token).not.toBe(other.server?.token);
    const stranger = new SandboxAgentClient({
      baseUrl: client.server?.baseUrl ?? "",
      agent: "mock",
      autoConnect: false,
    });
    await expect(stranger.health()).rejects.toMatchObject({ status: 401 });
    await expect(stranger.connect()).rejects.toBeInstanceOf(HttpError);
  });

  it("starts in the workspace it is given", async () => {
    const options = await startOptions();
    await using client = await SandboxAgentClient.start({ ...options, autoConnect: false });
    expect(client.status).toBe("disconnected");
    await client.files.write("hello.txt", "hi");
    expect(existsSync(`${options.workspace}/hello.txt`)).toBe(true);
  });

  it("says what is wrong if there is no server binary, or the server does not start", async () => {
    const missing = SandboxAgentClient.start({ agent: "mock", binary: "/no/such/binary" });
    await expect(missing).rejects.toMatchObject({ code: "server_failed", message: /was not found; pass \{ binary \}/ });
    const options = await startOptions();
    const broken = SandboxAgentClient.start({ ...options, args: ["--no-such-flag"] });
    await expect(broken).rejects.toBeInstanceOf(SandboxAgentError);
    const agentless = SandboxAgentClient.start({ ...options, agent: "no-such-agent" });
    await expect(agentless).rejects.toMatchObject({ code: "unknown_agent" });
  });

  it.each([
    ["exits", "process.exit(0)", { code: 0, signal: null }],
    ["is terminated by a signal", "process.kill(process.pid, 'SIGTERM')", { code: null, signal: "SIGTERM" }],
    ["is killed", "process.kill(process.pid, 'SIGKILL')", { code: null, signal: "SIGKILL" }],
    ["crashes", "throw new Error('expected in this test')", { code: 1, signal: null }],
  ])("shuts the server down when the program %s without disposing of it", async (_, end, expected) => {
    const program = await startProgram(end);
    expect(await program.exited).toEqual(expected);
    expect(program.output()).toMatch(/^http:\/\//);
    await until("the server to exit", async () => !(await isUp(program.output())));
  });

  it("leaves signals to a program that handles them", async () => {
    const program = await startProgram(`
      process.on("SIGINT", async () => {
        const session = await client.newSession();
        console.log((await client.prompt(session.id, "echo still here")).text);
        await client.dispose();
        process.exit(5);
      });
      console.log("ready");`);
    await until("the program to be ready", () => program.output().includes("ready"));
    // Like Ctrl-C in a terminal, the signal is sent to all processes of the group.
    process.kill(-program.pid, "SIGINT");
    expect(await program.exited).toEqual({ code: 5, signal: null });
    expect(program.output()).toContain("still here");
  });

  it("adds no listener to the process", async () => {
    const count = (): number[] => ["exit", "SIGINT", "SIGTERM"].map((name) => process.listenerCount(name));
    const before = count();
    await using _one = await SandboxAgentClient.start(await startOptions());
    expect(count()).toEqual(before);
  });

  it("fails calls when its own server is killed", async () => {
    const options = await startOptions();
    await using client = await SandboxAgentClient.start(options);
    const session = await client.newSession();
    const turn = client.prompt(session.id, "forever").catch((error: unknown) => error);
    process.kill(serverIn(options.workspace), "SIGKILL");
    expect(await turn).toMatchObject({ code: "connection_lost", message: /own server exited \(SIGKILL\)/ });
    expect(client.status).toBe("disconnected");
    await expect(client.prompt(session.id, "hello")).rejects.toBeInstanceOf(ConnectionLostError);
  });
});
