/** The page of a connected server: the instances on the left, the current view beside them, agent requests above it. */

import { lazy, Suspense, useEffect, useState } from "react";
import { AgentRequestDock } from "../agent-requests/dock.tsx";
import { openRequests } from "../agent-requests/open.ts";
import { ConnectionBanner } from "./connection-banner.tsx";
import { useSnapshot, useWorkbench } from "./context.ts";
import { Help } from "./help.tsx";
import { Home } from "./home.tsx";
import { InstanceView } from "./instance.tsx";
import { formatRoute, type Route, SERVER_TABS, type ServerTab, useRoute } from "./route.ts";
import { Sidebar } from "./sidebar.tsx";
import { ThemeSwitch } from "./theme.tsx";

const FilesView = lazy(() => import("../files/files.tsx"));
const ConfigView = lazy(() => import("../config/config.tsx"));
const AgentsView = lazy(() => import("../agents/agents.tsx"));
const ServerView = lazy(() => import("./server.tsx"));

const TITLES: Record<ServerTab, string> = { files: "Files", config: "Config", agents: "Agents", server: "Server" };

export function WorkbenchView({ onLeave }: { onLeave(problem?: string): void }): React.ReactNode {
  const { connection, instances } = useSnapshot();
  const route = useRoute();
  const [isOpen, setIsOpen] = useState(false);
  const agentRequests = openRequests(instances);

  useEffect(() => {
    document.title = agentRequests.length > 0 ? `(${agentRequests.length}) Sandbox Agent` : "Sandbox Agent";
  }, [agentRequests.length]);
  useEffect(() => {
    if (connection.state === "disconnected" && connection.isRefused)
      onLeave("The server refused this token. Check it and try again.");
  }, [connection, onLeave]);
  // On a narrow screen, the sidebar closes after navigation.
  // biome-ignore lint/correctness/useExhaustiveDependencies: a change of the route is the trigger.
  useEffect(() => setIsOpen(false), [route]);

  const leave = (
    <button type="button" className="quiet" onClick={() => onLeave()}>
      Disconnect
    </button>
  );

  return (
    <div className="workbench">
      <button type="button" className="skip" onClick={() => document.getElementById("main")?.focus()}>
        Skip to content
      </button>
      <header className="top">
        <button
          type="button"
          className="only-narrow icon"
          aria-expanded={isOpen}
          aria-controls="sidebar"
          aria-label="Instances"
          onClick={() => setIsOpen(!isOpen)}
        >
          ☰
        </button>
        <a className="brand" href={formatRoute({ kind: "home" })}>
          Sandbox Agent
        </a>
        <ConnectionStatus />
        <nav aria-label="Server">
          {SERVER_TABS.map((tab) => (
            <a
              key={tab}
              href={formatRoute({ kind: "server", tab })}
              aria-current={route.kind === "server" && route.tab === tab ? "page" : undefined}
            >
              {TITLES[tab]}
            </a>
          ))}
        </nav>
        <Help />
        <ThemeSwitch />
        {leave}
      </header>
      <Sidebar
        route={route}
        isOpen={isOpen}
        foot={
          <>
            <ConnectionStatus />
            {leave}
          </>
        }
      />
      <main id="main" tabIndex={-1}>
        <ConnectionBanner onLeave={onLeave} />
        <AgentRequestDock agentRequests={agentRequests} />
        <Suspense fallback={<p className="splash">Loading…</p>}>
          <Content route={route} />
        </Suspense>
      </main>
    </div>
  );
}

function Content({ route }: { readonly route: Route }): React.ReactNode {
  const { instances } = useSnapshot();
  if (route.kind === "instance") {
    const watched = instances.get(route.serverId);
    if (watched) return <InstanceView watched={watched} route={route} />;
    return <NoInstance serverId={route.serverId} />;
  }
  if (route.kind === "home") return <Home />;
  switch (route.tab) {
    case "files":
      return <FilesView />;
    case "config":
      return <ConfigView />;
    case "agents":
      return <AgentsView />;
    case "server":
      return <ServerView />;
  }
}

/** Shown if the instance in the URL is not known. No instance is known until the list of instances has arrived. */
function NoInstance({ serverId }: { readonly serverId: string }): React.ReactNode {
  const { connection } = useSnapshot();
  return (
    <div className="splash">
      {connection.state === "live" ? (
        <>
          <p>There is no instance {serverId}. It may have been closed.</p>
          <p>
            <a href={formatRoute({ kind: "home" })}>Start an agent</a>
          </p>
        </>
      ) : (
        <p>Connecting…</p>
      )}
    </div>
  );
}

function ConnectionStatus(): React.ReactNode {
  const { connection } = useSnapshot();
  const { target } = useWorkbench();
  return (
    <span className="connection-state" data-state={connection.state} role="status" title={target.base}>
      {connection.state}
    </span>
  );
}
