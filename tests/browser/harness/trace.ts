/** How smooth the page is, by recorded traces of its main thread. */

import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser } from "./browser.ts";

/** No frame may take longer. */
const LIMIT_MS = 100;
/** A collection of garbage may come in between; what counts is that it can be smooth. */
const ATTEMPTS = 3;

/**
 * Fails when every attempt had a task on the page's main thread that took longer than a frame may. `prepare` is called
 * before each attempt and gives what is measured.
 */
export async function assertSmooth(
  browser: Browser,
  what: string,
  prepare: (attempt: number) => Promise<() => Promise<void>>,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "trace-"));
  let best = { ownMs: Number.POSITIVE_INFINITY, wallMs: Number.POSITIVE_INFINITY };
  try {
    for (let attempt = 1; attempt <= ATTEMPTS && best.ownMs > LIMIT_MS; attempt += 1) {
      const work = await prepare(attempt);
      const file = join(folder, `${attempt}.json`);
      await browser.run("trace", "start");
      try {
        await work();
      } finally {
        await browser.run("trace", "stop", file);
      }
      const longest = longestTask(await readFile(file, "utf8"));
      if (longest.ownMs < best.ownMs) best = longest;
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  const told = `${best.ownMs.toFixed(1)} ms of its own, ${best.wallMs.toFixed(1)} ms with all that ran beside it`;
  console.log(`longest task on the page's thread while ${what}: ${told}`);
  assert.ok(best.ownMs <= LIMIT_MS, `while ${what} a task took ${told}`);
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

/**
 * The longest task on a page's main thread: how long the thread itself was at work, which is what the page answers for,
 * and how long that took on a machine that others use too.
 */
function longestTask(text: string): { readonly ownMs: number; readonly wallMs: number } {
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
    // The two clocks are not one: a thread cannot have been at work for longer than it took.
    ownMs: Math.max(...tasks.map(({ dur = 0, tdur = dur }) => Math.min(dur, tdur))) / 1000,
    wallMs: Math.max(...tasks.map(({ dur = 0 }) => dur)) / 1000,
  };
}
