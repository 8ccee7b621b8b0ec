/** How the server is. */

import type { Http } from "../http.ts";
import type { Schema } from "./document.ts";

/**
 * The limits in force: each flag of the server under "Limits", by its name. A time ends in `Ms`, a size counts
 * bytes, and `null` is no such limit.
 */
export type ServerLimits = Schema<"ServerLimits">;

/** How the server is. */
export type Health = Schema<"Health">;

/** AgentRequests the server how it is. */
export function readHealth(http: Http): Promise<Health> {
  return http.json<Health>("/v1/health");
}
