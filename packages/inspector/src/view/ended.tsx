/** Shows why an instance no longer has a process, and offers to start the agent again. */

import { useState } from "react";
import { exitText } from "../journal/instance.ts";
import type { InstanceState } from "../journal/types.ts";
import { Alert } from "./alert.tsx";
import { useSnapshot, useWorkbench } from "./context.ts";
import { go, type Route } from "./route.ts";
import { useTask } from "./task.ts";

interface Props {
  readonly state: InstanceState;
  readonly route: Extract<Route, { kind: "instance" }>;
}

export function Ended({ state, route }: Props): React.ReactNode {
  const { commands, workspace } = useWorkbench();
  const { connection } = useSnapshot();
  const task = useTask();
  const [isNew, setIsNew] = useState(false);
  const { status, serverId, agent, exit, closedBecause } = state;

  const startAgain = (): void =>
    task.run(async () => {
      setIsNew(false);
      const session = state.sessions.get(route.session ?? "") ?? [...state.sessions.values()].at(-1);
      const earlier = { sessionId: session?.id, cwd: session?.cwd ?? workspace, mcpServers: [] };
      const started = await commands.startAgain(serverId, agent, earlier);
      setIsNew(started.isNew);
      go({ ...route, session: started.sessionId });
    });

  const isEnded = status === "exited" || status === "closed";
  return (
    <>
      <Alert text={task.error} />
      {isEnded && (
        <div className="alert ended" role="status">
          <span>{status === "exited" && exit ? `The agent exited: ${exitText(exit)}.` : closedBecause}</span>
          <button type="button" disabled={task.isBusy || connection.state !== "live"} onClick={startAgain}>
            {task.isBusy ? "Starting…" : "Start again"}
          </button>
          {status === "exited" && exit?.stderrTail && <pre className="small">{exit.stderrTail}</pre>}
        </div>
      )}
      {!isEnded && isNew && (
        <p className="note" role="status">
          The agent no longer has the earlier session, so a new one was started.
          <button type="button" className="icon" aria-label="Close note" onClick={() => setIsNew(false)}>
            ×
          </button>
        </p>
      )}
    </>
  );
}
