/** The conversation of one session, and the controls to continue it. */

import { useEffect, useRef, useState } from "react";
import { nameOfSession } from "../journal/session.ts";
import type { InstanceState, SessionState } from "../journal/types.ts";
import { Alert } from "../view/alert.tsx";
import { useSnapshot, useWorkbench } from "../view/context.ts";
import { go, type Route } from "../view/route.ts";
import { useTask } from "../view/task.ts";
import { Composer } from "./composer.tsx";
import { ExportDialog } from "./export-dialog.tsx";
import { SessionsDialog } from "./sessions.tsx";
import { Settings } from "./settings.tsx";
import { Timeline } from "./timeline.tsx";

interface Props {
  readonly state: InstanceState;
  readonly route: Extract<Route, { kind: "instance" }>;
}

export function Chat({ state, route }: Props): React.ReactNode {
  const { commands, workspace } = useWorkbench();
  const { connection } = useSnapshot();
  const task = useTask();
  const [isListing, setIsListing] = useState(false);
  const [isSearching, setIsSearching] = useState(false);
  const [isExporting, setIsExporting] = useState(false);
  useSearchKey(() => setIsSearching(true));
  const sessions = [...state.sessions.values()];
  const session = state.sessions.get(route.session ?? "") ?? sessions.at(-1);
  const canAct = state.status === "running" || state.status === "starting";
  const open = (sessionId: string): void => go({ ...route, tab: "chat", session: sessionId });

  const begin = (): void =>
    task.run(async () => {
      open(await commands.newSession(state.serverId, { cwd: session?.cwd ?? workspace, mcpServers: [] }));
    });

  return (
    <div className="chat">
      <div className="chat-bar">
        {sessions.length > 0 && (
          <select aria-label="Session" value={session?.id} onChange={(event) => open(event.target.value)}>
            {sessions.map((one) => (
              <option key={one.id} value={one.id}>
                {sessionName(one)}
              </option>
            ))}
          </select>
        )}
        <button type="button" disabled={!canAct || task.isBusy} onClick={begin}>
          New session
        </button>
        <button type="button" disabled={!canAct} onClick={() => setIsListing(true)}>
          Earlier sessions
        </button>
        {session && (
          <button type="button" aria-pressed={isSearching} onClick={() => setIsSearching(!isSearching)}>
            Search
          </button>
        )}
        {session && (
          <button type="button" onClick={() => setIsExporting(true)}>
            Export
          </button>
        )}
        {session && <Settings serverId={state.serverId} session={session} isDisabled={!canAct} />}
        {session?.usage && <UsageText usage={session.usage} />}
      </div>
      <Alert text={task.error} />
      {session ? (
        <>
          <Timeline
            key={session.id}
            session={session}
            terminals={state.terminals}
            isSearching={isSearching}
            onSearchEnd={() => setIsSearching(false)}
          />
          {session.turns.length > 0 && (
            <p className="working" role="status">
              {connection.state === "live" ? "Working…" : "Not connected. The agent may still be working."}
            </p>
          )}
          <Composer key={`${session.id} composer`} state={state} session={session} isDisabled={!canAct} />
        </>
      ) : (
        <p className="splash">No session yet. New sessions appear here.</p>
      )}
      {isExporting && session && <ExportDialog state={state} session={session} onClose={() => setIsExporting(false)} />}
      {isListing && (
        <SessionsDialog
          state={state}
          cwd={session?.cwd ?? workspace}
          onOpen={(sessionId) => {
            setIsListing(false);
            open(sessionId);
          }}
          onClose={() => setIsListing(false)}
        />
      )}
    </div>
  );
}

/** Makes Ctrl+F open this page's search. Pressed again in the search field, it opens the browser's search. */
function useSearchKey(open: () => void): void {
  const handler = useRef(open);
  useEffect(() => {
    handler.current = open;
  });
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const isSearchKey = event.key === "f" && (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey;
      if (!isSearchKey || document.querySelector("dialog[open]")) return;
      const field = document.querySelector<HTMLInputElement>(".search-bar input");
      if (field && document.activeElement === field) return;
      event.preventDefault();
      field?.focus();
      handler.current();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
}

function sessionName(session: SessionState): string {
  return `${nameOfSession(session)}${session.isClosed ? " (closed)" : ""}`;
}

function UsageText({ usage }: { readonly usage: NonNullable<SessionState["usage"]> }): React.ReactNode {
  const { used, size, cost } = usage;
  const tokens = used?.toLocaleString("en");
  const tokenText =
    tokens === undefined ? undefined : size ? `${tokens} of ${size.toLocaleString("en")} tokens` : `${tokens} tokens`;
  const parts = [tokenText, cost].filter((part) => part !== undefined);
  if (parts.length === 0) return null;
  return <span className="muted usage">{parts.join(" · ")}</span>;
}
