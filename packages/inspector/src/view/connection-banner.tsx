/** Reports a lost connection. */

import { useEffect, useState } from "react";
import { useSnapshot, useWorkbench } from "./context.ts";

/** Shorter interruptions are not reported. */
const GRACE_MS = 1500;

export function ConnectionBanner({ onLeave }: { onLeave(): void }): React.ReactNode {
  const { connection } = useSnapshot();
  const { target } = useWorkbench();
  const [isLasting, setIsLasting] = useState(false);
  useEffect(() => {
    setIsLasting(false);
    if (connection.state !== "reconnecting") return undefined;
    const timer = setTimeout(() => setIsLasting(true), GRACE_MS);
    return () => clearTimeout(timer);
  }, [connection.state]);

  if (connection.state === "disconnected") {
    return (
      <p role="alert" className="alert banner">
        Disconnected: {connection.reason}
        <button type="button" onClick={onLeave}>
          Reconnect
        </button>
      </p>
    );
  }
  if (!isLasting) return null;
  return (
    <p role="status" className="alert banner">
      The connection to {target.base} is lost. Reconnecting…
    </p>
  );
}
