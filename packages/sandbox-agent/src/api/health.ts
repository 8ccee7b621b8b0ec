/** How the server is. */

import type { Http } from "../http.ts";

/** How the server is. */
export interface Health {
  /** `ok` when it is. */
  readonly status: string;
  /** Its version. */
  readonly version: string;
  /** For how long it has been running. */
  readonly uptimeMs: number;
}

/** Asks the server how it is. */
export function readHealth(http: Http): Promise<Health> {
  return http.json("/v1/health");
}
