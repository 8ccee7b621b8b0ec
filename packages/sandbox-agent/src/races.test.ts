/** Concurrent calls, and agents, servers and clients that exit during a call. */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
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

describe("after a prompt has failed", () => {
  it("because the agent crashed, resumeSession() works", async () => {
    const client = testClient(await startTestServer());
    const { id } = await client.newSession({ directory: "/tmp" });
    for (let round = 0; round < 5; round += 1) {
      await expect(client.prompt(id, "crash")).rejects.toBeInstanceOf(AgentExitedError);
      expect(client.status).toBe("disconnected");
      expect(await client.resumeSession(id)).toMatchObject({ openedBy: "replayed" });
      // The first prompt also carries the replayed conversation, so the mock agent finds no command in it. The next
      // prompt is a plain one.
      await client.prompt(id, "hello");
    }
  });

  it("because the agent crashed, connect() works", async () => {
    const client = testClient(await startTestServer());
    const { id } = await client.newSession({ directory: "/tmp" });
    await expect(client.prompt(id, "crash")).rejects.toBeInstanceOf(AgentExitedError);
    await client.connect();
    expect((await client.newSession({ directory: "/tmp" })).agent).toBe("mock");
  });

  it("because the server was restarted, resumeSession() works", async () => {
    const server = await startTestServer();
    const client = testClient(server, { retry: quick });
    const { id } = await client.newSession({ directory: "/tmp" });
    await server.restart();
    await expect(client.prompt(id, "hello")).rejects.toMatchObject({ exit: { reason: "server_died" } });
    expect((await client.resumeSession(id)).id).toBe(id);
    expect((await client.prompt(id, "hello")).stopReason).toBe("end_turn");
  });

  it("because a server without a journal was restarted, resumeSession() works", async () => {
    const server = await startTestServer({ args: ["--journal", "off"] });
    const client = testClient(server, { retry: quick });
    const { id } = await client.newSession({ directory: "/tmp" });
    await server.restart();
    await expect(client.prompt(id, "hello")).rejects.toBeInstanceOf(ConnectionLostError);
    expect(client.status).toBe("disconnected");
    expect((await client.resumeSession(id)).id).toBe(id);
  });
});

