/** Says that no news arrive, once that has lasted. */

import { useEffect, useState } from "react";
import { useSnapshot, useWorkbench } from "./context.ts";

/** A cut that is shorter is nobody's concern. */
const PATIENCE_MS = 1500;

export function ConnectionBanner({ onLeave }: { onLeave(): void }): React.ReactNode {
  const { connection } = useSnapshot();
  const { target } = useWorkbench();
  const [isLasting, setIsLasting] = useState(false);
  useEffect(() => {
    setIsLasting(false);
    if (connection.state !== "reconnecting") return undefined;
    const timer = setTimeout(() => setIsLasting(true), PATIENCE_MS);
    return () => clearTimeout(timer);
  }, [connection.state]);

  if (connection.state === "disconnected") {
    return (
      <p role="alert" className="alert banner">
        No news arrive any more: {connection.reason}
        <button type="button" onClick={onLeave}>
          Connect again
        </button>
      </p>
    );
  }
  if (!isLasting) return null;
  return (
    <p role="status" className="alert banner">
      The connection to {target.base} is cut. Trying again…
    </p>
  );
}
