/** Runs the built `sandbox-agent` as a child process, for all test suites. */

import { type ChildProcess, type StdioOptions, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The binary under test. */
export const BINARY =
  process.env.SANDBOX_AGENT_BIN ?? fileURLToPath(new URL("../../target/debug/sandbox-agent", import.meta.url));

const START_MS = 20_000;
const STOP_MS = 20_000;

/** A running program. */
export interface Program {
  /** The base URL that the program listens on, without a trailing slash. */
  readonly url: string;
  readonly process: ChildProcess;
  /** Sends the signal, by default SIGTERM, and waits until the process has exited. */
  stop(signal?: NodeJS.Signals): Promise<void>;
}

/** How to start a program. */
export interface ProgramOptions {
  /** The command line, such as `["server", "--port", "0"]`. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
  /** Where the program's stderr goes. Default: `ignore`. */
  readonly stderr?: "ignore" | number;
}

/** Starts the program and waits until it listens. */
export async function startProgram({ args, env, cwd, stderr = "ignore" }: ProgramOptions): Promise<Program> {
  if (!existsSync(BINARY)) {
    throw new Error(`${BINARY} does not exist: run \`cargo build -p sandbox-agent\`, or set SANDBOX_AGENT_BIN`);
  }
  const stdio: StdioOptions = ["ignore", "pipe", stderr];
  const child = spawn(BINARY, args, { env, stdio, ...(cwd !== undefined && { cwd }) });
  const stop = async (signal: NodeJS.Signals = "SIGTERM"): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = new Promise((resolve) => child.once("exit", resolve));
    const timer = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
    child.kill(signal);
    await exited;
    clearTimeout(timer);
  };
  try {
    return { url: await listening(child), process: child, stop };
  } catch (error) {
    await stop("SIGKILL");
    throw error;
  }
}

function listening(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    const command = child.spawnargs.join(" ");
    const timer = setTimeout(() => reject(new Error(`${command} did not listen within ${START_MS} ms`)), START_MS);
    let output = "";
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      const url = /^listening on (http:\/\/\S+?)\/?$/m.exec(output)?.[1];
      if (url === undefined) return;
      clearTimeout(timer);
      resolve(url);
    });
    child.once("error", (error) => {
      clearTimeout(timer);
      reject(error);
    });
    child.once("exit", (code, signal) => {
      clearTimeout(timer);
      reject(new Error(`${command} exited with ${signal ?? code}`));
    });
  });
}
