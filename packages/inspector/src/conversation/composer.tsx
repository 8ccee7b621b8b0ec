/** Where the user writes: text, slash commands, files that are picked or dropped; and the button that stops a turn. */

import { type DragEvent, type FormEvent, type KeyboardEvent, useRef, useState } from "react";
import { freshId } from "../id.ts";
import type { InstanceState, SessionState } from "../journal/types.ts";
import { textOf } from "../json.ts";
import { useWorkbench } from "../view/context.ts";
import { ClipIcon, FileIcon } from "../view/icons.tsx";
import { useTask } from "../view/task.ts";
import { fittingCommands, resourceLink, uploadPath } from "./compose.ts";

interface Props {
  readonly state: InstanceState;
  readonly session: SessionState;
  readonly isDisabled: boolean;
}

interface Attached {
  readonly path: string;
  readonly name: string;
  readonly type: string;
  readonly size: number;
}

export function Composer({ state, session, isDisabled }: Props): React.ReactNode {
  const { acting, api, workspace } = useWorkbench();
  const [text, setText] = useState("");
  const [attached, setAttached] = useState<readonly Attached[]>([]);
  const [isOver, setIsOver] = useState(false);
  const picker = useRef<HTMLInputElement>(null);
  const area = useRef<HTMLTextAreaElement>(null);
  const task = useTask();
  const upload = useTask();
  const isWorking = session.turns.length > 0;
  const commands = fittingCommands(text, session.commands);

  const attach = (files: Iterable<File>): void =>
    upload.run(async () => {
      for (const file of files) {
        const path = uploadPath(session.cwd ?? workspace, freshId(4), file.name);
        await api.write(path, file);
        const { name, type, size } = file;
        setAttached((before) => [...before, { path, name, type, size }]);
      }
    });

  const send = (event?: FormEvent): void => {
    event?.preventDefault();
    const said = text.trim();
    if ((said === "" && attached.length === 0) || isDisabled || upload.isBusy) return;
    const prompt = [...(said === "" ? [] : [{ type: "text", text: said }]), ...attached.map(resourceLink)];
    setText("");
    setAttached([]);
    // The journal shows the turn and how it ends; only what never reached the agent is told here.
    task.run(() => acting.request(state.serverId, "session/prompt", { sessionId: session.id, prompt }).catch(unshown));
  };
  const cancel = (): void => task.run(() => acting.notify(state.serverId, "session/cancel", { sessionId: session.id }));

  const onKey = (event: KeyboardEvent): void => {
    if (event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing) send(event);
    if (event.key === "Escape" && isWorking) cancel();
  };
  const onDrop = (event: DragEvent): void => {
    event.preventDefault();
    setIsOver(false);
    attach([...event.dataTransfer.files]);
  };

  return (
    <form
      className="composer"
      data-over={isOver}
      onSubmit={send}
      onDragOver={(event) => {
        event.preventDefault();
        setIsOver(true);
      }}
      onDragLeave={() => setIsOver(false)}
      onDrop={onDrop}
    >
      {commands.length > 0 && (
        <ul className="commands" aria-label="Commands">
          {commands.map((command) => (
            <li key={String(command.name)}>
              <button
                type="button"
                onClick={() => {
                  setText(`/${command.name} `);
                  area.current?.focus();
                }}
              >
                <strong>/{String(command.name)}</strong> <small>{textOf(command.description)}</small>
              </button>
            </li>
          ))}
        </ul>
      )}
      {(task.error ?? upload.error) && (
        <p role="alert" className="alert small">
          {task.error ?? upload.error}
        </p>
      )}
      {attached.length > 0 && (
        <ul className="attached" aria-label="Attached files">
          {attached.map(({ path, name }) => (
            <li key={path} className="file-chip" title={path}>
              <FileIcon /> {name}
              <button
                type="button"
                className="icon"
                aria-label={`Remove ${name}`}
                onClick={() => setAttached(attached.filter((file) => file.path !== path))}
              >
                ×
              </button>
            </li>
          ))}
        </ul>
      )}
      <div className="composer-row">
        <input
          ref={picker}
          type="file"
          multiple
          hidden
          onChange={({ target }) => {
            attach([...(target.files ?? [])]);
            target.value = "";
          }}
        />
        <button
          type="button"
          className="icon"
          aria-label="Attach files"
          title="Attach files"
          disabled={isDisabled || upload.isBusy}
          onClick={() => picker.current?.click()}
        >
          <ClipIcon />
        </button>
        <textarea
          ref={area}
          aria-label="Message"
          placeholder={isDisabled ? "The agent has ended" : "Message or /command"}
          value={text}
          rows={Math.min(8, text.split("\n").length)}
          disabled={isDisabled}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={onKey}
        />
        {isWorking && (
          <button type="button" className="danger" onClick={cancel} disabled={isDisabled}>
            Cancel
          </button>
        )}
        <button type="submit" className="primary" disabled={isDisabled || upload.isBusy}>
          {upload.isBusy ? "Uploading…" : "Send"}
        </button>
      </div>
    </form>
  );
}

/** What the agent itself answered is a line of the conversation already. */
function unshown(error: unknown): void {
  if (error instanceof Error && error.name === "ServerProblem") throw error;
}
