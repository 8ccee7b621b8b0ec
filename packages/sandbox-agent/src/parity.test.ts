import { describe, expect, it } from "vitest";
import { NotFoundError } from "./errors.ts";
import { collect, ofType } from "./testing/events.ts";
import { startTestServer, testClient } from "./testing/server.ts";

describe("5. Metadata injection/extraction parity", () => {
  const metadata = {
    title: "A title",
    permissionMode: "ask",
    skills: ["one", { two: 2 }],
    variant: "wide",
  };

  it("a session's options reach the agent and are read back", async () => {
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

  it("the caller's id and the agent's own id identify the same session", async () => {
    const client = testClient(await startTestServer());
    await client.newSession({ directory: "/tmp", sessionId: "alias" });
    expect((await client.prompt("mock-session-1", "echo by its own id")).text).toBe("by its own id");
    expect((await client.prompt("alias", "echo by its alias")).text).toBe("by its alias");
    await expect(client.newSession({ sessionId: "alias" })).rejects.toMatchObject({ code: "session_exists" });
  });

  it("setMetadata changes title, model and mode as hints, keeps the rest, and deletes keys that are null", async () => {
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

  it("a line that is not a message becomes agent.unparsed, too", async () => {
    const client = testClient(await startTestServer());
    const { id } = await client.newSession({ directory: "/tmp" });
    const events = collect(client);
    await client.prompt(id, "noise");
    expect(ofType(events, "agent.unparsed").length).toBeGreaterThan(0);
    expect(ofType(events, "agent.unparsed")[0]?.line).toBeTypeOf("string");
  });
});
