/** The raw view: every message in both directions, and the server's events. */

import { useDeferredValue, useMemo, useState } from "react";
import type { WatchedInstance } from "../journal/apply-event.ts";
import { downloadText } from "../view/export.ts";
import { Details } from "./details.tsx";
import { EventList } from "./event-list.tsx";
import { DIRECTIONS, type Direction, exportEvents, matches, type RawFilter } from "./event-row.ts";

export default function RawView({ watched }: { readonly watched: WatchedInstance }): React.ReactNode {
  const [filter, setFilter] = useState<RawFilter>({ direction: "all", text: "" });
  const [chosen, setChosen] = useState<number>();
  const deferred = useDeferredValue(filter);
  const { events, count, pairs } = watched;

  // biome-ignore lint/correctness/useExhaustiveDependencies: `events` is one array that grows; `count` is its length.
  const shown = useMemo(
    () => (isAll(deferred) ? events : events.filter((event) => matches(event, pairs, deferred))),
    [events, count, pairs, deferred],
  );
  const selected = chosen === undefined ? undefined : events[chosen];

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
          {shown.length === count ? `${count} events` : `${shown.length} of ${count} events`}
        </span>
        <button
          type="button"
          onClick={() => downloadText(`${watched.state.serverId}.jsonl`, exportEvents(shown), "application/x-ndjson")}
        >
          Export JSONL
        </button>
      </div>
      <div className="raw-body" data-selected={selected !== undefined}>
        <EventList shown={shown} count={shown.length} watched={watched} chosen={chosen} onChoose={setChosen} />
        {selected && (
          <Details event={selected} watched={watched} onChoose={setChosen} onClose={() => setChosen(undefined)} />
        )}
      </div>
    </div>
  );
}

function isAll({ direction, text }: RawFilter): boolean {
  return direction === "all" && text.trim() === "";
}
