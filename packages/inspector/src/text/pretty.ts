/** Formats a JSON value for people to read. A string is shown as it is. */

export function pretty(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? String(value));
}
