/** Stores sessions in Postgres. Uses the npm package `pg`, which the caller has to install. */

import { NotFoundError } from "../errors.ts";
import { pageOf, parseCursor } from "./cursor.ts";
import type { IndexedSession, SessionStore, StoredEvent, StoredSession } from "./types.ts";

/** The result of a query. */
export interface PostgresResult {
  /** The rows. */
  readonly rows: readonly unknown[];
  /** How many rows the query has changed. */
  readonly rowCount: number | null;
}

/** An object that runs queries: a pool or a connection. */
export interface PostgresQueries {
  /** Runs a query with parameters. */
  query(sql: string, values?: unknown[]): Promise<PostgresResult>;
}

/** A connection of a pool. */
export interface PostgresConnection extends PostgresQueries {
  /** Returns the connection to the pool. */
  release(): void;
}

/** The part of `pg`'s `Pool` that the store uses, so that a project compiles without the types of `pg`. */
export interface PostgresPool extends PostgresQueries {
  /** Takes a connection from the pool. */
  connect(): Promise<PostgresConnection>;
}

/** Options for {@link postgresStore}: a pool of the caller, or a connection string. */
export interface PostgresStoreOptions {
  /** The caller's pool. Closing the store does not close this pool. */
  readonly pool?: PostgresPool;
  /** Where to connect to, such as `postgres://user@host/database`. */
  readonly connectionString?: string;
  /** The schema of the tables; created if it does not exist. Default: `sandbox_agent`. */
  readonly schema?: string;
}

/** Opens a store in Postgres. Several processes may share it. Missing tables are created. */
export async function postgresStore(options: PostgresStoreOptions): Promise<SessionStore> {
  const { pool, close } = await openPool(options);
  const schema = quoted(options.schema ?? "sandbox_agent");
  const sessions = `${schema}.sessions`;
  const events = `${schema}.events`;
  await prepare(pool, schema);

  const atomically = async <T>(work: (client: PostgresQueries) => Promise<T>): Promise<T> => {
    const client = await pool.connect();
    try {
      await client.query("BEGIN");
      const result = await work(client);
      await client.query("COMMIT");
      return result;
    } catch (error) {
      await client.query("ROLLBACK");
      throw error;
    } finally {
      client.release();
    }
  };

  return {
    async getSession(id) {
      const [row] = rowsOf(await pool.query(`SELECT body, event_count FROM ${sessions} WHERE id = $1`, [id]));
      return row && sessionOf(row);
    },
    async listSessions({ limit, cursor } = {}) {
      const after = cursor === undefined ? undefined : parseCursor(cursor);
      const most = limit === undefined ? null : limit + 1;
      const found = await pool.query(
        `SELECT body, event_count FROM ${sessions}
         WHERE $1::text IS NULL OR updated_at < $1 OR (updated_at = $1 AND id > $2)
         ORDER BY updated_at DESC, id LIMIT $3`,
        [after?.updatedAt ?? null, after?.id ?? null, most],
      );
      return pageOf(rowsOf(found).map(sessionOf), limit);
    },
    async putSession(session) {
      await pool.query(
        `INSERT INTO ${sessions} (id, updated_at, body) VALUES ($1, $2, $3)
         ON CONFLICT (id) DO UPDATE SET updated_at = excluded.updated_at, body = excluded.body`,
        [session.id, session.updatedAt, JSON.stringify(session)],
      );
    },
    async deleteSession(id) {
      await pool.query(`DELETE FROM ${sessions} WHERE id = $1`, [id]);
    },
    appendEvents: (sessionId, added) =>
      atomically(async (client) => {
        // Locks the session's row, so that one writer at a time assigns sequence numbers.
        const locked = await client.query(`SELECT event_count FROM ${sessions} WHERE id = $1 FOR UPDATE`, [sessionId]);
        const [row] = rowsOf(locked);
        if (!row) throw new NotFoundError("session", sessionId);
        const count = Number(row.event_count);
        const { rowCount } = await client.query(
          `INSERT INTO ${events} (session_id, sequence, event_id, body)
           SELECT $1, $2 + row_number() OVER (ORDER BY place), event_id, body FROM (
             SELECT DISTINCT ON (event_id) event_id, body, place
             FROM unnest($3::text[], $4::text[]) WITH ORDINALITY AS added (event_id, body, place)
             WHERE NOT EXISTS (
               SELECT 1 FROM ${events} known WHERE known.session_id = $1 AND known.event_id = added.event_id)
             ORDER BY event_id, place) fresh`,
          [sessionId, count, added.map(({ id }) => id), added.map((event) => JSON.stringify(event))],
        );
        const total = count + (rowCount ?? 0);
        await client.query(`UPDATE ${sessions} SET event_count = $2 WHERE id = $1`, [sessionId, total]);
        return total;
      }),
    async listEvents(sessionId, { after = 0, before = Number.MAX_SAFE_INTEGER, limit = null, newestFirst } = {}) {
      const found = await pool.query(
        `SELECT sequence, body FROM ${events} WHERE session_id = $1 AND sequence > $2 AND sequence < $3
         ORDER BY sequence ${newestFirst ? "DESC" : "ASC"} LIMIT $4`,
        [sessionId, after, before, limit],
      );
      return rowsOf(found).map(eventOf);
    },
    close,
  };
}

