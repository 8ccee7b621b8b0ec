/** The workbench: what there is on the left, what is looked at beside it, and open questions above it all. */

import { lazy, Suspense, useEffect, useState } from "react";
import { AskDock } from "../asks/dock.tsx";
import { openAsks } from "../asks/open.ts";
import { useSnapshot, useWorkbench } from "./context.ts";
import { Help } from "./help.tsx";
import { Home } from "./home.tsx";
import { InstanceView } from "./instance.tsx";
import { LinkBanner } from "./link-banner.tsx";
import { formatPlace, type Place, SERVER_TABS, type ServerTab, usePlace } from "./place.ts";
import { Sidebar } from "./sidebar.tsx";
import { ThemeSwitch } from "./theme.tsx";

const FilesView = lazy(() => import("../files/files.tsx"));
const ConfigView = lazy(() => import("../config/config.tsx"));
const AgentsView = lazy(() => import("../agents/agents.tsx"));
const ServerView = lazy(() => import("./server.tsx"));

const TITLES: Record<ServerTab, string> = { files: "Files", config: "Config", agents: "Agents", server: "Server" };

export function Bench({ onLeave }: { onLeave(problem?: string): void }): React.ReactNode {
  const { link, instances } = useSnapshot();
  const place = usePlace();
  const [isOpen, setIsOpen] = useState(false);
  const asks = openAsks(instances);

  useEffect(() => {
    document.title = asks.length > 0 ? `(${asks.length}) Sandbox Agent` : "Sandbox Agent";
  }, [asks.length]);
  useEffect(() => {
    if (link.state === "over" && link.isRefused) onLeave("The server refused this token. Check it and try again.");
  }, [link, onLeave]);
  // Having gone somewhere, the list is in the way on a small screen.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the place is the trigger.
  useEffect(() => setIsOpen(false), [place]);

  const leave = (
    <button type="button" className="quiet" onClick={() => onLeave()}>
      Disconnect
    </button>
  );

  return (
    <div className="bench">
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
        <a className="brand" href={formatPlace({ kind: "home" })}>
          Sandbox Agent
        </a>
        <LinkState />
        <nav aria-label="Server">
          {SERVER_TABS.map((tab) => (
            <a
              key={tab}
              href={formatPlace({ kind: "server", tab })}
              aria-current={place.kind === "server" && place.tab === tab ? "page" : undefined}
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
        place={place}
        isOpen={isOpen}
        foot={
          <>
            <LinkState />
            {leave}
          </>
        }
      />
      <main id="main" tabIndex={-1}>
        <LinkBanner onLeave={onLeave} />
        <AskDock asks={asks} />
        <Suspense fallback={<p className="splash">Loading…</p>}>
          <Content place={place} />
        </Suspense>
      </main>
    </div>
  );
}

function Content({ place }: { readonly place: Place }): React.ReactNode {
  const { instances } = useSnapshot();
  if (place.kind === "instance") {
    const watched = instances.get(place.serverId);
    if (watched) return <InstanceView watched={watched} place={place} />;
    return <NoInstance serverId={place.serverId} />;
  }
  if (place.kind === "home") return <Home />;
  switch (place.tab) {
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

/** The list of instances comes a moment behind the page. */
function NoInstance({ serverId }: { readonly serverId: string }): React.ReactNode {
  const { link } = useSnapshot();
  return (
    <div className="splash">
      {link.state === "live" ? (
        <>
          <p>There is no instance {serverId}. It may have ended.</p>
          <p>
            <a href={formatPlace({ kind: "home" })}>Start an agent</a>
          </p>
        </>
      ) : (
        <p>Connecting…</p>
      )}
    </div>
  );
}

const LINK_TEXT = { connecting: "connecting", live: "live", cut: "reconnecting", over: "disconnected" } as const;

function LinkState(): React.ReactNode {
  const { link } = useSnapshot();
  const { target } = useWorkbench();
  return (
    <span className="link-state" data-state={link.state} role="status" title={target.base}>
      {LINK_TEXT[link.state]}
    </span>
  );
}
