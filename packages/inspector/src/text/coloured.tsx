/** Coloured code. In a file of its own because the library is heavy and not needed at first. */

import { useMemo } from "react";
import { type Token, tokenLines } from "./highlight.ts";

export default function Coloured({
  text,
  language,
}: {
  readonly text: string;
  readonly language: string;
}): React.ReactNode {
  const lines = useMemo(() => tokenLines(text, language), [text, language]);
  return lines.map((line, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: a line is known by its place.
    <Tokens key={index} line={line} end={index < lines.length - 1 ? "\n" : ""} />
  ));
}

/** A line of code. */
export function Tokens({ line, end }: { readonly line: readonly Token[]; readonly end: string }): React.ReactNode {
  return (
    <>
      {line.map(({ text, look }, index) =>
        look === "" ? (
          text
        ) : (
          // biome-ignore lint/suspicious/noArrayIndexKey: a word is known by its place.
          <span key={index} className={look}>
            {text}
          </span>
        ),
      )}
      {end}
    </>
  );
}
