/** Code with syntax highlighting. It is plain text until the grammar of its language is loaded. */

import { lazy, Suspense } from "react";

const Highlighted = lazy(() => import("./highlighted.tsx"));

interface CodeTextProps {
  readonly text: string;
  /** A language's name, alias or file extension; `undefined` for plain text. */
  readonly language: string | undefined;
}

/** Code without a box around it. */
export function CodeText({ text, language }: CodeTextProps): React.ReactNode {
  if (language === undefined) return text;
  return (
    <Suspense fallback={text}>
      <Highlighted text={text} language={language} />
    </Suspense>
  );
}

/** Code in a box. */
export function Code({ className = "", ...code }: CodeTextProps & { readonly className?: string }): React.ReactNode {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable area must be reachable by keyboard.
    <pre className={className} tabIndex={0}>
      <CodeText {...code} />
    </pre>
  );
}
