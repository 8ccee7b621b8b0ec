/** Terminals for agents that run commands through their client. */

import { type ChildProcess, spawn } from "node:child_process";
import type { TerminalCommand, Terminals } from "./sdk.ts";

interface Running {
  readonly child: ChildProcess;
  output: string;
  readonly ended: Promise<{ exitCode?: number; signal?: string }>;
  exit?: { exitCode?: number; signal?: string };
}

/** Terminals that run commands on this machine. */
export function localTerminals(env: Readonly<Record<string, string>>): Terminals {
  const terminals = new Map<string, Running>();
  const find = (id: string): Running => {
    const found = terminals.get(id);
    if (!found) throw new Error(`there is no terminal ${id}`);
    return found;
  };
  return {
    create(command) {
      const id = `terminal-${terminals.size + 1}`;
      terminals.set(id, run(command, env));
      return id;
    },
    output(id) {
      const { output, exit } = find(id);
      return { output, truncated: false, ...(exit && { exit }) };
    },
    waitForExit: (id) => find(id).ended,
    kill: (id) => void find(id).child.kill(),
    release: (id) => void find(id).child.kill(),
  };
}

/** Runs a command. One without arguments may be a whole shell command line: agents send both forms. */
function run({ command, args, env, cwd }: TerminalCommand, inherited: Readonly<Record<string, string>>): Running {
  const options = { env: { ...inherited, ...env }, ...(cwd !== undefined && { cwd }), stdio: "pipe" as const };
  const child = args.length === 0 ? spawn("sh", ["-c", command], options) : spawn(command, args, options);
  child.stdin.end();
  const ended = new Promise<{ exitCode?: number; signal?: string }>((resolve) => {
    child.once("error", () => resolve({ exitCode: 127 }));
    child.once("close", (code, signal) =>
      resolve({ ...(code !== null && { exitCode: code }), ...(signal !== null && { signal }) }),
    );
  });
  const running: Running = { child, output: "", ended };
  for (const pipe of [child.stdout, child.stderr]) {
    pipe.setEncoding("utf8").on("data", (text: string) => {
      running.output += text;
    });
  }
  ended.then((exit) => {
    running.exit = exit;
  });
  return running;
}
