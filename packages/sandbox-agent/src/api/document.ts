/** The server's API document as types: what is sent and told is described there, and generated from it. */

import type { components, operations, paths } from "../generated/openapi.ts";

/** A shape of the document. */
export type Schema<Name extends keyof components["schemas"]> = components["schemas"][Name];

/** The query of an operation; what is `undefined` is not sent. */
export type QueryOf<Name extends keyof operations> = operations[Name] extends { parameters: { query?: infer Query } }
  ? { readonly [Key in keyof Query]: Query[Key] | undefined }
  : never;

/** A path of the server, with anything in the place of its parameters. */
export type ServerPath = Filled<keyof paths>;

type Filled<Path extends string> = Path extends `${infer Before}{${string}}${infer After}`
  ? `${Before}${string}${Filled<After>}`
  : Path;
