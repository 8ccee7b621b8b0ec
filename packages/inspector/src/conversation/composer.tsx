/** Where the user writes: text, slash commands, files that are picked or dropped; and the button that stops a turn. */

import { AcpTransportError } from "acp-http-client";
import { type JsonObject, randomHex } from "acp-http-client/internal";
import { type DragEvent, type FormEvent, type KeyboardEvent, useId, useRef, useState } from "react";
import type { InstanceState, SessionState } from "../journal/types.ts";

import { useWorkbench } from "../view/context.ts";
import { ClipIcon, FileIcon } from "../view/icons.tsx";
import { useTask } from "../view/task.ts";
import { Commands, optionId } from "./commands.tsx";
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
  const [place, setPlace] = useState(0);
  const [isDismissed, setIsDismissed] = useState(false);
  const list = useId();
  const picker = useRef<HTMLInputElement>(null);
  const area = useRef<HTMLTextAreaElement>(null);
  const task = useTask();
  const upload = useTask();
  const isWorking = session.turns.length > 0;
  const commands = isDismissed ? [] : fittingCommands(text, session.commands);
  const active = Math.min(place, commands.length - 1);

  const attach = (files: Iterable<File>): void =>
    upload.run(async () => {
      for (const file of files) {
        const path = uploadPath(session.cwd ?? workspace, randomHex(4), file.name);
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
    write("");
    setAttached([]);
    // The journal shows the turn and how it ends; only what never reached the agent is told here.
    task.run(() => acting.request(state.serverId, "session/prompt", { sessionId: session.id, prompt }).catch(unshown));
  };
  const cancel = (): void => task.run(() => acting.notify(state.serverId, "session/cancel", { sessionId: session.id }));

  const write = (next: string): void => {
    setText(next);
    setPlace(0);
    setIsDismissed(false);
  };
  const complete = (command: JsonObject): void => {
    write(`/${String(command.name)} `);
    area.current?.focus();
  };
  /** Keys that mean something to the list of commands while it is there. */
  const onListKey = (key: string): boolean => {
    const chosen = commands[active];
    if (!chosen) return false;
    if (key === "ArrowDown" || key === "ArrowUp") {
      const step = key === "ArrowDown" ? 1 : -1;
      setPlace((active + step + commands.length) % commands.length);
    } else if (key === "Escape") setIsDismissed(true);
    else if (key === "Tab" || (key === "Enter" && text !== `/${String(chosen.name)}`)) complete(chosen);
    else return false;
    return true;
  };
  const onKey = (event: KeyboardEvent): void => {
    if (event.nativeEvent.isComposing || event.shiftKey) return;
    if (onListKey(event.key)) event.preventDefault();
    else if (event.key === "Enter") send(event);
    else if (event.key === "Escape" && isWorking) cancel();
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
      {commands.length > 0 && <Commands id={list} commands={commands} active={active} onChoose={complete} />}
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
          role="combobox"
          aria-expanded={commands.length > 0}
          aria-controls={list}
          aria-activedescendant={commands.length > 0 ? optionId(list, active) : undefined}
          onChange={(event) => write(event.target.value)}
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
  if (error instanceof AcpTransportError) throw error;
}
