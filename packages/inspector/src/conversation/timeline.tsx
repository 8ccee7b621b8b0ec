/** The conversation as a virtual list. Keeps its end in view until the user scrolls up. */

import { useVirtualizer } from "@tanstack/react-virtual";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import type { InstanceState, SessionState } from "../journal/types.ts";
import { type Folds, FoldsContext, unfold } from "./fold.tsx";
import { isStillFollowing, type ScrollPosition } from "./follow-end.ts";
import { highlightFound, scrollToFound } from "./highlight-found.ts";
import { ItemsContext, RowView } from "./row.tsx";
import { createRows, estimateHeight } from "./rows.ts";
import { SearchBar } from "./search-bar.tsx";

/** How many rows are rendered above and below the visible area. */
const OVERSCAN = 2;

interface Props {
  readonly session: SessionState;
  readonly terminals: InstanceState["terminals"];
  readonly isSearching: boolean;
  onSearchEnd(): void;
}

interface Found {
  readonly text: string;
  /** The index of the found row that is in view. */
  readonly row: number | undefined;
}

const NOTHING: Found = { text: "", row: undefined };

export function Timeline({ session, terminals, isSearching, onSearchEnd }: Props): React.ReactNode {
  const box = useRef<HTMLElement>(null);
  const [makeRows] = useState(createRows);
  const [folds] = useState<Folds>(() => new Map());
  const [isFollowing, setIsFollowing] = useState(true);
  const [search, setSearch] = useState(NOTHING);
  const position = useRef<ScrollPosition>({ top: 0, height: 0, viewport: 0 });
  const rows = useMemo(() => makeRows(session.items), [makeRows, session.items]);
  const shown = useRef(session.items);
  useLayoutEffect(() => {
    shown.current = session.items;
  }, [session.items]);
  const items = useCallback(() => shown.current, []);
  const growing = session.turns.length > 0 ? rows.at(-1)?.key : undefined;

  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: (index) => {
      const row = rows[index];
      return row ? estimateHeight(row) : 0;
    },
    getItemKey: (index) => rows[index]?.key ?? index,
    overscan: OVERSCAN,
    paddingStart: 12,
    paddingEnd: 16,
  });
  // Measured heights differ from the estimates. If the user has scrolled up, the visible rows stay where they are;
  // otherwise the end stays in view.
  virtual.shouldAdjustScrollPositionOnItemSizeChange = ({ start }) =>
    !isFollowing && start < (virtual.scrollOffset ?? 0);
  useLayoutEffect(() => {
    const element = box.current;
    if (!element || !isFollowing) return;
    element.scrollTop = element.scrollHeight;
    position.current = scrollPositionOf(element);
  });
  const find = (text: string, row: number | undefined): void => {
    setSearch({ text, row });
    if (row === undefined) return;
    setIsFollowing(false);
    const found = rows[row];
    if (found?.kind === "item") unfold(folds, found.item.key);
  };
  const endSearch = (): void => {
    setSearch(NOTHING);
    onSearchEnd();
  };
  const offsetOf = useRef((row: number) => virtual.getOffsetForIndex(row, "start")?.[0]);
  useEffect(() => {
    if (!box.current || search.row === undefined) return undefined;
    const { text, row } = search;
    return scrollToFound(box.current, text, () => offsetOf.current(row));
  }, [search]);
  useEffect(() => highlightFound(box.current, isSearching ? search.text : ""));
  useEffect(() => () => highlightFound(null, ""), []);
  const onScroll = ({ currentTarget }: React.UIEvent<HTMLElement>): void => {
    const now = scrollPositionOf(currentTarget);
    setIsFollowing(isStillFollowing(isFollowing, position.current, now));
    position.current = now;
  };

  return (
    <div className="timeline-frame">
      {isSearching && (
        <SearchBar rows={rows} terminals={terminals} current={search.row} onFind={find} onClose={endSearch} />
      )}
      <section
        className="timeline"
        ref={box}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable area must be reachable by keyboard.
        tabIndex={0}
        aria-label="Conversation"
        onScroll={onScroll}
      >
        {rows.length === 0 && <p className="splash">No messages yet.</p>}
        <ItemsContext value={items}>
          <FoldsContext value={folds}>
            <div className="timeline-inner" style={{ height: virtual.getTotalSize() }}>
              {virtual.getVirtualItems().map(({ index, start, key }) => {
                const row = rows[index];
                if (!row) return null;
                return (
                  <div
                    key={key}
                    ref={virtual.measureElement}
                    data-index={index}
                    className="timeline-row"
                    data-found={isSearching && index === search.row}
                    style={{ transform: `translateY(${start}px)` }}
                  >
                    <RowView
                      row={row}
                      terminals={row.kind === "item" && row.item.type === "tool" ? terminals : undefined}
                      isGrowing={row.key === growing}
                      isFound={isSearching && index === search.row}
                    />
                  </div>
                );
              })}
            </div>
          </FoldsContext>
        </ItemsContext>
      </section>
      {!isFollowing && (
        <button type="button" className="to-end" onClick={() => setIsFollowing(true)}>
          Jump to the end
        </button>
      )}
    </div>
  );
}

function scrollPositionOf({ scrollTop, scrollHeight, clientHeight }: Element): ScrollPosition {
  return { top: scrollTop, height: scrollHeight, viewport: clientHeight };
}
