/** The page: the connect screen, then the workbench. */

import { AcpHttpError } from "acp-http-client";
import { useCallback, useEffect, useState } from "react";
import { openJournal } from "./journal/store.ts";
import { createApi } from "./server/api.ts";
import { createCommands } from "./server/commands.ts";
import { createHttp, errorMessage } from "./server/http.ts";
import { initialTarget, readFragment, storeTarget, type Target } from "./server/target.ts";
import { Connect } from "./view/connect.tsx";
import { type Workbench, WorkbenchContext } from "./view/context.ts";
import { WorkbenchView } from "./view/workbench.tsx";

type Stage =
  | { readonly kind: "checking" }
  | { readonly kind: "asking"; readonly problem: string | undefined }
  | { readonly kind: "ready"; readonly workbench: Workbench };

/** Reads the target, and removes the token from the address bar before any other code can read it. */
function takeTarget(): Target {
  const target = initialTarget(location.href, sessionStorage);
  const { token, server } = readFragment(location.hash);
  if (token !== undefined || server !== undefined) {
    storeTarget(target, location.href, sessionStorage);
    history.replaceState(null, "", `${location.pathname}${location.search}#/`);
  }
  return target;
}

export function App(): React.ReactNode {
  const [target, setTarget] = useState(takeTarget);
  const [attempt, setAttempt] = useState(0);
  const [stage, setStage] = useState<Stage>({ kind: "checking" });

  // biome-ignore lint/correctness/useExhaustiveDependencies: a new attempt at the same target must run again.
  useEffect(() => {
    let isCurrent = true;
    let close = (): void => undefined;
    setStage({ kind: "checking" });
    open(target).then(
      (workbench) => {
        if (!isCurrent) return workbench.journal.stop();
        close = workbench.journal.stop;
        storeTarget(target, location.href, sessionStorage);
        setStage({ kind: "ready", workbench });
      },
      (error: unknown) => isCurrent && setStage({ kind: "asking", problem: explained(error, target) }),
    );
    return () => {
      isCurrent = false;
      close();
    };
  }, [target, attempt]);

  const connect = useCallback((next: Target) => {
    setTarget(next);
    setAttempt((count) => count + 1);
  }, []);
  const leave = useCallback((problem?: string) => setStage({ kind: "asking", problem }), []);

  if (stage.kind === "checking") return <p className="splash">Connecting…</p>;
  if (stage.kind === "asking") return <Connect target={target} problem={stage.problem} onConnect={connect} />;
  return (
    <WorkbenchContext value={stage.workbench}>
      <WorkbenchView onLeave={leave} />
    </WorkbenchContext>
  );
}

/** Checks that the server is reachable and accepts the token, then starts to watch it. */
async function open(target: Target): Promise<Workbench> {
  const http = createHttp(target);
  const [api] = await Promise.all([createApi(target), http("v1/health")]);
  const workspace = await api.workspace().catch(() => "/");
  const journal = openJournal(target);
  return { target, journal, api, commands: createCommands(http, journal), workspace };
}

function explained(error: unknown, { token }: Target): string | undefined {
  if (!(error instanceof AcpHttpError) || error.status !== 401) return errorMessage(error);
  return token ? "The server refused this token. Check it and try again." : "This server needs a token.";
}
