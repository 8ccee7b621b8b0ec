/** Text of any length: the beginning is shown, more on request, and the copy button copies all of it. */

import { useState } from "react";
import { CodeBox } from "./code-box.tsx";
import { CopyButton } from "./copy.tsx";
import { sizeText } from "./size.ts";

/** How many characters are shown initially. */
const FIRST = 6000;
/** How many characters are added per request; the layout takes longer the more is shown. */
const MORE = 30_000;

interface Props {
  readonly text: string;
  /** Renders a part of the text. */
  show(text: string): React.ReactNode;
  /** True if a short text has a copy button, too. */
  readonly isCode?: boolean;
}

export function LongText({ text, show, isCode = false }: Props): React.ReactNode {
  const [limit, setLimit] = useState(FIRST);
  if (text.length <= limit + FIRST / 4) return isCode ? <CodeBox text={() => text}>{show(text)}</CodeBox> : show(text);
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