it("resumeSession() can be retried until the server is back", async () => {
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

it("a client that is disposed of at any point of connecting leaves no instance behind", async () => {
  const server = await startTestServer();
  /** Disposes of a client when its request with this number is sent, or when the response to that request arrives. */
  const disposeAt = async (request: number, when: "started" | "answered"): Promise<boolean> => {
    let requests = 0;
    let dispose = (): void => {};
    const reached = new Promise<void>((resolve) => {
      dispose = resolve;
    });
    const client = testClient(server, {
      fetch: async (input, init) => {
        requests += 1;
        const isThis = requests === request;
        if (isThis && when === "started") dispose();
        const response = await fetch(input, init);
        if (isThis) dispose();
        return response;
      },
    });
    const settled = until("the attempt to settle", () => client.status !== "connecting");
    await Promise.race([reached, settled]);
    const isReached = requests >= request;
    await client.dispose();
    await settled;
    return isReached;
  };
  for (let request = 1; await disposeAt(request, "started"); request += 1) await disposeAt(request, "answered");
  await until("all instances to be closed", async () => (await instances(server)).length === 0);
});

it("a listener that throws affects nothing else", async () => {
  const client = testClient(await startTestServer());
  const { id } = await client.newSession({ directory: "/tmp" });
  const thrown: unknown[] = [];
  const record = (error: unknown): void => void thrown.push(error);
  const before = process.listeners("uncaughtException");
  process.removeAllListeners("uncaughtException");
  process.on("uncaughtException", record);
  try {
    const thrownByListener = new Error("thrown by a listener");
    const stop = client.onEvent(() => {
      throw thrownByListener;
    });
    const events = collect(client);
    expect((await client.prompt(id, "echo still here")).text).toBe("still here");
    stop();
    expect(events.length).toBeGreaterThan(3);
    await until("the exceptions to be reported", () => thrown.length >= events.length);
    expect(new Set(thrown)).toEqual(new Set([thrownByListener]));
  } finally {
    process.off("uncaughtException", record);
    for (const listener of before) process.on("uncaughtException", listener);
  }
});

it("an unreachable server is a typed error in every call", async () => {
  const server = await startTestServer();
  await server.stop();
  const client = testClient(server, { autoConnect: false });
  await expect(client.connect()).rejects.toBeInstanceOf(ConnectionLostError);
  await expect(client.health()).rejects.toBeInstanceOf(ConnectionLostError);
  await expect(client.files.list()).rejects.toMatchObject({ code: "connection_lost" });
});

it("a client of a killed server can be disposed of", async () => {
  const server = await startTestServer();
  const client = testClient(server);
  await client.newSession({ directory: "/tmp" });
  await server.stop("SIGKILL");
  await client.dispose().catch(() => {});
  expect(client.status).toBe("disconnected");
});

it("the token function is called once, however many calls wait for it", async () => {
  const server = await startTestServer();
  let calls = 0;
  let resolveToken = (_token: string): void => {};
  const token = new Promise<string>((resolve) => {
    resolveToken = resolve;
  });
  const client = testClient(server, {
    token: () => {
      calls += 1;
      return token;
    },
  });
  const waiting = [client.health(), client.agents.list(), client.files.list(), client.newSession()];
  await until("the token function to be called", () => calls > 0);
  resolveToken(server.token);
  await Promise.all(waiting);
  expect(calls).toBe(1);
});

it("open permissions are withdrawn when the server is gone", async () => {
  const server = await startTestServer({ args: ["--journal", "off"] });
  const client = testClient(server, { retry: quick });
  const { id } = await client.newSession({ directory: "/tmp" });
  const events = collect(client);
  const turn = client.prompt(id, "permission").catch((error: unknown) => error);
  await until("the permission request", () => client.pendingPermissions.length === 1);
  await server.restart();
  expect(await turn).toBeInstanceOf(ConnectionLostError);
  await until("the permission to be withdrawn", () => client.pendingPermissions.length === 0);
  expect(ofType(events, "permission.resolved")).toMatchObject([{ by: "withdrawn" }]);
});

it("an agent that exits right after its first response does not count as connected", async () => {
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
    await until("the exit to be noticed", () => client.status === "disconnected");
  }
});

it("an upload is aborted by its signal", async () => {
  const client = testClient(await startTestServer(), { autoConnect: false });
  const files = [{ path: "a", content: "a" }];
  const signal = AbortSignal.abort(new Error("no more"));
  await expect(client.files.upload("x", files, { signal })).rejects.toThrow("no more");
  await expect(client.files.uploadArchive("x", "", "tar", { signal })).rejects.toThrow("no more");
  await expect(client.files.stat("x")).rejects.toMatchObject({ status: 404 });
});

describe("concurrent calls", () => {
  it("reopen a session once", async () => {
    const client = testClient(await startTestServer());
    const { id } = await client.newSession({ directory: "/tmp" });
    await client.prompt(id, "echo hello");
    await client.prompt(id, "crash").catch(() => {});
    const events = collect(client);
    const [one, two] = await Promise.all([client.resumeSession(id), client.resumeSession(id)]);
    expect(one).toBe(two);
    expect(ofType(events, "session.started")).toHaveLength(1);
  });

  it("create one session per id", async () => {
    const client = testClient(await startTestServer());
    const made = Array.from({ length: 3 }, () => client.newSession({ directory: "/tmp", sessionId: "mine" }));
    const outcomes = await Promise.allSettled(made);
    expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "rejected"]);
    expect(outcomes[1]).toMatchObject({ reason: { code: "session_exists" } });
    expect(await client.listSessions()).toHaveLength(1);
    await expect(client.newSession({ sessionId: "mine" })).rejects.toMatchObject({ code: "session_exists" });
  });

  it("dispose of the client once, and all wait for it", async () => {
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

  it("connect only after the old agent has exited", async () => {
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

it("a token function that never resolves does not block dispose()", async () => {
  const server = await startTestServer();
  const client = testClient(server, { token: () => new Promise<string>(() => {}) });
  const waiting = client.newSession().catch((error: unknown) => error);
  await client.dispose();
  expect(await waiting).toBeInstanceOf(NotConnectedError);
});
