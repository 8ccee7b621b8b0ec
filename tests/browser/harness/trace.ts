/** Measures how smoothly the page runs, from traces of its main thread. */

import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser } from "./browser.ts";

/** Does some work and prints the longest task on the page's main thread during it. Fails only if the work does. */
export async function reportLongestTask(browser: Browser, what: string, work: () => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "trace-"));
  try {
    const file = join(folder, "trace.json");
    const isTraced = await browser.run("trace", "start").then(
      () => true,
      () => false,
    );
    await work();
    const times = isTraced ? await measured(browser, file).catch(String) : "no trace";
    console.log(`longest task on the main thread while ${what}: ${times}`);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function measured(browser: Browser, file: string): Promise<string> {
  await browser.run("trace", "stop", file);
  const { cpuMs, wallMs } = longestTask(await readFile(file, "utf8"));
  return `${cpuMs.toFixed(1)} ms of CPU time, ${wallMs.toFixed(1)} ms of wall time`;
}

interface TraceEvent {
  readonly name: string;
  readonly ph: string;
  readonly pid: number;
  readonly tid: number;
  readonly dur?: number;
  readonly tdur?: number;
  readonly args?: { readonly name?: string };
}

/** The longest task on a page's main thread, in CPU time and in wall time. */
function longestTask(text: string): { readonly cpuMs: number; readonly wallMs: number } {
  const parsed = JSON.parse(text) as readonly TraceEvent[] | { readonly traceEvents: readonly TraceEvent[] };
  const events = "traceEvents" in parsed ? parsed.traceEvents : parsed;
  const mains = new Set(
    events
      .filter(({ name, args }) => name === "thread_name" && args?.name === "CrRendererMain")
      .map(({ pid, tid }) => `${pid} ${tid}`),
  );
  const tasks = events.filter(
    ({ name, ph, pid, tid }) =>
      ph === "X" && name.endsWith("RunTask") && (mains.size === 0 || mains.has(`${pid} ${tid}`)),
  );
  if (tasks.length === 0) throw new Error("the trace has no tasks in it");
  return {
    // The two clocks differ slightly, so CPU time is limited to wall time, which it cannot exceed.
    cpuMs: Math.max(...tasks.map(({ dur = 0, tdur = dur }) => Math.min(dur, tdur))) / 1000,
    wallMs: Math.max(...tasks.map(({ dur = 0 }) => dur)) / 1000,
  };
}
