/** The start view: choose an agent and its working directory. */

import { useState } from "react";
import { type McpServers, mcpServersOf } from "sandbox-agent/convert";
import { InstallState } from "../agents/install.tsx";
import { useAgents } from "../agents/use-agents.ts";
import type { AgentInfo } from "../server/api.ts";
import { StartError } from "../server/commands.ts";
import { useWorkbench } from "./context.ts";
import { formatRoute, go } from "./route.ts";
import { useTask } from "./task.ts";

export function Home(): React.ReactNode {
  const { commands, api, workspace } = useWorkbench();
  const { agents, error, refresh } = useAgents();
  const [cwd, setCwd] = useState(workspace);
  const [useMcp, setUseMcp] = useState(true);
  const [wanted, setWanted] = useState("");
  const [failed, setFailed] = useState<string>();
  const task = useTask();

  const start = (agent: AgentInfo): void =>
    task.run(async () => {
      setFailed(undefined);
      const stored = useMcp ? await api.configEntries("mcp", cwd).catch(() => ({})) : {};
      const { servers } = mcpServersOf(stored as McpServers);
      const starting = commands.start(agent.id, { cwd, mcpServers: servers });
      starting.catch((error: unknown) => error instanceof StartError && setFailed(error.serverId));
      const { serverId, sessionId } = await starting;
      go({ kind: "instance", serverId, tab: "chat", session: sessionId });
    });

  const fits = ({ id, name }: AgentInfo): boolean => `${id} ${name}`.toLowerCase().includes(wanted.toLowerCase());
  const ready = agents.filter((agent) => agent.installed && fits(agent));
  const others = agents.filter((agent) => !agent.installed && fits(agent));

  return (
    <section className="page" aria-labelledby="start-title">
      <h1 id="start-title">Start an agent</h1>
      <div className="fields">
        <label>
          Working directory
          <input value={cwd} onChange={(event) => setCwd(event.target.value)} name="cwd" />
        </label>
        <label>
          Search
          <input type="search" value={wanted} onChange={(event) => setWanted(event.target.value)} name="find" />
        </label>
        <label className="check">
          <input type="checkbox" checked={useMcp} onChange={(event) => setUseMcp(event.target.checked)} />
          Use the MCP servers stored for this folder
        </label>
      </div>
      {(task.error ?? error) && (
        <p role="alert" className="alert">
          {task.error ?? error}{" "}
          {task.error && failed !== undefined && (
            <a href={formatRoute({ kind: "instance", serverId: failed, tab: "raw" })}>Show the messages</a>
          )}
        </p>
      )}
      {task.isBusy && <p role="status">Starting…</p>}
      <Cards title="Installed" agents={ready} isBusy={task.isBusy} onStart={start} onChange={refresh} />
      <Cards title="Not installed" agents={others} isBusy={task.isBusy} onStart={start} onChange={refresh} />
      {agents.length === 0 && !error && <p className="splash">Loading…</p>}
      {agents.length > 0 && ready.length + others.length === 0 && <p className="splash">No matching agent.</p>}
    </section>
  );
}

interface CardsProps {
  readonly title: string;
  readonly agents: readonly AgentInfo[];
  readonly isBusy: boolean;
  onStart(agent: AgentInfo): void;
  onChange(): void;
}

function Cards({ title, agents, isBusy, onStart, onChange }: CardsProps): React.ReactNode {
  if (agents.length === 0) return null;
  return (
    <>
      <h2 className="cards-title">{title}</h2>
      <ul className="cards">
        {agents.map((agent) => (
          <li key={agent.id} className="card">
            <div className="card-head">
              <strong>{agent.name}</strong>
              <small className="muted">
                {agent.id}
                {agent.version && ` · ${agent.version}`}
              </small>
            </div>
            <InstallState agent={agent} onChange={onChange} />
            {agent.installed && (
              <button
                type="button"
                className="primary"
                disabled={isBusy}
                onClick={() => onStart(agent)}
                aria-label={`Start ${agent.name}`}
              >
                Start
              </button>
            )}
          </li>
        ))}
      </ul>
    </>
  );
}
