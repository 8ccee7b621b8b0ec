/** Code in a box, coloured as soon as the library for that is there. */

import { lazy, Suspense } from "react";

const Coloured = lazy(() => import("./coloured.tsx"));

interface Props {
  readonly text: string;
  readonly language: string | undefined;
  readonly className?: string;
}

export function Code({ text, language, className = "" }: Props): React.ReactNode {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard.
    <pre className={className} tabIndex={0}>
      {language === undefined ? (
        text
      ) : (
        <Suspense fallback={text}>
          <Coloured text={text} language={language} />
        </Suspense>
      )}
    </pre>
  );
}
