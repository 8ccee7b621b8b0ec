/** Ids and timestamps. */

import { randomHex } from "acp-http-client/internal";

/** A unique id. */
export function randomId(prefix: string): string {
  return `${prefix}-${randomHex(12)}`;
}

/** The current time, RFC 3339. */
export function now(): string {
  return new Date().toISOString();
}
