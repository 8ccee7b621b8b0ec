/** A JSON value, formatted. */

import { Code } from "./code.tsx";
import { LongText } from "./long-text.tsx";

export function pretty(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? String(value));
}

export function Json({ value }: { readonly value: unknown }): React.ReactNode {
  const language = typeof value === "string" ? undefined : "json";
  return (
    <LongText text={pretty(value)} show={(text) => <Code className="json" text={text} language={language} />} isCode />
  );
}
