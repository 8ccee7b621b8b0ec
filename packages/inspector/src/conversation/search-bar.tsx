/** The search field of a conversation, with the number of rows found and buttons to go from one to the next. */

import { type KeyboardEvent, useDeferredValue, useEffect, useMemo, useRef, useState } from "react";
import type { InstanceState } from "../journal/types.ts";
import type { Row } from "./rows.ts";
import { findRows, stepTo } from "./search-rows.ts";

interface Props {
  readonly rows: readonly Row[];
  readonly terminals: InstanceState["terminals"];
  /** The index of the found row that is in view. */
  readonly current: number | undefined;
  /** Called with the text and the index of the row to bring into view. */
  onFind(text: string, row: number | undefined): void;
  onClose(): void;
}

export function SearchBar({ rows, terminals, current, onFind, onClose }: Props): React.ReactNode {
  const field = useRef<HTMLInputElement>(null);
  const [text, setText] = useState("");
  const wanted = useDeferredValue(text);
  const found = useMemo(() => findRows(rows, wanted, terminals), [rows, wanted, terminals]);
  const start = useRef(() => {});
  useEffect(() => {
    // The search for a new text starts at the newest row, where the user usually is.
    start.current = () => onFind(wanted, found.at(-1));
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new text is the trigger.
  useEffect(() => start.current(), [wanted]);
  useEffect(() => field.current?.focus(), []);

  const go = (step: "next" | "previous"): void => onFind(wanted, stepTo(found, current, step));
  const onKey = (event: KeyboardEvent): void => {
    if (event.key === "Enter") go(event.shiftKey ? "next" : "previous");
    else if (event.key === "Escape") onClose();
    else return;
    event.preventDefault();
  };
  const position = current === undefined ? 0 : found.indexOf(current) + 1;
  const status = position > 0 ? `${position} of ${found.length}` : `${found.length} found`;
  return (
    <search className="search-bar">
      <input
        ref={field}
        type="search"
        aria-label="Search the conversation"
        placeholder="Search the conversation"
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={onKey}
      />
      <span className="muted small" role="status">
        {wanted.trim() === "" ? "" : status}
      </span>
      <button type="button" className="icon" disabled={found.length === 0} onClick={() => go("previous")}>
        <span className="visually-hidden">Previous</span>
        <span aria-hidden="true">↑</span>
      </button>
      <button type="button" className="icon" disabled={found.length === 0} onClick={() => go("next")}>
        <span className="visually-hidden">Next</span>
        <span aria-hidden="true">↓</span>
      </button>
      <button type="button" className="icon" aria-label="Close search" onClick={onClose}>
        ×
      </button>
    </search>
  );
}
