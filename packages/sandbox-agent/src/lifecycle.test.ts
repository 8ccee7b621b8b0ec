import { describe, expect, it } from "vitest";
import { until } from "../../testing/until.ts";
import { AlreadyConnectedError, HttpError, NotConnectedError } from "./errors.ts";
import { startTestServer, testClient } from "./testing/server.ts";

describe("1. Auto-connect on constructor", () => {
  it("connects by itself", async () => {
    const client = testClient(await startTestServer());
    expect(client.status).toBe("connecting");
    await until("the client to be connected", () => client.status === "connected");
    expect(client.connection).toMatchObject({ agent: "mock", agentName: "Mock Agent", isAttached: false });
  });

  it("makes calls wait for the connection", async () => {
    const client = testClient(await startTestServer());
    const session = await client.newSession({ directory: "/tmp" });
    expect(session.agentSessionId).toBe("mock-session-1");
  });

  it("fails waiting calls with the reason, and later ones with NotConnectedError", async () => {
    const client = testClient(await startTestServer(), { agent: "no-such-agent" });
    const [listing, waiting] = [client.listSessions(), client.newSession()];
    await expect(waiting).rejects.toBeInstanceOf(HttpError);
    expect(await listing).toEqual([]);
    const later = await client.newSession().catch((thrown: unknown) => thrown);
    expect(later).toBeInstanceOf(NotConnectedError);
    expect(later).toMatchObject({ cause: { code: "unknown_agent" } });
    expect(client.status).toBe("disconnected");
  });
});

describe("2. `autoConnect: false` behavior", () => {
  it("does nothing before connect() and works after it", async () => {
    const server = await startTestServer();
    const client = testClient(server, { autoConnect: false, serverId: "later" });
    expect(client.status).toBe("disconnected");
    const list = await fetch(`${server.baseUrl}/v1/acp`, { headers: { Authorization: `Bearer ${server.token}` } });
    expect(await list.json()).toEqual({ servers: [] });
    expect(await client.connect()).toMatchObject({ agent: "mock", serverId: "later" });
    expect((await client.newSession({ directory: "/tmp" })).agent).toBe("mock");
  });

  it("accepts the agent in connect(), and has no default", async () => {
    const server = await startTestServer();
    const client = testClient(server, { autoConnect: false, agent: undefined as never });
    await expect(client.connect()).rejects.toBeInstanceOf(TypeError);
    expect(await client.connect({ agent: "mock", serverId: "mine" })).toMatchObject({
      agent: "mock",
      serverId: "mine",
    });
  });
});

describe("3. Not-connected error gates", () => {
  it("every call that needs the connection fails before connect() and after disconnect()", async () => {
    const client = testClient(await startTestServer(), { autoConnect: false });
    const calls = (): [string, Promise<unknown>][] => [
      ["newSession", client.newSession()],
      ["loadSession", client.loadSession("s")],
      ["resumeSession", client.resumeSession("s")],
      ["forkSession", client.forkSession("s")],
      ["prompt", client.prompt("s", "hello")],
      ["cancel", client.cancel("s")],
      ["setSessionMode", client.setSessionMode("s", "code")],
      ["setSessionModel", client.setSessionModel("s", "mock-large")],
      ["setSessionConfigOption", client.setSessionConfigOption("s", "mode", "code")],
      ["listModels", client.listModels()],
      ["detachSession", client.detachSession("s")],
      ["terminateSession", client.terminateSession("s")],
      ["authenticate", client.authenticate("mock-login")],
      ["replyPermission", client.replyPermission("1", "once")],
      ["replyQuestion", client.replyQuestion("1", [])],
      ["rejectQuestion", client.rejectQuestion("1")],
    ];
    const check = async (): Promise<void> => {
      for (const [name, call] of calls()) await expect(call, name).rejects.toBeInstanceOf(NotConnectedError);
    };
    await check();
    await client.connect();
    await client.disconnect();
    await check();
    await client.connect();
    expect((await client.newSession({ directory: "/tmp" })).agent).toBe("mock");
  });

  it("calls that need no connection work without one", async () => {
    const client = testClient(await startTestServer(), { autoConnect: false });
    expect(await client.health()).toMatchObject({ status: "ok" });
    expect(await client.listSessions()).toEqual([]);
    expect((await client.agents.get("mock")).installed).toBe(true);
    await client.disconnect();
  });
});

describe("4. Single-connection guard (`connect()` twice)", () => {
  it("refuses a second connection while there is one", async () => {
    const client = testClient(await startTestServer(), { autoConnect: false });
    await client.connect();
    await expect(client.connect()).rejects.toBeInstanceOf(AlreadyConnectedError);
  });

  it("refuses a second connection while the first is connecting", async () => {
    const client = testClient(await startTestServer());
    await expect(client.connect()).rejects.toBeInstanceOf(AlreadyConnectedError);
    expect((await client.newSession({ directory: "/tmp" })).agent).toBe("mock");
  });

  it("reconnects after disconnect(), which shuts the agent down", async () => {
    const server = await startTestServer();
    const client = testClient(server, { serverId: "one" });
    await client.newSession({ directory: "/tmp" });
    await client.disconnect();
    const list = await fetch(`${server.baseUrl}/v1/acp`, { headers: { Authorization: `Bearer ${server.token}` } });
    expect(await list.json()).toEqual({ servers: [] });
    await client.connect();
    expect(client.status).toBe("connected");
  });

  it("can be aborted by disconnect() while it is connecting", async () => {
    const client = testClient(await startTestServer());
    const waiting = client.newSession();
    waiting.catch(() => {});
    await client.disconnect();
    expect(client.status).toBe("disconnected");
    await expect(waiting).rejects.toBeInstanceOf(NotConnectedError);
  });
});
