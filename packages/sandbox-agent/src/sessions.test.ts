import { describe, expect, it } from "vitest";
import { AgentError, NotFoundError, SandboxAgentError, UnsupportedError } from "./errors.ts";
import type { EventOf, EventType, SandboxEvent } from "./events.ts";
import { collect, ofType } from "./testing/events.ts";
import { startTestServer, testClient } from "./testing/server.ts";

describe("5. Metadata injection/extraction parity", () => {
  const metadata = {
    title: "A title",
    permissionMode: "ask",
    skills: ["one", { two: 2 }],
    variant: "wide",
  };

  it("what a session is opened with reaches the agent and comes back", async () => {
    const client = testClient(await startTestServer());
    const { title, permissionMode, skills, ...rest } = metadata;
    const session = await client.newSession({
      directory: "/tmp",
      title,
      permissionMode,
      skills,
      metadata: rest,
      model: "mock-large",
      mode: "code",
      agentVersion: "9.9",
      sessionId: "my-session",
    });
    const expected = {
      ...metadata,
      agent: "mock",
      model: "mock-large",
      mode: "code",
      agentVersionRequested: "9.9",
      requestedSessionId: "my-session",
    };
    expect(session).toMatchObject({ id: "my-session", agentSessionId: "mock-session-1", title, metadata: expected });
    const { text } = await client.prompt(session.id, "meta");
    for (const [key, value] of Object.entries(expected)) {
      expect(text).toContain(key);
      if (typeof value === "string") expect(text).toContain(value);
    }
    const [listed] = await client.listSessions();
    expect(listed).toMatchObject({ id: "my-session", title, metadata: expected, knownTo: ["client", "agent"] });
  });

  it("the alias and the agent's own id name the same session", async () => {
    const client = testClient(await startTestServer());
    await client.newSession({ directory: "/tmp", sessionId: "alias" });
    expect((await client.prompt("mock-session-1", "echo by its own id")).text).toBe("by its own id");
    expect((await client.prompt("alias", "echo by its alias")).text).toBe("by its alias");
    await expect(client.newSession({ sessionId: "alias" })).rejects.toMatchObject({ code: "session_exists" });
  });

  it("setMetadata changes title, model and mode as hints, keeps the rest, and forgets what is null", async () => {
    const client = testClient(await startTestServer());
    const { id } = await client.newSession({ directory: "/tmp", metadata: { variant: "v", gone: 1 } });
    const changed = await client.setMetadata(id, { title: "T", model: "m", mode: "x", extra: { a: 1 }, gone: null });
    expect(changed).toMatchObject({ title: "T", model: "m", mode: "x", metadata: { variant: "v", extra: { a: 1 } } });
    expect(changed.metadata).not.toHaveProperty("gone");
    const [listed] = await client.listSessions();
    expect(listed).toMatchObject({ title: "T", model: "m", mode: "x", metadata: { extra: { a: 1 } } });
    await expect(client.setMetadata("nobody", {})).rejects.toBeInstanceOf(NotFoundError);
    await client.disconnect();
    expect(await client.setMetadata(id, { title: "without a connection" })).toMatchObject({
      title: "without a connection",
    });
  });

  it("listing has agent, createdAt, updatedAt, ended, eventCount and model, also without a connection", async () => {
    const client = testClient(await startTestServer());
    const { id } = await client.newSession({ directory: "/tmp", model: "mock-medium" });
    await client.prompt(id, "hello");
    const listing = (await client.listSessions())[0];
    expect(listing).toMatchObject({ id, agent: "mock", ended: false, model: "mock-medium" });
    expect(Date.parse(listing?.createdAt ?? "")).toBeLessThanOrEqual(Date.parse(listing?.updatedAt ?? ""));
    expect(listing?.eventCount).toBe((await client.getEvents(id)).events.length);
    await client.disconnect();
    expect((await client.listSessions())[0]).toMatchObject({ id, ended: true, knownTo: ["client"] });
  });

  it("attachments carry their name and type", async () => {
    const server = await startTestServer();
    const client = testClient(server);
    const { id } = await client.newSession({ directory: server.folder });
    const attachments = [{ path: "notes.txt", mime: "text/plain", filename: "My notes.txt" }];
    const { text } = await client.prompt(id, { message: "meta", attachments });
    expect(text).toContain(`file://${server.folder}/notes.txt`);
    expect(text).toContain("My notes.txt");
  });
});

