/** A button that copies, and says that it has. */

import { useEffect, useState } from "react";
import { copyText } from "../view/hand-out.ts";

const TOLD_MS = 1500;

interface Props {
  /** What is copied; made when the button is pressed. */
  text(): string;
  readonly name?: string;
}

export function CopyButton({ text, name = "Copy" }: Props): React.ReactNode {
  const [told, setTold] = useState<"copied" | "failed">();
  useEffect(() => {
    if (told === undefined) return undefined;
    const timer = setTimeout(() => setTold(undefined), TOLD_MS);
    return () => clearTimeout(timer);
  }, [told]);
  const copy = (): void =>
    void copyText(text()).then(
      () => setTold("copied"),
      () => setTold("failed"),
    );
  return (
    <button type="button" className="quiet" onClick={copy}>
      {told === "copied" ? "Copied" : told === "failed" ? "Not copied" : name}
      <span className="visually-hidden" role="status">
        {told ?? ""}
      </span>
    </button>
  );
}
