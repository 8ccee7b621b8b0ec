/** The `sandbox-agent` command of this package: runs the server's binary in the foreground. */

import { spawn } from "node:child_process";
import { constants } from "node:os";
import { findBinary } from "./client/binary.ts";

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"] as const;

/** Runs the binary with these arguments, and exits with its exit code. */
export async function launch(args: readonly string[]): Promise<void> {
  let binary: string;
  try {
    binary = await findBinary();
  } catch (error) {
    console.error(`sandbox-agent: ${error instanceof Error ? error.message : error}`);
    process.exitCode = 1;
    return;
  }
  const child = spawn(binary, args, { stdio: "inherit" });
  // Signals are forwarded to the binary. It receives a signal from a terminal twice, which does no harm.
  for (const signal of SIGNALS) process.on(signal, () => void child.kill(signal));
  child.once("error", (error) => {
    console.error(`sandbox-agent: cannot run ${binary}: ${error.message}`);
    process.exitCode = 1;
  });
  child.once("exit", (code, signal) => process.exit(code ?? 128 + (signal ? constants.signals[signal] : 0)));
}
