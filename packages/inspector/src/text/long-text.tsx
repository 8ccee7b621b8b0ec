/** Text that may be of any length: a part of it is shown, the rest on request, and a copy is always of the whole. */

import { useState } from "react";
import { CopyButton } from "./copy.tsx";
import { sizeText } from "./size.ts";

/** How many characters are shown at first. */
const FIRST = 6000;
/** How many more each time; what is shown is laid out whole, which takes longer the more it is. */
const MORE = 30_000;

interface Props {
  readonly text: string;
  /** Shows a part of the text. */
  show(text: string): React.ReactNode;
}

export function LongText({ text, show }: Props): React.ReactNode {
  const [limit, setLimit] = useState(FIRST);
  if (text.length <= limit + FIRST / 4) return show(text);
  return (
    <>
      {show(`${text.slice(0, limit).toWellFormed()}…`)}
      <p className="long-bar">
        <small className="muted">
          {sizeText(limit)} of {sizeText(text.length)} shown
        </small>
        <button type="button" className="quiet" onClick={() => setLimit(limit + MORE)}>
          Show more
        </button>
        <CopyButton text={() => text} />
      </p>
    </>
  );
}
