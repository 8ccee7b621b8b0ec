/** One instance: its conversation, its raw lines, or both side by side. */

import { lazy, useState } from "react";
import { Chat } from "../conversation/chat.tsx";
import type { Watched } from "../journal/fold.ts";
import { exitText } from "../journal/instance.ts";
import { useWorkbench } from "./context.ts";
import { formatPlace, INSTANCE_TABS, type InstanceTab, type Place } from "./place.ts";
import { SureButton } from "./sure.tsx";
import { useTask } from "./task.ts";

const RawView = lazy(() => import("../raw/raw.tsx"));

const TITLES: Record<InstanceTab, string> = { chat: "Conversation", raw: "Raw" };

interface Props {
  readonly watched: Watched;
  readonly place: Extract<Place, { kind: "instance" }>;
}

export function InstanceView({ watched, place }: Props): React.ReactNode {
  const { acting } = useWorkbench();
  const [isSplit, setIsSplit] = useState(false);
  const task = useTask();
  const { state } = watched;
  const isSideBySide = isSplit && place.tab === "chat";

  return (
    <section className="instance" aria-label={`Instance ${state.serverId}`}>
      <div className="instance-bar">
        <nav aria-label="Instance">
          {INSTANCE_TABS.map((tab) => (
            <a key={tab} href={formatPlace({ ...place, tab })} aria-current={place.tab === tab ? "page" : undefined}>
              {TITLES[tab]}
              {tab === "raw" && <small> {watched.count}</small>}
            </a>
          ))}
        </nav>
        <span className="chip" data-tone={state.status === "running" ? "good" : undefined}>
          {state.status}
        </span>
        <span className="muted ellipsis" title={state.serverId}>
          {state.agent} · {state.serverId}
        </span>
        {place.tab === "chat" && (
          <button type="button" className="only-wide" aria-pressed={isSplit} onClick={() => setIsSplit(!isSplit)}>
            Side by side
          </button>
        )}
        {state.status === "exited" && (
          <button
            type="button"
            disabled={task.isBusy}
            onClick={() => task.run(() => acting.startAgain(state.serverId, state.agent))}
          >
            Start again
          </button>
        )}
        {state.status !== "closed" && (
          <SureButton
            name="End"
            question="Really end it"
            isBusy={task.isBusy}
            onSure={() => task.run(() => acting.end(state.serverId))}
          />
        )}
      </div>
      {task.error && (
        <p role="alert" className="alert">
          {task.error}
        </p>
      )}
      {state.exit && (
        <div className="alert" role="status">
          The agent has ended: {exitText(state.exit)}.
          {state.exit.stderrTail && <pre className="small">{state.exit.stderrTail}</pre>}
        </div>
      )}
      <div className="instance-body" data-split={isSideBySide}>
        {place.tab === "chat" && <Chat key={state.serverId} state={state} place={place} />}
        {(place.tab === "raw" || isSideBySide) && <RawView key={state.serverId} watched={watched} />}
      </div>
    </section>
  );
}
