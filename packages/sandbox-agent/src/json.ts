/** Reads JSON of unknown shape. No function throws: a value of the wrong type becomes `undefined` or empty. */

import { objectOf } from "acp-http-client/internal";

export { isObject, type JsonObject, listOf, numberOf, objectOf, textOf } from "acp-http-client/internal";

/** The entries of an object whose values are strings. */
export function textMapOf(value: unknown): Record<string, string> {
  const entries = Object.entries(objectOf(value));
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => typeof entry[1] === "string"));
}

/** Returns the object without the entries that are `undefined`, which the types of optional fields do not allow. */
export function compact<T extends object>(value: T): Compact<T> {
  return Object.fromEntries(Object.entries(value).filter(([, entry]) => entry !== undefined)) as Compact<T>;
}

/** The type of {@link compact}'s result: an entry that may be `undefined` becomes optional. */
export type Compact<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};
