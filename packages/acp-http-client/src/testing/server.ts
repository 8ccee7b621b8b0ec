/** The real server for tests: the built binary on a free port, with its own data, gone when the test is. */

import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** A running server. */
export interface TestServer {
  /** Where it listens, without a slash at the end. */
  readonly url: string;
  readonly port: number;
  /** Ends it as an operator would, and waits. */
  stop(): Promise<void>;
  /** Ends it without a word, and waits. */
  kill(): Promise<void>;
}

/** What to start. */
export interface ServerOptions {
  readonly port?: number;
  /** Arguments behind `server`. */
  readonly args?: readonly string[];
}

/** The binary under test. */
export function serverBinary(): string {
  const built = fileURLToPath(new URL("../../../../target/debug/sandbox-agent", import.meta.url));
  const binary = process.env.SANDBOX_AGENT_BINARY ?? built;
  if (existsSync(binary)) return binary;
  throw new Error(
    `There is no server at ${binary}. Build it with \`cargo build -p sandbox-agent\`, or name one in SANDBOX_AGENT_BINARY.`,
  );
}

/** Starts a server and waits until it listens. */
export async function startServer({ port = 0, args = ["--no-token"] }: ServerOptions = {}): Promise<TestServer> {
  const data = await mkdtemp(join(tmpdir(), "acp-http-client-"));
  const child = spawn(serverBinary(), ["server", "--port", String(port), "--data-dir", data, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, SANDBOX_AGENT_LOG: "warn" },
  });
  const url = await listening(child);
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    const gone = new Promise<void>((resolve) => child.once("exit", () => resolve()));
    if (child.exitCode === null && child.signalCode === null) {
      child.kill(signal);
      await gone;
    }
    await rm(data, { recursive: true, force: true });
  };
  return { url, port: Number(new URL(url).port), stop: () => end("SIGTERM"), kill: () => end("SIGKILL") };
}

function listening(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let [output, errors] = ["", ""];
    child.stderr?.on("data", (chunk: Buffer) => {
      errors += chunk.toString();
    });
    child.stdout?.on("data", (chunk: Buffer) => {
      output += chunk.toString();
      const found = /listening on (\S+)/.exec(output)?.[1];
      if (found) resolve(found.replace(/\/$/, ""));
    });
    child.once("error", reject);
    child.once("exit", (code) => reject(new Error(`the server ended with ${code}: ${errors}`)));
  });
}
