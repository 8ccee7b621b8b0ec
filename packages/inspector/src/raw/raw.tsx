/** Every envelope in both directions, as it passed. */

import { useVirtualizer } from "@tanstack/react-virtual";
import { useDeferredValue, useEffect, useMemo, useRef, useState } from "react";
import type { JournalEvent } from "../journal/event.ts";
import type { Watched } from "../journal/store.ts";
import { copyText, downloadText } from "../view/hand-out.ts";
import { pretty } from "../view/json.tsx";
import { DIRECTIONS, describe, type Direction, exportLines, fits, type RawFilter, sizeText, timeText } from "./describe.ts";

const ROW_PX = 30;
/** Closer to the end than this counts as being at the end. */
const NEAR_PX = 60;

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

interface LinesProps {
  readonly shown: readonly JournalEvent[];
  /** `shown` may grow in place. */
  readonly count: number;
  readonly watched: Watched;
  readonly chosen: number | undefined;
  onChoose(index: number): void;
}

function Lines({ shown, count, watched, chosen, onChoose }: LinesProps): React.ReactNode {
  const box = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  const virtual = useVirtualizer({
    count,
    getScrollElement: () => box.current,
    estimateSize: () => ROW_PX,
    overscan: 12,
  });
  useEffect(() => {
    if (isAtEnd.current && box.current && count > 0) box.current.scrollTop = box.current.scrollHeight;
  }, [count]);

  const move = (event: React.KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined || chosen === undefined) return;
    event.preventDefault();
    const at = shown.findIndex(({ index }) => index === chosen);
    const next = shown[Math.max(0, Math.min(count - 1, at + step))];
    if (!next) return;
    onChoose(next.index);
    virtual.scrollToIndex(at + step);
  };

  return (
    // biome-ignore lint/a11y/useSemanticElements: a table cannot be virtual.
    <div
      className="raw-lines"
      ref={box}
      role="table"
      aria-label="Lines"
      aria-rowcount={count}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard.
      tabIndex={0}
      onKeyDown={move}
      onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) => {
        isAtEnd.current = scrollHeight - scrollTop - clientHeight < NEAR_PX;
      }}
    >
      <div style={{ height: virtual.getTotalSize(), position: "relative" }} role="rowgroup">
        {virtual.getVirtualItems().map(({ index, start, key }) => {
          const line = shown[index];
          if (!line) return null;
          const { sign, direction, what, id, latency, size } = describe(line, watched.pairs);
          return (
            // biome-ignore lint/a11y/useSemanticElements: a table cannot be virtual.
            // biome-ignore lint/a11y/useKeyWithClickEvents: the button in it takes keys.
            <div
              key={key}
              role="row"
              aria-rowindex={index + 1}
              className="raw-line"
              data-type={line.type}
              data-chosen={line.index === chosen}
              style={{ height: ROW_PX, transform: `translateY(${start}px)` }}
              onClick={() => onChoose(line.index)}
            >
              <span role="cell" className="raw-time">
                {timeText(line.atMs)}
              </span>
              <span role="cell" className="raw-sign" title={direction}>
                <span aria-hidden="true">{sign}</span>
                <span className="visually-hidden">{direction}</span>
              </span>
              <span role="cell" className="raw-what ellipsis">
                <button type="button" className="bare ellipsis" onClick={() => onChoose(line.index)}>
                  {what}
                </button>
              </span>
              <span role="cell" className="raw-id ellipsis">
                {id}
              </span>
              <span role="cell" className="raw-latency">
                {latency}
              </span>
              <span role="cell" className="raw-size">
                {sizeText(size)}
              </span>
            </div>
          );
        })}
      </div>
    </div>
  );
}

interface DetailsProps {
  readonly line: JournalEvent;
  readonly watched: Watched;
  onChoose(index: number): void;
  onClose(): void;
}

function Details({ line, watched, onChoose, onClose }: DetailsProps): React.ReactNode {
  const [isPretty, setIsPretty] = useState(true);
  const peer = watched.pairs.peerOf(line.index);
  const { what, direction } = describe(line, watched.pairs);
  const text = isPretty ? pretty(line.data) : JSON.stringify(line.data);
  return (
    <section className="raw-details" aria-label="Line">
      <div className="raw-bar">
        <strong className="ellipsis">{what}</strong>
        <small className="muted">
          {direction}
          {line.event !== undefined && ` · event ${line.event}`}
        </small>
        {peer && (
          <button type="button" onClick={() => onChoose(peer.index)}>
            {peer.index > line.index ? "Its answer" : "Its request"}
            {peer.latencyMs !== undefined && ` (${peer.latencyMs} ms)`}
          </button>
        )}
        <label className="check">
          <input type="checkbox" checked={isPretty} onChange={(event) => setIsPretty(event.target.checked)} /> Pretty
        </label>
        <button type="button" onClick={() => void copyText(JSON.stringify(line.data))}>
          Copy
        </button>
        <button type="button" className="icon" aria-label="Close line" onClick={onClose}>
          ×
        </button>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard. */}
      <pre tabIndex={0} className={isPretty ? "" : "wrap"}>
        {text}
      </pre>
    </section>
  );
}
