/** One instance: its conversation, its raw events, or both side by side. */

import { lazy, useState } from "react";
import { Chat } from "../conversation/chat.tsx";
import type { WatchedInstance } from "../journal/apply-event.ts";
import { Alert } from "./alert.tsx";
import { ConfirmButton } from "./confirm-button.tsx";
import { useWorkbench } from "./context.ts";
import { Ended } from "./ended.tsx";
import { formatRoute, INSTANCE_TABS, type InstanceTab, type Route } from "./route.ts";
import { useTask } from "./task.ts";

const RawView = lazy(() => import("../raw/raw.tsx"));

const TITLES: Record<InstanceTab, string> = { chat: "Conversation", raw: "Raw" };

interface Props {
  readonly watched: WatchedInstance;
  readonly route: Extract<Route, { kind: "instance" }>;
}

export function InstanceView({ watched, route }: Props): React.ReactNode {
  const { commands } = useWorkbench();
  const [isSplit, setIsSplit] = useState(false);
  const task = useTask();
  const { state } = watched;
  const isSideBySide = isSplit && route.tab === "chat";

  return (
    <section className="instance" aria-label={`Instance ${state.serverId}`}>
      <div className="instance-bar">
        <nav aria-label="Instance">
          {INSTANCE_TABS.map((tab) => (
            <a key={tab} href={formatRoute({ ...route, tab })} aria-current={route.tab === tab ? "page" : undefined}>
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
        {route.tab === "chat" && (
          <button type="button" className="only-wide" aria-pressed={isSplit} onClick={() => setIsSplit(!isSplit)}>
            Side by side
          </button>
        )}
        {state.status !== "closed" && (
          <ConfirmButton
            name="Shut down"
            question="Really shut down"
            isBusy={task.isBusy}
            onConfirm={() => task.run(() => commands.end(state.serverId))}
          />
        )}
      </div>
      <Alert text={task.error} />
      <Ended key={state.serverId} state={state} route={route} />
      <div className="instance-body" data-split={isSideBySide}>
        {route.tab === "chat" && <Chat key={state.serverId} state={state} route={route} />}
        {(route.tab === "raw" || isSideBySide) && <RawView key={state.serverId} watched={watched} />}
      </div>
    </section>
  );
}
