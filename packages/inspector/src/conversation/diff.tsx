/** What changed in a file, line by line, with some lines around it. */

import { structuredPatch } from "diff";
import { useMemo } from "react";

interface Props {
  readonly path: string;
  readonly before: string;
  readonly after: string;
}

/** How long to look for the smallest difference; past it, everything counts as changed. */
const PATIENCE_MS = 200;

export default function Diff({ path, before, after }: Props): React.ReactNode {
  const hunks = useMemo(
    () => structuredPatch(path, path, before, after, "", "", { context: 3, timeout: PATIENCE_MS })?.hunks,
    [path, before, after],
  );
  if (!hunks) {
    return (
      <figure className="diff">
        <figcaption>{path}</figcaption>
        <pre>{after}</pre>
      </figure>
    );
  }
  return (
    <figure className="diff">
      <figcaption>{path}</figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard. */}
      <pre tabIndex={0}>
        {hunks.flatMap((hunk) => [
          <span key={`${hunk.oldStart} ${hunk.newStart}`} className="hunk">
            {`@@ -${hunk.oldStart},${hunk.oldLines} +${hunk.newStart},${hunk.newLines} @@\n`}
          </span>,
          ...hunk.lines.map((line, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a line is known by its place.
            <span key={`${hunk.newStart}:${index + 1}`} data-sign={line[0]}>
              {`${line}\n`}
            </span>
          )),
        ])}
      </pre>
    </figure>
  );
}
