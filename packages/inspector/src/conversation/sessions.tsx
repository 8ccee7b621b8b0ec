/** A dialog that lists the sessions that the agent has stored, to load or resume one of them. */

import { objectOf, textOf } from "acp-http-client/internal";
import { useEffect, useRef } from "react";
import type { InstanceState } from "../journal/types.ts";
import { Alert } from "../view/alert.tsx";
import { useWorkbench } from "../view/context.ts";
import { useTask } from "../view/task.ts";

interface Props {
  readonly state: InstanceState;
  readonly cwd: string;
  onOpen(sessionId: string): void;
  onClose(): void;
}

export function SessionsDialog({ state, cwd, onOpen, onClose }: Props): React.ReactNode {
  const { commands } = useWorkbench();
  const dialog = useRef<HTMLDialogElement>(null);
  const task = useTask();
  const { run } = task;
  const capabilities = objectOf(state.initialized?.agentCapabilities);
  // If the server no longer has the response to `initialize`, offer both: the agent rejects what it does not support.
  const isUnknown = state.initialized === undefined;
  const canResume = isUnknown || "resume" in objectOf(capabilities.sessionCapabilities);
  const canLoad = isUnknown || capabilities.loadSession === true;

  useEffect(() => dialog.current?.showModal(), []);
  useEffect(() => {
    run(async () => {
      let cursor: unknown;
      do {
        const params = cursor === undefined ? {} : { cursor };
        cursor = objectOf(await commands.request(state.serverId, "session/list", params)).nextCursor ?? undefined;
      } while (cursor !== undefined);
    });
  }, [run, commands, state.serverId]);

  const open = (method: "session/load" | "session/resume", sessionId: string, folder: string): void =>
    task.run(async () => {
      await commands.request(state.serverId, method, { sessionId, cwd: folder, mcpServers: [] });
      onOpen(sessionId);
    });

  return (
    <dialog ref={dialog} onClose={onClose} aria-labelledby="sessions-title">
      <h2 id="sessions-title">Sessions of this agent</h2>
      <Alert text={task.error} />
      {task.isBusy && <p role="status">Loading sessions…</p>}
      {!task.isBusy && state.listed?.length === 0 && <p className="muted">The agent has no sessions.</p>}
      <ul className="rows">
        {(state.listed ?? []).map((listed) => {
          const sessionId = textOf(listed.sessionId) ?? "";
          const folder = textOf(listed.cwd) ?? cwd;
          return (
            <li key={sessionId}>
              <span className="row-text">
                <strong>{textOf(listed.title) ?? sessionId}</strong>
                <small className="muted">
                  {[sessionId, folder, textOf(listed.updatedAt)].filter(Boolean).join(" · ")}
                </small>
              </span>
              {canLoad && (
                <button type="button" disabled={task.isBusy} onClick={() => open("session/load", sessionId, folder)}>
                  Load
                </button>
              )}
              {canResume && (
                <button type="button" disabled={task.isBusy} onClick={() => open("session/resume", sessionId, folder)}>
                  Resume
                </button>
              )}
            </li>
          );
        })}
      </ul>
      <button type="button" onClick={() => dialog.current?.close()}>
        Close
      </button>
    </dialog>
  );
}
