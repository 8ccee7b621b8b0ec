/** A JSON value, formatted. */

import { Code } from "./code.tsx";
import { LongText } from "./long-text.tsx";
import { pretty } from "./pretty.ts";

export function Json({ value }: { readonly value: unknown }): React.ReactNode {
  const language = typeof value === "string" ? undefined : "json";
  return (
    <LongText text={pretty(value)} show={(text) => <Code className="json" text={text} language={language} />} isCode />
  );
}
