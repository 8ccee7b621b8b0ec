/** The list of all instances of the server, including those that other clients have started. */

import { nameOfSession } from "../journal/session.ts";
import type { InstanceState } from "../journal/types.ts";
import { useSnapshot, useWorkbench } from "./context.ts";
import { formatRoute, go, type Route } from "./route.ts";

interface Props {
  readonly route: Route;
  readonly isOpen: boolean;
  /** Controls that are shown here only on a narrow screen, where they do not fit elsewhere. */
  readonly foot: React.ReactNode;
}

export function Sidebar({ route, isOpen, foot }: Props): React.ReactNode {
  const { instances } = useSnapshot();
  const ageOf = ({ createdAtMs }: InstanceState): number => createdAtMs ?? Number.POSITIVE_INFINITY;
  const newestFirst = [...instances.values()].sort((one, other) => ageOf(other.state) - ageOf(one.state) || 0);
  return (
    <aside id="sidebar" data-open={isOpen} aria-label="Instances">
      <a className="button primary" href={formatRoute({ kind: "home" })}>
        Start an agent
      </a>
      {newestFirst.length === 0 && (
        <p className="muted">No instances. Instances that other clients start appear here, too.</p>
      )}
      <ul>
        {newestFirst.map(({ state }) => (
          <li key={state.serverId}>
            <Row state={state} isCurrent={route.kind === "instance" && route.serverId === state.serverId} />
          </li>
        ))}
      </ul>
      <div className="only-narrow">{foot}</div>
    </aside>
  );
}

function Row({ state, isCurrent }: { readonly state: InstanceState; readonly isCurrent: boolean }): React.ReactNode {
  const { journal } = useWorkbench();
  const { serverId, agent, status, agentRequests, sessions } = state;
  const isWorking = [...sessions.values()].some(({ turns }) => turns.length > 0);
  const last = [...sessions.values()].findLast(({ title, items }) => title || items.length > 0);
  const name = last ? nameOfSession(last) : agent;
  return (
    <>
      <a
        className="instance-link"
        href={formatRoute({ kind: "instance", serverId, tab: "chat" })}
        aria-current={isCurrent ? "page" : undefined}
      >
        <span className="dot" data-status={isWorking ? "working" : status} aria-hidden="true" />
        <span className="instance-name">
          <strong>{name}</strong>
          <small>
            {agent} · {serverId}
          </small>
        </span>
        <span className="visually-hidden">{isWorking ? "working" : status}</span>
        {agentRequests.length > 0 && (
          <span className="badge">
            {agentRequests.length}
            <span className="visually-hidden"> waiting for you</span>
          </span>
        )}
      </a>
      {status === "closed" && (
        <button
          type="button"
          className="icon"
          aria-label={`Forget ${serverId}`}
          onClick={() => {
            journal.dismiss(serverId);
            if (isCurrent) go({ kind: "home" });
          }}
        >
          ×
        </button>
      )}
    </>
  );
}
