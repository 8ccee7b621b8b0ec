/** Compatibility: the npm package sandbox-agent 0.4.2, as published, against this server. */

import { SandboxAgent, type SessionEvent } from "sandbox-agent-published";
import { describe, expect, it, onTestFinished } from "vitest";
import { until } from "../../testing/until.ts";
import { tarOf } from "./api/tar.ts";
import { startTestServer, type TestServer } from "./testing/server.ts";

async function connect(): Promise<{ server: TestServer; sdk: SandboxAgent }> {
  const server = await startTestServer();
  const sdk = await SandboxAgent.connect({ baseUrl: server.baseUrl, token: server.token });
  onTestFinished(() => sdk.dispose());
  return { server, sdk };
}

const payloads = (events: readonly SessionEvent[]): string => JSON.stringify(events.map(({ payload }) => payload));

describe("the published sandbox-agent@0.4.2", () => {
  it("creates a session and prompts", async () => {
    const { sdk } = await connect();
    expect(await sdk.getHealth()).toMatchObject({ status: "ok" });
    const session = await sdk.createSession({ agent: "mock", cwd: "/tmp" });
    const events: SessionEvent[] = [];
    session.onEvent((event) => events.push(event));
    const { stopReason } = await session.prompt([{ type: "text", text: "echo hello from before" }]);
    expect(stopReason).toBe("end_turn");
    await until("the answer to arrive", () => payloads(events).includes("hello from before"));
    expect((await sdk.listSessions()).items.map(({ id }) => id)).toEqual([session.id]);
    const kept = await sdk.getEvents({ sessionId: session.id });
    expect(kept.items.length).toBeGreaterThan(0);
  });

  it("sets model, mode and thought level", async () => {
    const { sdk } = await connect();
    const session = await sdk.createSession({ agent: "mock", cwd: "/tmp", model: "mock-large", mode: "code" });
    await session.setThoughtLevel("high");
    const values = (await session.getConfigOptions()).map((option) => "currentValue" in option && option.currentValue);
    expect(values).toEqual(expect.arrayContaining(["mock-large", "code", "high"]));
  });

  it.each(["once", "always", "reject"] as const)("answers a permission with %s", async (reply) => {
    const { sdk } = await connect();
    const session = await sdk.createSession({ agent: "mock", cwd: "/tmp" });
    const events: SessionEvent[] = [];
    session.onEvent((event) => events.push(event));
    session.onPermissionRequest(({ id }) => void session.respondPermission(id, reply));
    expect((await session.prompt([{ type: "text", text: "permission" }])).stopReason).toBe("end_turn");
    const option = reply === "reject" ? "reject-once" : `allow-${reply}`;
    await until("the agent to say how it was answered", () => payloads(events).includes(option));
  });

  it("lists, looks up and installs agents", async () => {
    const { sdk } = await connect();
    const { agents } = await sdk.listAgents();
    const mock = agents.find(({ id }) => id === "mock");
    expect(mock).toMatchObject({ installed: true, credentialsAvailable: true, capabilities: { permissions: true } });
    expect(await sdk.getAgent("mock", { config: true })).toMatchObject({ id: "mock" });
    expect(await sdk.installAgent("mock")).toMatchObject({ already_installed: true });
    await sdk.createSession({ agent: "mock", cwd: "/tmp" });
    expect((await sdk.listAcpServers()).servers).toMatchObject([{ agent: "mock" }]);
  });

  it("reads and writes files", async () => {
    const { sdk } = await connect();
    expect(await sdk.writeFsFile({ path: "a/b.txt" }, "hello")).toMatchObject({ bytesWritten: 5 });
    expect(new TextDecoder().decode(await sdk.readFsFile({ path: "a/b.txt" }))).toBe("hello");
    expect(await sdk.listFsEntries({ path: "a" })).toMatchObject([{ name: "b.txt", entryType: "file", size: 5 }]);
    await sdk.mkdirFs({ path: "c" });
    await sdk.moveFs({ from: "a/b.txt", to: "c/d.txt", overwrite: true });
    expect(await sdk.statFs({ path: "c/d.txt" })).toMatchObject({ entryType: "file", size: 5 });
    const archive = new Blob([...tarOf([{ path: "x.txt", content: "x" }])] as BlobPart[]);
    expect(await sdk.uploadFsBatch(archive, { path: "up" })).toMatchObject({ truncated: false });
    await sdk.deleteFsEntry({ path: "c", recursive: true });
    await expect(sdk.statFs({ path: "c" })).rejects.toMatchObject({ status: 404 });
  });

  it("stores configuration", async () => {
    const { sdk, server } = await connect();
    const mcp = { directory: server.folder, mcpName: "tools" };
    await sdk.setMcpConfig(mcp, { type: "local", command: "run", args: ["x"] });
    expect(await sdk.getMcpConfig(mcp)).toMatchObject({ type: "local", command: "run" });
    await sdk.deleteMcpConfig(mcp);
    await expect(sdk.getMcpConfig(mcp)).rejects.toMatchObject({ status: 404 });
    const skills = { directory: server.folder, skillName: "mine" };
    await sdk.setSkillsConfig(skills, { sources: [{ type: "local", source: "/skills" }] });
    expect(await sdk.getSkillsConfig(skills)).toMatchObject({ sources: [{ source: "/skills" }] });
    await sdk.deleteSkillsConfig(skills);
  });

  it("disposes of its instances", async () => {
    const { sdk, server } = await connect();
    const session = await sdk.createSession({ agent: "mock", cwd: "/tmp" });
    await session.prompt([{ type: "text", text: "hello" }]);
    await sdk.dispose();
    const headers = { Authorization: `Bearer ${server.token}` };
    expect(await (await fetch(`${server.baseUrl}/v1/acp`, { headers })).json()).toEqual({ servers: [] });
  });
});
