import pg from "pg";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type PostgresServer, startPostgres } from "../testing/postgres.ts";
import { describeStore } from "../testing/store-conformance.ts";
import { postgresStore } from "./postgres.ts";

let server: PostgresServer;
let locations = 0;

beforeAll(async () => {
  server = await startPostgres();
}, 60_000);

afterAll(async () => {
  await server?.stop();
});

describeStore("Postgres store", async () => {
  locations += 1;
  const schema = `location "${locations}"`;
  return {
    open: () => postgresStore({ connectionString: server.connectionString, schema }),
    isDurable: true,
    remove: async () => {},
  };
});

it("uses the caller's pool and leaves it open", async () => {
  const pool = new pg.Pool({ connectionString: server.connectionString });
  const store = await postgresStore({ pool, schema: "shared" });
  await store.close();
  expect((await pool.query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
  await pool.end();
});

it("lets several clients create the tables at the same time", async () => {
  const open = () => postgresStore({ connectionString: server.connectionString, schema: "raced" });
  const stores = await Promise.all([open(), open(), open(), open()]);
  expect(await Promise.all(stores.map((store) => store.getSession("nobody")))).toEqual(Array(4).fill(undefined));
  for (const store of stores) await store.close();
});
