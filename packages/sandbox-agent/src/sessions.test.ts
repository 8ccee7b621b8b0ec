import { describe, expect, it } from "vitest";
import { AgentError, NotFoundError, SandboxAgentError } from "./errors.ts";
import type { EventOf, EventType, SandboxEvent } from "./events.ts";
import { collect, ofType } from "./testing/events.ts";
import { startTestServer, testClient } from "./testing/server.ts";

describe("turns", () => {
  it("emit their events in order: turn, items, deltas, end", async () => {
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

  it("report tool calls with input and output", async () => {
    const client = testClient(await startTestServer());
    const { id } = await client.newSession({ directory: "/tmp" });
    const events = collect(client);
    await client.prompt(id, "tool");
    const done = ofType(events, "item.completed").find(({ item }) => item.kind === "tool_call");
    expect(done?.item).toMatchObject({ status: "completed", tool: { kind: "read", output: { lines: 42 } } });
  });

  it("can be cancelled, by a call and by a signal, and the session continues", async () => {
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

  it("resolve open permissions and questions when they are cancelled", async () => {
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

  it("end with the agent's own reason, and with a typed error if the agent answers with one", async () => {
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

  it("reject a second prompt in a busy session, and run in parallel in different sessions", async () => {
    const client = testClient(await startTestServer());
    const one = await client.newSession({ directory: "/tmp" });
    const two = await client.newSession({ directory: "/tmp" });
    const slow = client.prompt(one.id, "slow 1");
    await expect(client.prompt(one.id, "hello")).rejects.toBeInstanceOf(SandboxAgentError);
    expect((await client.prompt(two.id, "echo beside")).text).toBe("beside");
    expect((await slow).stopReason).toBe("end_turn");
  });

  it("deliver 10,000 deltas in order, and store every one", async () => {
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

  it("warn about settings that the agent refuses and MCP servers that were left out", async () => {
    const client = testClient(await startTestServer());
    const { warnings } = await client.newSession({
      directory: "/tmp",
      model: "no-such-model",
      mcp: { off: { command: "x", enabled: false } },
    });
    expect(warnings.join("\n")).toMatch(/no-such-model/);
    expect(warnings.join("\n")).toMatch(/"off" was left out/);
  });

  it("can be forked, and end one by one", async () => {
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
    // Another client with an empty store receives the history from the agent.
    const second = testClient(server, { serverId: "shared" });
    const events = collect(second);
    const session = await second.loadSession(id, { directory: "/tmp" });
    expect(session.openedBy).toBe("loaded");
    const deltas = ofType(events, "item.delta").flatMap(({ content }) => content);
    expect(JSON.stringify(deltas)).toContain("remember me");
  });

  it("include those that only the agent knows", async () => {
    const server = await startTestServer();
    const first = testClient(server, { serverId: "shared" });
    await first.newSession({ directory: "/tmp" });
    const second = testClient(server, { serverId: "shared" });
    const listed = await second.listSessions();
    // By now the second client may have the session in its store, too.
    const knownTo = expect.arrayContaining(["agent"]);
    expect(listed).toMatchObject([{ agentSessionId: "mock-session-1", directory: "/tmp", knownTo }]);
  });

  it("require a login if the agent does", async () => {
    const client = testClient(await startTestServer({ env: { MOCK_AGENT_REQUIRE_AUTH: "1" } }));
    await expect(client.newSession({ directory: "/tmp" })).rejects.toMatchObject({
      name: "AuthenticationRequiredError",
    });
    expect(client.connection?.authMethods).toMatchObject([{ id: "mock-login" }]);
    await client.authenticate("mock-login");
    expect((await client.newSession({ directory: "/tmp" })).agent).toBe("mock");
  });

  it("start in the server's workspace by default", async () => {
    const server = await startTestServer();
    expect((await testClient(server).newSession()).directory).toBe(server.folder);
  });

  it("give the agent access to files only with the option `files`", async () => {
    const server = await startTestServer();
    const client = testClient(server, { files: true });
    const { id } = await client.newSession();
    await client.prompt(id, `write ${server.folder}/made.txt by the agent`);
    expect(await client.files.readText("made.txt")).toContain("by the agent");
    expect((await client.prompt(id, `read ${server.folder}/made.txt`)).text).toContain("by the agent");
    expect((await client.prompt(id, `read ${server.folder}/missing.txt`)).text).toContain("Resource not found");
    const without = testClient(server);
    const plain = await without.newSession();
    expect((await without.prompt(plain.id, "read /x")).text).toMatch(/cannot|no /i);
  });

  it("run commands through the caller's terminals", async () => {
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

  it("store events as plain JSON, numbered for polling", async () => {
    const client = testClient(await startTestServer());
    const { id } = await client.newSession({ directory: "/tmp" });
    const collected: SandboxEvent[] = collect(client);
    await client.prompt(id, "tool");
    const { events, next } = await client.getEvents(id);
    expect(events.at(-1)?.sequence).toBe(next);
    const kept = events
      .map(({ event }) => event)
      .filter(({ id: eventId }) => collected.some((event) => event.id === eventId));
    expect(kept).toEqual(JSON.parse(JSON.stringify(collected)));
    expect((await client.getEvents(id, { after: next })).events).toEqual([]);
    await expect(client.getEvents("nobody")).rejects.toBeInstanceOf(NotFoundError);
    const started = events[0]?.event as EventOf<"session.started">;
    expect(started).toMatchObject({ type: "session.started", agent: "mock", how: "new" });
  });
});
