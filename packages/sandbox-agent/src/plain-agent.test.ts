import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { until } from "../../testing/until.ts";
import { UnsupportedError } from "./errors.ts";
import { startTestServer, testClient } from "./testing/server.ts";

const AGENT = fileURLToPath(new URL("./testing/plain-agent.ts", import.meta.url));

async function plainClient() {
  const server = await startTestServer({ args: ["--agent", `plain=${process.execPath} ${AGENT}`] });
  return testClient(server, { agent: "plain" });
}

it("falls back to the older requests for mode and model", async () => {
  const client = await plainClient();
  const session = await client.newSession({ directory: "/tmp", mode: "code", model: "big" });
  expect(session).toMatchObject({ mode: "code", model: "big", warnings: [] });
  expect((await client.prompt(session.id, "hi")).text).toBe("mode code, model big: hi");
  await client.setSessionMode(session.id, "ask");
  expect((await client.prompt(session.id, "hi")).text).toBe("mode ask, model big: hi");
  expect(await client.listModels(session.id)).toMatchObject({ models: [{ id: "small" }], currentModelId: "big" });
});

it("reports what the agent does not support", async () => {
  const client = await plainClient();
  const { id } = await client.newSession({ directory: "/tmp" });
  await expect(client.forkSession(id)).rejects.toBeInstanceOf(UnsupportedError);
  await expect(client.loadSession("elsewhere")).rejects.toBeInstanceOf(UnsupportedError);
  await expect(client.setSessionConfigOption(id, "x", "y")).rejects.toBeInstanceOf(UnsupportedError);
  await expect(client.authenticate("x")).rejects.toBeInstanceOf(UnsupportedError);
});

it("lists the stored sessions if the agent has no list, and ends sessions that the agent cannot close", async () => {
  const client = await plainClient();
  const { id } = await client.newSession({ directory: "/tmp", title: "Mine" });
  expect(await client.listSessions()).toMatchObject([{ id, title: "Mine", knownTo: ["client"] }]);
  await client.terminateSession(id);
  expect(await client.listSessions()).toMatchObject([{ id, ended: true }]);
});

it("restores a session by sending the conversation to the agent, once", async () => {
  const client = await plainClient();
  const { id } = await client.newSession({ directory: "/tmp" });
  await client.prompt(id, "remember the milk");
  await client.prompt(id, "die").catch(() => {});
  await until("the connection to be lost", () => client.status === "disconnected");
  expect(await client.resumeSession(id)).toMatchObject({ openedBy: "replayed" });
  const { text } = await client.prompt(id, "what now?");
  expect(text).toContain("User: remember the milk");
  expect(text.endsWith("what now?")).toBe(true);
  expect((await client.prompt(id, "and now?")).text).toBe("mode ask, model small: and now?");
});

it("leaves out MCP servers that the agent does not support, and warns about it", async () => {
  const client = await plainClient();
  const { warnings } = await client.newSession({ directory: "/tmp", mcp: { web: { url: "https://example.test" } } });
  expect(warnings).toEqual(['the MCP server "web" was left out: the agent does not support MCP servers over http']);
});
