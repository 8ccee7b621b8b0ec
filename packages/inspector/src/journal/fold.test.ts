import type { WatchedEvent } from "acp-http-client";
import { expect, test } from "vitest";
import { takeIn, type Waiting, type Watched } from "./fold.ts";

const about = (type: string, data: unknown, serverId: string | undefined = "a"): WatchedEvent =>
  ({ type, id: undefined, serverId, event: undefined, atMs: 1, data }) as WatchedEvent;
const list = (...ids: string[]): WatchedEvent =>
  about("instances", { servers: ids.map((serverId) => ({ serverId, agent: "mock", status: "running" })) }, undefined);

function world(): { instances: Map<string, Watched>; waiting: Waiting; take(...events: WatchedEvent[]): void } {
  const instances = new Map<string, Watched>();
  const waiting: Waiting = new Map();
  return { instances, waiting, take: (...events) => events.forEach((event) => void takeIn(instances, event, waiting)) };
}

function statuses(instances: Map<string, Watched>): Record<string, string> {
  return Object.fromEntries([...instances].map(([id, { state }]) => [id, state.status]));
}

test("what is listed and what comes later is there, and what goes stays as closed", () => {
  const { instances, take } = world();
  take(list("a"), about("opened", { serverId: "b", agent: "mock" }, "b"), about("closed", { serverId: "a" }, "a"));
  expect(statuses(instances)).toEqual({ a: "closed", b: "starting" });
});

test("after a cut, what the list no longer has is closed, and what it has keeps its lines", () => {
  const { instances, take } = world();
  take(list("a", "b"), about("sent", { id: 1, method: "x" }), list("a"));
  expect(statuses(instances)).toEqual({ a: "running", b: "closed" });
  expect(instances.get("a")?.count).toBe(1);
});

test("an id that is used again begins with an empty page", () => {
  const { instances, take } = world();
  take(list("a"), about("sent", { id: 1, method: "x" }), about("closed", { serverId: "a" }));
  take(about("opened", { serverId: "a", agent: "mock" }));
  expect(instances.get("a")).toMatchObject({ count: 0, state: { status: "starting" } });
});

test("an answer reaches who waits for it, and only the agent can give it", async () => {
  const { take, waiting } = world();
  const waiter = Promise.withResolvers<unknown>();
  waiting.set('a "q"', waiter);
  take(list("a"), about("sent", { id: "q", result: "ours" }), about("message", { id: "q", result: { ok: 1 } }));
  expect(await waiter.promise).toEqual({ ok: 1 });
  expect(waiting.size).toBe(0);
});

test.each([
  ["an error of the agent", about("message", { id: "q", error: { message: "said no" } }), "said no"],
  ["a failure of the server", about("failed", { id: "q", problem: { detail: "timed out" } }), "timed out"],
  ["the end of the agent", about("exit", { code: 1 }), "the agent has ended"],
  ["the end of the instance", about("closed", { serverId: "a" }), "the instance was closed"],
])("%s ends the wait", async (_, event, message) => {
  const { take, waiting } = world();
  const waiter = Promise.withResolvers<unknown>();
  waiting.set('a "q"', waiter);
  take(list("a"), event);
  await expect(waiter.promise).rejects.toThrow(message);
});