describe("6. Extension event conversion parity (`_sandboxagent/session/ended`, `_sandboxagent/agent/unparsed`)", () => {
  it("session/ended becomes session.ended and marks the session", async () => {
    const client = testClient(await startTestServer());
    const { id } = await client.newSession({ directory: "/tmp" });
    const events = collect(client);
    await client.prompt(id, "ended");
    expect(ofType(events, "session.ended")).toMatchObject([
      {
        sessionId: id,
        reason: "completed",
        terminatedBy: "agent",
        message: "The mock agent was asked to end the session.",
        exitCode: 0,
      },
    ]);
    expect((await client.listSessions())[0]?.ended).toBe(true);
  });

  it("agent/unparsed becomes agent.unparsed", async () => {
    const client = testClient(await startTestServer());
    const { id } = await client.newSession({ directory: "/tmp" });
    const events = collect(client);
    await client.prompt(id, "unparsed");
    const [event] = ofType(events, "agent.unparsed");
    expect(event).toMatchObject({ sessionId: id, location: "agent stdout line 1" });
    expect(event?.rawHash).toMatch(/^[0-9a-f]{64}$/);
  });

  it("what the agent prints that is no message becomes agent.unparsed, too", async () => {
    const client = testClient(await startTestServer());
    const { id } = await client.newSession({ directory: "/tmp" });
    const events = collect(client);
    await client.prompt(id, "noise");
    expect(ofType(events, "agent.unparsed").length).toBeGreaterThan(0);
    expect(ofType(events, "agent.unparsed")[0]?.line).toBeTypeOf("string");
  });
});

describe("turns", () => {
  it("tell their story in order: turn, items, deltas, end", async () => {
    const client = testClient(await startTestServer());
    const { id } = await client.newSession({ directory: "/tmp" });
    const events = collect(client);
    const result = await client.prompt(id, "think");
    expect(result).toMatchObject({ stopReason: "end_turn", text: "I have thought about it." });
    const interesting: EventType[] = ["turn.started", "item.started", "item.delta", "item.completed", "turn.ended"];
    const story = events.filter(({ type }) => interesting.includes(type));
    expect(story.map(({ type }) => type)).toEqual([
      "turn.started",
      "item.started",
      "item.delta",
      "item.delta",
      "item.delta",
      "item.completed",
      "item.started",
      "item.delta",
      "item.completed",
      "turn.ended",
    ]);
    expect(story.every((event) => !("turnId" in event) || event.turnId === result.turnId)).toBe(true);
  });

  it("show tool calls with what went in and came out", async () => {
    const client = testClient(await startTestServer());
    const { id } = await client.newSession({ directory: "/tmp" });
    const events = collect(client);
    await client.prompt(id, "tool");
    const done = ofType(events, "item.completed").find(({ item }) => item.kind === "tool_call");
    expect(done?.item).toMatchObject({ status: "completed", tool: { kind: "read", output: { lines: 42 } } });
  });

  it("can be cancelled, by call and by signal, and the session goes on", async () => {
    const client = testClient(await startTestServer());
    const { id } = await client.newSession({ directory: "/tmp" });
    const started = new Promise<void>((resolve) => client.onEvent(({ type }) => type === "item.delta" && resolve()));
    const turn = client.prompt(id, "forever");
    await started;
    await client.cancel(id);
    expect((await turn).stopReason).toBe("cancelled");
    const stop = new AbortController();
    client.onEvent(({ type }) => type === "turn.started" && setTimeout(() => stop.abort()));
    expect((await client.prompt(id, "forever", { signal: stop.signal })).stopReason).toBe("cancelled");
    await expect(client.prompt(id, "never sent", { signal: stop.signal })).rejects.toMatchObject({
      name: "AbortError",
    });
    expect((await client.prompt(id, "echo still here")).text).toBe("still here");
  });

  it("answer open permissions and questions when they are cancelled", async () => {
    const client = testClient(await startTestServer());
    const { id } = await client.newSession({ directory: "/tmp" });
    const events = collect(client);
    const asked = new Promise<void>((resolve) => client.onPermission(() => resolve()));
    const turn = client.prompt(id, "permission");
    await asked;
    await client.cancel(id);
    expect((await turn).stopReason).toBe("cancelled");
    expect(client.pendingPermissions).toEqual([]);
    expect(ofType(events, "permission.resolved")).toHaveLength(1);
  });

  it("end with the agent's own reason, and with a typed error when the agent says no", async () => {
    const client = testClient(await startTestServer());
    const { id } = await client.newSession({ directory: "/tmp" });
    expect((await client.prompt(id, "refuse")).stopReason).toBe("refusal");
    expect((await client.prompt(id, "max")).stopReason).toBe("max_tokens");
    const events = collect(client);
    await expect(client.prompt(id, "error")).rejects.toBeInstanceOf(AgentError);
    expect(ofType(events, "error")).toHaveLength(1);
    expect(ofType(events, "turn.ended")).toMatchObject([{ stopReason: "error" }]);
    expect((await client.prompt(id, "echo fine again")).text).toBe("fine again");
  });

  it("refuse a second prompt in a session that is busy, and run side by side in different ones", async () => {
    const client = testClient(await startTestServer());
    const one = await client.newSession({ directory: "/tmp" });
    const two = await client.newSession({ directory: "/tmp" });
    const slow = client.prompt(one.id, "slow 1");
    await expect(client.prompt(one.id, "hello")).rejects.toBeInstanceOf(SandboxAgentError);
    expect((await client.prompt(two.id, "echo beside")).text).toBe("beside");
    expect((await slow).stopReason).toBe("end_turn");
  });

  it("deliver ten thousand deltas in order, and keep every one", async () => {
    const client = testClient(await startTestServer());
    const { id } = await client.newSession({ directory: "/tmp" });
    const deltas: string[] = [];
    client.onEvent((event) => {
      if (event.type === "item.delta")
        deltas.push(event.content.map((piece) => ("text" in piece ? piece.text : "")).join(""));
    });
    const { text } = await client.prompt(id, "stream 10000 16");
    expect(deltas).toHaveLength(10_000);
    expect(deltas.join("")).toBe(text);
    let [kept, after] = [0, 0];
    for (;;) {
      const { events, next } = await client.getEvents(id, { after });
      if (events.length === 0) break;
      kept += events.filter(({ event }) => event.type === "item.delta").length;
      after = next;
    }
    expect(kept).toBe(10_000);
  });
});

