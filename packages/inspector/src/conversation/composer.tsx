/** The message input: text, slash commands, attached or dropped files, and the button that cancels a turn. */

import { AcpTransportError } from "acp-http-client";
import { type JsonObject, randomHex } from "acp-http-client/internal";
import { type DragEvent, type FormEvent, type KeyboardEvent, useId, useRef, useState } from "react";
import type { InstanceState, SessionState } from "../journal/types.ts";
import { Alert } from "../view/alert.tsx";

import { useWorkbench } from "../view/context.ts";
import { ClipIcon, FileIcon } from "../view/icons.tsx";
import { useTask } from "../view/task.ts";
import { CommandList, optionId } from "./command-list.tsx";
import { matchingCommands, resourceLink, uploadPath } from "./compose.ts";

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
  const { commands, api, workspace } = useWorkbench();
  const [text, setText] = useState("");
  const [attached, setAttached] = useState<readonly Attached[]>([]);
  const [isDragOver, setIsDragOver] = useState(false);
  const [activeIndex, setActiveIndex] = useState(0);
  const [isDismissed, setIsDismissed] = useState(false);
  const list = useId();
  const picker = useRef<HTMLInputElement>(null);
  const area = useRef<HTMLTextAreaElement>(null);
  const task = useTask();
  const upload = useTask();
  const isWorking = session.turns.length > 0;
  const slashCommands = isDismissed ? [] : matchingCommands(text, session.commands);
  const active = Math.min(activeIndex, slashCommands.length - 1);

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
    const content = text.trim();
    if ((content === "" && attached.length === 0) || isDisabled || upload.isBusy) return;
    const prompt = [...(content === "" ? [] : [{ type: "text", text: content }]), ...attached.map(resourceLink)];
    write("");
    setAttached([]);
    // The journal shows the turn and how it ends; only failures before that are shown here.
    task.run(() =>
      commands
        .request(state.serverId, "session/prompt", { sessionId: session.id, prompt })
        .catch(rethrowTransportError),
    );
  };
  const cancel = (): void =>
    task.run(() => commands.notify(state.serverId, "session/cancel", { sessionId: session.id }));

  const write = (next: string): void => {
    setText(next);
    setActiveIndex(0);
    setIsDismissed(false);
  };
  const complete = (command: JsonObject): void => {
    write(`/${String(command.name)} `);
    area.current?.focus();
  };
  /** Handles the keys of the command list while it is open. */
  const onListKey = (key: string): boolean => {
    const chosen = slashCommands[active];
    if (!chosen) return false;
    if (key === "ArrowDown" || key === "ArrowUp") {
      const step = key === "ArrowDown" ? 1 : -1;
      setActiveIndex((active + step + slashCommands.length) % slashCommands.length);
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
    setIsDragOver(false);
    attach([...event.dataTransfer.files]);
  };

  return (
    <form
      className="composer"
      data-over={isDragOver}
      onSubmit={send}
      onDragOver={(event) => {
        event.preventDefault();
        setIsDragOver(true);
      }}
      onDragLeave={() => setIsDragOver(false)}
      onDrop={onDrop}
    >
      {slashCommands.length > 0 && (
        <CommandList id={list} commands={slashCommands} active={active} onChoose={complete} />
      )}
      <Alert text={task.error ?? upload.error} isSmall />
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
          placeholder={isDisabled ? "The agent is not running" : "Message or /command"}
          value={text}
          rows={Math.min(8, text.split("\n").length)}
          disabled={isDisabled}
          role="combobox"
          aria-expanded={slashCommands.length > 0}
          aria-controls={list}
          aria-activedescendant={slashCommands.length > 0 ? optionId(list, active) : undefined}
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

/** Ignores the agent's own errors: they are already shown in the conversation. */
function rethrowTransportError(error: unknown): void {
  if (error instanceof AcpTransportError) throw error;
}
