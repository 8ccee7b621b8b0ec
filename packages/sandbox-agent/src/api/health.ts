/** How the server is. */

import type { Http } from "../http.ts";

/**
 * The limits in force: each flag of the server under "Limits", by its name. A time ends in `Ms`, a size counts
 * bytes, and `null` is no such limit.
 */
export interface ServerLimits {
  readonly maxMessageBytes: number;
  readonly stdinQueueBytes: number;
  readonly replayBytes: number;
  readonly replayEvents: number;
  readonly memoryBudget: number;
  readonly requestTimeoutMs: number | null;
  readonly maxPending: number;
  readonly maxInstances: number;
  readonly instanceIdleTimeoutMs: number | null;
  readonly closeGraceMs: number;
  readonly terminateGraceMs: number;
  readonly maxUploadBytes: number | null;
  readonly maxUploadEntries: number | null;
}

/** How the server is. */
export interface Health {
  /** `ok` when it is. */
  readonly status: string;
  /** Its version. */
  readonly version: string;
  /** For how long it has been running. */
  readonly uptimeMs: number;
  /** What it is bounded by. Missing where an older server answers. */
  readonly limits?: ServerLimits;
}

/** Asks the server how it is. */
export function readHealth(http: Http): Promise<Health> {
  return http.json("/v1/health");
}
