/** Reads processes from /proc. */

import { readdir, readFile } from "node:fs/promises";
import { MARK } from "./environment.ts";

/** A process. Its start time distinguishes it from a later process with the same id. */
export interface Process {
  readonly pid: number;
  readonly parent: number;
  readonly started: string;
  readonly name: string;
  /** True if the process has exited but its parent has not reaped it yet. */
  readonly isZombie: boolean;
}

/** Returns all processes. */
export async function allProcesses(): Promise<readonly Process[]> {
  const ids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(Number);
  const found = await Promise.all(ids.map(processOf));
  return found.filter((process) => process !== undefined);
}

async function processOf(pid: number): Promise<Process | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, "latin1").catch(() => undefined);
  if (text === undefined) return undefined;
  // The name is in parentheses and may contain any character.
  const end = text.lastIndexOf(")");
  const [state, parent, ...rest] = text.slice(end + 2).split(" ");
  const name = text.slice(text.indexOf("(") + 1, end);
  return { pid, parent: Number(parent), started: rest[17] ?? "", name, isZombie: state === "Z" };
}

/** Returns all descendants of a process. */
export async function descendantsOf(root: number): Promise<readonly Process[]> {
  const all = await allProcesses();
  const family = new Set([root]);
  for (let before = 0; before < family.size; ) {
    before = family.size;
    for (const { pid, parent } of all) if (family.has(parent)) family.add(pid);
  }
  return all.filter(({ pid }) => pid !== root && family.has(pid));
}

/** Returns all processes with a mark in their environment, whatever their parent is. */
export async function marked(mark: string): Promise<readonly Process[]> {
  const carries = async ({ pid }: Process): Promise<boolean> => {
    const environment = await readFile(`/proc/${pid}/environ`, "latin1").catch(() => "");
    return environment.split("\0").includes(`${MARK}=${mark}`);
  };
  const all = await allProcesses();
  const flags = await Promise.all(all.map(carries));
  return all.filter((_, index) => flags[index]);
}

/** Returns those of the given processes that still exist. */
export async function survivors(processes: readonly Process[]): Promise<readonly Process[]> {
  const now = new Set((await allProcesses()).map(({ pid, started }) => `${pid} ${started}`));
  return processes.filter(({ pid, started }) => now.has(`${pid} ${started}`));
}

/** Returns the memory of processes in bytes. Pages that they share are counted once. */
export async function memoryOf(processes: readonly Process[]): Promise<number> {
  const shares = await Promise.all(
    processes.map(async ({ pid }) => {
      const rollup = await readFile(`/proc/${pid}/smaps_rollup`, "latin1").catch(() => "");
      return Number(/^Pss: +(\d+) kB$/m.exec(rollup)?.[1] ?? 0);
    }),
  );
  return shares.reduce((sum, share) => sum + share, 0) * 1024;
}
