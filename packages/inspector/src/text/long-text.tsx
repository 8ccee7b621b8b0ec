/** Text of any length. Shows its beginning, and more when the user asks for it. The copy button copies all of it. */

import { useState } from "react";
import { CodeBox } from "./code-box.tsx";
import { CopyButton } from "./copy.tsx";
import { sizeText } from "./size.ts";

/** How many characters are shown initially. */
const FIRST = 6000;
/** How many more characters each press of "Show more" shows. Not all at once, because layout would take too long. */
const MORE = 30_000;

interface Props {
  readonly text: string;
  /** Renders a part of the text. */
  show(text: string): React.ReactNode;
  /** True if even a short text has a copy button. */
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
