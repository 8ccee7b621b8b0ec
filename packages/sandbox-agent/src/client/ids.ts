/** Ids and timestamps. */

import { randomHex } from "acp-http-client/internal";

/** Makes a unique id. */
export function randomId(prefix: string): string {
  return `${prefix}-${randomHex(12)}`;
}

/** The current time in the format of RFC 3339. */
export function now(): string {
  return new Date().toISOString();
}
