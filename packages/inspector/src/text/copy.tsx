/** A copy button that confirms the copy. */

import { useEffect, useState } from "react";
import { copyText } from "../view/export.ts";

const RESULT_MS = 1500;

interface Props {
  /** The text to copy; called when the button is pressed. */
  text(): string;
  readonly name?: string;
}

export function CopyButton({ text, name = "Copy" }: Props): React.ReactNode {
  const [result, setResult] = useState<"copied" | "failed">();
  useEffect(() => {
    if (result === undefined) return undefined;
    const timer = setTimeout(() => setResult(undefined), RESULT_MS);
    return () => clearTimeout(timer);
  }, [result]);
  const copy = (): void =>
    void copyText(text()).then(
      () => setResult("copied"),
      () => setResult("failed"),
    );
  return (
    <button type="button" className="quiet" onClick={copy}>
      {result === "copied" ? "Copied" : result === "failed" ? "Copy failed" : name}
      <span className="visually-hidden" role="status">
        {result ?? ""}
      </span>
    </button>
  );
}
