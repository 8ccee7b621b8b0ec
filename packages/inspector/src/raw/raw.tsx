/** Every envelope in both directions, as it passed. */

import { useDeferredValue, useMemo, useState } from "react";
import type { Watched } from "../journal/fold.ts";
import { downloadText } from "../view/hand-out.ts";
import { DIRECTIONS, type Direction, exportLines, fits, type RawFilter } from "./describe.ts";
import { Details } from "./details.tsx";
import { Lines } from "./lines.tsx";

export default function RawView({ watched }: { readonly watched: Watched }): React.ReactNode {
  const [filter, setFilter] = useState<RawFilter>({ direction: "all", text: "" });
  const [chosen, setChosen] = useState<number>();
  const deferred = useDeferredValue(filter);
  const { lines, count, pairs } = watched;

  // biome-ignore lint/correctness/useExhaustiveDependencies: `lines` grows in place, and `count` tells that it has.
  const shown = useMemo(
    () => (isAll(deferred) ? lines : lines.filter((line) => fits(line, pairs, deferred))),
    [lines, count, pairs, deferred],
  );
  const selected = chosen === undefined ? undefined : lines[chosen];

  return (
    <div className="raw">
      <div className="raw-bar">
        <select
          aria-label="Direction"
          value={filter.direction}
          onChange={(event) => setFilter({ ...filter, direction: event.target.value as Direction })}
        >
          {Object.entries(DIRECTIONS).map(([direction, text]) => (
            <option key={direction} value={direction}>
              {text}
            </option>
          ))}
        </select>
        <input
          type="search"
          aria-label="Search"
          placeholder="Search methods, ids and contents"
          value={filter.text}
          onChange={(event) => setFilter({ ...filter, text: event.target.value })}
        />
        <span className="muted" role="status">
          {shown.length === count ? `${count} lines` : `${shown.length} of ${count} lines`}
        </span>
        <button
          type="button"
          onClick={() => downloadText(`${watched.state.serverId}.jsonl`, exportLines(shown), "application/x-ndjson")}
        >
          Export JSONL
        </button>
      </div>
      <div className="raw-body" data-selected={selected !== undefined}>
        <Lines shown={shown} count={shown.length} watched={watched} chosen={chosen} onChoose={setChosen} />
        {selected && (
          <Details line={selected} watched={watched} onChoose={setChosen} onClose={() => setChosen(undefined)} />
        )}
      </div>
    </div>
  );
}

function isAll({ direction, text }: RawFilter): boolean {
  return direction === "all" && text.trim() === "";
}
