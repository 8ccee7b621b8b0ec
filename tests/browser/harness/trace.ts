/** Reading a recorded trace. */

interface TraceEvent {
  readonly name: string;
  readonly ph: string;
  readonly pid: number;
  readonly tid: number;
  readonly dur?: number;
  readonly args?: { readonly name?: string };
}

/** How long the longest task on a page's main thread took, in milliseconds. */
export function longestTaskMs(text: string): number {
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
  return Math.max(...tasks.map(({ dur = 0 }) => dur)) / 1000;
}
