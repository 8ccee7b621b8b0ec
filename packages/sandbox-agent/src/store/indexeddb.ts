/** Stores sessions in the browser, in IndexedDB. */

import { NotFoundError } from "../errors.ts";
import type { SandboxEvent } from "../events.ts";
import { compare, pageOf, parseCursor } from "./cursor.ts";
import type { IndexedSession, SessionStore } from "./types.ts";

/** Options for {@link indexedDbStore}. */
export interface IndexedDbStoreOptions {
  /** The database's name. Default: `sandbox-agent`. */
  readonly name?: string;
  /** The IndexedDB that is used instead of the global `indexedDB`. */
  readonly factory?: IndexedDb;
}

/** The type of the global `indexedDB`. It is `never` if a project does not include the DOM library's types. */
export type IndexedDb = typeof globalThis extends { readonly indexedDB: infer Factory } ? Factory : never;

const VERSION = 1;
const SESSIONS = "sessions";
const EVENTS = "events";
const BY_ID = "by-id";

interface EventRow {
  readonly sessionId: string;
  readonly sequence: number;
  readonly id: string;
  readonly event: SandboxEvent;
}

/** Opens a store in the browser. Several pages may share it. */
export async function indexedDbStore(options: IndexedDbStoreOptions = {}): Promise<SessionStore> {
  const database = await open(options.factory ?? globalThis.indexedDB, options.name ?? "sandbox-agent");
  // Another page that upgrades the database must not wait until this page is closed.
  database.onversionchange = () => database.close();

  const transact = async <T>(mode: IDBTransactionMode, work: (of: Stores) => Promise<T>): Promise<T> => {
    const transaction = database.transaction([SESSIONS, EVENTS], mode);
    const done = finished(transaction);
    const sessions = transaction.objectStore(SESSIONS);
    const events = transaction.objectStore(EVENTS);
    try {
      const result = await work({ sessions, events });
      await done;
      return result;
    } catch (error) {
      // Needed only for errors of other kinds: a failed request aborts the transaction by itself.
      try {
        transaction.abort();
      } catch {}
      await done.catch(() => {});
      throw error;
    }
  };

  return {
    getSession: (id) => transact("readonly", ({ sessions }) => result<IndexedSession | undefined>(sessions.get(id))),
    listSessions: ({ limit, cursor } = {}) =>
      transact("readonly", async ({ sessions }) => {
        const after = cursor === undefined ? undefined : parseCursor(cursor);
        const all = (await result<IndexedSession[]>(sessions.getAll())).sort(compare);
        return pageOf(after ? all.filter((session) => compare(session, after) > 0) : all, limit);
      }),
    putSession: (session) =>
      transact("readwrite", async ({ sessions }) => {
        const known = await result<IndexedSession | undefined>(sessions.get(session.id));
        await result(sessions.put({ ...session, eventCount: known?.eventCount ?? 0 }));
      }),
    deleteSession: (id) =>
      transact("readwrite", async ({ sessions, events }) => {
        await result(sessions.delete(id));
        await result(events.delete(rangeOf(id, 0, Number.POSITIVE_INFINITY)));
      }),
    appendEvents: (sessionId, added) =>
      transact("readwrite", async ({ sessions, events }) => {
        const session = await result<IndexedSession | undefined>(sessions.get(sessionId));
        if (!session) throw new NotFoundError("session", sessionId);
        let eventCount = session.eventCount;
        for (const event of added) {
          if ((await result(events.index(BY_ID).getKey([sessionId, event.id]))) !== undefined) continue;
          eventCount += 1;
          await result(events.add({ sessionId, sequence: eventCount, id: event.id, event } satisfies EventRow));
        }
        await result(sessions.put({ ...session, eventCount }));
        return eventCount;
      }),
    listEvents: (sessionId, { after = 0, before = Number.POSITIVE_INFINITY, limit, newestFirst } = {}) =>
      transact("readonly", async ({ events }) => {
        if (after + 1 >= before || limit === 0) return [];
        const found: { sequence: number; event: SandboxEvent }[] = [];
        const request = events.openCursor(rangeOf(sessionId, after, before), newestFirst ? "prev" : "next");
        for (;;) {
          const cursor = await result(request);
          if (!cursor) return found;
          const { sequence, event } = cursor.value as EventRow;
          found.push({ sequence, event });
          if (found.length === limit) return found;
          cursor.continue();
        }
      }),
    async close() {
      database.close();
    },
  };
}

interface Stores {
  readonly sessions: IDBObjectStore;
  readonly events: IDBObjectStore;
}

/** The sequence numbers between two others, both exclusive. */
function rangeOf(sessionId: string, after: number, before: number): IDBKeyRange {
  return IDBKeyRange.bound([sessionId, after], [sessionId, before], true, true);
}

function open(factory: IDBFactory, name: string): Promise<IDBDatabase> {
  const request = factory.open(name, VERSION);
  request.onupgradeneeded = () => {
    request.result.createObjectStore(SESSIONS, { keyPath: "id" });
    const events = request.result.createObjectStore(EVENTS, { keyPath: ["sessionId", "sequence"] });
    events.createIndex(BY_ID, ["sessionId", "id"], { unique: true });
  };
  return result(request);
}

function result<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

function finished(transaction: IDBTransaction): Promise<void> {
  const done = new Promise<void>((resolve, reject) => {
    transaction.oncomplete = () => resolve();
    transaction.onabort = () => reject(transaction.error ?? new Error("the transaction was aborted"));
  });
  // The code inside the transaction receives a failure first. Without this line it would also be reported as unhandled.
  done.catch(() => {});
  return done;
}
