/** The text that a piece of Markdown was cut from, to copy code that continues in other pieces. */

import { createContext } from "react";
import { fencedCodeAt } from "../text/fenced-code.ts";

export interface CodeSource {
  /** Where the piece starts in the text. */
  readonly at: number;
  /** The length of what the piece repeats of the text before it. */
  readonly headLength: number;
  /** The whole text; called when something is copied. */
  source(): string | undefined;
}

export const CodeSourceContext = createContext<CodeSource | undefined>(undefined);

/** The whole code of the block at a position in the piece. */
export function wholeCodeAt(piece: CodeSource | undefined, position: number | undefined): string | undefined {
  const source = piece?.source();
  if (!piece || source === undefined || position === undefined) return undefined;
  return fencedCodeAt(source, piece.at + Math.max(0, position - piece.headLength));
}
