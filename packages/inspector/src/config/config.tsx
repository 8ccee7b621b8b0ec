/**
 * The view in which the user edits the MCP servers and skills that the server stores for folders. The inspector uses
 * these MCP servers for the sessions that it opens.
 */

import { useCallback, useEffect, useState } from "react";
import type { ConfigKind } from "../server/api.ts";
import { Alert } from "../view/alert.tsx";
import { ConfirmButton } from "../view/confirm-button.tsx";
import { useWorkbench } from "../view/context.ts";
import { useTask } from "../view/task.ts";
import { summaryOf } from "./entry.ts";
import { ConfigForm } from "./form.tsx";

const TITLES: Record<ConfigKind, string> = { mcp: "MCP servers", skills: "Skills" };

export default function ConfigView(): React.ReactNode {
  const { workspace } = useWorkbench();
  const [directory, setDirectory] = useState(workspace);
  return (
    <section className="page" aria-labelledby="config-title">
      <h1 id="config-title">Configuration</h1>
      <label>
        Folder
        <input value={directory} onChange={(event) => setDirectory(event.target.value)} />
      </label>
      <Entries key={`mcp ${directory}`} kind="mcp" directory={directory} />
      <Entries key={`skills ${directory}`} kind="skills" directory={directory} />
    </section>
  );
}

interface Props {
  readonly kind: ConfigKind;
  readonly directory: string;
}

/** The entry that is edited in the form. A new entry has no name yet. */
interface Editing {
  readonly name: string | undefined;
  readonly entry: unknown;
}

function Entries({ kind, directory }: Props): React.ReactNode {
  const { api } = useWorkbench();
  const [entries, setEntries] = useState<Readonly<Record<string, unknown>>>({});
  const [editing, setEditing] = useState<Editing>();
  const task = useTask();
  const { run } = task;

  const load = useCallback(async () => {
    setEntries(await api.configEntries(kind, directory));
  }, [api, kind, directory]);
  useEffect(() => run(load), [run, load]);

  const save = async (name: string, entry: unknown): Promise<void> => {
    await api.putConfig(kind, directory, name, entry);
    setEditing(undefined);
    await load();
  };
  const names = Object.keys(entries);

  return (
    <section className="card wide" aria-labelledby={`${kind}-title`}>
      <div className="card-row">
        <h2 id={`${kind}-title`}>{TITLES[kind]}</h2>
        <button type="button" onClick={() => setEditing({ name: undefined, entry: undefined })}>
          {kind === "mcp" ? "Add MCP server" : "Add skills"}
        </button>
      </div>
      <Alert text={task.error} isSmall />
      {names.length === 0 && !editing && <p className="muted">None for this folder.</p>}
      <ul className="rows">
        {names.map((name) => (
          <li key={name}>
            <span className="row-text">
              <strong>{name}</strong>
              <small className="muted">{summaryOf(entries[name])}</small>
            </span>
            <button
              type="button"
              aria-label={`Edit ${name}`}
              onClick={() => setEditing({ name, entry: entries[name] })}
            >
              Edit
            </button>
            <ConfirmButton
              name="Remove"
              label={`Remove ${name}`}
              question="Really remove it"
              isBusy={task.isBusy}
              onConfirm={() => task.run(() => api.deleteConfig(kind, directory, name).then(load))}
            />
          </li>
        ))}
      </ul>
      {editing && (
        <ConfigForm
          key={editing.name ?? ""}
          kind={kind}
          name={editing.name}
          entry={editing.entry}
          onSave={save}
          onCancel={() => setEditing(undefined)}
        />
      )}
    </section>
  );
}
