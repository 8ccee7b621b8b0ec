/** The events as a virtual list, so that many thousands of them can be scrolled through. */

import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef } from "react";
import type { WatchedInstance } from "../journal/apply-event.ts";
import type { JournalEvent } from "../journal/event.ts";
import { sizeText } from "../text/size.ts";
import { rowOf, timeText } from "./event-row.ts";

const ROW_PX = 30;
/** Closer to the end than this counts as being at the end. */
const NEAR_PX = 60;

interface Props {
  readonly shown: readonly JournalEvent[];
  /** The length of `shown`, which may be the same array as before, but longer. */
  readonly count: number;
  readonly watched: WatchedInstance;
  readonly chosen: number | undefined;
  onChoose(index: number): void;
}

export function EventList({ shown, count, watched, chosen, onChoose }: Props): React.ReactNode {
  const box = useRef<HTMLUListElement>(null);
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

  const move = (key: React.KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[key.key];
    if (step === undefined || count === 0) return;
    key.preventDefault();
    const at = shown.findIndex(({ index }) => index === chosen);
    const next = at < 0 ? count - 1 : Math.max(0, Math.min(count - 1, at + step));
    const event = shown[next];
    if (event) onChoose(event.index);
    virtual.scrollToIndex(next);
  };

  return (
    <ul
      className="raw-lines"
      ref={box}
      aria-label="Events"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable area must be reachable by keyboard.
      tabIndex={0}
      onKeyDown={move}
      onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) => {
        isAtEnd.current = scrollHeight - scrollTop - clientHeight < NEAR_PX;
      }}
    >
      {/* An empty element that is as tall as all rows together, so that the scroll bar is right. */}
      <li className="raw-height" aria-hidden="true" style={{ height: virtual.getTotalSize() }} />
      {virtual.getVirtualItems().map(({ index, start, key }) => {
        const event = shown[index];
        if (!event) return null;
        const { sign, direction, summary, id, latency, size } = rowOf(event, watched.pairs);
        return (
          <li
            key={key}
            className="raw-row"
            aria-setsize={count}
            aria-posinset={index + 1}
            style={{ height: ROW_PX, transform: `translateY(${start}px)` }}
          >
            <button
              type="button"
              tabIndex={-1}
              className="raw-line"
              data-type={event.type}
              aria-pressed={event.index === chosen}
              onClick={() => onChoose(event.index)}
            >
              <span className="raw-time">{timeText(event.atMs)}</span>
              <span className="raw-sign" title={direction}>
                <span aria-hidden="true">{sign}</span>
                <span className="visually-hidden">{direction}</span>
              </span>
              <span className="raw-summary ellipsis">{summary}</span>
              <span className="raw-id ellipsis">{id}</span>
              <span className="raw-latency">{latency}</span>
              <span className="raw-size">{sizeText(size)}</span>
            </button>
          </li>
        );
      })}
    </ul>
  );
}
