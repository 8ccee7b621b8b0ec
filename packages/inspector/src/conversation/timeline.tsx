/** What was said and done, the newest in view unless the reader has scrolled away from it. */

import { memo, useLayoutEffect, useRef, useState } from "react";
import type { InstanceState, Item, SessionState } from "../journal/types.ts";
import { Blocks } from "./blocks.tsx";
import { ToolCard } from "./tool.tsx";

/** How many items are shown at first; a long session has thousands. */
const WINDOW = 150;
/** Closer to the end than this counts as being at the end. */
const NEAR_PX = 80;

interface Props {
  readonly session: SessionState;
  readonly terminals: InstanceState["terminals"];
}

export function Timeline({ session, terminals }: Props): React.ReactNode {
  const box = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  const [shown, setShown] = useState(WINDOW);
  const hidden = Math.max(0, session.items.length - shown);
  const isWorking = session.turns.length > 0;

  useLayoutEffect(() => {
    const element = box.current;
    if (element && isAtEnd.current) element.scrollTop = element.scrollHeight;
  });
  // Markdown arrives later than its text and changes heights.
  useLayoutEffect(() => {
    const element = box.current;
    const inner = element?.firstElementChild;
    if (!element || !inner) return undefined;
    const observer = new ResizeObserver(() => {
      if (isAtEnd.current) element.scrollTop = element.scrollHeight;
    });
    observer.observe(inner);
    return () => observer.disconnect();
  }, []);

  return (
    <section
      className="timeline"
      ref={box}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard.
      tabIndex={0}
      aria-label="Conversation"
      onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) => {
        isAtEnd.current = scrollHeight - scrollTop - clientHeight < NEAR_PX;
      }}
    >
      <div className="timeline-inner">
        {hidden > 0 && (
          <button type="button" className="quiet" onClick={() => setShown(shown + WINDOW * 2)}>
            Show earlier ({hidden})
          </button>
        )}
        {session.items.slice(hidden).map((item, index, all) => (
          <ItemView
            key={item.key}
            item={item}
            terminals={item.type === "tool" ? terminals : undefined}
            isGrowing={isWorking && index === all.length - 1}
          />
        ))}
        {session.items.length === 0 && <p className="muted">Nothing was said yet.</p>}
        {isWorking && (
          <p className="working" role="status">
            Working…
          </p>
        )}
      </div>
    </section>
  );
}

interface ItemProps {
  readonly item: Item;
  readonly terminals: InstanceState["terminals"] | undefined;
  readonly isGrowing: boolean;
}

const ItemView = memo(function ItemView({ item, terminals, isGrowing }: ItemProps): React.ReactNode {
  switch (item.type) {
    case "user":
      return (
        <article className="bubble user" aria-label="You">
          <Blocks blocks={item.blocks} look="plain" />
        </article>
      );
    case "agent":
      return (
        <article className="bubble agent" aria-label="Agent">
          <Blocks blocks={item.blocks} look="markdown" />
        </article>
      );
    case "thought":
      return (
        <details className="thought">
          <summary>{isGrowing ? "Thinking…" : "Thought"}</summary>
          <Blocks blocks={item.blocks} look="markdown" />
        </details>
      );
    case "tool":
      return <ToolCard tool={item} terminals={terminals ?? new Map()} />;
    case "plan":
      return (
        <section className="plan" aria-label="Plan">
          <strong>Plan</strong>
          <ul>
            {item.entries.map((entry, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a plan is replaced whole and its lines have no names.
              <li key={index} data-status={String(entry.status)}>
                <span className="visually-hidden">{String(entry.status).replaceAll("_", " ")}: </span>
                {String(entry.content)}
              </li>
            ))}
          </ul>
        </section>
      );
    case "notice":
      return (
        <p className="notice" data-tone={item.tone}>
          {item.text}
        </p>
      );
  }
});
