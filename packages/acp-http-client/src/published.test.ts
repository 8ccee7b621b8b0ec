/** Compatibility: the npm package acp-http-client 0.4.2, as published, against this server. */

import { AcpHttpClient, type RequestPermissionRequest } from "acp-http-client-published";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { until } from "../../testing/until.ts";
import { startServer, type TestServer } from "./testing/server.ts";

const TOKEN = "published-token";
let server: TestServer;
let count = 0;

beforeAll(async () => {
  server = await startServer({ args: ["--token", TOKEN] });
});
afterAll(() => server.stop());

interface Connected {
  readonly client: AcpHttpClient;
  readonly path: string;
  readonly sessionId: string;
  /** The text that the agent sent so far. */
  text(): string;
}

async function connect(answer = "allow-once"): Promise<Connected> {
  count += 1;
  const path = `/v1/acp/published-${count}`;
  const words: string[] = [];
  const client = new AcpHttpClient({
    baseUrl: server.url,
    token: TOKEN,
    transport: { path, bootstrapQuery: { agent: "mock" } },
    client: {
      async sessionUpdate({ update }) {
        if (update.sessionUpdate === "agent_message_chunk" && update.content.type === "text") {
          words.push(update.content.text);
        }
      },
      async requestPermission(_: RequestPermissionRequest) {
        return { outcome: { outcome: "selected", optionId: answer } };
      },
    },
  });
  onTestFinished(() => client.disconnect());
  await client.initialize();
  const { sessionId } = await client.newSession({ cwd: "/tmp", mcpServers: [] });
  return { client, path, sessionId, text: () => words.join("") };
}

const blocks = (words: string) => [{ type: "text" as const, text: words }];

async function listed(): Promise<string[]> {
  const response = await fetch(`${server.url}/v1/acp`, { headers: { Authorization: `Bearer ${TOKEN}` } });
  return ((await response.json()) as { servers: { serverId: string }[] }).servers.map(({ serverId }) => serverId);
}

describe("the published acp-http-client@0.4.2, with its path set", () => {
  test("connects, opens a session and receives a turn in chunks", async () => {
    const { client, sessionId, text } = await connect();
    const { stopReason } = await client.prompt({ sessionId, prompt: blocks("stream 50 8") });
    expect(stopReason).toBe("end_turn");
    await until("all chunks to arrive", () => text().length >= 50 * 8);
  });

  test.each(["allow-once", "reject-once"])("answers a permission with %s", async (option) => {
    const { client, sessionId, text } = await connect(option);
    expect((await client.prompt({ sessionId, prompt: blocks("permission") })).stopReason).toBe("end_turn");
    await until("the agent to report the answer", () => text().includes(option));
  });

  test("cancels a turn and sends the next prompt", async () => {
    const { client, sessionId, text } = await connect();
    const turn = client.prompt({ sessionId, prompt: blocks("forever") });
    await until("the turn to start", () => text().length > 0);
    await client.cancel({ sessionId });
    expect((await turn).stopReason).toBe("cancelled");
    await client.prompt({ sessionId, prompt: blocks("echo once more") });
    await until("the next response", () => text().includes("once more"));
  });

  test("sets a mode and an option", async () => {
    const { client, sessionId } = await connect();
    await client.setSessionMode({ sessionId, modeId: "code" });
    const { configOptions } = await client.setSessionConfigOption({
      sessionId,
      configId: "model",
      value: "mock-large",
    });
    expect(JSON.stringify(configOptions)).toContain('"currentValue":"mock-large"');
  });

  test("shuts the agent down when it disconnects", async () => {
    const { client, path } = await connect();
    const id = path.slice(path.lastIndexOf("/") + 1);
    expect(await listed()).toContain(id);
    await client.disconnect();
    await until("the instance to be closed", async () => !(await listed()).includes(id));
  });
});
