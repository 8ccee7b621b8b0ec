/** Starting the product's own programs, and ending them. */

import { type ChildProcess, spawn } from "node:child_process";
import { openSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { within } from "./waiting.ts";

/** The product. */
export const BINARY =
  process.env.SANDBOX_AGENT_BIN ?? fileURLToPath(new URL("../../../target/debug/sandbox-agent", import.meta.url));

const START_MS = 20_000;
const STOP_MS = 20_000;

/** A running program of the product. */
export interface Program {
  readonly url: string;
  readonly pid: number;
  stop(): Promise<void>;
}

/** How to start one. */
export interface ProgramOptions {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly directory: string;
  /** Where its standard error goes. */
  readonly log: string;
}

/** What runs now. It ends with this process, whatever ends that. */
const running = new Set<ChildProcess>();
process.once("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => process.exit(1));

/** Starts a program and waits until it says where it listens. */
export async function startProgram({ args, env, directory, log }: ProgramOptions): Promise<Program> {
  const child = spawn(BINARY, args, { cwd: directory, env, stdio: ["ignore", "pipe", openSync(log, "a")] });
  running.add(child);
  child.once("exit", () => running.delete(child));
  const url = await within(`${args[0]} to listen`, START_MS, listening(child));
  return { url, pid: child.pid ?? 0, stop: () => ended(child) };
}

function listening(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code) => reject(new Error(`${child.spawnargs.join(" ")} ended with ${code}`)));
    if (!child.stdout) return;
    createInterface(child.stdout).on("line", (line) => {
      const address = /^listening on (\S+)$/.exec(line)?.[1];
      if (address !== undefined) resolve(address);
    });
  });
}

function ended(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve();
    const timer = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
    child.once("exit", () => {
      clearTimeout(timer);
      resolve();
    });
    child.kill("SIGTERM");
  });
}
