/** A real Postgres for one test file, with its own data and a socket in a temporary folder. The caller stops it. */

import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, existsSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { until } from "../../../testing/until.ts";
import { makeFolder } from "./folder.ts";

/** A running server. */
export interface PostgresServer {
  readonly connectionString: string;
  stop(): Promise<void>;
}

/** Starts a server. */
export async function startPostgres(): Promise<PostgresServer> {
  const folder = await makeFolder();
  const data = join(folder.path, "data");
  mkdirSync(data);
  const user = unprivilegedUser();
  if (user.uid !== undefined && user.gid !== undefined) {
    chownSync(folder.path, user.uid, user.gid);
    chownSync(data, user.uid, user.gid);
  }
  const bin = binaries();
  const options = { ...user, cwd: folder.path };
  execFileSync(join(bin, "initdb"), ["-D", data, "-U", "tester", "-A", "trust", "-E", "UTF8", "--no-sync"], {
    ...options,
    stdio: "ignore",
  });
  // No TCP: the socket is in a private folder, so any number of servers can run in parallel.
  const server = spawn(join(bin, "postgres"), ["-D", data, "-k", folder.path, "-h", "", "-c", "fsync=off"], {
    ...options,
    stdio: "ignore",
  });
  const exited = once(server, "exit");
  const connectionString = `postgres://tester@/postgres?host=${encodeURIComponent(folder.path)}`;
  await until("Postgres to take connections", async () => {
    if (server.exitCode !== null) throw new Error(`postgres exited with ${server.exitCode}`);
    const client = new pg.Client({ connectionString });
    try {
      await client.connect();
      return true;
    } catch {
      return false;
    } finally {
      await client.end().catch(() => {});
    }
  });
  return {
    connectionString,
    async stop() {
      // SIGTERM makes Postgres wait for connections that are being closed.
      server.kill("SIGTERM");
      await exited;
      await folder.remove();
    },
  };
}

/** The user to run Postgres as if this process is root: Postgres refuses that. Debian's package creates the user. */
function unprivilegedUser(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const idOf = (flag: string): number => Number(execFileSync("id", [flag, "postgres"], { encoding: "utf8" }).trim());
  return { uid: idOf("-u"), gid: idOf("-g") };
}

/** The folder of the newest Postgres. Debian installs the binaries outside the PATH, in one folder per version. */
function binaries(): string {
  const root = "/usr/lib/postgresql";
  const versions = existsSync(root) ? readdirSync(root).sort((one, other) => Number(other) - Number(one)) : [];
  const found = versions.map((version) => join(root, version, "bin")).find((bin) => existsSync(join(bin, "initdb")));
  if (found) return found;
  throw new Error("no Postgres server found: run sh scripts/test-tools.sh");
}
