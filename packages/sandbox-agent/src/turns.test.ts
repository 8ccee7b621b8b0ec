/** A turn can be awaited for its result, and iterated over for its events. */

import { describe, expect, it } from "vitest";
import { AgentError } from "./errors.ts";
import type { SandboxEvent } from "./events.ts";
import { collect, ofType } from "./testing/events.ts";
import { startTestServer, testClient } from "./testing/server.ts";

describe("a turn", () => {
  it("yields its events from its start to its end, and the same value resolves with the result", async () => {
    const client = testClient(await startTestServer());
    const session = await client.newSession({ directory: "/tmp" });
    const all = collect(client);
    const turn = session.prompt("stream 20");
    const received: SandboxEvent[] = [];
    for await (const event of turn) received.push(event);
    const result = await turn;
    expect(result.stopReason).toBe("end_turn");
    expect(received[0]).toMatchObject({ type: "turn.started", turnId: result.turnId });
    expect(received.at(-1)).toMatchObject({ type: "turn.ended", turnId: result.turnId, stopReason: "end_turn" });
    expect(ofType(received, "item.delta")).toHaveLength(20);
    expect(received).toEqual(all);
  });

  it("yields only the events of its own session", async () => {
    const client = testClient(await startTestServer());
    const [one, two] = [await client.newSession({ directory: "/tmp" }), await client.newSession({ directory: "/tmp" })];
    const other = two.prompt("stream 50");
    const seen = new Set<string>();
    for await (const event of one.prompt("stream 50")) seen.add(event.sessionId);
    await other;
    expect([...seen]).toEqual([one.id]);
  });

  it("that the agent refuses yields its end, and then the loop fails as the awaited value does", async () => {
    const client = testClient(await startTestServer());
    const session = await client.newSession({ directory: "/tmp" });
    const received: SandboxEvent[] = [];
    const loop = async (): Promise<void> => {
      for await (const event of session.prompt("error")) received.push(event);
    };
    await expect(loop()).rejects.toBeInstanceOf(AgentError);
    expect(received.at(-1)).toMatchObject({ type: "turn.ended", stopReason: "error" });
    await expect(session.prompt("error")).rejects.toBeInstanceOf(AgentError);
  });

  it("goes on when the loop is left", async () => {
    const client = testClient(await startTestServer());
    const session = await client.newSession({ directory: "/tmp" });
    const events = collect(client);
    const turn = session.prompt("forever");
    for await (const event of turn) if (event.type === "item.delta") break;
    expect(ofType(events, "turn.ended")).toEqual([]);
    await client.cancel(session.id);
    expect((await turn).stopReason).toBe("cancelled");
  });

  it("can be started by the client, with either id of the session", async () => {
    const client = testClient(await startTestServer());
    const { agentSessionId } = await client.newSession({ directory: "/tmp", sessionId: "mine" });
    for (const id of ["mine", agentSessionId]) {
      const types: string[] = [];
      for await (const { type } of client.prompt(id, "echo hi")) types.push(type);
      expect(types[0]).toBe("turn.started");
      expect(types.at(-1)).toBe("turn.ended");
    }
  });

  it("that is over yields nothing more", async () => {
    const client = testClient(await startTestServer());
    const session = await client.newSession({ directory: "/tmp" });
    const turn = session.prompt("echo hi");
    await turn;
    const late: SandboxEvent[] = [];
    for await (const event of turn) late.push(event);
    expect(late).toEqual([]);
  });
});

it("a session is plain data besides its methods", async () => {
  const client = testClient(await startTestServer());
  const session = await client.newSession({ directory: "/tmp" });
  expect(structuredClone(session)).toEqual(session);
  for (const reopened of [await client.loadSession(session.id), await client.resumeSession(session.id)]) {
    expect((await reopened.prompt("echo hi")).text).toBe("hi");
  }
  const fork = await client.forkSession(session.id);
  expect((await fork.prompt("echo fork")).text).toBe("fork");
});
