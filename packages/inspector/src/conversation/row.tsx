/** One row of a conversation. */

import { textOf } from "acp-http-client/internal";
import { createContext, memo, useContext, useMemo } from "react";
import type { InstanceState, Item } from "../journal/types.ts";
import { Times } from "../text/time.tsx";
import { Block, Blocks, RichText, Thought } from "./blocks.tsx";
import { type CodeSource, CodeSourceContext } from "./code-source.ts";
import { Fold } from "./fold.tsx";
import type { Origin, OtherItem, Part, Row } from "./rows.ts";
import { ToolCard } from "./tool.tsx";

interface Props {
  readonly row: Row;
  readonly terminals: InstanceState["terminals"] | undefined;
  readonly isGrowing: boolean;
  /** True if the search shows this row and has unfolded it. Only makes the row render again when it changes. */
  readonly isFound: boolean;
}

export const RowView = memo(function RowView({ row, terminals, isGrowing }: Props): React.ReactNode {
  switch (row.kind) {
    case "text":
      return (
        <Answer part={row.part}>
          <FromItem origin={row.origin}>
            <RichText text={row.text} definitions={row.definitions} />
          </FromItem>
        </Answer>
      );
    case "block":
      return (
        <Answer part={row.part}>
          <Block block={row.block} />
        </Answer>
      );
    case "item":
      return <ItemView item={row.item} terminals={terminals} isGrowing={isGrowing} />;
  }
});

/** Returns the items that are shown now. A function, so that new items do not make all rows render again. */
export const ItemsContext = createContext<() => readonly Item[]>(() => []);

/** Provides the text of the whole message, so that code that continues in other rows can be copied as a whole. */
function FromItem({
  origin,
  children,
}: {
  readonly origin: Origin;
  readonly children: React.ReactNode;
}): React.ReactNode {
  const items = useContext(ItemsContext);
  const source = useMemo((): CodeSource => {
    const { item: key, block, at, headLength } = origin;
    return {
      at,
      headLength,
      source() {
        const item = items().find((one) => one.key === key);
        return item?.type === "agent" ? textOf(item.blocks[block]?.text) : undefined;
      },
    };
  }, [origin, items]);
  return <CodeSourceContext value={source}>{children}</CodeSourceContext>;
}

function Answer({ part, children }: { readonly part: Part; readonly children: React.ReactNode }): React.ReactNode {
  return (
    <article className="bubble agent" data-part={part} aria-label={part === "first" ? "Agent" : "Agent, continued"}>
      {children}
    </article>
  );
}

interface ItemProps {
  readonly item: OtherItem;
  readonly terminals: InstanceState["terminals"] | undefined;
  readonly isGrowing: boolean;
}

function ItemView({ item, terminals, isGrowing }: ItemProps): React.ReactNode {
  switch (item.type) {
    case "user":
      return (
        <>
          <article className="bubble user" aria-label="You">
            <Blocks blocks={item.blocks} />
          </article>
          <Times fromMs={item.atMs} toMs={item.endedAtMs} />
        </>
      );
    case "thought":
      return (
        <Fold
          name={item.key}
          className="thought"
          summary={isGrowing ? "Thinking…" : "Thought"}
          content={() => <Thought blocks={item.blocks} />}
        />
      );
    case "tool":
      return <ToolCard tool={item} terminals={terminals} />;
    case "plan":
      return (
        <section className="plan" aria-label="Plan">
          <strong>Plan</strong>
          <ul>
            {item.entries.map((entry, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a plan is replaced as a whole; its entries have no ids.
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
}
