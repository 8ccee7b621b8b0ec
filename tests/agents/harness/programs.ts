/** Runs the product's programs as child processes that never outlive this process. */

import type { ChildProcess } from "node:child_process";
import { openSync } from "node:fs";
import * as testing from "../../../packages/testing/program.ts";

/** A running program of the product. */
export interface Program {
  readonly url: string;
  readonly pid: number;
  stop(): Promise<void>;
}

/** How to start a program. */
export interface ProgramOptions {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly directory: string;
  /** The file that the program's stderr is appended to. */
  readonly log: string;
}

/** The programs that are running. They are killed when this process exits for any reason. */
const running = new Set<ChildProcess>();
process.once("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => process.exit(1));

/** Starts a program and waits until it listens. */
export async function startProgram({ args, env, directory, log }: ProgramOptions): Promise<Program> {
  const {
    url,
    process: child,
    stop,
  } = await testing.startProgram({
    args,
    env,
    cwd: directory,
    stderr: openSync(log, "a"),
  });
  running.add(child);
  child.once("exit", () => running.delete(child));
  return { url, pid: child.pid ?? 0, stop: () => stop() };
}
