import type { WatchedEvent } from "acp-http-client";
import { expect, test } from "vitest";
import { applyEvent, MISSING, type PendingAnswers, type WatchedInstance } from "./apply-event.ts";

const watchedEvent = (type: string, data: unknown, serverId: string | undefined = "a"): WatchedEvent =>
  ({ type, id: undefined, serverId, event: undefined, atMs: 1, data }) as WatchedEvent;
const list = (...ids: string[]): WatchedEvent =>
  watchedEvent(
    "instances",
    { servers: ids.map((serverId) => ({ serverId, agent: "mock", status: "running" })) },
    undefined,
  );

function setUp(): {
  instances: Map<string, WatchedInstance>;
  waiting: PendingAnswers;
  apply(...events: WatchedEvent[]): void;
} {
  const instances = new Map<string, WatchedInstance>();
  const waiting: PendingAnswers = new Map();
  return {
    instances,
    waiting,
    apply: (...events) => events.forEach((event) => void applyEvent(instances, event, waiting)),
  };
}

function statuses(instances: Map<string, WatchedInstance>): Record<string, string> {
  return Object.fromEntries([...instances].map(([id, { state }]) => [id, state.status]));
}

test("listed instances and those opened later are known, and closed ones stay in the list", () => {
  const { instances, apply } = setUp();
  apply(
    list("a"),
    watchedEvent("opened", { serverId: "b", agent: "mock" }, "b"),
    watchedEvent("closed", { serverId: "a" }, "a"),
  );
  expect(statuses(instances)).toEqual({ a: "closed", b: "starting" });
});

test("after a reconnect, unlisted instances are closed, and listed ones keep their events", () => {
  const { instances, apply } = setUp();
  apply(list("a", "b"), watchedEvent("sent", { id: 1, method: "x" }), list("a"));
  expect(statuses(instances)).toEqual({ a: "running", b: "closed" });
  expect(instances.get("a")?.count).toBe(1);
});

test("a reused id starts with an empty journal", () => {
  const { instances, apply } = setUp();
  apply(list("a"), watchedEvent("sent", { id: 1, method: "x" }), watchedEvent("closed", { serverId: "a" }));
  apply(watchedEvent("opened", { serverId: "a", agent: "mock" }));
  expect(instances.get("a")).toMatchObject({ count: 0, state: { status: "starting" } });
});

const running = (): readonly WatchedEvent[] => [
  list("a"),
  watchedEvent("sent", { id: "q", method: "session/prompt", params: { sessionId: "s", prompt: [] } }),
];
const sessionIn = (instances: Map<string, WatchedInstance>) => instances.get("a")?.state.sessions.get("s");

test("a running turn ends with a notice when the server's list lacks its instance after a reconnect", async () => {
  const { instances, waiting, apply } = setUp();
  const waiter = Promise.withResolvers<unknown>();
  waiting.set('a "q"', waiter);
  apply(...running());
  expect(sessionIn(instances)?.turns).toHaveLength(1);
  applyEvent(instances, list(), waiting, "restarted");
  expect(sessionIn(instances)?.turns).toEqual([]);
  expect(sessionIn(instances)?.items.at(-1)).toMatchObject({ type: "notice", text: MISSING.restarted });
  expect(instances.get("a")?.state.closedBecause).toBe(MISSING.restarted);
  await expect(waiter.promise).rejects.toThrow(MISSING.restarted);
});

test("a running turn ends with a notice when the instance is closed", () => {
  const { instances, apply } = setUp();
  apply(...running(), watchedEvent("closed", { serverId: "a" }));
  expect(sessionIn(instances)).toMatchObject({ turns: [], items: [{}, { text: "The instance was closed." }] });
});

test("an instance that took over the id while the page was not connected is a new one", () => {
  const { instances, apply } = setUp();
  apply(...running(), list("a"), watchedEvent("opened", { serverId: "a", agent: "mock" }));
  expect(instances.get("a")).toMatchObject({ count: 0, state: { status: "starting" } });
});

test("a kept instance still has its conversations after it is started again", () => {
  const { instances, apply } = setUp();
  apply(...running(), watchedEvent("closed", { serverId: "a" }));
  const watched = instances.get("a");
  if (watched) instances.set("a", { ...watched, isKept: true });
  apply(watchedEvent("opened", { serverId: "a", agent: "mock" }));
  expect(instances.get("a")).toMatchObject({ count: 1, state: { status: "starting", closedBecause: undefined } });
  expect(sessionIn(instances)?.items).toHaveLength(2);
});

test("a response from the agent settles the request, and a message from a client does not", async () => {
  const { apply, waiting } = setUp();
  const waiter = Promise.withResolvers<unknown>();
  waiting.set('a "q"', waiter);
  apply(
    list("a"),
    watchedEvent("sent", { id: "q", result: "ours" }),
    watchedEvent("message", { id: "q", result: { ok: 1 } }),
  );
  expect(await waiter.promise).toEqual({ ok: 1 });
  expect(waiting.size).toBe(0);
});

test.each([
  [
    "an error response of the agent",
    watchedEvent("message", { id: "q", error: { message: "fromAgent no" } }),
    "fromAgent no",
  ],
  ["a failure of the server", watchedEvent("failed", { id: "q", problem: { detail: "timed out" } }), "timed out"],
  ["the exit of the agent", watchedEvent("exit", { code: 1 }), "the agent exited"],
  ["the close of the instance", watchedEvent("closed", { serverId: "a" }), "The instance was closed."],
])("%s rejects the request", async (_, event, message) => {
  const { apply, waiting } = setUp();
  const waiter = Promise.withResolvers<unknown>();
  waiting.set('a "q"', waiter);
  apply(list("a"), event);
  await expect(waiter.promise).rejects.toThrow(message);
});
