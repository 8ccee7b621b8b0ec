import { expect, it } from "vitest";
import type { SandboxEvent } from "../events.ts";
import { describeStore } from "../testing/store-conformance.ts";
import { memoryStore } from "./memory.ts";

describeStore("memory store", async () => ({
  open: async () => memoryStore(),
  isDurable: false,
  remove: async () => {},
}));

it("evicts the oldest events of a long session, and continues to count", async () => {
  const store = memoryStore({ maxEventsPerSession: 100 });
  const time = "2026-01-01T00:00:00Z";
  await store.putSession({
    id: "a",
    agent: "mock",
    agentSessionId: "a",
    serverId: "s",
    directory: "/",
    createdAt: time,
    updatedAt: time,
    metadata: {},
  });
  const event = (index: number): SandboxEvent => ({
    id: String(index),
    sessionId: "a",
    time,
    source: "agent",
    synthetic: false,
    type: "error",
    message: "",
  });
  for (let index = 1; index <= 1000; index += 1) await store.appendEvents("a", [event(index)]);
  const events = await store.listEvents("a");
  expect(events.length).toBeLessThanOrEqual(125);
  expect(events.at(-1)?.sequence).toBe(1000);
  expect((await store.getSession("a"))?.eventCount).toBe(1000);
});
