/** Ids nobody else has. `crypto.randomUUID` is missing on pages that came over plain HTTP from another machine. */

export function freshId(bytes = 16): string {
  const random = crypto.getRandomValues(new Uint8Array(bytes));
  return Array.from(random, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
