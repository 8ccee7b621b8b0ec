/** Detects that the server was restarted between two connections, from the uptime that it reports. */

/** An uptime, and when this page asked for it. Times are on the page's own monotonic clock, in milliseconds. */
export interface UptimeSample {
  readonly uptimeMs: number;
  readonly askedAtMs: number;
  readonly answeredAtMs: number;
}

/** The clocks of the page and the server may drift apart by this much. */
const DRIFT_MS = 250;

/**
 * True if another server process answered the second time. One process gets older by at least the time between the
 * first answer and the second question.
 */
export function isRestarted(before: UptimeSample, now: UptimeSample): boolean {
  return now.uptimeMs - before.uptimeMs < now.askedAtMs - before.answeredAtMs - DRIFT_MS;
}
