/** The server under test, with the mock agent. */

import type { ChildProcess } from "node:child_process";
import { onTestFinished } from "vitest";
import { type Program, startProgram } from "../../../testing/program.ts";
import type { SandboxAgentClientOptions } from "../client/options.ts";
import { SandboxAgentClient } from "../client.ts";
import { temporaryFolder } from "./folder.ts";

export { BINARY } from "../../../testing/program.ts";

/** A running server. */
export interface TestServer {
  readonly baseUrl: string;
  readonly token: string;
  /** The server's workspace: an empty folder. */
  readonly folder: string;
  readonly process: ChildProcess;
  /** Shuts the server down, and waits until it has exited. */
  stop(signal?: NodeJS.Signals): Promise<void>;
  /** Kills the server and starts it again on the same port, in the same folder. */
  restart(): Promise<void>;
}

/** How to start a server. */
export interface TestServerOptions {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** True for a server without a token. */
  readonly isOpen?: boolean;
}

const TOKEN = "test-token";

/** Starts a server that is stopped when the test has finished. */
export async function startTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  const { args = [], env = {}, isOpen = false } = options;
  const folder = await temporaryFolder();
  const launch = (port: string): Promise<Program> =>
    startProgram({
      args: ["server", "--port", port, "--data-dir", `${folder}/.data`, ...args],
      cwd: folder,
      env: { ...process.env, ...env, SANDBOX_AGENT_TOKEN: isOpen ? "" : TOKEN },
    });
  let program = await launch("0");
  const { url } = program;
  onTestFinished(() => program.stop());
  return {
    baseUrl: url,
    token: TOKEN,
    folder,
    get process() {
      return program.process;
    },
    stop: (signal) => program.stop(signal),
    async restart() {
      await program.stop("SIGKILL");
      program = await launch(new URL(url).port);
    },
  };
}

/** A client of the mock agent that is disposed of when the test has finished. */
export function testClient(server: TestServer, options: Partial<SandboxAgentClientOptions> = {}): SandboxAgentClient {
  const client = new SandboxAgentClient({ baseUrl: server.baseUrl, token: server.token, agent: "mock", ...options });
  onTestFinished(() => client.dispose().catch(() => {}));
  return client;
}
