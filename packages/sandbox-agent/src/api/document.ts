/** The server's API document as types, generated from docs/openapi.json. */

import type { components, operations, paths } from "../generated/openapi.ts";

/** A schema of the document. */
export type Schema<Name extends keyof components["schemas"]> = components["schemas"][Name];

/** The query parameters of an operation. Parameters that are `undefined` are not sent. */
export type QueryOf<Name extends keyof operations> = operations[Name] extends { parameters: { query?: infer Query } }
  ? { readonly [Key in keyof Query]: Query[Key] | undefined }
  : never;

/** A path of the server, with any string in place of a parameter. */
export type ServerPath = Filled<keyof paths>;

type Filled<Path extends string> = Path extends `${infer Before}{${string}}${infer After}`
  ? `${Before}${string}${Filled<After>}`
  : Path;
