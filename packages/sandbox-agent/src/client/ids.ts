/** Names and times. */

/** A name that nobody else has. Not `randomUUID`, which browsers offer to secure pages only. */
export function randomId(prefix: string): string {
  const random = crypto.getRandomValues(new Uint8Array(12));
  return `${prefix}-${Array.from(random, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

/** The time, RFC 3339. */
export function now(): string {
  return new Date().toISOString();
}
