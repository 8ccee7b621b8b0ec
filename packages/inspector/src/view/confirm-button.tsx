/** A button for what cannot be undone: it takes two presses. */

import { useEffect, useState } from "react";

/** How long the second press may take. */
const CONFIRM_MS = 4000;

interface Props {
  readonly name: string;
  /** What it is called where its name alone does not tell. */
  readonly label?: string;
  readonly question: string;
  readonly isBusy: boolean;
  onConfirm(): void;
}

export function ConfirmButton({ name, label, question, isBusy, onConfirm }: Props): React.ReactNode {
  const [isConfirming, setIsConfirming] = useState(false);
  useEffect(() => {
    if (!isConfirming) return undefined;
    const timer = setTimeout(() => setIsConfirming(false), CONFIRM_MS);
    return () => clearTimeout(timer);
  }, [isConfirming]);
  const press = (): void => {
    if (isConfirming) onConfirm();
    setIsConfirming(!isConfirming);
  };
  return (
    <button
      type="button"
      className="danger"
      data-confirming={isConfirming}
      aria-label={isConfirming ? undefined : label}
      disabled={isBusy}
      onClick={press}
    >
      {isConfirming ? question : name}
    </button>
  );
}
