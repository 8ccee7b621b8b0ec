import { expect, it } from "vitest";
import type { SandboxEvent } from "../events.ts";
import { memoryStore } from "../store/memory.ts";
import { errorEvent, storedSession } from "../testing/records.ts";
import { createRecorder } from "./recorder.ts";

const event = (id: string, sessionId = "a"): SandboxEvent => errorEvent(id, { sessionId });
const session = storedSession("a");

it("a stream has every event since the call, and ends when the signal is aborted", async () => {
  const recorder = createRecorder(memoryStore(), () => {});
  const stop = new AbortController();
  const stream = recorder.stream({ sessionId: "a", signal: stop.signal });
  recorder.notify(event("1"));
  recorder.notify(event("other", "b"));
  recorder.notify(event("2"));
  const seen: string[] = [];
  for await (const { id } of stream) {
    seen.push(id);
    if (id === "2") recorder.notify(event("3"));
    if (id === "3") stop.abort();
  }
  expect(seen).toEqual(["1", "2", "3"]);
});

it("a stream that is left early, or never read, is unsubscribed", async () => {
  const recorder = createRecorder(memoryStore(), () => {});
  const left = recorder.stream();
  recorder.notify(event("1"));
  for await (const _ of left) break;
  expect(await left.next()).toEqual({ done: true, value: undefined });
  const unseen = recorder.stream();
  await unseen.return();
  expect(await unseen.next()).toEqual({ done: true, value: undefined });
});

it("a stream ends when the client is disposed of, after the stream has yielded all earlier events", async () => {
  const recorder = createRecorder(memoryStore(), () => {});
  const stream = recorder.stream();
  recorder.notify(event("1"));
  recorder.end();
  const seen: string[] = [];
  for await (const { id } of stream) seen.push(id);
  expect(seen).toEqual(["1"]);
});

it("events that arrive during a write are written together, in order, after their session", async () => {
  const store = memoryStore();
  const batches: number[] = [];
  const slow = {
    ...store,
    appendEvents: async (id: string, events: readonly SandboxEvent[]) => {
      batches.push(events.length);
      return store.appendEvents(id, events);
    },
  };
  const recorder = createRecorder(slow, () => {});
  recorder.save(session);
  for (let index = 0; index < 1000; index += 1) recorder.store(event(String(index)));
  await recorder.flush();
  expect(batches.length).toBeLessThan(10);
  const kept = await store.listEvents("a");
  expect(kept.map(({ event: { id } }) => id)).toEqual(Array.from({ length: 1000 }, (_, index) => String(index)));
});

it("a failing store is reported, and later writes continue", async () => {
  const store = memoryStore();
  const failures: unknown[] = [];
  const recorder = createRecorder(store, (error) => failures.push(error));
  recorder.store(event("nobody's", "unknown"));
  await recorder.flush();
  expect(failures).toHaveLength(1);
  recorder.save(session);
  recorder.store(event("1"));
  await recorder.flush();
  expect(await store.listEvents("a")).toHaveLength(1);
});

it("a store that throws instead of rejecting is reported, and later writes continue", async () => {
  const failures: unknown[] = [];
  const broken = {
    ...memoryStore(),
    putSession: () => {
      throw new Error("no");
    },
  };
  const recorder = createRecorder(broken, (error) => failures.push(error));
  recorder.save(session);
  await recorder.flush();
  recorder.save(session);
  await recorder.flush();
  expect(failures).toHaveLength(2);
});

it("stores what arrives at any moment of an earlier write", async () => {
  for (let ticks = 0; ticks < 20; ticks += 1) {
    const store = memoryStore();
    const recorder = createRecorder(store, () => {});
    recorder.save(session);
    for (let tick = 0; tick < ticks; tick += 1) await Promise.resolve();
    recorder.save({ ...session, title: "last" });
    await recorder.flush();
    expect((await store.getSession("a"))?.title, `after ${ticks} ticks`).toBe("last");
  }
});
