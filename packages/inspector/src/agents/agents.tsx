/** All agents of the server: installation state, source, credentials and capabilities. */

import { useState } from "react";
import type { AgentInfo } from "../server/api.ts";
import { Alert } from "../view/alert.tsx";
import { useWorkbench } from "../view/context.ts";
import { useTask } from "../view/task.ts";
import { type Abilities, abilitiesOf } from "./abilities.ts";
import { credentialNames } from "./credentials.ts";
import { InstallState } from "./install.tsx";
import { useAgents } from "./use-agents.ts";

export default function AgentsView(): React.ReactNode {
  const { agents, error, refresh } = useAgents();
  const [wanted, setWanted] = useState("");
  const installedFirst = agents.toSorted((one, other) => Number(other.installed) - Number(one.installed));
  const matching = installedFirst.filter(({ id, name }) =>
    `${id} ${name}`.toLowerCase().includes(wanted.toLowerCase()),
  );
  return (
    <section className="page" aria-labelledby="agents-title">
      <div className="card-row">
        <h1 id="agents-title">Agents</h1>
        <input
          type="search"
          aria-label="Search agents"
          placeholder="Search"
          value={wanted}
          onChange={(event) => setWanted(event.target.value)}
        />
        <button type="button" onClick={refresh}>
          Refresh
        </button>
      </div>
      <Alert text={error} />
      {agents.length === 0 && !error && <p className="splash">Loading…</p>}
      {agents.length > 0 && matching.length === 0 && <p className="splash">No matching agent.</p>}
      <ul className="rows">
        {matching.map((agent) => (
          <li key={agent.id} className="agent-row">
            <Agent agent={agent} onChange={refresh} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function AbilityList({ has, lacks, unknown }: Abilities): React.ReactNode {
  const groups = [
    ["Can", has],
    ["Cannot", lacks],
    ["Not known yet", unknown],
  ] as const;
  return (
    <dl className="facts small">
      {groups.map(
        ([name, labels]) =>
          labels.length > 0 && (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{labels.join(", ")}</dd>
            </div>
          ),
      )}
    </dl>
  );
}

function Agent({ agent, onChange }: { readonly agent: AgentInfo; onChange(): void }): React.ReactNode {
  const { api } = useWorkbench();
  const task = useTask();
  const facts = [
    agent.id,
    agent.version,
    agent.source && `from ${agent.source}`,
    agent.nonRegistry && "not in the registry",
    agent.serverStatus?.status === "running" && "running",
  ].filter(Boolean);
  const credentials = credentialNames(agent.id);
  return (
    <>
      <div className="row-text">
        <strong>{agent.name}</strong>
        <small className="muted">{facts.join(" · ")}</small>
        <details>
          <summary className="small muted">Abilities and details</summary>
          <AbilityList {...abilitiesOf({ ...agent.capabilities })} />
          {credentials.length > 0 && (
            <p className="small">
              <span className="muted">Credentials, any one of:</span> {credentials.join(", ")}
            </p>
          )}
          {agent.path && <p className="small muted">{agent.path}</p>}
          <p className="small">
            <code>{agent.install.command}</code>
          </p>
          {agent.installed && agent.source !== "builtin" && (
            <button
              type="button"
              disabled={task.isBusy}
              onClick={() => task.run(() => api.install(agent.id, "reinstall").finally(onChange))}
            >
              {task.isBusy ? "Installing…" : "Reinstall"}
            </button>
          )}
          <Alert text={task.error} isSmall />
        </details>
      </div>
      <InstallState agent={agent} onChange={onChange} />
    </>
  );
}
