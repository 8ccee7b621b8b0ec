/** What happens between two moments: calls that cross each other, and ends that come in the middle of something. */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { seeded } from "../../testing/random.ts";
import { until } from "../../testing/until.ts";
import { AgentExitedError, ConnectionLostError, NotConnectedError } from "./errors.ts";
import { collect, ofType } from "./testing/events.ts";
import { temporaryFolder } from "./testing/folder.ts";
import { startTestServer, type TestServer, testClient } from "./testing/server.ts";

const quick = { minMs: 10, maxMs: 100, giveUpMs: 20_000 };

async function instances(server: TestServer): Promise<unknown[]> {
  const headers = { Authorization: `Bearer ${server.token}` };
  const { servers } = (await (await fetch(`${server.baseUrl}/v1/acp`, { headers })).json()) as { servers: unknown[] };
  return servers;
}

describe("a prompt that failed because", () => {
  it("the agent died can be followed by resumeSession() at once", async () => {
    const client = testClient(await startTestServer());
    const { id } = await client.newSession({ directory: "/tmp" });
    for (let round = 0; round < 5; round += 1) {
      await expect(client.prompt(id, "crash")).rejects.toBeInstanceOf(AgentExitedError);
      expect(client.status).toBe("disconnected");
      expect(await client.resumeSession(id)).toMatchObject({ openedBy: "replayed" });
      // The first prompt takes what was said before along; the next one is the mock's to understand.
      await client.prompt(id, "hello");
    }
  });

  it("the agent died can be followed by connect() at once", async () => {
    const client = testClient(await startTestServer());
    const { id } = await client.newSession({ directory: "/tmp" });
    await expect(client.prompt(id, "crash")).rejects.toBeInstanceOf(AgentExitedError);
    await client.connect();
    expect((await client.newSession({ directory: "/tmp" })).agent).toBe("mock");
  });

  it("the server was restarted can be followed by resumeSession() at once", async () => {
    const server = await startTestServer();
    const client = testClient(server, { retry: quick });
    const { id } = await client.newSession({ directory: "/tmp" });
    await server.restart();
    await expect(client.prompt(id, "hello")).rejects.toBeInstanceOf(ConnectionLostError);
    expect(client.status).toBe("disconnected");
    expect((await client.resumeSession(id)).id).toBe(id);
  });
});

it("resumeSession() can be tried again until the server is back", async () => {
  const server = await startTestServer();
  const client = testClient(server, { retry: { ...quick, giveUpMs: 300 } });
  const { id } = await client.newSession({ directory: "/tmp" });
  await server.stop("SIGKILL");
  await expect(client.prompt(id, "hello")).rejects.toBeInstanceOf(ConnectionLostError);
  await expect(client.resumeSession(id)).rejects.toBeInstanceOf(ConnectionLostError);
  await expect(client.resumeSession(id)).rejects.toBeInstanceOf(ConnectionLostError);
  await server.restart();
  expect((await client.resumeSession(id)).id).toBe(id);
  await client.disconnect();
  await expect(client.resumeSession(id)).rejects.toBeInstanceOf(NotConnectedError);
});

it("a client that is disposed of at any moment of its connecting leaves no agent behind", async () => {
  const server = await startTestServer();
  const random = seeded(11);
  for (let round = 0; round < 40; round += 1) {
    const client = testClient(server);
    await new Promise((resolve) => setTimeout(resolve, random() * 40));
    await client.dispose();
  }
  await until("all agents to be gone", async () => (await instances(server)).length === 0);
});

it("a listener that throws breaks nothing but itself", async () => {
  const client = testClient(await startTestServer());
  const { id } = await client.newSession({ directory: "/tmp" });
  const thrown: unknown[] = [];
  const hear = (error: unknown): void => void thrown.push(error);
  const before = process.listeners("uncaughtException");
  process.removeAllListeners("uncaughtException");
  process.on("uncaughtException", hear);
  try {
    const mistake = new Error("a listener's mistake");
    const stop = client.onEvent(() => {
      throw mistake;
    });
    const events = collect(client);
    expect((await client.prompt(id, "echo still here")).text).toBe("still here");
    stop();
    expect(events.length).toBeGreaterThan(3);
    await until("the mistake to be told", () => thrown.length >= events.length);
    expect(new Set(thrown)).toEqual(new Set([mistake]));
  } finally {
    process.off("uncaughtException", hear);
    for (const listener of before) process.on("uncaughtException", listener);
  }
});

it("a server that cannot be reached is a typed error everywhere", async () => {
  const server = await startTestServer();
  await server.stop();
  const client = testClient(server, { autoConnect: false });
  await expect(client.connect()).rejects.toBeInstanceOf(ConnectionLostError);
  await expect(client.health()).rejects.toBeInstanceOf(ConnectionLostError);
  await expect(client.files.list()).rejects.toMatchObject({ code: "connection_lost" });
});

