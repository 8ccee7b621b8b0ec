/** A button for actions that cannot be undone: it must be pressed twice. */

import { useEffect, useState } from "react";

/** How long the button waits for the second press. */
const CONFIRM_MS = 4000;

interface Props {
  readonly name: string;
  /** The accessible name, if the visible one is ambiguous. */
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