describe("sessions", () => {
  it("change mode, model and options", async () => {
    const client = testClient(await startTestServer());
    const { id } = await client.newSession({ directory: "/tmp" });
    await client.setSessionMode(id, "plan");
    await client.setSessionModel(id, "mock-large");
    await client.setSessionConfigOption(id, "thought_level", "high");
    expect(await client.listModels(id)).toMatchObject({ currentModelId: "mock-large", models: { length: 3 } });
    expect((await client.listModels()).models.map(({ id: model }) => model)).toContain("mock-small");
    expect((await client.listSessions())[0]).toMatchObject({ mode: "plan", model: "mock-large" });
    await expect(client.setSessionMode(id, "no-such-mode")).rejects.toBeInstanceOf(AgentError);
  });

  it("warn about settings that the agent refuses and tool servers that were left out", async () => {
    const client = testClient(await startTestServer());
    const { warnings } = await client.newSession({
      directory: "/tmp",
      model: "no-such-model",
      mcp: { off: { command: "x", enabled: false } },
    });
    expect(warnings.join("\n")).toMatch(/no-such-model/);
    expect(warnings.join("\n")).toMatch(/"off" was left out/);
  });

  it("can be copied, and end one by one", async () => {
    const client = testClient(await startTestServer());
    const { id } = await client.newSession({ directory: "/tmp" });
    await client.prompt(id, "echo one");
    const copy = await client.forkSession(id, { title: "Copy" });
    expect(copy).toMatchObject({ openedBy: "forked", title: "Copy" });
    expect(copy.id).not.toBe(id);
    await client.terminateSession(id);
    await client.terminateSession(id);
    await expect(client.prompt(id, "gone")).rejects.toBeInstanceOf(NotFoundError);
    expect((await client.prompt(copy.id, "echo lives on")).text).toBe("lives on");
    const ended = (await client.listSessions()).find((session) => session.id === id);
    expect(ended?.ended).toBe(true);
    await expect(client.terminateSession("nobody")).rejects.toBeInstanceOf(NotFoundError);
  });

  it("can be loaded with their history", async () => {
    const server = await startTestServer();
    const first = testClient(server, { serverId: "shared" });
    const { id } = await first.newSession({ directory: "/tmp" });
    await first.prompt(id, "echo remember me");
    await first.terminateSession(id);
    // Another client with an empty store hears the history from the agent.
    const second = testClient(server, { serverId: "shared" });
    const events = collect(second);
    const session = await second.loadSession(id, { directory: "/tmp" });
    expect(session.openedBy).toBe("loaded");
    const said = ofType(events, "item.delta").flatMap(({ content }) => content);
    expect(JSON.stringify(said)).toContain("remember me");
  });

  it("know those that only the agent knows", async () => {
    const server = await startTestServer();
    const first = testClient(server, { serverId: "shared" });
    await first.newSession({ directory: "/tmp" });
    const second = testClient(server, { serverId: "shared" });
    const listed = await second.listSessions();
    expect(listed).toMatchObject([{ agentSessionId: "mock-session-1", directory: "/tmp", knownTo: ["agent"] }]);
  });

  it("ask for a login where the agent wants one", async () => {
    const client = testClient(await startTestServer({ env: { MOCK_AGENT_REQUIRE_AUTH: "1" } }));
    await expect(client.newSession({ directory: "/tmp" })).rejects.toMatchObject({
      name: "AuthenticationRequiredError",
    });
    expect(client.connection?.authMethods).toMatchObject([{ id: "mock-login" }]);
    await client.authenticate("mock-login");
    expect((await client.newSession({ directory: "/tmp" })).agent).toBe("mock");
  });

  it("begin in the server's workspace unless told", async () => {
    const server = await startTestServer();
    expect((await testClient(server).newSession()).directory).toBe(server.folder);
  });

  it("give files to the agent when asked to, and say so when not", async () => {
    const server = await startTestServer();
    const client = testClient(server, { files: true });
    const { id } = await client.newSession();
    await client.prompt(id, `write ${server.folder}/made.txt by the agent`);
    expect(await client.files.readText("made.txt")).toContain("by the agent");
    expect((await client.prompt(id, `read ${server.folder}/made.txt`)).text).toContain("by the agent");
    const without = testClient(server);
    const plain = await without.newSession();
    expect((await without.prompt(plain.id, "read /x")).text).toMatch(/cannot|no /i);
  });

  it("run commands through the caller's terminals, and only with them", async () => {
    const server = await startTestServer();
    const calls: string[] = [];
    const client = testClient(server, {
      terminals: {
        create: ({ command, args }) => {
          calls.push([command, ...args].join(" "));
          return "t1";
        },
        output: () => ({ output: "terminal says hi", truncated: false, exit: { exitCode: 0 } }),
        waitForExit: () => ({ exitCode: 0 }),
        kill: () => {},
        release: (id) => void calls.push(`release ${id}`),
      },
    });
    const { id } = await client.newSession();
    const { text } = await client.prompt(id, "terminal ls -l");
    expect(text).toContain("terminal says hi");
    expect(calls).toContain("release t1");
    expect(calls.join()).toContain("ls");
  });

  it("keep events that survive JSON, numbered for polling", async () => {
    const client = testClient(await startTestServer());
    const { id } = await client.newSession({ directory: "/tmp" });
    const live: SandboxEvent[] = collect(client);
    await client.prompt(id, "tool");
    const { events, next } = await client.getEvents(id);
    expect(events.at(-1)?.sequence).toBe(next);
    const kept = events
      .map(({ event }) => event)
      .filter(({ id: eventId }) => live.some((event) => event.id === eventId));
    expect(kept).toEqual(JSON.parse(JSON.stringify(live)));
    expect((await client.getEvents(id, { after: next })).events).toEqual([]);
    await expect(client.getEvents("nobody")).rejects.toBeInstanceOf(NotFoundError);
    const started = events[0]?.event as EventOf<"session.started">;
    expect(started).toMatchObject({ type: "session.started", agent: "mock", how: "new" });
  });

  it("say what the agent cannot do", () => {
    expect(new UnsupportedError("copying sessions").message).toBe("the agent does not offer copying sessions");
  });
});
