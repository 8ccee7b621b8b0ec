import { expect, it } from "vitest";
import { errorEvent, storedSession } from "../testing/records.ts";
import { describeStore } from "../testing/store-conformance.ts";
import { memoryStore } from "./memory.ts";

describeStore("memory store", async () => ({
  open: async () => memoryStore(),
  isDurable: false,
  remove: async () => {},
}));

it("evicts the oldest events of a long session, and continues to count", async () => {
  const store = memoryStore({ maxEventsPerSession: 100 });
  await store.putSession(storedSession("a"));
  for (let index = 1; index <= 1000; index += 1) await store.appendEvents("a", [errorEvent(String(index))]);
  const events = await store.listEvents("a");
  expect(events.length).toBeLessThanOrEqual(125);
  expect(events.at(-1)?.sequence).toBe(1000);
  expect((await store.getSession("a"))?.eventCount).toBe(1000);
});
