/** What was said and done, the newest in view unless the reader has scrolled away from it. */

import { useVirtualizer } from "@tanstack/react-virtual";
import { useLayoutEffect, useMemo, useRef, useState } from "react";
import type { InstanceState, SessionState } from "../journal/types.ts";
import { type Folds, FoldsContext } from "./fold.tsx";
import { RowView } from "./row.tsx";
import { createRows, estimateHeight } from "./rows.ts";

/** Closer to the end than this counts as being at the end. */
const NEAR_PX = 80;
/** Rows beyond the edges that exist already when they are scrolled to. */
const OVERSCAN = 2;

interface Props {
  readonly session: SessionState;
  readonly terminals: InstanceState["terminals"];
}

export function Timeline({ session, terminals }: Props): React.ReactNode {
  const box = useRef<HTMLElement>(null);
  const [makeRows] = useState(createRows);
  const [folds] = useState<Folds>(() => new Map());
  const [isAtEnd, setIsAtEnd] = useState(true);
  const rows = useMemo(() => makeRows(session.items), [makeRows, session.items]);
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
    anchorTo: "end",
    followOnAppend: true,
    scrollEndThreshold: NEAR_PX,
    paddingStart: 12,
    paddingEnd: 16,
  });
  useLayoutEffect(() => virtual.scrollToEnd(), [virtual]);

  return (
    <div className="timeline-place">
      <section
        className="timeline"
        ref={box}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard.
        tabIndex={0}
        aria-label="Conversation"
        onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) =>
          setIsAtEnd(scrollHeight - scrollTop - clientHeight < NEAR_PX)
        }
      >
        {rows.length === 0 && <p className="splash">Nothing was said yet.</p>}
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
                  style={{ transform: `translateY(${start}px)` }}
                >
                  <RowView
                    row={row}
                    terminals={row.kind === "item" && row.item.type === "tool" ? terminals : undefined}
                    isGrowing={row.key === growing}
                  />
                </div>
              );
            })}
          </div>
        </FoldsContext>
      </section>
      {!isAtEnd && (
        <button type="button" className="to-end" onClick={() => virtual.scrollToEnd()}>
          To the newest
        </button>
      )}
    </div>
  );
}
