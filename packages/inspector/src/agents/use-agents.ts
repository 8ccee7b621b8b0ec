/** The server's agents, polled while one of them is being installed. */

import { useCallback, useEffect, useState } from "react";
import type { AgentInfo } from "../server/api.ts";
import { errorMessage } from "../server/http.ts";
import { useWorkbench } from "../view/context.ts";

/** How often to poll during an install. */
const POLL_MS = 1000;
/** How long after the first request the list is requested again. */
const REGISTRY_MS = 2000;

export interface AgentList {
  readonly agents: readonly AgentInfo[];
  readonly error: string | undefined;
  refresh(): void;
}

export function useAgents(): AgentList {
  const { api } = useWorkbench();
  const [agents, setAgents] = useState<readonly AgentInfo[]>([]);
  const [error, setError] = useState<string>();

  const refresh = useCallback(() => {
    api.agents().then(
      (found) => {
        setAgents(found);
        setError(undefined);
      },
      (failure: unknown) => setError(errorMessage(failure)),
    );
  }, [api]);

  useEffect(() => {
    refresh();
    // The first request makes the server query the registry in the background; the second response has the result.
    const timer = setTimeout(refresh, REGISTRY_MS);
    return () => clearTimeout(timer);
  }, [refresh]);
  const isInstalling = agents.some(({ install }) => isInProgress(install.state));
  useEffect(() => {
    if (!isInstalling) return undefined;
    const timer = setInterval(refresh, POLL_MS);
    return () => clearInterval(timer);
  }, [isInstalling, refresh]);

  return { agents, error, refresh };
}

/** True if an install has started and not ended. */
export function isInProgress(state: string): boolean {
  return !["not_installed", "installed", "failed"].includes(state);
}
