/** The state of the server and its limits. */

import type { JsonObject } from "acp-http-client/internal";
import { useCallback, useEffect, useState } from "react";
import { durationText } from "../text/duration.ts";
import { Json } from "../text/json.tsx";
import { Alert } from "./alert.tsx";
import { useSnapshot, useWorkbench } from "./context.ts";
import { limitTexts } from "./limits.ts";
import { useTask } from "./task.ts";

const EVERY_MS = 5000;

export default function ServerView(): React.ReactNode {
  const { api, target, workspace } = useWorkbench();
  const { instances, connection } = useSnapshot();
  const [health, setHealth] = useState<JsonObject>();
  const task = useTask();
  const { run } = task;
  const load = useCallback(() => run(async () => setHealth(await api.health())), [run, api]);
  useEffect(() => {
    load();
    const timer = setInterval(load, EVERY_MS);
    return () => clearInterval(timer);
  }, [load]);

  const states = [...instances.values()].map(({ state }) => state.status);
  const received = [...instances.values()].reduce((sum, { count }) => sum + count, 0);
  const uptime = typeof health?.uptimeMs === "number" ? durationText(health.uptimeMs) : "";
  const facts: readonly Fact[] = [
    ["Address", target.base],
    ["Token", target.token ? "given" : "none"],
    ["Status", String(health?.status ?? "")],
    ["Version", String(health?.version ?? "")],
    ["Uptime", uptime],
    ["Workspace", workspace],
    ["Event stream", connection.state],
    ["Instances", `${states.filter((status) => status === "running").length} running, ${states.length} known`],
    ["Events received", String(received)],
  ];
  const limits = limitTexts(health);
  return (
    <section className="page" aria-labelledby="server-title">
      <h1 id="server-title">Server</h1>
      <Alert text={task.error} />
      <Facts facts={facts} />
      {limits.length > 0 && (
        <section className="card wide" aria-labelledby="limits-title">
          <h2 id="limits-title">Limits</h2>
          <Facts facts={limits} />
        </section>
      )}
      {health && (
        <details>
          <summary>Full health response</summary>
          <Json value={health} />
        </details>
      )}
    </section>
  );
}

type Fact = readonly [name: string, text: string];

function Facts({ facts }: { readonly facts: readonly Fact[] }): React.ReactNode {
  return (
    <dl className="facts">
      {facts.map(([name, text]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{text || "…"}</dd>
        </div>
      ))}
    </dl>
  );
}
