import { rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { until } from "../../testing/until.ts";
import { AgentExitedError, ConnectionLostError, DetachedError, NotConnectedError } from "./errors.ts";
import { memoryStore } from "./store/memory.ts";
import { sqliteStore } from "./store/sqlite.ts";
import { collect, ofType } from "./testing/events.ts";
import { startTestServer, testClient } from "./testing/server.ts";

const quick = { minMs: 10, maxMs: 100, giveUpMs: 20_000 };

describe("an agent that crashes", () => {
  it("fails the turn and, until disconnect(), all later calls with the agent's exit code", async () => {
    const server = await startTestServer();
    const client = testClient(server);
    const { id } = await client.newSession({ directory: "/tmp" });
    const events = collect(client);
    const error = await client.prompt(id, "crash 7").catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(AgentExitedError);
    expect(error).toMatchObject({ code: "agent_exited", exit: { exitCode: 7 } });
    await until("the end to be reported", () => ofType(events, "session.ended").length === 1);
    expect(ofType(events, "session.ended")).toMatchObject([{ reason: "error", terminatedBy: "agent", exitCode: 7 }]);
    expect(ofType(events, "turn.ended")).toMatchObject([{ stopReason: "error" }]);
    await until("the connection to be lost", () => client.status === "disconnected");
    await expect(client.prompt(id, "hello")).rejects.toBeInstanceOf(AgentExitedError);
    await client.disconnect();
    await expect(client.prompt(id, "hello")).rejects.toBeInstanceOf(NotConnectedError);
    const headers = { Authorization: `Bearer ${server.token}` };
    expect(await (await fetch(`${server.baseUrl}/v1/acp`, { headers })).json()).toEqual({ servers: [] });
  });

  it("is restarted by resumeSession(), which sends the newest turns to the agent if the agent no longer has them", async () => {
    const client = testClient(await startTestServer());
    const { id } = await client.newSession({ directory: "/tmp", sessionId: "mine" });
    await client.prompt(id, "echo the secret word is xyzzy");
    await client.prompt(id, "crash").catch(() => {});
    await until("the connection to be lost", () => client.status === "disconnected");
    const events = collect(client);
    const session = await client.resumeSession("mine");
    expect(session).toMatchObject({ id: "mine", openedBy: "replayed", agentSessionId: "mock-session-1", ended: false });
    // The mock agent quotes a prompt that it does not understand, so its answer shows what it has received.
    const { text } = await client.prompt("mine", "and now?");
    expect(text).toContain("User: echo the secret word is xyzzy");
    expect(text).toContain("Assistant: the secret word is xyzzy");
    expect((await client.prompt("mine", "echo once is enough")).text).toBe("once is enough");
    expect(ofType(events, "session.started")).toMatchObject([{ how: "replayed", sessionId: "mine" }]);
    expect(ofType(events, "turn.started")[0]?.prompt).toEqual([{ type: "text", text: "and now?" }]);
  });
});

describe("a session whose agent has crashed", () => {
  /** A session with one turn, whose agent has crashed. */
  async function interrupted(without: string) {
    const env = { MOCK_AGENT_STATE: "state.json", MOCK_AGENT_WITHOUT: without };
    const server = await startTestServer({ env });
    /** The session methods that were called, in order. */
    const methods: string[] = [];
    const client = testClient(server, {
      fetch: (input, init) => {
        const { method = "" } = typeof init?.body === "string" ? (JSON.parse(init.body) as { method?: string }) : {};
        if (method.startsWith("session/")) methods.push(method);
        return fetch(input, init);
      },
    });
    const { id } = await client.newSession({ directory: "/tmp", sessionId: "mine", mode: "plan", title: "Mine" });
    await client.prompt(id, "echo first");
    await client.prompt(id, "crash").catch(() => {});
    methods.length = 0;
    return { client, id, server, methods, before: (await client.getEvents(id)).events.length };
  }

  it.each([
    ["by session/resume if the agent supports it and session/load", "", "resumed", ["session/resume"]],
    ["by session/resume if the agent supports only that", "load", "resumed", ["session/resume"]],
    ["by session/load if the agent supports only that", "resume", "loaded", ["session/load"]],
    [
      "by a replay if the agent supports neither",
      "load,resume",
      "replayed",
      ["session/new", "session/set_config_option"],
    ],
  ])("is restored %s", async (_, without, openedBy, expected) => {
    const { client, id, methods, before } = await interrupted(without);
    const session = await client.resumeSession(id);
    expect(session).toMatchObject({ id: "mine", openedBy, ended: false, title: "Mine", eventCount: before });
    expect(session).toMatchObject({ mode: "plan", warnings: [] });
    expect(methods).toEqual(expected);
    // The stored history is not sent to the agent: the mock agent would quote it.
    const { text } = await client.prompt(id, "anything");
    expect(text.includes("User: echo first")).toBe(openedBy === "replayed");
    expect((await client.prompt(id, "echo second")).text).toBe("second");
    const added = (await client.getEvents(id)).events.slice(before).map(({ event }) => event);
    expect(added[0]).toMatchObject({ type: "session.started", how: openedBy });
    const messages = ofType(added, "item.completed").filter(({ item }) => item.role === "assistant");
    expect(
      messages
        .map(({ item }) => JSON.stringify(item.content))
        .join()
        .includes('"first"'),
    ).toBe(false);
    expect(await client.resumeSession(id)).toMatchObject({ openedBy: "attached" });
  });

  it("is restored by a replay if the agent has lost the session, whatever the agent supports", async () => {
    const { client, id, server, methods } = await interrupted("");
    rmSync(join(server.folder, "state.json"));
    expect(await client.resumeSession(id)).toMatchObject({ openedBy: "replayed" });
    expect(methods.slice(0, 3)).toEqual(["session/resume", "session/load", "session/new"]);
    expect((await client.prompt(id, "go on")).text).toContain("User: echo first");
  });

  it("is replayed from its beginning to a client that does not have it", async () => {
    const { server } = await interrupted("resume");
    const other = testClient(server, { serverId: "other" });
    const events = collect(other);
    expect(await other.resumeSession("mock-session-1", { directory: "/tmp" })).toMatchObject({ openedBy: "loaded" });
    expect(
      ofType(events, "item.completed")
        .map(({ item }) => JSON.stringify(item.content))
        .join(),
    ).toContain("first");
    expect((await other.getEvents("mock-session-1")).events.length).toBeGreaterThan(2);
  });
});

describe("a server that is restarted during a turn", () => {
  it("fails the turn with the agent's exit, and resumeSession continues the session", async () => {
    const server = await startTestServer();
    const client = testClient(server, { retry: quick });
    const { id } = await client.newSession({ directory: "/tmp" });
    await client.prompt(id, "echo before the restart");
    const events = collect(client);
    const turn = client.prompt(id, "forever").catch((thrown: unknown) => thrown);
    await until("the turn to run", () => ofType(events, "item.delta").length > 0);
    await server.restart();
    expect(await turn).toMatchObject({ name: "AgentExitedError", exit: { reason: "server_died" } });
    expect(ofType(events, "turn.ended")).toMatchObject([{ stopReason: "error" }]);
    expect(await client.resumeSession(id)).toMatchObject({ id, openedBy: "replayed" });
    expect((await client.prompt(id, "what was that?")).text).toContain("before the restart");
  });

  it("fails the turn as lost without a journal, and resumeSession continues the session", async () => {
    const server = await startTestServer({ args: ["--journal", "off"] });
    const client = testClient(server, { retry: quick });
    const { id } = await client.newSession({ directory: "/tmp" });
    await client.prompt(id, "echo before the restart");
    const events = collect(client);
    const turn = client.prompt(id, "forever").catch((thrown: unknown) => thrown);
    await until("the turn to run", () => ofType(events, "item.delta").length > 0);
    await server.restart();
    expect(await turn).toBeInstanceOf(ConnectionLostError);
    await expect(client.prompt(id, "hello")).rejects.toBeInstanceOf(ConnectionLostError);
    expect(ofType(events, "turn.ended")).toMatchObject([{ stopReason: "error" }]);
    expect(await client.resumeSession(id)).toMatchObject({ id, openedBy: "replayed" });
    expect((await client.prompt(id, "what was that?")).text).toContain("before the restart");
  });

  it("lets a client reconnect with connect()", async () => {
    const server = await startTestServer();
    const client = testClient(server, { retry: quick });
    await client.newSession({ directory: "/tmp" });
    await server.restart();
    await until("the connection to be lost", () => client.status === "disconnected");
    await client.connect();
    expect((await client.newSession({ directory: "/tmp" })).agent).toBe("mock");
  });
});

describe("detaching", () => {
  it("leaves the agent running, and a later client receives what it missed", async () => {
    const server = await startTestServer();
    const store = memoryStore();
    const one = testClient(server, { serverId: "long", store });
    const { id } = await one.newSession({ directory: "/tmp" });
    const events = collect(one);
    const turn = one.prompt(id, "slow 2").catch((thrown: unknown) => thrown);
    await until("the turn to run", () => ofType(events, "item.delta").length > 2);
    await one.detachSession(id);
    expect(await turn).toBeInstanceOf(DetachedError);
    expect(one.status).toBe("disconnected");
    await one.dispose();
    const two = testClient(server, { serverId: "long", store, autoConnect: false });
    const later = collect(two);
    expect(await two.connect()).toMatchObject({ isAttached: true });
    await until("the turn to end", () => ofType(later, "turn.ended").length === 1);
    expect(ofType(later, "turn.ended")).toMatchObject([{ stopReason: "unknown", sessionId: id }]);
    const { events: kept } = await two.getEvents(id, { limit: 10_000 });
    const deltas = kept.flatMap(({ event }) => (event.type === "item.delta" ? event.content : []));
    const words = deltas.map((piece) => ("text" in piece ? piece.text : ""));
    expect(words.length).toBe(new Set(words).size);
    expect(words.length).toBeGreaterThanOrEqual(20);
    expect(await two.resumeSession(id)).toMatchObject({ openedBy: "attached" });
    expect((await two.prompt(id, "echo attached")).text).toBe("attached");
  });

  it("from one session leaves the others connected, and disconnect then leaves the agent running", async () => {
    const server = await startTestServer();
    const client = testClient(server, { serverId: "two" });
    const one = await client.newSession({ directory: "/tmp" });
    const two = await client.newSession({ directory: "/tmp" });
    await client.detachSession(one.id);
    expect(client.status).toBe("connected");
    expect((await client.prompt(two.id, "echo here")).text).toBe("here");
    await client.disconnect();
    const headers = { Authorization: `Bearer ${server.token}` };
    const list = (await (await fetch(`${server.baseUrl}/v1/acp`, { headers })).json()) as { servers: unknown[] };
    expect(list.servers).toMatchObject([{ serverId: "two", status: "running" }]);
  });
});

it("a program that is restarted continues its sessions from a file", async () => {
  const server = await startTestServer();
  const path = join(server.folder, "sessions.db");
  const before = sqliteStore({ path });
  const first = testClient(server, { store: before });
  const { id } = await first.newSession({ directory: "/tmp", sessionId: "work", title: "Work" });
  await first.prompt(id, "echo to be continued");
  await first.dispose();
  await before.close();
  const store = sqliteStore({ path });
  const second = testClient(server, { store });
  expect(await second.listSessions()).toMatchObject([{ id: "work", title: "Work", ended: true }]);
  expect(await second.resumeSession("work")).toMatchObject({ id: "work", openedBy: "replayed", ended: false });
  expect((await second.prompt("work", "go on")).text).toContain("to be continued");
  await second.dispose();
  await store.close();
});

it("two clients of one agent receive each other's sessions", async () => {
  const server = await startTestServer();
  const one = testClient(server, { serverId: "shared", autoConnect: false });
  await one.connect();
  const two = testClient(server, { serverId: "shared", autoConnect: false });
  await two.connect();
  const received = collect(two);
  const { id } = await one.newSession({ directory: "/tmp" });
  await one.prompt(id, "echo for everybody");
  // Waits for the whole answer, not only for the title that the agent derives from the prompt: what arrives later would
  // be taken for the next turn's.
  await until("the other client to receive it", () =>
    JSON.stringify(ofType(received, "item.delta")).includes("for everybody"),
  );
  expect(ofType(received, "session.started")).toMatchObject([{ how: "attached", sessionId: id }]);
  expect((await two.prompt(id, "echo from the other side")).text).toBe("from the other side");
});
