/** A server of the client's own: found, started on a free port with a random token, and stopped with the client. */

import type { ChildProcess } from "node:child_process";
import { SandboxAgentError } from "../errors.ts";
import { randomId } from "./ids.ts";
import type { SandboxAgentClientOptions } from "./options.ts";

/** Settings of `SandboxAgentClient.start()`. */
export interface EmbeddedOptions extends Omit<SandboxAgentClientOptions, "baseUrl" | "token"> {
  /** The agent to talk to. */
  readonly agent: string;
  /** The server's program. Without it, `SANDBOX_AGENT_BIN` and then `sandbox-agent` on the `PATH`. */
  readonly binary?: string;
  /** More arguments for the server. */
  readonly args?: readonly string[];
  /** More environment variables for the server, and so for the agent. */
  readonly serverEnv?: Readonly<Record<string, string>>;
  /** The directory that relative paths start at. This process' own unless told. */
  readonly workspace?: string;
  /** Hears what the server logs. */
  readonly onLog?: (text: string) => void;
  /** How long it may take to start. 30 s unless told. */
  readonly startTimeoutMs?: number;
}

/** A running server. */
export interface EmbeddedServer {
  readonly baseUrl: string;
  readonly token: string;
  /** Resolves when it has ended. */
  stop(): Promise<void>;
}

/** The server gives its agents this long to end; behind it there is no more waiting. */
const STOP_MS = 12_000;
const LOG_KEPT = 4096;

/** Starts a server and waits until it is ready. */
export async function startServer(options: EmbeddedOptions): Promise<EmbeddedServer> {
  // Loaded here, so that the rest of the package works in a browser.
  const { spawn } = await import("node:child_process");
  const binary = options.binary ?? process.env.SANDBOX_AGENT_BIN ?? "sandbox-agent";
  const token = randomId("token");
  const workspace = options.workspace ?? process.cwd();
  const child = spawn(binary, ["server", "--port", "0", ...(options.args ?? [])], {
    cwd: workspace,
    // In the environment and not in the arguments, which everybody on the machine can read.
    env: { ...process.env, ...options.serverEnv, SANDBOX_AGENT_TOKEN: token },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const kill = (): void => void child.kill("SIGTERM");
  const forgetProcess = onProcessEnd(kill);
  const ended = new Promise<void>((resolve) => {
    child.once("exit", () => resolve());
    child.once("error", () => resolve());
  });
  ended.then(forgetProcess);
  const stop = async (): Promise<void> => {
    kill();
    const timer = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
    await ended;
    clearTimeout(timer);
  };
  try {
    const baseUrl = await listening(child, binary, options);
    // The process may end while its server still runs; it is stopped then, too.
    child.unref();
    return { baseUrl, token, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

const SIGNALS: readonly NodeJS.Signals[] = ["SIGINT", "SIGTERM", "SIGHUP"];

/** Calls a function when this process ends, by a signal too. Returns what undoes that. */
function onProcessEnd(run: () => void): () => void {
  const onSignal = (signal: NodeJS.Signals): void => {
    run();
    forget();
    // Nobody else has plans for the signal, so it does what it would have done without us.
    if (process.listenerCount(signal) === 0) process.kill(process.pid, signal);
  };
  const forget = (): void => {
    process.off("exit", run);
    for (const signal of SIGNALS) process.off(signal, onSignal);
  };
  process.once("exit", run);
  for (const signal of SIGNALS) process.on(signal, onSignal);
  return forget;
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
      fail(isMissing ? `"${binary}" was not found; give { binary } or set SANDBOX_AGENT_BIN` : error.message);
    });
    child.once("exit", (code, signal) => {
      clearTimeout(timer);
      fail(`it ended with ${signal ?? `code ${code}`}`);
    });
    // Both are read to the end: a full pipe would stop the server.
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
    for (const pipe of [child.stdout, child.stderr]) (pipe as { unref?: () => void } | null)?.unref?.();
  });
}