/** Returns the caller's pool, or opens one that is closed with the store. */
async function openPool(
  options: PostgresStoreOptions,
): Promise<{ readonly pool: PostgresPool; close(): Promise<void> }> {
  const { pool: given, connectionString } = options;
  if (given) return { pool: given, close: async () => {} };
  const { default: pg } = await import("pg");
  const pool = new pg.Pool(connectionString === undefined ? {} : { connectionString });
  // The pool replaces a broken idle connection at the next query. Without a listener, this event would end the process.
  pool.on("error", () => {});
  return {
    pool,
    async close() {
      if (!pool.ending) await pool.end();
    },
  };
}

/** Creates the tables. An advisory lock serializes clients that start at the same time. */
async function prepare(pool: PostgresPool, schema: string): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query("SELECT pg_advisory_lock(hashtext($1))", [schema]);
    // `text` rather than `jsonb`, which rejects U+0000 and reorders keys. Collation "C" sorts like the other stores.
    await client.query(`
      CREATE SCHEMA IF NOT EXISTS ${schema};
      CREATE TABLE IF NOT EXISTS ${schema}.sessions (
        id text COLLATE "C" PRIMARY KEY,
        updated_at text COLLATE "C" NOT NULL,
        event_count bigint NOT NULL DEFAULT 0,
        body text NOT NULL
      );
      CREATE INDEX IF NOT EXISTS sessions_by_use ON ${schema}.sessions (updated_at DESC, id);
      CREATE TABLE IF NOT EXISTS ${schema}.events (
        session_id text COLLATE "C" NOT NULL REFERENCES ${schema}.sessions (id) ON DELETE CASCADE,
        sequence bigint NOT NULL,
        event_id text COLLATE "C" NOT NULL,
        body text NOT NULL,
        PRIMARY KEY (session_id, sequence),
        UNIQUE (session_id, event_id)
      );`);
  } finally {
    await client.query("SELECT pg_advisory_unlock(hashtext($1))", [schema]);
    client.release();
  }
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

type Row = { body: string; event_count: string; sequence: string };

function rowsOf({ rows }: PostgresResult): readonly Row[] {
  return rows as readonly Row[];
}

function sessionOf(row: Row): IndexedSession {
  return { ...(JSON.parse(row.body) as StoredSession), eventCount: Number(row.event_count) };
}

function eventOf(row: Row): StoredEvent {
  return { sequence: Number(row.sequence), event: JSON.parse(row.body) as StoredEvent["event"] };
}
