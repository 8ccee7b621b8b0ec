/** Reading JSON whose shape somebody else decides. Never throws: what is not there is `undefined`. */

/** A JSON object. */
export type JsonObject = { readonly [key: string]: unknown };

/** The value as an object; empty when it is none. */
export function objectOf(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

/** Whether the value is a JSON object: no list, no `null`. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The value as a list; empty when it is none. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The value as text, if it is text. */
export function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** The value as a number, if it is one. */
export function numberOf(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}

/** An object of texts: entries with other values are left out. */
export function textMapOf(value: unknown): Record<string, string> {
  const entries = Object.entries(objectOf(value));
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => typeof entry[1] === "string"));
}

/** The object without the entries that are `undefined`, which optional fields must not be. */
export function compact<T extends object>(value: T): Compact<T> {
  return Object.fromEntries(Object.entries(value).filter(([, entry]) => entry !== undefined)) as Compact<T>;
}

/** {@link compact}'s type: what may be `undefined` may be absent instead. */
export type Compact<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};
