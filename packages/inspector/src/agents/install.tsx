/** The installation state of an agent, its progress, and the button to install it. */

import { useState } from "react";
import type { AgentInfo } from "../server/api.ts";
import { errorMessage } from "../server/http.ts";
import { Alert } from "../view/alert.tsx";
import { useWorkbench } from "../view/context.ts";
import { credentialNames, credentialVariable } from "./credentials.ts";
import { isInProgress } from "./use-agents.ts";

export function InstallState({ agent, onChange }: { readonly agent: AgentInfo; onChange(): void }): React.ReactNode {
  const { api } = useWorkbench();
  const [error, setError] = useState<string>();
  const { install, installed, credentialsAvailable } = agent;
  const variable = credentialsAvailable ? undefined : credentialVariable(agent.id);
  const isBusy = isInProgress(install.state);

  const begin = (): void => {
    setError(undefined);
    api
      .install(agent.id)
      .catch((failure: unknown) => setError(errorMessage(failure)))
      .finally(onChange);
    // The server reports the progress. A first refresh soon after the start makes the list begin to poll.
    setTimeout(onChange, 300);
  };

  return (
    <div className="install">
      <span className="chips">
        <span className="chip" data-tone={installed ? "good" : undefined}>
          {installed ? "installed" : isBusy ? "installing" : "not installed"}
        </span>
        {variable !== undefined && <span className="chip">no credentials found</span>}
        {agent.verified && agent.verified !== "ok" && (
          <span className="chip">{agent.verified.replaceAll("_", " ")}</span>
        )}
      </span>
      {variable !== undefined && (
        <small className="muted" title={`Any one of: ${credentialNames(agent.id).join(", ")}`}>
          Set <code>{variable}</code> in the server's environment
        </small>
      )}
      {isBusy && (
        <span role="status" className="progress">
          <progress aria-label={`Installing ${agent.name}`} />{" "}
          {[install.step, install.detail].filter(Boolean).join(": ")}
          {install.elapsedMs !== undefined && ` ${Math.round(install.elapsedMs / 1000)} s`}
        </span>
      )}
      {!installed && !isBusy && (
        <button type="button" onClick={begin} aria-label={`Install ${agent.name}`}>
          Install
        </button>
      )}
      <Alert text={error ?? install.error} isSmall />
    </div>
  );
}
