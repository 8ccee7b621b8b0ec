/** Stores sessions in Postgres, through `pg`, which the caller installs. */

import type { Pool, PoolClient } from "pg";
import { NotFoundError } from "../errors.ts";
import { pageOf, parseCursor } from "./cursor.ts";
import type { IndexedSession, SessionStore, StoredEvent, StoredSession } from "./types.ts";

/** Options of {@link postgresStore}: a pool of the caller, or a connection string. */
export interface PostgresStoreOptions {
  /** The caller's pool. It is not closed with the store. */
  readonly pool?: Pool;
  /** Such as `postgres://user@host/database`. */
  readonly connectionString?: string;
  /** The schema of the tables; created if it does not exist. Default: `sandbox_agent`. */
  readonly schema?: string;
}

/** Opens a store in Postgres. Several processes may share it. Missing tables are created. */
export async function postgresStore(options: PostgresStoreOptions): Promise<SessionStore> {
  const pool = options.pool ?? (await ownPool(options.connectionString));
  const schema = quoted(options.schema ?? "sandbox_agent");
  const sessions = `${schema}.sessions`;
  const events = `${schema}.events`;
  await prepare(pool, schema);

  const atomically = async <T>(work: (client: PoolClient) => Promise<T>): Promise<T> => {
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
      const { rows } = await pool.query<Row>(`SELECT body, event_count FROM ${sessions} WHERE id = $1`, [id]);
      return rows[0] && sessionOf(rows[0]);
    },
    async listSessions({ limit, cursor } = {}) {
      const after = cursor === undefined ? undefined : parseCursor(cursor);
      const most = limit === undefined ? null : limit + 1;
      const { rows } = await pool.query<Row>(
        `SELECT body, event_count FROM ${sessions}
         WHERE $1::text IS NULL OR updated_at < $1 OR (updated_at = $1 AND id > $2)
         ORDER BY updated_at DESC, id LIMIT $3`,
        [after?.updatedAt ?? null, after?.id ?? null, most],
      );
      return pageOf(rows.map(sessionOf), limit);
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
        const locked = await client.query<Row>(`SELECT event_count FROM ${sessions} WHERE id = $1 FOR UPDATE`, [
          sessionId,
        ]);
        if (!locked.rows[0]) throw new NotFoundError("session", sessionId);
        const count = Number(locked.rows[0].event_count);
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
      const { rows } = await pool.query<Row>(
        `SELECT sequence, body FROM ${events} WHERE session_id = $1 AND sequence > $2 AND sequence < $3
         ORDER BY sequence ${newestFirst ? "DESC" : "ASC"} LIMIT $4`,
        [sessionId, after, before, limit],
      );
      return rows.map(eventOf);
    },
    async close() {
      if (!options.pool && !pool.ending) await pool.end();
    },
  };
}

async function ownPool(connectionString: string | undefined): Promise<Pool> {
  const { default: pg } = await import("pg");
  const pool = new pg.Pool(connectionString === undefined ? {} : { connectionString });
  // A broken idle connection is replaced at the next query; without a listener it would crash the process.
  pool.on("error", () => {});
  return pool;
}

/** Creates the tables. An advisory lock serializes clients that start at the same time. */
async function prepare(pool: Pool, schema: string): Promise<void> {
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

function sessionOf(row: Row): IndexedSession {
  return { ...(JSON.parse(row.body) as StoredSession), eventCount: Number(row.event_count) };
}

function eventOf(row: Row): StoredEvent {
  return { sequence: Number(row.sequence), event: JSON.parse(row.body) as StoredEvent["event"] };
}
