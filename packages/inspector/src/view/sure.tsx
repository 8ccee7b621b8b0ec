/** A button for what cannot be undone: it takes two presses. */

import { useEffect, useState } from "react";

/** How long the second press may take. */
const SURE_MS = 4000;

interface Props {
  readonly name: string;
  /** What it is called where its name alone does not tell. */
  readonly label?: string;
  readonly question: string;
  readonly isBusy: boolean;
  onSure(): void;
}

export function SureButton({ name, label, question, isBusy, onSure }: Props): React.ReactNode {
  const [isAsking, setIsAsking] = useState(false);
  useEffect(() => {
    if (!isAsking) return undefined;
    const timer = setTimeout(() => setIsAsking(false), SURE_MS);
    return () => clearTimeout(timer);
  }, [isAsking]);
  const press = (): void => {
    if (isAsking) onSure();
    setIsAsking(!isAsking);
  };
  return (
    <button
      type="button"
      className="danger"
      data-asking={isAsking}
      aria-label={isAsking ? undefined : label}
      disabled={isBusy}
      onClick={press}
    >
      {isAsking ? question : name}
    </button>
  );
}
