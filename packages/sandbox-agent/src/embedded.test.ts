import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { SandboxAgentClient } from "./client.ts";
import { HttpError, SandboxAgentError } from "./errors.ts";
import { temporaryFolder } from "./testing/folder.ts";
import { BINARY } from "./testing/server.ts";
import { until } from "./testing/until.ts";

const isUp = async (baseUrl: string): Promise<boolean> =>
  fetch(`${baseUrl}/healthz`).then(
    ({ ok }) => ok,
    () => false,
  );

async function startOptions() {
  const workspace = await temporaryFolder();
  return { agent: "mock", binary: BINARY, workspace, args: ["--data-dir", `${workspace}/.data`] };
}

describe("embedded mode", () => {
  it("starts a server, works, and stops it at the end of the block", async () => {
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

  it("protects the server with a token that nobody else has", async () => {
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

  it("says what is wrong when there is no server to start, or it does not start", async () => {
    const missing = SandboxAgentClient.start({ agent: "mock", binary: "/no/such/binary" });
    await expect(missing).rejects.toMatchObject({ code: "server_failed", message: /was not found; give \{ binary \}/ });
    const options = await startOptions();
    const broken = SandboxAgentClient.start({ ...options, args: ["--no-such-flag"] });
    await expect(broken).rejects.toBeInstanceOf(SandboxAgentError);
    const agentless = SandboxAgentClient.start({ ...options, agent: "no-such-agent" });
    await expect(agentless).rejects.toMatchObject({ code: "unknown_agent" });
  });

  it.each([
    ["exits", "process.exit(0)", { code: 0, signal: null }],
    ["is ended by a signal", "process.kill(process.pid, 'SIGTERM')", { code: null, signal: "SIGTERM" }],
  ])("stops the server when the program %s without disposing of it", async (_, end, expected) => {
    const { workspace, args } = await startOptions();
    const script = `
      import { SandboxAgentClient } from ${JSON.stringify(fileURLToPath(new URL("./index.ts", import.meta.url)))};
      const client = await SandboxAgentClient.start({
        agent: "mock", binary: ${JSON.stringify(BINARY)}, workspace: ${JSON.stringify(workspace)}, args: ${JSON.stringify(args)},
      });
      console.log(client.server.baseUrl);
      ${end};`;
    const program = spawn(process.execPath, ["--input-type=module", "-e", script], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    let out = "";
    program.stdout.setEncoding("utf8").on("data", (text: string) => {
      out += text;
    });
    const [code, signal] = (await once(program, "exit")) as [number | null, string | null];
    expect({ code, signal }).toEqual(expected);
    expect(out.trim()).toMatch(/^http:\/\//);
    await until("the server to be gone", async () => !(await isUp(out.trim())));
  });
});