it("a client of a server that is gone is disposed of without waiting for it", async () => {
  const server = await startTestServer();
  const client = testClient(server);
  await client.newSession({ directory: "/tmp" });
  await server.stop("SIGKILL");
  const began = performance.now();
  await client.dispose().catch(() => {});
  expect(performance.now() - began).toBeLessThan(8000);
});

it("a token is asked for once, however many calls wait for it", async () => {
  const server = await startTestServer();
  let asked = 0;
  const client = testClient(server, {
    token: async () => {
      asked += 1;
      await new Promise((resolve) => setTimeout(resolve, 20));
      return server.token;
    },
  });
  await Promise.all([client.health(), client.agents.list(), client.files.list(), client.newSession()]);
  expect(asked).toBe(1);
});

it("permissions that nobody can answer any more are withdrawn when the server is gone", async () => {
  const server = await startTestServer();
  const client = testClient(server, { retry: quick });
  const { id } = await client.newSession({ directory: "/tmp" });
  const events = collect(client);
  const turn = client.prompt(id, "permission").catch((error: unknown) => error);
  await until("the permission to be asked for", () => client.pendingPermissions.length === 1);
  await server.restart();
  expect(await turn).toBeInstanceOf(ConnectionLostError);
  await until("the permission to be withdrawn", () => client.pendingPermissions.length === 0);
  expect(ofType(events, "permission.resolved")).toMatchObject([{ by: "withdrawn" }]);
});

it("an agent that ends right behind its first answer does not pass for a connected one", async () => {
  const file = join(await temporaryFolder(), "brief.cjs");
  writeFileSync(
    file,
    `process.stdin.once("data", (line) => {
      const answer = { jsonrpc: "2.0", id: JSON.parse(line).id, result: { protocolVersion: 1, agentCapabilities: {} } };
      process.stdout.write(JSON.stringify(answer) + "\\n", () => process.exit(4));
    });`,
  );
  const server = await startTestServer({ args: ["--agent", `brief=${process.execPath} ${file}`] });
  for (let round = 0; round < 5; round += 1) {
    const client = testClient(server, { agent: "brief", autoConnect: false });
    await client.connect().catch((error: unknown) => expect(error).toBeInstanceOf(AgentExitedError));
    await until("the end to be seen", () => client.status === "disconnected");
  }
});

it("an upload is ended by its signal", async () => {
  const client = testClient(await startTestServer(), { autoConnect: false });
  const files = [{ path: "a", content: "a" }];
  const signal = AbortSignal.abort(new Error("no more"));
  await expect(client.files.upload("x", files, { signal })).rejects.toThrow("no more");
  await expect(client.files.uploadArchive("x", "", "tar", { signal })).rejects.toThrow("no more");
  await expect(client.files.stat("x")).rejects.toMatchObject({ status: 404 });
});

describe("calls that are made twice at once", () => {
  it("open a session again once", async () => {
    const client = testClient(await startTestServer());
    const { id } = await client.newSession({ directory: "/tmp" });
    await client.prompt(id, "echo hello");
    await client.prompt(id, "crash").catch(() => {});
    const events = collect(client);
    const [one, two] = await Promise.all([client.resumeSession(id), client.resumeSession(id)]);
    expect(one).toBe(two);
    expect(ofType(events, "session.started")).toHaveLength(1);
  });

  it("make one session of a name", async () => {
    const client = testClient(await startTestServer());
    const made = Array.from({ length: 3 }, () => client.newSession({ directory: "/tmp", sessionId: "mine" }));
    const outcomes = await Promise.allSettled(made);
    expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "rejected"]);
    expect(outcomes[1]).toMatchObject({ reason: { code: "session_exists" } });
    expect(await client.listSessions()).toHaveLength(1);
    await expect(client.newSession({ sessionId: "mine" })).rejects.toMatchObject({ code: "session_exists" });
  });

  it("dispose of the client once, and both wait for it", async () => {
    const server = await startTestServer();
    const client = testClient(server);
    await client.newSession({ directory: "/tmp" });
    await Promise.all(
      [client.disconnect(), client.disconnect()].map(async (left) => {
        await left;
        expect(await instances(server)).toEqual([]);
      }),
    );
    await Promise.all([client.dispose(), client.dispose()]);
  });

  it("connect anew only when the old agent has ended", async () => {
    const server = await startTestServer();
    const client = testClient(server, { serverId: "same" });
    for (let round = 0; round < 5; round += 1) {
      await client.newSession({ directory: "/tmp" });
      const left = client.disconnect();
      await client.connect();
      await left;
      expect(await instances(server)).toMatchObject([{ serverId: "same", status: "running" }]);
    }
  });
});

it("a token that never comes does not keep a client that is being disposed of", async () => {
  const server = await startTestServer();
  const client = testClient(server, { token: () => new Promise<string>(() => {}) });
  const waiting = client.newSession().catch((error: unknown) => error);
  await client.dispose();
  expect(await waiting).toBeInstanceOf(NotConnectedError);
});
