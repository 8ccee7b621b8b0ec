/** Starts a server for one client, on a free port with a random token. The server is shut down with that client. */

import { type ChildProcess, spawn } from "node:child_process";
import { SandboxAgentError } from "../errors.ts";
import { findBinary } from "./binary.ts";
import { randomId } from "./ids.ts";
import type { SandboxAgentClientOptions } from "./options.ts";

/** Options for `SandboxAgentClient.start()`. */
export interface EmbeddedOptions extends Omit<SandboxAgentClientOptions, "baseUrl" | "token"> {
  /** The agent to connect to. */
  readonly agent: string;
  /**
   * The server's binary. Default: `SANDBOX_AGENT_BIN`, then the npm package for this platform, then `sandbox-agent` on
   * the `PATH`.
   */
  readonly binary?: string;
  /** Additional arguments for the server. */
  readonly args?: readonly string[];
  /** Additional environment variables for the server, which passes them on to the agent. */
  readonly serverEnv?: Readonly<Record<string, string>>;
  /** The server's working directory. Relative paths are resolved against it. Default: that of this process. */
  readonly workspace?: string;
  /** Receives the server's log. */
  readonly onLog?: (text: string) => void;
  /** How long the server may take to start. Default: 30 s. */
  readonly startTimeoutMs?: number;
}

/** A running server. */
export interface EmbeddedServer {
  readonly baseUrl: string;
  readonly token: string;
  /** Resolves when the server has exited, with its exit code or signal. */
  readonly ended: Promise<string>;
  /** Shuts the server down; resolves when it has exited. */
  stop(): Promise<void>;
}

/** The server gives its agents this long to exit. After that it is killed. */
const STOP_MS = 12_000;
const LOG_KEPT = 4096;

/** Starts a server and waits until it listens. */
export async function startServer(options: EmbeddedOptions): Promise<EmbeddedServer> {
  const binary = await findBinary(options.binary);
  const token = randomId("token");
  // The server exits when its stdin is closed. This process holds the other end, which the kernel closes however this
  // process ends.
  const child = spawn(binary, ["server", "--port", "0", "--stop-with-stdin", ...(options.args ?? [])], {
    cwd: options.workspace ?? process.cwd(),
    // The token is passed in the environment, because every user of the machine can read a process's arguments.
    env: { ...process.env, SANDBOX_AGENT_HOST: "127.0.0.1", ...options.serverEnv, SANDBOX_AGENT_TOKEN: token },
    stdio: "pipe",
    // A process group of its own: Ctrl-C in a terminal should reach only this process, which decides what to do.
    detached: true,
  });
  // Ignored: a server that has exited no longer reads its stdin.
  child.stdin.on("error", () => {});
  const ended = new Promise<string>((resolve) => {
    child.once("exit", (code, signal) => resolve(signal ?? `code ${code}`));
    child.once("error", (error) => resolve(error.message));
  });
  const stop = async (): Promise<void> => {
    child.kill("SIGTERM");
    const timer = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
    await ended;
    clearTimeout(timer);
  };
  try {
    const baseUrl = await listening(child, binary, options);
    // The server must not keep this process alive.
    child.unref();
    for (const pipe of child.stdio) (pipe as { unref?: () => void } | null)?.unref?.();
    return { baseUrl, token, ended, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function listening(child: ChildProcess, binary: string, options: EmbeddedOptions): Promise<string> {
  return new Promise((resolve, reject) => {
    let [out, log] = ["", ""];
    const fail = (why: string): void =>
      reject(new SandboxAgentError("server_failed", `the server did not start: ${why}${log && `\n${log.trimEnd()}`}`));
    const limit = options.startTimeoutMs ?? 30_000;
    const timer = setTimeout(() => fail(`it was not ready within ${limit} ms`), limit);
    child.once("error", (error: NodeJS.ErrnoException) => {
      clearTimeout(timer);
      const isMissing = error.code === "ENOENT";
      fail(isMissing ? `"${binary}" was not found; pass { binary } or set SANDBOX_AGENT_BIN` : error.message);
    });
    child.once("exit", (code, signal) => {
      clearTimeout(timer);
      fail(`it exited with ${signal ?? `code ${code}`}`);
    });
    // Both pipes are read to the end: a full pipe would block the server.
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      log = (log + text).slice(-LOG_KEPT);
      options.onLog?.(text);
    });
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      options.onLog?.(text);
      if (out.length > LOG_KEPT) return;
      out += text;
      const url = /^listening on (http:\/\/\S+)$/m.exec(out)?.[1];
      if (url === undefined) return;
      clearTimeout(timer);
      resolve(url);
    });
  });
}
