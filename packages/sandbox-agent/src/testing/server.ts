/** A real server for tests: the built binary on a free port, with the mock agent in it. */

import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import type { SandboxAgentClientOptions } from "../client/options.ts";
import { SandboxAgentClient } from "../client.ts";
import { temporaryFolder } from "./folder.ts";

/** The built server. */
export const BINARY =
  process.env.SANDBOX_AGENT_BIN ?? fileURLToPath(new URL("../../../../target/debug/sandbox-agent", import.meta.url));

/** A running server. */
export interface TestServer {
  readonly baseUrl: string;
  readonly token: string;
  /** Its workspace: an empty folder. */
  readonly folder: string;
  readonly process: ChildProcess;
  /** Ends it, and waits until it is gone. */
  stop(signal?: NodeJS.Signals): Promise<void>;
  /** Starts it again on the same port, in the same folder. */
  restart(): Promise<void>;
}

/** How to start it. */
export interface TestServerOptions {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Whether it does without a token. */
  readonly isOpen?: boolean;
}

const TOKEN = "test-token";

/** Starts a server that is stopped when the test has finished. */
export async function startTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  const { args = [], env = {}, isOpen = false } = options;
  if (!existsSync(BINARY)) throw new Error(`${BINARY} is missing: build the server first`);
  const folder = await temporaryFolder();
  let child: ChildProcess;
  const launch = async (port: string): Promise<string> => {
    child = spawn(BINARY, ["server", "--port", port, "--data-dir", `${folder}/.data`, ...args], {
      cwd: folder,
      env: { ...process.env, ...env, SANDBOX_AGENT_TOKEN: isOpen ? "" : TOKEN },
      stdio: ["ignore", "pipe", "ignore"],
    });
    return ready(child);
  };
  const baseUrl = await launch("0");
  const stop = async (signal: NodeJS.Signals = "SIGTERM"): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise((resolve) => child.once("exit", resolve));
    child.kill(signal);
    await gone;
  };
  onTestFinished(() => stop());
  return {
    baseUrl,
    token: TOKEN,
    folder,
    get process() {
      return child;
    },
    stop,
    async restart() {
      await stop("SIGKILL");
      await launch(new URL(baseUrl).port);
    },
  };
}

function ready(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let out = "";
    child.once("exit", (code) => reject(new Error(`the server ended with ${code}`)));
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      out += text;
      const url = /^listening on (http:\/\/\S+)$/m.exec(out)?.[1];
      if (url) resolve(url);
    });
  });
}

/** A client of the mock agent that is disposed of when the test has finished. */
export function testClient(server: TestServer, options: Partial<SandboxAgentClientOptions> = {}): SandboxAgentClient {
  const client = new SandboxAgentClient({ baseUrl: server.baseUrl, token: server.token, agent: "mock", ...options });
  onTestFinished(() => client.dispose().catch(() => {}));
  return client;
}
