/** Random identifiers. */

/** Random bytes as hexadecimal digits. Not `crypto.randomUUID`, which browsers offer only in secure contexts. */
export function randomHex(bytes: number): string {
  const random = crypto.getRandomValues(new Uint8Array(bytes));
  return Array.from(random, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
