/** Detects that the server was restarted between two connections, from the uptime that it reports. */

/**
 * The server's uptime, and when this page requested and received it. These two times are from the page's monotonic
 * clock, in milliseconds.
 */
export interface UptimeSample {
  readonly uptimeMs: number;
  readonly askedAtMs: number;
  readonly answeredAtMs: number;
}

/** By how much the clocks of the page and the server may drift apart. */
const DRIFT_MS = 250;

/**
 * True if another server process answered the second time. The uptime of one process grows by at least the time between
 * the first answer and the second request.
 */
export function isRestarted(before: UptimeSample, now: UptimeSample): boolean {
  return now.uptimeMs - before.uptimeMs < now.askedAtMs - before.answeredAtMs - DRIFT_MS;
}
