/** Stores sessions in one SQLite file. Uses `node:sqlite`. */

import { DatabaseSync } from "node:sqlite";
import { NotFoundError } from "../errors.ts";
import { pageOf, parseCursor } from "./cursor.ts";
import type { IndexedSession, SessionStore, StoredEvent, StoredSession } from "./types.ts";

/** Options for {@link sqliteStore}. */
export interface SqliteStoreOptions {
  /** The file; created if it does not exist. `:memory:` for an in-memory database. */
  readonly path: string;
}

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS sandbox_sessions (
    id TEXT PRIMARY KEY,
    updated_at TEXT NOT NULL,
    event_count INTEGER NOT NULL DEFAULT 0,
    body TEXT NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS sandbox_sessions_by_use ON sandbox_sessions (updated_at DESC, id);
  CREATE TABLE IF NOT EXISTS sandbox_events (
    session_id TEXT NOT NULL REFERENCES sandbox_sessions (id) ON DELETE CASCADE,
    sequence INTEGER NOT NULL,
    event_id TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (session_id, sequence)
  ) STRICT, WITHOUT ROWID;
  CREATE UNIQUE INDEX IF NOT EXISTS sandbox_events_by_id ON sandbox_events (session_id, event_id);
`;

/** Opens a store in a SQLite file. Several processes may share it. */
export function sqliteStore({ path }: SqliteStoreOptions): SessionStore {
  const database = new DatabaseSync(path, { enableForeignKeyConstraints: true, timeout: 10_000 });
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;");
  database.exec(SCHEMA);
  const statements = {
    get: database.prepare("SELECT body, event_count FROM sandbox_sessions WHERE id = ?"),
    list: database.prepare(
      `SELECT body, event_count FROM sandbox_sessions
       WHERE ?1 IS NULL OR updated_at < ?1 OR (updated_at = ?1 AND id > ?2)
       ORDER BY updated_at DESC, id LIMIT ?3`,
    ),
    put: database.prepare(
      `INSERT INTO sandbox_sessions (id, updated_at, body) VALUES (?, ?, ?)
       ON CONFLICT (id) DO UPDATE SET updated_at = excluded.updated_at, body = excluded.body`,
    ),
    delete: database.prepare("DELETE FROM sandbox_sessions WHERE id = ?"),
    insert: database.prepare(
      `INSERT INTO sandbox_events (session_id, sequence, event_id, body) VALUES (?, ?, ?, ?)
       ON CONFLICT (session_id, event_id) DO NOTHING`,
    ),
    count: database.prepare("UPDATE sandbox_sessions SET event_count = ? WHERE id = ?"),
    oldest: database.prepare(eventQuery("ASC")),
    newest: database.prepare(eventQuery("DESC")),
  };

  const atomically = <T>(work: () => T): T => {
    database.exec("BEGIN IMMEDIATE");
    try {
      const result = work();
      database.exec("COMMIT");
      return result;
    } catch (error) {
      database.exec("ROLLBACK");
      throw error;
    }
  };

  return {
    async getSession(id) {
      const row = statements.get.get(id);
      return row && sessionOf(row);
    },
    async listSessions({ limit, cursor } = {}) {
      const after = cursor === undefined ? undefined : parseCursor(cursor);
      const most = limit === undefined ? -1 : limit + 1;
      const rows = statements.list.all(after?.updatedAt ?? null, after?.id ?? null, most);
      return pageOf(rows.map(sessionOf), limit);
    },
    async putSession(session) {
      statements.put.run(session.id, session.updatedAt, JSON.stringify(session));
    },
    async deleteSession(id) {
      statements.delete.run(id);
    },
    async appendEvents(sessionId, events) {
      return atomically(() => {
        const row = statements.get.get(sessionId);
        if (!row) throw new NotFoundError("session", sessionId);
        let count = Number(row.event_count);
        for (const event of events) {
          const { changes } = statements.insert.run(sessionId, count + 1, event.id, JSON.stringify(event));
          count += Number(changes);
        }
        statements.count.run(count, sessionId);
        return count;
      });
    },
    async listEvents(sessionId, { after = 0, before = Number.MAX_SAFE_INTEGER, limit = -1, newestFirst } = {}) {
      const statement = newestFirst ? statements.newest : statements.oldest;
      return statement.all(sessionId, after, before, limit).map(eventOf);
    },
    async close() {
      if (database.isOpen) database.close();
    },
  };
}

function eventQuery(order: "ASC" | "DESC"): string {
  return `SELECT sequence, body FROM sandbox_events
    WHERE session_id = ? AND sequence > ? AND sequence < ? ORDER BY sequence ${order} LIMIT ?`;
}

type Row = Record<string, unknown>;

function sessionOf(row: Row): IndexedSession {
  return { ...(JSON.parse(String(row.body)) as StoredSession), eventCount: Number(row.event_count) };
}

function eventOf(row: Row): StoredEvent {
  return { sequence: Number(row.sequence), event: JSON.parse(String(row.body)) as StoredEvent["event"] };
}
