/** A turn can be awaited for its result, and iterated over for its events. */

import { describe, expect, it } from "vitest";
import { AgentError } from "./errors.ts";
import type { SandboxEvent } from "./events.ts";
import { collect, ofType } from "./testing/events.ts";
import { script, scriptClient } from "./testing/script.ts";
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

  it("that the agent refuses yields its last event, and then the loop throws the error with which the turn rejects", async () => {
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

it("a session is plain data, apart from its methods", async () => {
  const client = testClient(await startTestServer());
  const session = await client.newSession({ directory: "/tmp" });
  expect(structuredClone(session)).toEqual(session);
  for (const reopened of [await client.loadSession(session.id), await client.resumeSession(session.id)]) {
    expect((await reopened.prompt("echo hi")).text).toBe("hi");
  }
  const fork = await client.forkSession(session.id);
  expect((await fork.prompt("echo fork")).text).toBe("fork");
});

describe("the result of a turn", () => {
  it("has usage and cost where the agent reported them", async () => {
    const client = await scriptClient();
    const session = await client.newSession({ directory: "/tmp" });
    const cost = { amount: 0.25, currency: "USD" };
    const usage = { totalTokens: 10, inputTokens: 4, outputTokens: 6 };
    const turn = session.prompt(
      script(
        { update: { sessionUpdate: "usage_update", used: 1, size: 100, cost: { amount: 0.1, currency: "USD" } } },
        { update: { sessionUpdate: "usage_update", used: 2, size: 100, cost } },
        { update: { sessionUpdate: "usage_update", used: 3, size: 100 } },
        { result: { usage } },
      ),
    );
    const events: SandboxEvent[] = [];
    for await (const event of turn) events.push(event);
    const expected = { usage: { ...usage, used: 3, size: 100 }, cost };
    expect(await turn).toMatchObject(expected);
    expect(ofType(events, "turn.ended")).toMatchObject([expected]);
    expect(ofType(events, "session.updated").map((event) => event.usage?.cost?.amount)).toEqual([0.1, 0.25, undefined]);
  });

  it("has neither if the agent reported nothing in this turn", async () => {
    const client = await scriptClient();
    const session = await client.newSession({ directory: "/tmp" });
    await session.prompt(script({ update: { sessionUpdate: "usage_update", used: 1, size: 100 } }));
    expect(await session.prompt(script())).toEqual({ turnId: expect.any(String), stopReason: "end_turn", text: "" });
  });

  it("has a stop reason of a closed union", async () => {
    const client = await scriptClient();
    const session = await client.newSession({ directory: "/tmp" });
    const { stopReason } = await session.prompt(script({ result: { stopReason: "brand_new" } }));
    // Does not compile if a reason is missing here, or if `StopReason` allows any string.
    const texts: Record<typeof stopReason, string> = {
      end_turn: "done",
      max_tokens: "out of tokens",
      max_turn_requests: "out of requests",
      refusal: "refused",
      cancelled: "cancelled",
      error: "failed",
      unknown: "not known",
    };
    expect(texts[stopReason]).toBe("not known");
  });
});

it("a permission request has the changes to files even if the agent sent them only with the tool call", async () => {
  const client = await scriptClient();
  const session = await client.newSession({ directory: "/tmp" });
  const diffs: unknown[] = [];
  client.onPermission((request) => {
    diffs.push(request.diffs);
    return "reject";
  });
  const content = [{ type: "diff", path: "/a", oldText: "x", newText: "y" }];
  const options = [{ optionId: "no", name: "No", kind: "reject_once" }];
  const request = "session/request_permission";
  await session.prompt(
    script(
      { request, params: { toolCall: { toolCallId: "one", content }, options } },
      { update: { sessionUpdate: "tool_call", toolCallId: "two", title: "Edit", content } },
      { request, params: { toolCall: { toolCallId: "two" }, options } },
    ),
  );
  const expected = [{ path: "/a", oldText: "x", newText: "y" }];
  expect(diffs).toEqual([expected, expected]);
});
