/** Keeps everything in memory, and no longer than the process lives. */

import { NotFoundError } from "../errors.ts";
import { compare, pageOf, placeOf } from "./cursor.ts";
import type { SessionStore, StoredEvent, StoredSession } from "./types.ts";

/** Settings of {@link memoryStore}. */
export interface MemoryStoreOptions {
  /** How many events of a session are kept; the oldest go first. 65,536 unless told. */
  readonly maxEventsPerSession?: number;
}

interface Kept {
  session: StoredSession;
  events: StoredEvent[];
  ids: Set<string>;
  count: number;
}

/** A store in memory. */
export function memoryStore({ maxEventsPerSession = 65_536 }: MemoryStoreOptions = {}): SessionStore {
  const sessions = new Map<string, Kept>();
  const indexed = ({ session, count }: Kept) => ({ ...structuredClone(session), eventCount: count });

  const trim = (kept: Kept): void => {
    // A quarter at a time, so that a full list is not shifted with every event.
    if (kept.events.length <= maxEventsPerSession * 1.25) return;
    const gone = kept.events.splice(0, kept.events.length - maxEventsPerSession);
    for (const { event } of gone) kept.ids.delete(event.id);
  };

  return {
    async getSession(id) {
      const kept = sessions.get(id);
      return kept && indexed(kept);
    },
    async listSessions({ limit, cursor } = {}) {
      const after = cursor === undefined ? undefined : placeOf(cursor);
      const all = [...sessions.values()].map(indexed).sort(compare);
      return pageOf(after ? all.filter((session) => compare(session, after) > 0) : all, limit);
    },
    async putSession(session) {
      const kept = sessions.get(session.id);
      if (kept) kept.session = structuredClone(session);
      else sessions.set(session.id, { session: structuredClone(session), events: [], ids: new Set(), count: 0 });
    },
    async deleteSession(id) {
      sessions.delete(id);
    },
    async appendEvents(sessionId, events) {
      const kept = sessions.get(sessionId);
      if (!kept) throw new NotFoundError("session", sessionId);
      for (const event of structuredClone(events)) {
        if (kept.ids.has(event.id)) continue;
        kept.ids.add(event.id);
        kept.count += 1;
        kept.events.push({ sequence: kept.count, event });
      }
      trim(kept);
      return kept.count;
    },
    async listEvents(sessionId, { after = 0, before = Number.POSITIVE_INFINITY, limit, newestFirst } = {}) {
      const kept = sessions.get(sessionId)?.events ?? [];
      const found = kept.filter(({ sequence }) => sequence > after && sequence < before);
      if (newestFirst) found.reverse();
      return structuredClone(found.slice(0, limit));
    },
    async close() {},
  };
}
