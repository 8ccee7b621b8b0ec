/** Reads the changes to files that a tool call makes. */

import type { FileDiff } from "../events.ts";
import { compact, listOf, objectOf, textOf } from "../json.ts";

/** Picks the changes to files out of the content of a tool call. */
export function readDiffs(content: unknown): FileDiff[] {
  return listOf(content)
    .map(objectOf)
    .filter(({ type }) => type === "diff")
    .map(({ path, oldText, newText }) =>
      compact({ path: textOf(path) ?? "", oldText: textOf(oldText), newText: textOf(newText) ?? "" }),
    );
}
