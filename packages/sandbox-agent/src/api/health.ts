/** How the server is. */

import type { Http } from "../http.ts";

/**
 * The limits in force: each flag of the server under "Limits", by its name. A time ends in `Ms`, a size counts
 * bytes, and `null` is no such limit.
 */
export interface ServerLimits {
  /** Most bytes of one message. */
  readonly maxMessageBytes: number;
  /** Most bytes that wait for one agent to read them. */
  readonly stdinQueueBytes: number;
  /** Most bytes that are kept of what one agent said. */
  readonly replayBytes: number;
  /** Most events that are kept of one agent. */
  readonly replayEvents: number;
  /** Most bytes that all messages together take. */
  readonly memoryBudget: number;
  /** How long a request waits for its answer. */
  readonly requestTimeoutMs: number | null;
  /** Most requests that wait for one agent. */
  readonly maxPending: number;
  /** Most agents that run at once. */
  readonly maxInstances: number;
  /** After how long an agent that nobody uses is ended. */
  readonly instanceIdleTimeoutMs: number | null;
  /** How long an agent that is ended may take to leave by itself. */
  readonly closeGraceMs: number;
  /** How long it may take after that, when it was told to leave. */
  readonly terminateGraceMs: number;
  /** Most bytes of one upload, unpacked. */
  readonly maxUploadBytes: number | null;
  /** Most entries of one uploaded archive. */
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
