/** The conformance suite that every store must pass. */

import { afterEach, describe, expect, it } from "vitest";
import { NotFoundError } from "../errors.ts";
import type { SessionStore } from "../store/types.ts";
import { errorEvent, storedSession } from "./records.ts";

/** A place for data, empty at first, on which a test may open several stores. */
export interface StoreLocation {
  open(): Promise<SessionStore>;
  /** True if stored data survives when a new store is opened on the same location. */
  readonly isDurable: boolean;
  remove(): Promise<void>;
}

/** Defines the suite for one kind of store. */
export function describeStore(name: string, makeLocation: () => Promise<StoreLocation>): void {
  describe(name, () => {
    const locations: StoreLocation[] = [];
    const stores: SessionStore[] = [];
    const location = async (): Promise<StoreLocation> => {
      const made = await makeLocation();
      locations.push(made);
      return made;
    };
    const open = async (at?: StoreLocation): Promise<SessionStore> => {
      const store = await (at ?? (await location())).open();
      stores.push(store);
      return store;
    };
    afterEach(async () => {
      for (const store of stores.splice(0)) await store.close();
      for (const made of locations.splice(0)) await made.remove();
    });

    it("returns a session as it was stored, without events", async () => {
      const store = await open();
      const full = storedSession("a", {
        title: 'Ünïcode "quoted" \u0000 nul',
        model: "m",
        mode: "code",
        metadata: { nested: { list: [1, null, "x"] } },
        mcp: { tools: { type: "local", command: ["run", "me"] } },
        cursor: "17",
        endedAt: "2026-01-02T00:00:00Z",
      });
      await store.putSession(full);
      expect(await store.getSession("a")).toEqual({ ...full, eventCount: 0 });
      expect(await store.getSession("b")).toBeUndefined();
    });

    it("replaces a session and keeps its events and their count", async () => {
      const store = await open();
      await store.putSession(storedSession("a", { title: "before" }));
      await store.appendEvents("a", [errorEvent("1"), errorEvent("2")]);
      await store.putSession(storedSession("a", { metadata: { now: true } }));
      const kept = await store.getSession("a");
      expect(kept).toEqual({ ...storedSession("a", { metadata: { now: true } }), eventCount: 2 });
      expect(await store.listEvents("a")).toHaveLength(2);
    });

    it("lists sessions most recently used first, then by id", async () => {
      const store = await open();
      await store.putSession(storedSession("b"));
      await store.putSession(storedSession("a"));
      await store.putSession(storedSession("Z"));
      await store.putSession(storedSession("new", { updatedAt: "2026-06-01T00:00:00.000Z" }));
      const { items, next } = await store.listSessions();
      expect(items.map(({ id }) => id)).toEqual(["new", "Z", "a", "b"]);
      expect(next).toBeUndefined();
    });

    it("pages through sessions without duplicates or gaps, including ids with spaces", async () => {
      const store = await open();
      const ids = Array.from({ length: 7 }, (_, index) => `session ${index}`);
      for (const id of ids) await store.putSession(storedSession(id));
      const seen: string[] = [];
      let cursor: string | undefined;
      do {
        const page = await store.listSessions({ limit: 3, ...(cursor && { cursor }) });
        expect(page.items.length).toBeLessThanOrEqual(3);
        seen.push(...page.items.map(({ id }) => id));
        cursor = page.next;
      } while (cursor);
      expect(seen).toEqual(ids);
    });

    it("numbers events from one, in order, and returns the last number", async () => {
      const store = await open();
      await store.putSession(storedSession("a"));
      expect(await store.appendEvents("a", [errorEvent("x"), errorEvent("y")])).toBe(2);
      expect(await store.appendEvents("a", [errorEvent("z")])).toBe(3);
      expect(await store.appendEvents("a", [])).toBe(3);
      const events = await store.listEvents("a");
      expect(events).toEqual(["x", "y", "z"].map((id, index) => ({ sequence: index + 1, event: errorEvent(id) })));
      expect((await store.getSession("a"))?.eventCount).toBe(3);
    });

    it("skips an event that is stored already, also within one batch", async () => {
      const store = await open();
      await store.putSession(storedSession("a"));
      await store.appendEvents("a", [errorEvent("1"), errorEvent("2")]);
      expect(
        await store.appendEvents("a", [
          errorEvent("2", { message: "again" }),
          errorEvent("3"),
          errorEvent("3", { message: "twice" }),
          errorEvent("4"),
        ]),
      ).toBe(4);
      const events = await store.listEvents("a");
      expect(events.map(({ sequence, event: { id } }) => [sequence, id])).toEqual([
        [1, "1"],
        [2, "2"],
        [3, "3"],
        [4, "4"],
      ]);
      expect(events.map(({ event: kept }) => (kept.type === "error" ? kept.message : ""))).toEqual([
        "1",
        "2",
        "3",
        "4",
      ]);
    });

    it("separates the events of sessions", async () => {
      const store = await open();
      await store.putSession(storedSession("a"));
      await store.putSession(storedSession("b"));
      await store.appendEvents("a", [errorEvent("1")]);
      await store.appendEvents("b", [errorEvent("1"), errorEvent("2")]);
      expect(await store.listEvents("a")).toHaveLength(1);
      expect(await store.listEvents("b")).toHaveLength(2);
      expect(await store.listEvents("c")).toEqual([]);
    });

    it("rejects events of an unknown session", async () => {
      const store = await open();
      await expect(store.appendEvents("nobody", [errorEvent("1")])).rejects.toBeInstanceOf(NotFoundError);
    });

    it("reads events after and before a sequence number, up to a limit, and newest first", async () => {
      const store = await open();
      await store.putSession(storedSession("a"));
      await store.appendEvents(
        "a",
        Array.from({ length: 10 }, (_, index) => errorEvent(String(index + 1))),
      );
      const sequences = async (range: Parameters<SessionStore["listEvents"]>[1]): Promise<number[]> =>
        (await store.listEvents("a", range)).map(({ sequence }) => sequence);
      expect(await sequences({ after: 7 })).toEqual([8, 9, 10]);
      expect(await sequences({ before: 3 })).toEqual([1, 2]);
      expect(await sequences({ after: 2, limit: 2 })).toEqual([3, 4]);
      expect(await sequences({ newestFirst: true, limit: 3 })).toEqual([10, 9, 8]);
      expect(await sequences({ newestFirst: true, before: 4 })).toEqual([3, 2, 1]);
      expect(await sequences({ after: 4, before: 5 })).toEqual([]);
      expect(await sequences({ after: 10 })).toEqual([]);
      expect(await sequences({ limit: 0 })).toEqual([]);
    });

    it("deletes a session with its events, and deleting it again succeeds", async () => {
      const store = await open();
      await store.putSession(storedSession("a"));
      await store.putSession(storedSession("b"));
      await store.appendEvents("a", [errorEvent("1")]);
      await store.appendEvents("b", [errorEvent("1")]);
      await store.deleteSession("a");
      await store.deleteSession("a");
      expect(await store.getSession("a")).toBeUndefined();
      expect(await store.listEvents("a")).toEqual([]);
      expect(await store.listEvents("b")).toHaveLength(1);
      await store.putSession(storedSession("a"));
      expect(await store.appendEvents("a", [errorEvent("1")])).toBe(1);
    });

    it("assigns every sequence number once under concurrent writes", async () => {
      const at = await location();
      const [one, two] = [await open(at), at.isDurable ? await open(at) : undefined];
      await one.putSession(storedSession("a"));
      const writes = Array.from({ length: 40 }, (_, index) =>
        (index % 2 && two ? two : one).appendEvents("a", [errorEvent(`${index}-1`), errorEvent(`${index}-2`)]),
      );
      await Promise.all(writes);
      const events = await one.listEvents("a");
      expect(events.map(({ sequence }) => sequence)).toEqual(Array.from({ length: 80 }, (_, index) => index + 1));
      // The events of one batch are next to each other.
      for (let index = 0; index < 80; index += 2) {
        const [first, second] = [events[index]?.event.id, events[index + 1]?.event.id];
        expect(second).toBe(first?.replace("-1", "-2"));
      }
    });

    it("is not changed through objects that it received or returned", async () => {
      const store = await open();
      const given = { ...storedSession("a"), metadata: { list: ["kept"] } };
      await store.putSession(given);
      given.metadata.list.push("added later");
      const got = await store.getSession("a");
      const list = got?.metadata.list;
      expect(Array.isArray(list) && list.push("added by a reader")).toBe(2);
      expect((await store.getSession("a"))?.metadata).toEqual({ list: ["kept"] });
    });

    it("has all data after it is reopened, if it is durable", async () => {
      const at = await location();
      const first = await open(at);
      await first.putSession(storedSession("a"));
      await first.appendEvents("a", [errorEvent("1")]);
      await first.close();
      const second = await open(at);
      expect((await second.getSession("a"))?.eventCount).toBe(at.isDurable ? 1 : undefined);
      expect(await second.listEvents("a")).toHaveLength(at.isDurable ? 1 : 0);
    });
  });
}
