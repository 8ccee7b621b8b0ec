/** Highlighted code. The grammars are large, so the page loads this module only when it is needed. */

import type { Language, LanguageDescription } from "@codemirror/language";
import { useEffect, useMemo, useState } from "react";
import { findLanguage, type Token, tokenLines } from "./highlight.ts";
import { TOKEN_STYLES } from "./token-styles.ts";

interface Props {
  readonly text: string;
  /** A language's name, alias or file extension. */
  readonly language: string;
}

export default function Highlighted({ text, language }: Props): React.ReactNode {
  const grammar = useLanguage(findLanguage(language));
  const lines = useMemo(() => tokenLines(text, grammar), [text, grammar]);
  return lines.map((line, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: a line is identified by its position.
    <Tokens key={index} line={line} end={index < lines.length - 1 ? "\n" : ""} />
  ));
}

/** Loads a language. Returns `undefined` until it is loaded. */
export function useLanguage(description: LanguageDescription | undefined): Language | undefined {
  const [, setLoaded] = useState<LanguageDescription>();
  useEffect(() => {
    if (!description || description.support) return undefined;
    let isCurrent = true;
    description.load().then(
      () => isCurrent && setLoaded(description),
      () => undefined,
    );
    return () => {
      isCurrent = false;
    };
  }, [description]);
  return description?.support?.language;
}

/** One line of code. */
export function Tokens({ line, end }: { readonly line: readonly Token[]; readonly end: string }): React.ReactNode {
  return (
    <>
      {line.map(({ text, kinds }, index) =>
        kinds === "" ? (
          text
        ) : (
          // biome-ignore lint/suspicious/noArrayIndexKey: a token is identified by its position.
          <span key={index} className={`token ${kinds}`} style={styleOf(kinds)}>
            {text}
          </span>
        ),
      )}
      {end}
    </>
  );
}

function styleOf(kinds: string): React.CSSProperties {
  return Object.assign({}, ...kinds.split(" ").map((kind) => TOKEN_STYLES[kind]?.style)) as React.CSSProperties;
}
