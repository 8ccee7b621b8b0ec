/** The health of the server. */

import type { Http } from "../http.ts";
import type { Schema } from "./document.ts";

/**
 * The limits in force: the server's flags of the "Limits" group, keyed by name. Names of durations end in `Ms`, sizes
 * are in bytes, and `null` means no limit.
 */
export type ServerLimits = Schema<"ServerLimits">;

/** The health of the server. */
export type Health = Schema<"Health">;

/** Reads the health of the server. */
export function readHealth(http: Http): Promise<Health> {
  return http.json<Health>("/v1/health");
}
