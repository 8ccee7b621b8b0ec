/** Stores sessions in memory, for the life of the process. */

import { NotFoundError } from "../errors.ts";
import { compare, pageOf, parseCursor } from "./cursor.ts";
import type { SessionStore, StoredEvent, StoredSession } from "./types.ts";

/** Options for {@link memoryStore}. */
export interface MemoryStoreOptions {
  /** The most events to hold per session; the oldest are evicted first. Default: 65,536. */
  readonly maxEventsPerSession?: number;
}

interface Entry {
  session: StoredSession;
  events: StoredEvent[];
  ids: Set<string>;
  count: number;
}

/** Makes an in-memory store. */
export function memoryStore({ maxEventsPerSession = 65_536 }: MemoryStoreOptions = {}): SessionStore {
  const sessions = new Map<string, Entry>();
  const indexed = ({ session, count }: Entry) => ({ ...structuredClone(session), eventCount: count });

  const trim = (entry: Entry): void => {
    // Evicts only when the list is a quarter too long, so that it is not shifted for every event.
    if (entry.events.length <= maxEventsPerSession * 1.25) return;
    const gone = entry.events.splice(0, entry.events.length - maxEventsPerSession);
    for (const { event } of gone) entry.ids.delete(event.id);
  };

  return {
    async getSession(id) {
      const entry = sessions.get(id);
      return entry && indexed(entry);
    },
    async listSessions({ limit, cursor } = {}) {
      const after = cursor === undefined ? undefined : parseCursor(cursor);
      const all = [...sessions.values()].map(indexed).sort(compare);
      return pageOf(after ? all.filter((session) => compare(session, after) > 0) : all, limit);
    },
    async putSession(session) {
      const entry = sessions.get(session.id);
      if (entry) entry.session = structuredClone(session);
      else sessions.set(session.id, { session: structuredClone(session), events: [], ids: new Set(), count: 0 });
    },
    async deleteSession(id) {
      sessions.delete(id);
    },
    async appendEvents(sessionId, events) {
      const entry = sessions.get(sessionId);
      if (!entry) throw new NotFoundError("session", sessionId);
      for (const event of structuredClone(events)) {
        if (entry.ids.has(event.id)) continue;
        entry.ids.add(event.id);
        entry.count += 1;
        entry.events.push({ sequence: entry.count, event });
      }
      trim(entry);
      return entry.count;
    },
    async listEvents(sessionId, { after = 0, before = Number.POSITIVE_INFINITY, limit, newestFirst } = {}) {
      const entry = sessions.get(sessionId)?.events ?? [];
      const found = entry.filter(({ sequence }) => sequence > after && sequence < before);
      if (newestFirst) found.reverse();
      return structuredClone(found.slice(0, limit));
    },
    async close() {},
  };
}
