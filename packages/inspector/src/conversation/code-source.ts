/**
 * Finds the whole text that a piece of Markdown was cut from. A code block may continue in other pieces, and is copied
 * as a whole.
 */

import { createContext } from "react";
import { fencedCodeAt } from "../text/fenced-code.ts";

export interface CodeSource {
  /** Where the piece starts in the text. */
  readonly at: number;
  /** How many characters at the start of the piece repeat earlier text. */
  readonly headLength: number;
  /** Returns the whole text; called when code is copied. */
  source(): string | undefined;
}

export const CodeSourceContext = createContext<CodeSource | undefined>(undefined);

/** The whole code of the block at a position in the piece. */
export function wholeCodeAt(piece: CodeSource | undefined, position: number | undefined): string | undefined {
  const source = piece?.source();
  if (!piece || source === undefined || position === undefined) return undefined;
  return fencedCodeAt(source, piece.at + Math.max(0, position - piece.headLength));
}
