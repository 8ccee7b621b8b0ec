/** The server under test, with a data directory of its own. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startProgram } from "../../../testing/program.ts";

/** A running server. */
export interface TestServer {
  /** The server's base URL, without a trailing slash. */
  readonly url: string;
  readonly port: number;
  /** Shuts the server down with SIGTERM, and waits until it has exited. */
  stop(): Promise<void>;
  /** Kills the server with SIGKILL, and waits until it has exited. */
  kill(): Promise<void>;
}

/** How to start a server. */
export interface ServerOptions {
  /** The port to listen on. Default: any free port. */
  readonly port?: number;
  /** Arguments after `server`. */
  readonly args?: readonly string[];
}

/** Starts a server and waits until it listens. */
export async function startServer({ port = 0, args = ["--no-token"] }: ServerOptions = {}): Promise<TestServer> {
  const data = await mkdtemp(join(tmpdir(), "acp-http-client-"));
  const { url, stop } = await startProgram({
    args: ["server", "--port", String(port), "--data-dir", data, ...args],
    env: { ...process.env, SANDBOX_AGENT_LOG: "warn" },
  });
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    await stop(signal);
    await rm(data, { recursive: true, force: true });
  };
  return { url, port: Number(new URL(url).port), stop: () => end("SIGTERM"), kill: () => end("SIGKILL") };
}
